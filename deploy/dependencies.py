"""``make audit``: known vulnerabilities of the locked packages, where their data can be reached, and all licences."""

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ["requirements.lock", "requirements-docs.lock", "deploy/requirements.lock"]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
SECONDS = 300  # to wait for the data of one lock file


def names(lock: Path) -> list[str]:
    """The packages that a lock file pins, in order and once each."""
    return list(dict.fromkeys(name for name, _ in PIN.findall(lock.read_text())))


def licence(name: str) -> str:
    """What a package that is installed says of its licence: an expression, a classifier, or a text's first line."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return "not installed here"
    classes = [c.rpartition(" :: ")[2] for c in about.get_all("Classifier") or [] if c.startswith("License ::")]
    said = about.get("License-Expression") or ", ".join(classes) or about.get("License") or ""
    return said.strip().partition("\n")[0] or "says nothing"


def vulnerabilities(tool: str, lock: Path) -> tuple[list[str], str]:
    """What ``pip-audit`` knows against a lock file, and why it could not look, if so."""
    words = [tool, "--requirement", str(lock), "--require-hashes", "--disable-pip", "--format", "json"]
    try:
        done = subprocess.run([*words, "--progress-spinner", "off"], capture_output=True, text=True, timeout=SECONDS)
        looked = json.loads(done.stdout)["dependencies"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
        return [], f"pip-audit gave no answer ({error})"
    found = [
        f"{package['name']} {package['version']}: {known['id']}, fixed in {', '.join(known['fix_versions']) or 'none'}"
        for package in looked
        for known in package.get("vulns", [])
    ]
    missing = sum("skip_reason" in package for package in looked)
    return found, f"the data on {missing} of {len(looked)} packages cannot be reached from here" if missing else ""


def main(tool: str) -> int:
    """Print everything; 1 when something is known to be vulnerable."""
    bad = False
    for lock in LOCKS:
        found, why = vulnerabilities(tool, ROOT / lock)
        print(f"{lock}: skipped, {why}" if why and not found else f"{lock}: {len(found)} known vulnerabilities")
        for line in found:
            print(f"  {line}")
        bad |= bool(found)
    print("\nlicences:")
    for name in names(ROOT / LOCKS[0]):
        print(f"  {name}: {licence(name)}")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
