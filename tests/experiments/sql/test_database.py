"""Connections: out of reach, after a fork, to the last bit."""

import subprocess
import sys

import pytest

from bestmix import open_storage
from bestmix.experiments import StorageError


def test_a_database_out_of_reach_is_a_clear_error():
    with pytest.raises(StorageError, match="cannot be reached; check that it runs"):
        open_storage("postgresql://nobody@127.0.0.1:1/none", patience=0.1)


def test_a_forked_child_uses_connections_of_its_own(tmp_path):
    code = f"""
import os
from bestmix import Problem, Uniform, open_experiment
exp = open_experiment({str(tmp_path / "a.db")!r}, "a", Problem(["a", "b"]), 40, Uniform())
exp.ask(2)
child = os.fork()
for _ in range(9):
    exp.tell_many([(t, 1.0, None) for t in exp.ask(1)])
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(exp.state.complete)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "18\n"
