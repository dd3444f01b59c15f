"""Runs side by side: the same in plain Python and in machine code, each for itself, and whole groups of them.

That they decide as live searches do, ``test_replicate.py`` says.
"""

from functools import partial

import numpy as np
import pytest
from tests.kernels.states import LINKED

import bestmix as bm
from bestmix.kernels import allocation, chunks, columns, conditions, jit, lane_runs, replicate, sampling, simplex
from bestmix.kernels.lanes import LANES
from bestmix.kernels.rejects import INFEASIBLE, finish

PLAIN, MACHINE = jit.speed_for(0), jit.machine
CHALLENGER = bm.Challenger()
CORRELATED = bm.noise.Gaussian(covariance=[[1.0, 0.4], [0.4, 0.5]])
INSTANCES = {
    "one cost": bm.families.random_instance(7, 1, seed=3),
    "some arms are known": bm.Instance([1.7, 2.6, 0.5, 1.3], [[0.0, 1.8, 0.8, 1.3]], [1.0], known=2),
    "two costs": bm.families.uniform_instance(6, 2, seed=3),
    "nearly infeasible": bm.Instance([1.0, 2.0, 3.0], [[0.97, 1.3, 1.5]], [1.0], sigma_cost=0.5),
    "infeasible": bm.Instance([1.0, 2.0, 3.0], [[1.4, 1.3, 1.5]], [1.0], sigma_cost=0.5),
    "no cost": bm.Instance([1.0, 1.2, 0.3]),
    "correlated": bm.Instance([1.0, 2.0, 3.0], [[0.6, 1.3, 1.5]], [1.0], noise=CORRELATED),
    "0 and 1": bm.Instance([0.3, 0.5, 0.8], [[0.1, 0.3, 0.6]], [0.4], noise=bm.noise.Bernoulli()),
}


def outcome(instance, runs, call, strategy=CHALLENGER, budget=200, seed=4):
    """What such runs fill: answers, weights, trials and chances, and the next random number."""
    columns, rng = 1 + len(instance.bound), np.random.default_rng(seed)
    answer, weight = np.zeros((runs, columns), dtype=np.int64), np.zeros((runs, columns))
    pulls, chance = np.zeros(runs, dtype=np.int64), np.zeros(runs)
    strategy.with_chances(instance, budget).call(call, rng, answer, weight, pulls, chance)
    return answer, weight, pulls, chance, rng.random()


@pytest.mark.parametrize("name", INSTANCES)
def test_machine_code_and_plain_python_agree(name):
    for strategy in (CHALLENGER, bm.Challenger(edition=1)):
        plain, made = (outcome(INSTANCES[name], LANES + 1, call, strategy) for call in (PLAIN, MACHINE))
        for one, other in zip(plain, made, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
        answer, weight, pulls, chance, _ = made
        assert (pulls == 200).all()
        assert ((chance > 0) & (chance <= 1)).all()
        assert len(np.unique(weight[answer[:, 0] >= 0], axis=0)) > 1 or name == "no cost" or (answer[:, 0] < 0).all()


@pytest.mark.parametrize("name", INSTANCES | LINKED)
def test_each_run_is_decided_as_if_it_were_alone(name):
    """A group of runs, and as many decided one by one, which take turns with the same random numbers."""
    instance = (INSTANCES | LINKED)[name]
    answer, weight, _, chance, _ = outcome(instance, 5 * LANES, MACHINE)
    rng = np.random.default_rng(4)
    for run, (basis, share, sure) in enumerate(found for _ in range(5) for found in one_by_one(instance, rng, 200)):
        np.testing.assert_array_equal(answer[run], basis)
        np.testing.assert_allclose(weight[run], share, atol=1e-9)
        np.testing.assert_allclose(chance[run], sure, rtol=1e-9)


def one_by_one(instance, rng, budget):
    """LANES runs by the kernels for one run: the columns, weights and chance of each."""
    model, means, bound, budget, settings, _ = CHALLENGER.with_chances(instance, budget).arguments
    unknown, most = len(instance.problem.cells), chunks.decisions(len(instance.problem.cells))
    runs = [replicate.challenger_space(model, means, bound, unknown, most) for _ in range(LANES)]
    for tally, state in runs:
        tally.sums[:], tally.squares[:], state.counts[:] = 0.0, 0.0, 0
        simplex.forget(state.basis)
        tally.owed[:] = allocation.first_pulls(budget, unknown, settings)
    size = 1
    while size > 0:
        for tally, state in runs:
            state.counts[:] += tally.owed
            MACHINE(sampling.add_owed)(rng, model, means, tally.owed, tally.sums, tally.squares, tally.space)
        for tally, state in runs:
            sums = tally.sums, tally.squares, tally.estimate, state.scatter
            MACHINE(sampling.summarise)(tally.start, tally.owed, state.counts, *sums)
            MACHINE(conditions.solve)(tally.estimate, bound, tally.everything, state)
            MACHINE(conditions.pool)(state)
            MACHINE(conditions.conditions)(state)
            size = allocation.round_size(budget, unknown, int(state.counts.sum()), settings)
            MACHINE(allocation.allocate)(state, size, settings.reserve, tally.arm, None, tally.owed)
    for tally, state in runs:
        sure, some = MACHINE(conditions.chance)(state), columns.part(state.program, 0, len(tally.everything))
        columns.load(tally.estimate, bound, tally.everything, some)
        basis, share = np.zeros(1 + len(bound), dtype=np.int64), np.zeros(1 + len(bound))
        if MACHINE(finish)(tally.everything, some, state.scale, state.basis, basis, share) != simplex.OPTIMAL:
            basis[0] = INFEASIBLE
        yield basis, share, sure


def test_a_run_does_not_depend_on_how_many_there_are():
    few, many = (outcome(INSTANCES["one cost"], runs, MACHINE) for runs in (3, 2 * LANES))
    for one, other in zip(few[:4], many[:4], strict=True):
        np.testing.assert_array_equal(one, other[:3])


def test_a_group_begins_anew():
    """What the runs before have left does not change the next ones."""
    instance, rng = INSTANCES["two costs"], np.random.default_rng(6)
    run, found = bm.Challenger().with_chances(instance, 200), []
    for arrays in ([2 * LANES], [LANES, LANES]):
        rng, parts = np.random.default_rng(6), []
        for runs in arrays:
            answer, weight, pulls = np.zeros((runs, 3), dtype=np.int64), np.zeros((runs, 3)), np.zeros(runs, np.int64)
            run.call(MACHINE, rng, answer, weight, pulls, None)
            parts.append(weight)
        found.append(np.concatenate(parts))
    np.testing.assert_array_equal(*found)


def test_without_an_array_for_them_chances_are_not_reckoned():
    instance, call = INSTANCES["one cost"], partial(np.random.default_rng, 4)
    answer, weight, pulls = np.zeros((9, 2), dtype=np.int64), np.zeros((9, 2)), np.zeros(9, dtype=np.int64)
    bm.Challenger().replicator(instance, 200)(call(), answer, weight, pulls)
    for one, other in zip((answer, weight, pulls), outcome(instance, 9, MACHINE), strict=False):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("call", [PLAIN, MACHINE])
def test_runs_whose_numbers_break_get_no_more_trials(call):
    """No user can pass such means; a program of what is no number cannot be solved."""
    instance = INSTANCES["one cost"]
    run = bm.Challenger().with_chances(instance, 200)
    model, means, *options = run.arguments
    answer, weight, pulls = np.zeros((9, 2), dtype=np.int64), np.zeros((9, 2)), np.zeros(9, dtype=np.int64)
    chance, rng = np.ones(9), np.random.default_rng(1)
    space = lane_runs.new_group(model, means * np.nan, instance.bound, len(means), chunks.CHUNKS)
    call(run.kernel)(rng, model, means * np.nan, *options, *space, answer, weight, pulls, chance)
    assert (answer[:, 0] == -1).all()
    assert (chance == 0.0).all()
    assert (pulls == 3 * 7).all()  # those of the first round
    assert (space[0].wide.basis.column >= 0).all()  # each lane's arms are looked up by it
