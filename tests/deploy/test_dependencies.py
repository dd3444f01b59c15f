"""The lock files: every package pinned with hashes, from no particular registry, and installed so everywhere."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from deploy import dependencies

ROOT = dependencies.ROOT
LOCKS = [*dependencies.LOCKS, "requirements-tools.lock"]


def pins(lock):
    """Version and markers by package, with the number of hashes."""
    blocks = re.split(r"^(?=\S)", (ROOT / lock).read_text(), flags=re.MULTILINE)
    return [(block.split(" \\")[0], block.count("--hash=sha256:")) for block in blocks if block.strip()]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_with_hashes_and_no_registry_is_named(lock):
    assert all("==" in pin and hashes for pin, hashes in pins(lock))
    assert not re.search(r"://|--(extra-)?index|--find-links| @ ", (ROOT / lock).read_text())


def test_the_service_runs_with_the_versions_that_are_tested():
    tested = {pin for pin, _ in pins("requirements.lock")}
    assert {pin.partition(" ;")[0] for pin, _ in pins("deploy/requirements.lock")} <= {
        pin.partition(" ;")[0] for pin in tested
    }


@pytest.mark.parametrize("file", ["Makefile", "deploy/Dockerfile", "deploy/README.md"])
def test_everything_is_installed_with_hashes_or_without_dependencies(file):
    text = (ROOT / file).read_text()
    installs = re.findall(r"(?:pip install|\$\(PIP\) )(.*)", text)
    assert installs
    for words in installs:
        assert "--require-hashes" in words or "--no-deps" in words or (file == "Makefile" and words.endswith("-check"))


def test_a_licence_is_what_the_package_says():
    assert "BSD" in dependencies.licence("numpy")
    assert dependencies.licence("no-such-package") == "not installed here"
    assert "numpy" in dependencies.names(ROOT / "requirements.lock")


@pytest.mark.parametrize(
    ("answer", "found", "why"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], [], ""),
        ([{"name": "a", "skip_reason": "none"}], [], "the data on 1 of 1 packages cannot be reached from here"),
        (
            [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}],
            ["a 1: X-1, fixed in 2"],
            "",
        ),
        (None, [], "pip-audit gave no answer"),
    ],
)
def test_what_cannot_be_looked_up_is_said(monkeypatch, answer, found, why):
    text = "" if answer is None else json.dumps({"dependencies": answer})
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, text, ""))
    known, reason = dependencies.vulnerabilities("pip-audit", Path("a.lock"))
    assert known == found
    assert reason.startswith(why)
    assert bool(reason) == bool(why)
