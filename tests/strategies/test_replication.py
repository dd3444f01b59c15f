from dataclasses import replace

import numpy as np

from bestmix import Instance, Uniform, catalog
from bestmix.kernels import jit, replicate
from bestmix.strategies.replication import Replication, bind


class DrawnByHand:
    """Noise of a user's own, with what the protocol asks for."""

    kind = "own"

    def check(self, means):
        pass

    def draw(self, rng, means, arm, size):
        return means[arm] + rng.standard_normal((size, means.shape[1]))

    def covariance(self, means):
        return np.broadcast_to(np.eye(means.shape[1]), (len(means), means.shape[1], means.shape[1]))

    def to_dict(self):
        return {"kind": self.kind}


def test_noise_of_ones_own_has_no_kernel():
    instance = Instance([1.0, 2.0], noise=DrawnByHand())
    assert bind(replicate.uniform, instance, 5) is None
    assert Uniform().replicator(instance, 10) is None


def test_a_kernel_is_called_with_what_it_was_bound_to():
    calls = []
    run = Replication(lambda *arguments: calls.append(arguments), (1, 2))
    run("rng", "answer", "weight")
    assert calls == [("rng", 1, 2, "answer", "weight")]
    assert not run.compiled


def test_a_compiled_kernel_fills_the_arrays():
    run = bind(replicate.uniform, Instance([1.0, 2.0], sigma_reward=0.01), 5)
    answer, weight, pulls = np.zeros((3, 1), dtype=np.int64), np.zeros((3, 1)), np.zeros(3, dtype=np.int64)
    run(np.random.default_rng(0), answer, weight, pulls)
    assert run.compiled
    assert answer[:, 0].tolist() == [1, 1, 1]
    assert pulls.tolist() == [10, 10, 10]


def test_work_is_that_of_whole_groups(monkeypatch):
    seen = []
    monkeypatch.setattr(jit, "speed_for_runs", lambda work, now: seen.append((work, now)) or (lambda kernel: kernel))
    run = Replication(lambda *arguments: None, (), work=10.0, group=8)
    run.some(17, "rng", np.empty(3))
    replace(run, group=1).some(17, "rng", np.empty(3))
    assert seen == [(240, 80), (170, 30)]


def test_instances_however_they_were_made_share_one_machine_code():
    own = Instance([1.0, 2.0], [[0.5, 1.5]], [1.0])
    for instance in (own, catalog.load("D2P"), catalog.load("A2")):
        run = bind(replicate.uniform, instance, 5)
        model, means, bound, *_ = run.arguments
        assert all(array.flags.c_contiguous for array in (means, bound, *model[1:]) if array is not None)
