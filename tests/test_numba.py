"""What is done every day needs no compiler: Numba is not even loaded."""

import os
import subprocess
import sys

import pytest

CSV = "arm,quality,dollars\n" + "".join(
    f"{arm},{0.1 * k + quality},{0.2 * k + dollars}\n"
    for arm, quality, dollars in (("a", 0.3, 0.5), ("b", 0.6, 1.5), ("c", 0.9, 4.0))
    for k in range(5)
)
COMMAND = """
import sys
from bestmix.cli import main
sys.argv = ["bestmix", *sys.argv[1:]]
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
finally:
    assert "numba" not in sys.modules
"""
LIBRARY = """
import sys
import bestmix as bm
inst = bm.Instance(reward=[1.7, 2.6, 0.5], cost=[[0.0, 1.8, 0.8]], bound=[1.0], sigma_reward=0.5, sigma_cost=0.5)
rejects = bm.SFSR(), bm.SFSR("lagrangian"), bm.SingleArm()
stops = bm.Challenger(confidence=0.9), bm.Challenger(confidence=0.9, tolerance=0.5)
proven = bm.Challenger(confidence=0.9, tolerance=0.5, proven=True, sigma=0.5)
own = bm.SFSR(lambda mu, u, e: mu - u.sum(axis=1))
for strategy in (*rejects, own, bm.Challenger(), *stops, proven, bm.Uniform()):
    rec = bm.identify(inst.problem, inst.sampler(seed=1), budget=200, strategy=strategy)
str(rec), rec.regret, rec.single, rec.to_dict()
bm.solve(inst)
log = dict(arm="arm", reward="quality", bounds={"dollars": 2.0})
rec = bm.from_log("log.csv", **log, uncertainty="bootstrap", resamples=20)
bm.tradeoff("log.csv", **log)
assert "numba" not in sys.modules
"""
SERVER = """
import sys
from tests.service.servers import Running
from bestmix import Challenger, open_storage
with open_storage("service.db") as storage:
    running = Running(storage)
    try:
        experiment = running.create(budget=16, strategy=Challenger())
        while batch := experiment.ask(4):
            for trial in batch:
                experiment.tell(trial, 0.5, {"dollars": 0.1})
        experiment.recommend()
        page = f"/experiments/{storage.open('router').record.key}"
        assert running.send("GET", page)[0] == running.send("GET", page + "/live")[0] == 200
    finally:
        running.stop()
assert "numba" not in sys.modules
"""
SCRIPT = """echo '{"reward": 0.5, "costs": {"dollars": 0.1}}'
"""
TRIAL = "sh trial.sh {arm}"
PROBLEM = 'arms = ["a", "b"]\n[bounds]\ndollars = 1.0\n'


def run(folder, code, *words):
    (folder / "log.csv").write_text(CSV)
    (folder / "trial.sh").write_text(SCRIPT)
    (folder / "problem.toml").write_text(PROBLEM)
    command, environment = [sys.executable, "-c", code, *words], os.environ | {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_library_decides_without_it(tmp_path):
    run(tmp_path, LIBRARY)


@pytest.mark.parametrize(
    "words",
    [
        ["solve", "log.csv", "--reward", "quality", "--bound", "dollars=2"],
        ["run", "problem.toml", "--budget", "40", "--exec", TRIAL],
        ["demo", "--budget", "60", "--output", "demo"],
    ],
    ids=lambda words: words[0],
)
def test_commands_work_without_it(tmp_path, words):
    run(tmp_path, COMMAND, *words)


def test_a_server_works_without_it(tmp_path):
    run(tmp_path, SERVER)


def test_an_experiment_and_its_worker_work_without_it(tmp_path):
    run(tmp_path, COMMAND, "experiment", "create", "x.db", "x", "problem.toml", "--budget", "12")
    run(tmp_path, COMMAND, "worker", "x.db", "x", "--exec", TRIAL)
    run(tmp_path, COMMAND, "experiment", "show", "x.db", "x")
