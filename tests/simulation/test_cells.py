import math
from dataclasses import replace

import numpy as np
import pytest

import bestmix as bm
from bestmix.kernels import jit
from bestmix.simulation.cells import BLOCK, Cell, Outcomes


def test_regret_and_violation_are_of_the_recommended_mixture():
    """A run that is always right has the regret of its weights alone, and no regret without noise."""
    inst = bm.Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.0, sigma_cost=0.0)
    cell = bm.simulate(inst, bm.SFSR(), 40, runs=3)
    assert cell.errors == 0
    np.testing.assert_allclose(cell.outcomes.regret, 0.0, atol=1e-12)
    np.testing.assert_allclose(cell.outcomes.violation, 0.0, atol=1e-12)


def test_the_loss_is_the_regret_and_the_price_of_the_excess():
    inst = bm.Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0])
    cell, price = bm.simulate(inst, bm.Uniform(), 60, runs=200), bm.solve(inst).dual[0]
    seen = cell.outcomes
    np.testing.assert_allclose(seen.loss, seen.regret + price * seen.violation, atol=1e-12, equal_nan=True)
    assert np.nanmin(seen.loss) >= 0.0
    assert cell.kept == pytest.approx((seen.violation == 0).sum() / (~np.isnan(seen.violation)).sum())


def test_a_certified_mix_is_the_one_that_is_judged():
    inst = bm.Instance([1.7, 2.6], [[0.0, 1.8]], [1.0], sigma_reward=0.3, sigma_cost=0.3)
    good = bm.simulate(inst, bm.Challenger(confidence=0.95, tolerance=0.3), 10_000, runs=10, threads=1)
    assert good.kept >= 0.8
    assert good.mean_pulls < 10_000


def test_an_infeasible_instance_is_right_when_it_is_called_so():
    inst = bm.Instance([1.0, 2.0], [[3.0, 4.0]], [1.0], sigma_cost=0.1)
    cell = bm.simulate(inst, bm.Uniform(), 100, runs=50)
    assert (cell.errors, cell.wrongly_infeasible) == (0, 0)
    assert math.isnan(cell.row()["regret_mean"])


def test_another_basis_with_the_same_mix_is_right():
    """The arm costs exactly its bound: the slack, or any other arm, may stand beside it in the basis."""
    inst = bm.Instance([0.6, 0.9, 0.3], [[0.5, 1.0, 0.2]], [1.0], sigma_reward=0.01, sigma_cost=0.0)
    for strategy in (bm.SFSR(), bm.Uniform()):
        assert bm.simulate(inst, strategy, 60, runs=20).errors == 0
    inst = bm.Instance([0.6, 0.9, 0.85], [[0.5, 1.0, 0.2]], [1.0], sigma_reward=1.0, sigma_cost=0.0)
    assert 0 < bm.simulate(inst, bm.Uniform(), 60, runs=50).errors < 50


def test_the_digest_names_everything_that_a_run_depends_on():
    one, other = bm.catalog.load("D1P"), bm.catalog.load("D2P")
    cells = [Cell(one, bm.Uniform(), 400, 3), Cell(other, bm.Uniform(), 400, 3), Cell(one, bm.SFSR(), 400, 3)]
    cells += [Cell(one, bm.Uniform(), 401, 3), Cell(one, bm.Uniform(), 400, 4)]
    cells += [Cell(one, bm.SFSR(score), 400, 3) for score in (lambda mu, u, e: mu, lambda mu, u, e: -mu)]
    assert len({cell.digest for cell in cells}) == len(cells)
    assert cells[0].digest == Cell(bm.catalog.load("D1P"), bm.Uniform(), 400, 3).bare().digest


def test_a_strategy_without_runs_of_its_own_is_simulated_by_ask_and_tell():
    cell = Cell(bm.catalog.load("D1P"), bm.SFSR(lambda mu, u, e: np.where(e > 0, mu, 1e9)), 400, 3)
    assert not cell.compiled
    assert Cell(cell.instance, bm.Uniform(), 400, 3).compiled


@pytest.mark.parametrize("part", [slice(0, 2), slice(1, None), slice(0, 0)])
def test_outcomes_are_cut_and_joined(part):
    whole = Outcomes(np.arange(4, dtype=np.uint8), np.arange(4), np.arange(4.0), -np.arange(4.0), np.ones(4))
    assert len(whole[part]) == len(range(4)[part])
    joined = Outcomes.join([whole[:2], whole[2:]])
    for name, values in vars(joined).items():
        np.testing.assert_array_equal(values, vars(whole)[name])
    assert len(Outcomes.join([])) == 0


def test_blocks_have_generators_of_their_own():
    cell = Cell(bm.catalog.load("D1P"), bm.Uniform(), 400, 3)
    assert cell.generator(0).random() != cell.generator(1).random()
    assert len(cell.run(0, 2, BLOCK + 3)) == BLOCK + 3


FEW_RUNS = [bm.SFSR(), bm.SFSR("lagrangian"), bm.Uniform(), bm.SingleArm(), bm.Challenger()]


@pytest.mark.parametrize("strategy", FEW_RUNS, ids=lambda s: s.name)
def test_few_runs_are_over_in_plain_python_and_the_same(strategy, monkeypatch):
    cell = Cell(bm.catalog.load("D2P"), strategy, 2000, seed=3)
    compiled = cell.run(0, 1, runs=6)
    made = math.ceil(6 / cell.fast.group) * cell.fast.group
    monkeypatch.setattr(jit, "ENOUGH_WORK_OF_RUNS", (made + 1) * cell.fast.work)
    monkeypatch.setattr(jit, "_plain_work", jit.PlainWork())
    with monkeypatch.context() as few:
        few.setattr(jit, "machine", None)
        plain = cell.run(0, 1, runs=6)
    np.testing.assert_array_equal(plain.outcome, compiled.outcome)
    np.testing.assert_array_equal(plain.pulls, compiled.pulls)
    np.testing.assert_allclose(plain.regret, compiled.regret, rtol=0, atol=1e-9)
    assert jit._plain_work.steps == made * cell.fast.work
    monkeypatch.setattr(jit, "_plain_work", jit.PlainWork())
    sizes = []
    monkeypatch.setattr(type(cell.fast), "call", lambda self, speed, *_: sizes.append(speed is not jit._in_python))
    cell._block(0, 6, runs=made + 1)
    replace(cell, beside=2)._block(0, 6, runs=6)  # another cell needs the machine code as well
    cell._block(0, 6, runs=6)
    cell._block(0, 1, runs=1)  # what was done before counts too
    assert sizes == [True, True, False, True]


def test_runs_that_stop_by_themselves_are_compiled_since_their_length_is_not_known():
    assert Cell(bm.catalog.load("D2P"), bm.Challenger(confidence=0.9), 2000, seed=3).fast.work == np.inf
