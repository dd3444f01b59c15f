"""Two speeds of one source: the same numbers, and no compiler where there is little to do."""

import os
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from types import CodeType

import numpy as np
import pytest

from bestmix.kernels import columns, jit, rejects, simplex
from bestmix.problems import catalog
from bestmix.strategies import SFSR, Challenger, SingleArm, Uniform

SOURCE = Path(jit.__file__).parents[1]
INSTANCE = catalog.load("D2P")
COLUMNS = 1 + len(INSTANCE.bound)


@jit.compiled
def halve(value):
    return value / 2.0


@jit.compiled
def quarter(value):
    return halve(halve(value))


@jit.compiled
def invert(values):
    return 1.0 / values[0]


@jit.compiled
def double(value):
    return 2.0 * value


LARGE = True


@jit.compiled
def doubled_if_large(value):
    if LARGE and value > 1.0:
        return double(value)
    return value


def calls_a_kernel(value):
    return halve(value), halve


def test_a_kernel_stays_a_function_and_is_compiled_with_what_it_calls():
    assert jit.is_kernel(quarter)
    assert not jit.is_machine(quarter)
    made = jit.machine(quarter)
    assert jit.is_machine(made)
    assert made is jit.machine(quarter)
    assert made(1.0) == quarter(1.0) == 0.25
    assert jit.is_machine(made.py_func.__globals__["halve"])
    assert quarter.__globals__["halve"] is halve


def test_no_kernel_has_a_comprehension_or_a_closure():
    """The compiler of kernels leaves out Numba's passes for them."""
    for file in SOURCE.glob("kernels/*.py"):
        import_module(f"bestmix.kernels.{file.stem}")
    kernels = [kernel for kernel in jit._kernels if kernel.__module__.startswith("bestmix.")]
    assert len(kernels) > 100
    inner = [k.__qualname__ for k in kernels if any(isinstance(value, CodeType) for value in k.__code__.co_consts)]
    assert inner == []


def test_another_function_stays_python_and_calls_machine_code():
    made = jit.machine(calls_a_kernel)
    value, called = made(1.0)
    assert value == 0.5
    assert not jit.is_machine(made)
    assert jit.is_machine(called)


def test_what_the_work_lacks_is_not_compiled():
    plain, made = jit.machine(doubled_if_large), jit.machine(doubled_if_large, frozenset({"LARGE"}))
    assert (plain(3.0), doubled_if_large(3.0), made(3.0)) == (6.0, 6.0, 3.0)
    assert jit.machine(doubled_if_large, frozenset({"LARGE"})) is made
    assert plain._cache._cache_file._index_name != made._cache._cache_file._index_name
    assert "double" in plain.py_func.__globals__
    assert plain.py_func.__globals__["double"].signatures
    assert not made.py_func.__globals__["double"].signatures


def test_what_borrows_arrays_returns_numbers():
    def part(values: np.ndarray) -> np.ndarray:
        return values

    with pytest.raises(TypeError, match="part: expected numbers to be returned"):
        jit.borrowing(part)
    assert jit.is_kernel(simplex.invert)


def test_modules_of_kernels_are_seen_through():
    link = jit._link(simplex, jit.ENTRY)
    assert jit.is_machine(link.invert)
    assert link.OPTIMAL == simplex.OPTIMAL


def test_little_work_is_plain_and_divides_by_zero_without_a_word():
    zero = np.zeros(1)
    assert np.isinf(jit.speed_for(jit.ENOUGH_WORK - 1)(invert)(zero))
    assert not jit.machine(invert).signatures
    assert np.isinf(jit.speed_for(jit.ENOUGH_WORK)(invert)(zero))
    assert jit.machine(invert).signatures


@pytest.mark.parametrize("strategy", [SFSR(), SFSR("lagrangian"), Challenger(), SingleArm(), Uniform()], ids=str)
def test_simulated_runs_are_the_same_in_plain_python(strategy):
    run = strategy.replicator(INSTANCE, 300)
    found = []
    for call in (partial(run.call, jit.speed_for(work=1)), run):
        answer, weight = np.zeros((3, COLUMNS), dtype=np.int64), np.zeros((3, COLUMNS))
        pulls, rng = np.zeros(3, dtype=np.int64), np.random.default_rng(5)
        call(rng, answer, weight, pulls)
        found.append((answer, weight, pulls, rng.random()))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_large_decision_says_that_it_compiles_and_a_small_one_loads_no_compiler(tmp_path):
    code = """
import sys
import numpy as np
from bestmix.kernels import columns, jit
for work in (1, jit.ENOUGH_WORK, jit.ENOUGH_WORK):
    jit.speed_for(work)(columns.above)(1.0, 2.0)
    jit.speed_for(work)(columns.above)(1, 2)
    print("numba" in sys.modules)
"""
    command = [sys.executable, "-c", code]
    for said in (1, 0):  # the second process finds the machine code on disk
        environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(filter(None, sys.path))}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["False", "True", "True"]
        assert done.stderr.count(jit.SENTENCE) == said


def test_a_terminal_counts_the_functions_while_they_are_compiled(tmp_path):
    code = """
import numpy as np
from bestmix.kernels import columns, jit
jit.machine(columns.load)(np.ones((1, 2)), np.ones(1), np.arange(1), columns.new_program(1, 1))
"""
    ours, theirs = os.openpty()
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", code], env=environment, stderr=theirs, check=True)
    os.close(theirs)
    said = os.read(ours, 10_000).decode()
    os.close(ours)
    assert said.startswith(jit.SENTENCE)
    assert "bestmix: 1 compiled in " in said
    assert said.endswith("\r\x1b[K")


def test_a_users_score_is_a_kernel_only_if_it_is_compiled():
    def score(mu, u, e):
        return mu

    assert not jit.is_kernel(rejects.successive_by(score))
    assert jit.is_kernel(rejects.successive_by(jit.machine(halve)))
    assert jit.is_kernel(columns.above)


def test_machine_code_of_two_forms_has_two_names():
    """Else two that were kept by two processes are one to a third, which then runs the wrong one."""
    forms = [jit.machine(columns.new_program, frozenset({name})) for name in ("ONE_COST", "TWO_COSTS")]
    assert len({form.py_func.__qualname__ for form in forms}) == 2


def test_with_another_numba_kernels_are_compiled_by_its_own_ways(monkeypatch):
    """What ``linking.py`` knows of Numba is of one version; the next one must not keep anybody from simulating."""
    monkeypatch.setattr(jit, "LINKED", (0, 0))

    @jit.compiled_here
    def fifth(value):
        return quarter(value) * 0.8

    made = jit.machine(fifth, frozenset({"LARGE"}))
    assert made(10.0) == fifth(10.0) == 2.0
    assert made.targetoptions.get("pipeline_class") is None
    assert made._compiler.pipeline_class.__module__.startswith("numba.")
