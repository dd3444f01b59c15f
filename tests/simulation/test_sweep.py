"""The same bits everywhere: threads, processes, loky, Dask, a killed worker, a resumed folder."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor

import numpy as np
import pytest
from tests.processes import start_python

import bestmix as bm
from bestmix.simulation import store
from bestmix.simulation.cells import BLOCK, Outcomes

GRID = {"strategies": [bm.SFSR(), bm.SFSR("lagrangian"), bm.Uniform()], "budgets": [400, 900], "runs": 1100, "seed": 7}


def small():
    rng = np.random.default_rng(3)
    return {
        "two": bm.Instance(rng.random(6), rng.random((2, 6)), [0.5, 0.5]),
        "one": bm.Instance(rng.random(8), rng.random((1, 8)), [0.5]),
    }


def same(left, right):
    assert len(left) == len(right)
    for a, b in zip(left, right, strict=True):
        assert (a.instance, a.strategy, a.budget) == (b.instance, b.strategy, b.budget)
        for name in ("outcome", "pulls", "regret", "violation"):
            np.testing.assert_array_equal(getattr(a.outcomes, name), getattr(b.outcomes, name))


@pytest.fixture(scope="module")
def expected():
    return bm.sweep(small(), **GRID, threads=1)


def test_threads_change_nothing(expected):
    same(bm.sweep(small(), **GRID, threads=2), expected)


def test_a_process_pool_changes_nothing(expected):
    with ProcessPoolExecutor(2) as pool:
        same(bm.sweep(small(), **GRID, executor=pool), expected)


class Odd:
    """A strategy of one's own, in plain Python, that only has what the protocol asks for."""

    name = "odd"

    def start(self, problem, budget):
        return bm.Search(self, problem, budget)

    def begin(self, problem, budget):
        return {"over": False}

    def quota(self, problem, budget, memory):
        return None if memory["over"] else np.full(len(problem.arms), budget // len(problem.arms))

    def close(self, evidence, budget, memory):
        return {"over": True}, {}

    def columns(self, problem, memory):
        return np.arange(len(problem.columns))

    def to_dict(self):
        return {"kind": "odd"}


class Sending(Executor):
    """Makes no runs, and keeps how many it was asked for at a time."""

    def __init__(self):
        self.asked = []

    def submit(self, function, cell, first, last, runs):
        size = min(last * BLOCK, runs) - first * BLOCK
        self.asked.append(size)
        future = Future()
        future.set_result(Outcomes(np.zeros(size, np.uint8), np.zeros(size, np.int64), *np.zeros((3, size))))
        return future


@pytest.mark.parametrize(
    ("budgets", "strategy", "parts"),
    [(1, bm.Uniform(), 67), (12, bm.Uniform(), 11), (100, bm.Uniform(), 5), (12, Odd(), 67)],
)
def test_an_executor_gets_few_parts_of_compiled_runs(budgets, strategy, parts):
    pool, runs = Sending(), 300_100
    found = bm.sweep({"one": small()["one"]}, [strategy], range(100, 100 + budgets), runs, executor=pool)
    assert [cell.runs for cell in found] == [runs] * budgets
    assert sum(pool.asked) == budgets * runs
    assert len(pool.asked) == budgets * parts


def test_loky_changes_nothing(expected):
    loky = pytest.importorskip("loky")
    pool = loky.get_reusable_executor(2)
    same(bm.sweep(small(), **GRID, executor=pool), expected)
    pool.shutdown(wait=True, kill_workers=True)


@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_changes_nothing_even_when_a_worker_is_killed(expected):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        executor = client.get_executor()
        same(bm.sweep(small(), **GRID, executor=executor), expected)
        slow = {**GRID, "strategies": [Slow()], "runs": 2500, "budgets": [400]}
        pids = client.run(os.getpid)
        kill = f"import os, time, signal; time.sleep(0.7); os.kill({next(iter(pids.values()))}, signal.SIGKILL)"
        killer = subprocess.Popen([sys.executable, "-c", kill])
        interrupted = bm.sweep(small(), **slow, executor=executor)
        assert killer.wait() == 0
        assert set(client.run(os.getpid).values()) != set(pids.values())  # a new worker took its place
    same(interrupted, bm.sweep(small(), **slow, threads=1))


class Slow(bm.Uniform):
    """Uniform sampling that takes its time, so that a worker can be killed in the middle."""

    def replicator(self, instance, budget):
        run = super().replicator(instance, budget)

        def slowly(rng, answer, weight, pulls):
            time.sleep(0.15)
            run(rng, answer, weight, pulls)

        return slowly


def test_order_and_company_change_nothing(expected):
    reverse = bm.sweep(small(), GRID["strategies"][::-1], GRID["budgets"][::-1], GRID["runs"], GRID["seed"])
    for cell in expected:
        same([reverse.get(cell.instance, cell.strategy, cell.budget)], [cell])


def test_fewer_runs_are_the_first_ones(expected):
    for cell in bm.sweep(small(), **{**GRID, "runs": 260}):
        full = expected.get(cell.instance, cell.strategy, cell.budget)
        np.testing.assert_array_equal(cell.outcomes.outcome, full.outcomes.outcome[:260])


def test_another_seed_changes_the_runs(expected):
    other = bm.sweep(small(), **{**GRID, "seed": 8})
    assert any((a.outcomes.regret != b.outcomes.regret).any() for a, b in zip(other, expected, strict=True))


def test_only_what_is_new_is_computed(expected, tmp_path, monkeypatch):
    few = {**GRID, "runs": 600, "budgets": [400]}
    bm.sweep(small(), **few, output=tmp_path)
    saved, save = [], store.ChunkFolder.save

    def recording(self, cell, first, outcomes):
        saved.append((cell.budget, first, len(outcomes)))
        save(self, cell, first, outcomes)

    monkeypatch.setattr(store.ChunkFolder, "save", recording)
    bm.sweep(small(), **few, output=tmp_path)
    assert saved == []
    same(bm.sweep(small(), **GRID, output=tmp_path), expected)
    assert all(first >= 2 for budget, first, _ in saved if budget == 400)  # two whole blocks were there
    assert sum(n for _, _, n in saved) == 6 * (1100 - 500) + 6 * 1100


def test_a_damaged_file_is_computed_again(expected, tmp_path):
    bm.sweep(small(), **GRID, output=tmp_path)
    first, second = sorted(tmp_path.glob("*.npz"))[:2]
    first.write_bytes(first.read_bytes()[:50])
    second.write_bytes(b"")
    same(bm.sweep(small(), **GRID, output=tmp_path), expected)


KILLED = """
import numpy as np
import sys
sys.path.insert(0, {folder!r})
import test_sweep
import bestmix as bm
grid = dict(test_sweep.GRID, strategies=[test_sweep.Slow()], runs=5000)
bm.sweep(test_sweep.small(), **grid, output={output!r}, threads=1)
"""


def test_a_killed_sweep_goes_on_where_it_stopped(tmp_path):
    script = KILLED.format(folder=os.path.dirname(__file__), output=str(tmp_path))
    process = start_python(script)
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("*.npz"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.npz")}
    assert 3 <= len(finished) < 20
    grid = {**GRID, "strategies": [bm.Uniform()], "runs": 5000}
    # Slow is Uniform in all but speed, down to its digest.
    same(bm.sweep(small(), **grid, output=tmp_path), bm.sweep(small(), **grid))
    assert {p: p.stat().st_mtime_ns for p in finished} == finished


def test_ctrl_c_keeps_what_is_finished(tmp_path):
    script = KILLED.format(folder=os.path.dirname(__file__), output=str(tmp_path))
    process = start_python(script, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while len(list(tmp_path.glob("*.npz"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in error
    assert len(list(tmp_path.glob("*.npz"))) >= 2
    assert not list(tmp_path.glob("*.tmp"))


def test_a_python_strategy_runs_in_worker_processes_with_the_same_law():
    inst = small()["one"]
    slow, fast = bm.simulate(inst, Odd(), 400, runs=300, threads=2), bm.simulate(inst, bm.Uniform(), 400, runs=5000)
    assert slow.runs == 300
    error = np.sqrt(fast.error_rate * (1 - fast.error_rate) * (1 / 300 + 1 / 5000))
    assert abs(slow.error_rate - fast.error_rate) < 4.4 * error  # false alarm 1e-5
    assert bm.simulate(inst, Odd(), 400, runs=60, threads=1).errors == int((slow.outcomes.outcome[:60] != 0).sum())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"runs": 0}, "runs: expected a whole number of at least 1, got 0"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"budgets": []}, "budgets: expected distinct budgets"),
        ({"budgets": [400, 400]}, "budgets: expected distinct budgets"),
        ({"budgets": [400, 3]}, "SFSR on 'two' with budget 3: budget: expected at least 7"),
        ({"budgets": [400.5]}, "budgets: expected a whole number"),
        ({"budgets": {"two": [400]}}, "budgets: expected one value for each instance"),
        ({"strategies": []}, "strategies: expected at least one"),
        ({"strategies": [bm.SFSR(), bm.SFSR()]}, "'SFSR' is listed twice"),
    ],
)
def test_a_bad_grid_is_refused_before_any_work(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        bm.sweep(small(), **{**GRID, **change}, output=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ({}, "instances: expected at least one"),
        (["D9"], "name: expected one of 'D1P'"),
        ({"x": 3}, "expected an Instance for 'x'"),
    ],
)
def test_bad_instances_are_refused(instances, message):
    with pytest.raises(ValueError, match=message):
        bm.sweep(instances, **GRID)


def test_an_output_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(ValueError, match="output: expected a folder"):
        bm.sweep(small(), **GRID, output=tmp_path / "x")
