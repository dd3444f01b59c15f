"""Machine code is made once for a tree of kernels: for the one that Python calls."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import config

from bestmix.kernels import jit, linking


@pytest.fixture(scope="module", autouse=True)
def nothing_kept(tmp_path_factory):
    """No machine code from a run before: what is below it would not be written down again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "CACHE_DIR", str(tmp_path_factory.mktemp("numba")))
        yield


@jit.compiled
def half(value):
    return value / 2.0


@jit.borrowing
def add_halves(values: np.ndarray) -> float:
    total = 0.0
    for value in values:
        total += half(value)
    return total


@jit.compiled
def shifted(values):
    return half(add_halves(values)) + values.reshape((2, 2))[1, 1]


def library(dispatcher):
    (result,) = dispatcher.overloads.values()
    return result.library


def test_only_the_kernel_that_python_calls_has_machine_code():
    made = jit.machine(shifted)
    values = np.array([1.0, 2.0, 3.0, 6.0])
    assert made(values) == shifted(values) == 9.0
    below = made.py_func.__globals__
    entry, inner = library(made), [library(below["half"]), library(below["add_halves"])]
    assert isinstance(entry, linking.EntryLibrary)
    assert all(isinstance(one, linking.InnerLibrary) for one in inner)
    assert entry._get_compiled_object()
    defined = {function.name for one in inner for function in one.get_defined_functions()}
    assert defined  # written down, and part of no machine code but the entry's
    assert not any(entry.codegen._engine.is_symbol_defined(name) for name in defined - symbols(entry))


def symbols(entry):
    return {function.name for function in entry.get_defined_functions()}


def test_libraries_below_are_found_once_each():
    made = jit.machine(shifted)
    made(np.array([1.0, 2.0, 3.0, 6.0]))
    inner = made.py_func.__globals__
    halves, adds = library(inner["half"]), library(inner["add_halves"])
    for given in ([adds, adds], [halves, adds], [adds, halves]):
        found = [one for one in linking.all_below(given) if one in (adds, halves)]
        assert found == [adds, halves]  # what nobody has called so far would be left out for good


def test_a_kernel_that_raises_says_so_in_machine_code():
    values = np.arange(3.0)
    made = jit.machine(shifted)
    for call in (shifted, made):
        with pytest.raises(ValueError, match="size"):
            call(values)


FORMS = """
import sys
import numpy as np
from bestmix.kernels import jit

LARGE = True

@jit.compiled
def level(value):
    if LARGE:
        return 2.0 * value
    return value

@jit.compiled
def summed(values):
    total = 0.0
    for value in values:
        total += level(value)
    return total

for form in sys.argv[1:]:
    print(jit.machine(summed, frozenset() if form == "large" else frozenset({"LARGE"}))(np.ones(3)))
"""


def test_a_form_that_was_kept_is_not_taken_for_one_that_was_made(tmp_path):
    """Numba counts what a process compiles: the forms have one number where each is the first of its process."""
    (file := tmp_path / "forms.py").write_text(FORMS)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(*forms):
        words = [sys.executable, file, *forms]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout.split()

    assert run("small") == ["3.0"]
    assert run("large", "small") == ["6.0", "3.0"]
    assert run("small", "large") == ["3.0", "6.0"]
