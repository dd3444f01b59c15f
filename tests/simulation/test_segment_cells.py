"""Simulated cells with segments and limits of every kind, in plain Python."""

import numpy as np
import pytest
from tests.problems.test_segment_instance import everything

import bestmix as bm
from bestmix.kernels import jit, segment_runs
from bestmix.kernels.segment_runs import ARRIVING, CHOSEN, LEARNT
from bestmix.simulation.cells import WRONGLY_INFEASIBLE
from bestmix.simulation.segment_cells import SegmentCell
from bestmix.simulation.sweep import new_cell

INSTANCE = bm.families.random_segments(2, arms=3, costs=1, seed=3, margin=0.2)
STRATEGIES = [bm.Challenger(rounds=6), bm.Uniform(), bm.SFSR("lagrangian")]


@pytest.fixture(autouse=True)
def _without_a_compiler(monkeypatch):
    monkeypatch.setattr(jit, "machine", jit._in_python)


@pytest.mark.parametrize("arriving", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)
def test_errors_losses_and_kept_limits_are_told(strategy, arriving):
    few, many = (bm.simulate(INSTANCE, strategy, n, runs=12, threads=1, arriving=arriving) for n in (14, 900))
    assert many.error_rate <= 0.25
    assert many.loss < few.loss
    assert np.nanmin(many.outcomes.loss) >= -1e-12
    assert 0 <= many.kept <= 1
    assert many.mean_pulls <= 900


def test_a_run_without_noise_is_right_and_loses_nothing():
    quiet = INSTANCE.with_noise(bm.noise.Gaussian(0.0, 0.0))
    for strategy in STRATEGIES:
        cell = bm.simulate(quiet, strategy, 60, runs=2, threads=1)
        assert cell.errors == 0
        np.testing.assert_allclose(cell.outcomes.loss, 0.0, atol=1e-9)


def test_limits_of_every_kind_are_simulated():
    for strategy in STRATEGIES:
        cell = bm.simulate(everything(), strategy, 400, runs=3, threads=1)
        assert cell.runs == 3
        assert cell.mean_pulls <= 400


@pytest.mark.parametrize("arriving", [False, True])
def test_round_by_round_runs_are_like_those_of_the_kernels(arriving):
    """The same decisions on other random numbers: error rates of 60 runs each agree within 3 deviations."""
    rates = []
    for strategy in (bm.Uniform(), Own()):
        cell = SegmentCell(INSTANCE, strategy, 90, 0, arriving)
        assert (cell.fast is None) == isinstance(strategy, Own)
        found = cell.run(0, 1, 60)
        assert (found.pulls == 90).all()
        rates.append(found.outcome.mean())
    assert abs(rates[0] - rates[1]) <= 3 * np.sqrt(2 * 0.25 / 60)


class Own(bm.Uniform):
    """A strategy without runs of its own."""

    segment_replicator = None

    def replicator(self, instance, budget):
        return None

    @property
    def name(self):
        return "own"


def test_the_verdict_infeasible_has_no_loss():
    asked = bm.Problem(["a", "b"], {"cost": 1.0}, segments={"x": 0.5, "y": 0.5})
    tight = bm.Instance.from_problem(
        asked, {s: {"a": {"reward": 1, "cost": 0.98}, "b": {"reward": 2, "cost": 3}} for s in "xy"}
    )
    for strategy in (bm.Uniform(), Own()):
        found = bm.simulate(tight, strategy, 16, runs=20, threads=1).outcomes
        wrongly = found.outcome == WRONGLY_INFEASIBLE
        assert wrongly.any()
        assert (np.isnan(found.loss) == wrongly).all()


def test_the_way_users_come_is_part_of_the_cell():
    open_ = bm.Problem(["a", "b"], segments=["x", "y"])
    learnt = bm.Instance.from_problem(open_, np.ones((4, 1)), shares={"x": 0.5, "y": 0.5})
    cells = [new_cell(i, bm.Uniform(), 90, 0, a) for i, a in ((INSTANCE, False), (INSTANCE, True), (learnt, False))]
    assert [cell.way for cell in cells] == [CHOSEN, ARRIVING, LEARNT]
    assert len({cell.digest for cell in cells}) == 3
    assert cells[1].bare().digest == cells[1].digest


def test_limits_on_means_alone_run_as_the_instance_of_arrays():
    asked = bm.Problem(["a", "b"], goal="minimise dollars", limits=["quality >= 0.8"])
    means = {"a": {"dollars": 0.2, "quality": 0.7}, "b": {"dollars": 2.0, "quality": 0.9}}
    normal = bm.Instance.from_problem(asked, means, sigma=0.1)
    assert new_cell(normal, bm.SFSR(), 90, 0).digest == new_cell(normal.as_plain(), bm.SFSR(), 90, 0).digest
    events = bm.Instance.from_problem(asked, means, sigma=0.1, events=["quality"])
    for strategy in (bm.SFSR(), bm.SingleArm(), bm.Challenger()):
        found = SegmentCell(events, strategy, 200, 0).run(0, 1, 3)
        assert len(found) == 3


def test_few_runs_are_plain_python_and_many_are_compiled(monkeypatch):
    asked = []
    monkeypatch.setattr(jit, "machine", lambda kernel: asked.append(kernel) or jit._in_python(kernel))
    monkeypatch.setattr(jit, "_plain_work", jit.PlainWork())
    cell = SegmentCell(INSTANCE, bm.Challenger(rounds=6), 90, 0)
    few = cell.run(0, 1, 2)
    assert not asked
    monkeypatch.setattr(jit, "ENOUGH_WORK_OF_SEGMENT_RUNS", 2 * cell.fast.work)
    many = cell.run(0, 1, 2)
    assert asked == [segment_runs.challenger]
    np.testing.assert_array_equal(few.loss, many.loss)


def test_strategies_of_the_paper_name_those_that_serve():
    with pytest.raises(ValueError, match=r"SFSR on 'S3L1' .*got 3 segments; use Challenger\(\), Uniform\(\)"):
        bm.simulate("S3L1", bm.SFSR(), 500, runs=1)
    with pytest.raises(ValueError, match="users arrive in segments, and 'D1P' has none"):
        bm.simulate("D1P", bm.Uniform(), 500, runs=1, arriving=True)


@pytest.mark.parametrize("first", ["reward", "dollars"])
def test_scales_of_a_proof_are_those_of_metrics_by_name(first):
    asked = bm.Problem(["a", "b"], goal="minimise dollars", limits=["quality >= 0.5"])
    means = {"a": {"dollars": 1.0, "quality": 0.9}, "b": {"dollars": 0.1, "quality": 0.1}}
    instance = bm.Instance.from_problem(asked, means, sigma={"dollars": 0.05, "quality": 0.05})
    strategy = bm.Challenger(confidence=0.9, proven=True, sigma={first: 0.05, "quality": 0.05})
    result = bm.simulate(instance, strategy, 2_000, runs=2, seed=1)
    assert (result.errors, (result.outcomes.pulls < 2_000).all()) == (0, True)


def test_nobody_arrives_in_states_of_choice():
    with pytest.raises(ValueError, match="steps are made from states of choice"):
        bm.simulate(bm.families.random_markov(3, 2, 1), bm.Uniform(), 60, 5, arriving=True)
