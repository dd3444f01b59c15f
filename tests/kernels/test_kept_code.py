"""Machine code on disk: whatever happens to it, the work is done."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bestmix.kernels import jit

ABOVE = """
from bestmix.kernels import columns, jit
print(jit.machine(columns.above)(1.0, 2.0), sum(jit.machine(columns.above).stats.cache_misses.values()))
"""
PACKAGE = Path(jit.__file__).parents[1]
SOURCE = str(PACKAGE.parent)


def start(folder=None, **more):
    """How often a process compiles that uses a kernel, and what it complains of."""
    environment = {"PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1", **more}
    environment |= {} if folder is None else {"NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", ABOVE], env=environment, capture_output=True, text=True, check=True)
    value, misses = done.stdout.split()
    assert float(value) == -1.0
    return int(misses), [line for line in done.stderr.splitlines() if "cannot be kept" in line]


def cut_off(file):
    file.write_bytes(file.read_bytes()[:-100])


def turned(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


DAMAGES = {
    "cut off": ("nbc", cut_off),
    "a bit is turned": ("nbc", turned),
    "gone": ("nbc", Path.unlink),
    "index is another file": ("nbi", lambda file: file.write_text("garbage")),
    "index is empty": ("nbi", lambda file: file.write_text("")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_count_as_missing_and_are_written_anew(damage, tmp_path):
    ending, change = DAMAGES[damage]
    assert start(tmp_path) == (1, [])
    assert start(tmp_path) == (0, [])
    for file in tmp_path.rglob(f"*.{ending}"):
        change(file)
    assert start(tmp_path) == (1, [])
    assert start(tmp_path) == (0, [])


def installed(tmp_path):
    """A copy of the package in which nothing can be kept beside the kernels, whoever asks."""
    shutil.copytree(PACKAGE, tmp_path / "site/bestmix", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "site/bestmix/kernels/__pycache__").write_text("a file, where a folder would be")
    return tmp_path / "site"


def test_two_users_of_a_read_only_installation_keep_machine_code_until_any_kernel_is_edited(tmp_path):
    site, one, two = installed(tmp_path), tmp_path / "one", tmp_path / "two"

    def misses(home):
        return start(PYTHONPATH=str(site), HOME=str(home))[0]

    assert [misses(one), misses(two), misses(one)] == [1, 1, 0]
    assert list(one.rglob("columns.above.*.nbi"))
    with (site / "bestmix/kernels/pairs.py").open("a") as file:
        file.write("# an edit\n")
    assert misses(one) == 1


def test_where_there_is_no_folder_work_goes_on_and_says_so(tmp_path):
    _, said = start("/dev/null/cache", PYTHONPATH=str(installed(tmp_path)), HOME="/dev/null")
    assert len(said) == 1
    assert "NUMBA_CACHE_DIR names a folder for it" in said[0]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full disk")
def test_a_full_disk_leaves_the_machine_code_that_was_made(tmp_path):
    code = f"""
from numba.core import caching
def full(self, name, data):
    open("/dev/full", "wb", buffering=0).write(b"x")
caching.IndexDataCacheFile._save_data = full
{ABOVE}"""
    environment = {"PYTHONPATH": SOURCE, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["-1.0", "1"]
    assert done.stderr.count("machine code cannot be kept for the next start ([Errno 28] No space left") == 1


def test_without_a_compiler_by_choice_kernels_divide_by_zero_without_a_word():
    code = """
import numpy as np
from bestmix import SFSR, catalog, simulate
print(simulate(catalog.load("D1P"), SFSR(), 800, runs=100, seed=1).runs)
"""
    environment = {"PYTHONPATH": SOURCE, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "error::RuntimeWarning"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "100\n"


def test_without_a_home_no_folder_is_made_that_is_called_after_it(monkeypatch):
    from bestmix.kernels import kept_code

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "access", lambda *path: False)
    assert kept_code.has_folder()
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert not kept_code.has_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert kept_code.has_folder()
