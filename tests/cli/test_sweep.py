import csv
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from tests.processes import start_bestmix
from typer.testing import CliRunner

from bestmix import SFSR, Instance, SingleArm, Uniform, catalog, simulation, sweep
from bestmix.cli import app

MODULE = """
import time
from dataclasses import dataclass
import numpy as np
from bestmix import SFSR, Uniform

thing = 3
ready = Uniform()

def score(mu, u, e):
    return np.asarray(mu, dtype=float).copy()

def broken(mu, u, e):
    raise KeyError("no such thing")

def slow(mu, u, e):
    time.sleep(0.004)
    return np.asarray(mu, dtype=float).copy()

class Mine(Uniform):
    @property
    def name(self):
        return "mine"
"""
TINY = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], arms=["a", "b", "c"], costs=["dollars"])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_strategies.py").write_text(MODULE)
    TINY.save(tmp_path / "tiny.toml")
    yield tmp_path
    sys.path[:] = [path for path in sys.path if path != str(tmp_path)]
    sys.modules.pop("my_strategies", None)


def write(**entries):
    entries = {"instances": ["tiny.toml"], "strategies": ["uniform"], "budgets": [30], "runs": 20} | entries
    with open("grid.json", "w") as file:
        json.dump({key: value for key, value in entries.items() if value is not None}, file)


def run(*more):
    return CliRunner().invoke(app, ["sweep", "grid.json", *map(str, more)])


def told(*more):
    result = run("--json", *more)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_table_figure_and_files(place):
    write(instances=["tiny.toml", "D1P"], strategies=["sfsr", "sfsr-l", "uniform", "single"], budgets=[60, 120])
    result = run("--figure", "f.svg", "--table", "deep/t.csv")
    assert result.exit_code == 0, result.output
    assert "tiny: wrong answers in % of 20 runs" in result.stdout
    assert "single arm" in result.stdout
    assert "SFSR-L" in (place / "f.svg").read_text()
    expected = sweep(
        {"tiny": TINY, "D1P": catalog.load("D1P")},
        [SFSR(), SFSR(score="lagrangian"), Uniform(), SingleArm()],
        [60, 120],
        runs=20,
    )
    with (place / "deep/t.csv").open() as file:
        written = [
            (row["instance"], row["strategy"], int(row["budget"]), int(row["errors"])) for row in csv.DictReader(file)
        ]
    assert written == [(c.instance, c.strategy, c.budget, c.errors) for c in expected]
    assert (place / "grid.sweep").is_dir()


def test_toml_and_budgets_by_instance(place):
    (place / "g.toml").write_text(
        'instances = ["D1P", "tiny.toml"]\nstrategies = ["uniform"]\nruns = 5\nseed = 3\n'
        '[budgets]\nD1P = [100]\n"tiny.toml" = [30, 60]\n'
    )
    result = CliRunner().invoke(app, ["sweep", "g.toml", "--json", "--runs", "7", "--seed", "4"])
    data = json.loads(result.stdout)
    assert [(row["instance"], row["budget"]) for row in data["rows"]] == [("D1P", 100), ("tiny", 30), ("tiny", 60)]
    assert {(row["runs"], row["seed"]) for row in data["rows"]} == {(7, 4)}
    assert (data["output"], data["files"]) == ("g.sweep", [])


def test_default_budgets(place):
    write(instances=["A1", "tiny.toml"], budgets=None, runs=1)
    found = [(row["instance"], row["budget"]) for row in told()["rows"]]
    assert [budget for name, budget in found if name == "A1"] == catalog.budgets("A1")
    assert [budget for name, budget in found if name == "tiny"] == [30 * 2**k for k in range(9)]


def test_users_own_strategies(place):
    write(strategies=["my_strategies:score", "my_strategies:Mine", "my_strategies:ready"])
    assert [row["strategy"] for row in told()["rows"]] == ["SFSR[score]", "mine", "USLP"]


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_kinds_of_tables(place, suffix):
    write()
    assert told("--csv", f"t.{suffix}")["files"] == [f"t.{suffix}"]
    assert (place / f"t.{suffix}").stat().st_size > 100


def test_only_what_is_new_is_computed(place, monkeypatch):
    computed = []
    original = simulation.cells.Cell.run
    monkeypatch.setattr(
        simulation.cells.Cell,
        "run",
        lambda cell, *blocks: computed.append((cell.budget, blocks)) or original(cell, *blocks),
    )

    def news():
        computed.clear()
        told("--threads", 1, "--output", "kept")
        return [(budget, first) for budget, (first, _, runs) in computed if runs > 1]  # not the run that tries out

    write(runs=250)
    assert news() == [(30, 0)]
    assert news() == []
    write(runs=250, budgets=[30, 60])
    assert news() == [(60, 0)]
    write(runs=500, budgets=[30, 60])
    assert news() == [(30, 1), (60, 1)]


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ({"instances": None}, "instances: expected a list with at least one, got none"),
        ({"instances": []}, "instances: expected a list with at least one, got none"),
        ({"instances": "D1P"}, "instances: expected a list with at least one, got 'D1P'"),
        ({"instances": [3]}, "instances: expected non-empty strings, got 3"),
        ({"instances": ["D9P"]}, "instances: D9P: expected a .toml or .json file or one of D1P"),
        ({"instances": ["none.toml"]}, "none.toml: there is no such file"),
        ({"instances": ["grid.json"]}, "instances: grid.json: instance: expected the entries arms"),
        ({"instances": ["D1P", "D1P"]}, "instances: 'D1P' is listed twice"),
        ({"instances": ["tiny.toml", "./tiny.toml"]}, "instances: 'tiny' is listed twice"),
        ({"strategies": []}, "strategies: expected a list with at least one"),
        ({"strategies": ["sfsr", "sfsr"]}, "strategies: 'sfsr' is listed twice"),
        ({"strategies": ["best"]}, "strategies: best: expected one of challenger, sfsr, sfsr-l, uniform, single"),
        ({"strategies": ["nowhere:score"]}, "strategies: nowhere:score: cannot be imported: ModuleNotFoundError"),
        ({"strategies": ["my_strategies:nothing"]}, "strategies: my_strategies:nothing: cannot be imported"),
        ({"strategies": ["my_strategies:thing"]}, "expected a strategy or a score function, got 3"),
        ({"strategies": ["my_strategies:broken"]}, "my_strategies:broken failed in a first run on tiny: KeyError"),
        ({"strategies": ["uniform", "my_strategies:ready"]}, "strategies: 'USLP' is listed twice"),
        ({"budgets": []}, "budgets: expected a list of budgets, got []"),
        ({"budgets": 2000}, "budgets: expected a list of budgets, got 2000"),
        ({"budgets": ["many"]}, "budgets: expected a whole number of at least 1, got 'many'"),
        ({"budgets": [10.5]}, "budgets: expected a whole number of at least 1, got 10.5"),
        ({"budgets": [30, 30]}, "budgets: 30 is listed twice"),
        ({"budgets": [2]}, "uniform on tiny with budget 2: budget: expected at least 3 trials"),
        ({"budgets": {"D1P": [100]}}, "budgets: expected one value for each instance: 'tiny.toml'"),
        ({"budgets": {"tiny.toml": [0]}}, "budgets: tiny.toml: expected a whole number of at least 1, got 0"),
        ({"runs": 0}, "runs: expected a whole number of at least 1, got 0"),
        ({"runs": "all"}, "runs: expected a whole number"),
        ({"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
        ({"speed": 3}, "speed: expected the entries instances, strategies, budgets, runs, seed"),
    ],
)
def test_bad_grids_are_refused_before_any_work(place, entries, complaint):
    write(**entries)
    result = run()
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not (place / "grid.sweep").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--table", "t.xlsx"], "expected a table's name to end in .csv, .json, .parquet"),
        (["--figure", "f.bmp"], "expected a figure's name to end in"),
        (["--table", "folder.csv"], "expected the name of a file, got a folder"),
        (["--output", "tiny.toml"], "--output: expected a folder, got the file tiny.toml"),
        (["--cluster", "nonsense"], "--cluster: expected an address such as tcp://host:8786, got 'nonsense'"),
        (["--cluster", "tcp://h:x"], "--cluster: expected an address such as tcp://host:8786"),
        (["--runs", "0"], "--runs"),
    ],
)
def test_bad_options_are_refused_before_any_work(place, options, complaint):
    (place / "folder.csv").mkdir()
    write()
    result = run(*options)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert not (place / "grid.sweep").exists()


def test_a_missing_grid(place):
    result = CliRunner().invoke(app, ["sweep", "none.toml"])
    assert result.exit_code == 2
    assert "none.toml: there is no such file" in result.stderr


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_no_scheduler(place):
    write()
    began = time.monotonic()
    result = run("--cluster", f"tcp://127.0.0.1:{free_port()}")
    assert result.exit_code == 2
    assert "no scheduler answered at tcp://127.0.0.1" in result.stderr
    assert time.monotonic() - began < 5


def test_something_else_listens(place):
    write()
    with socket.create_server(("127.0.0.1", 0)) as server:
        child = os.fork()
        if not child:
            line, _ = server.accept()
            line.sendall(b"SSH-2.0-OpenSSH\r\n")
            os._exit(0)
        result = run("--cluster", f"127.0.0.1:{server.getsockname()[1]}")
        os.waitpid(child, 0)
    assert "something else listens there" in result.stderr


def test_without_dask_the_remedy_is_told(place, monkeypatch):
    from bestmix.cli import sweep as command

    write()
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert r"install bestmix[dask]" in run("--cluster", "tcp://127.0.0.1:8786").stderr
    assert r"install bestmix[frames]" in run("--table", "t.parquet").stderr


@pytest.fixture
def cluster(tmp_path):
    """A scheduler and one worker, as a user would start them."""
    address = f"tcp://127.0.0.1:{free_port()}"
    dask = (
        [sys.executable, "-m", "distributed.cli.dask_scheduler"],
        [sys.executable, "-m", "distributed.cli.dask_worker"],
    )
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    host, port = address.removeprefix("tcp://").split(":")
    lines = [
        [*dask[0], "--host", host, "--port", port, "--no-dashboard"],
        [
            *dask[1],
            address,
            "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--local-directory",
            str(tmp_path / "w"),
        ],
    ]
    started = [subprocess.Popen(line, **quiet) for line in lines]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            break
        except OSError:
            time.sleep(0.1)
    yield address
    for process in reversed(started):
        process.kill()  # a worker that is asked to end waits for its scheduler
        process.wait()


def test_a_cluster_gives_the_same_numbers(place, cluster):
    write(strategies=["uniform", "sfsr-l"], runs=300)
    here = told("--output", "here")["rows"]
    line = [sys.executable, "-c", "from bestmix.cli import main; main()", "sweep", "grid.json", "--json"]
    done = subprocess.run([*line, "--cluster", cluster], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == here
    assert f"The cluster at {cluster} has" in done.stderr


def test_ctrl_c_while_the_arithmetic_is_compiled_ends_at_once(place):
    write(strategies=["challenger"], runs=20_000)
    nothing_compiled = os.environ | {"NUMBA_CACHE_DIR": str(place / "cache")}
    process = start_bestmix("sweep", "grid.json", env=nothing_compiled)
    while "compiling" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130, error
    assert "Stopped before the work began." in error
    assert "Traceback" not in error


def test_ctrl_c_keeps_what_is_finished(place):
    write(strategies=["my_strategies:slow"], budgets=[30, 40, 50], runs=250)
    process = start_bestmix("sweep", "grid.json", "--threads", 1)
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and not list(place.glob("grid.sweep/*.npz")):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130, error
    assert "finished work is kept in grid.sweep, and the same command goes on from there" in error
    assert "Traceback" not in error
    assert 1 <= len(list(place.glob("grid.sweep/*.npz"))) < 3
