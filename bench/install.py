"""Installing the package into a fresh environment, without extras and with that for speed: time and size."""

import subprocess
import sys
import tempfile
import time
from os import times
from pathlib import Path

from bench.timing import Figure

TITLE = "Installing the package into a fresh environment"
ROOT = Path(__file__).parents[1]
LARGEST = 4  # packages that a note names


def measure(quick: bool) -> list[Figure]:
    """The base, then the extra for speed beside it; packages come from the index or from pip's cache."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        return [*install(folder, "the base", str(ROOT)), *install(folder, "the extra for speed", f"{ROOT}[fast]")]


def install(folder: str, what: str, source: str) -> list[Figure]:
    """Time and size of what an installation adds to an environment; the note says which part is large."""
    (site,) = Path(folder).glob("lib/python*/site-packages")
    before = sizes(site)
    command = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", source]
    began, before_cpu = time.perf_counter(), sum(times()[2:4])
    subprocess.run(command, check=True)
    seconds, cpu = time.perf_counter() - began, sum(times()[2:4]) - before_cpu
    added = {name: size - before.get(name, 0) for name, size in sizes(site).items()}
    largest = sorted(added.items(), key=lambda item: -item[1])[:LARGEST]
    note = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in largest if size > 0)
    return [
        Figure(f"pip install of {what}, on the clock", seconds, "s", note="with the download, or from pip's cache"),
        Figure(f"pip install of {what}, CPU", cpu, "s", note="unpacking, and making byte code"),
        Figure(f"size of {what} with all it needs", sum(added.values()) / 1e6, "MB", note=note),
    ]


def sizes(site: Path) -> dict[str, int]:
    """Bytes below each folder or file of an environment; a package's own libraries count as its own."""
    found: dict[str, int] = {}
    for entry in site.iterdir():
        files = [entry] if entry.is_file() else [path for path in entry.rglob("*") if path.is_file()]
        name = entry.name.removesuffix(".libs")
        found[name] = found.get(name, 0) + sum(path.stat().st_size for path in files)
    return found
