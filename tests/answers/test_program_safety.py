import numpy as np
import pytest
from scipy.special import ndtri, stdtrit
from tests.kernels.segment_states import plain_case, random_case
from tests.kernels.states import random_instance, told

from bestmix.answers import program_safety, safety
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.noisy_program import noisy_program, solve
from bestmix.answers.program_safety import ProgramLimits, described_program_mix, safe_program_mix
from bestmix.answers.programs import program_of
from bestmix.answers.safe_search import PRECISION, SURE, trust
from bestmix.kernels.layout import new_layout
from bestmix.problems.problem import Problem


@pytest.mark.parametrize("size", [(6, 6, 0), (6, 6, 1), (7, 4, 1), (6, 5, 2), (8, 8, 3)])
def test_one_segment_has_the_safe_mix_of_the_plain_problem(size):
    certified = 0
    for seed in range(6):
        instance = random_instance(*size, seed)
        evidence = told(instance, np.random.default_rng(seed).integers(5, 400, size[1]), seed)
        data, program = evidence.estimates, plain_case(evidence, instance.bound).program()
        plain, found = safety.safe_mix(data, instance.bound, 0.7), safe_program_mix(program, 0.7)
        if not solve(program).feasible:
            continue
        spread = np.ptp(data.means[:, 0])
        assert found.certified == plain.certified
        assert found.certainty == pytest.approx(plain.certainty, abs=5e-3)
        assert found.mixture @ data.means[:, 0] == pytest.approx(plain.mixture @ data.means[:, 0], abs=5e-3 * spread)
        certified += found.certified
        same = described_program_mix(program, plain.mixture, trust(0.7))
        other = safety.described(data, instance.bound, plain.mixture, trust(0.7))
        np.testing.assert_allclose(same.kept, other.kept, atol=SURE / 2**PRECISION)  # a step of the bisection
        np.testing.assert_allclose(same.mean, other.mean - instance.bound, atol=1e-12)
        np.testing.assert_allclose(same.error, other.error)
        low, high = ProgramLimits(program).interval(plain.mixture, 0.025)
        ends = safety.mean_interval(data, plain.mixture, 0.025)
        np.testing.assert_allclose([low, high], np.array(ends) - instance.bound, atol=1e-9)
    assert certified >= 1


@pytest.mark.parametrize("bound", [0.33, 0.2, 0.14])
def test_three_limits_on_events_have_the_safe_mix_of_the_plain_problem(bound):
    """Certified, uncertain, and with estimates that are above the bounds."""
    rng, counts = np.random.default_rng(3), np.full(4, 60.0)
    events = rng.binomial(60, np.column_stack([rng.uniform(0.2, 0.8, 4), rng.uniform(0.02, 0.3, (4, 3))]))
    means, flags = events / 60.0, np.ones((4, 4), dtype=bool)
    scatter = np.array([np.diag(m * (1 - m) * 60.0) for m in means])
    data = safety.estimates(means, scatter, counts, flags)
    rows = new_layout([4], np.eye(4)[None], np.full((4, 3), -bound))
    program = noisy_program(rows, np.ones(1), means, scatter, counts, flags)
    assert ProgramLimits(program).events == safety.CostLimits(data, np.full(3, bound)).events == 3
    assert program_safety.program_odds(program, 0.7) == pytest.approx(0.8 * 0.7)
    plain, found = safety.safe_mix(data, np.full(3, bound), 0.7), safe_program_mix(program, 0.7)
    assert found.certified == plain.certified == (bound == 0.33)
    assert solve(program).feasible == (bound > 0.15)
    assert found.certainty == pytest.approx(plain.certainty, abs=5e-3)
    np.testing.assert_allclose(found.mixture, plain.mixture, atol=0.02)
    assert np.abs(found.mixture - solve(program).weights).max() > 0.05  # neither the optimum nor the least violation


def test_limits_with_other_noise_are_none_on_events():
    """A limit on a share of arms, one on events, one on events and dollars, one on dollars."""
    transform = np.array([[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]])
    rows = new_layout([2], transform, np.full((2, 4), -1.0))._replace(known=np.array([True, False, False, False]))
    means, counts = np.array([[1.0, 0.2, 0.5], [1.5, 0.4, 0.8]]), np.full(2, 50.0)
    scatter, flags = np.tile(10.0 * np.eye(3), (2, 1, 1)), np.array([[False, True, False]] * 2)
    assert ProgramLimits(noisy_program(rows, np.ones(1), means, scatter, counts, flags)).events == 1


def test_zero_and_one_have_the_margins_of_the_plain_problem():
    means, counts = np.array([[0.4, 0.0], [0.8, 0.3]]), np.array([40.0, 60.0])
    scatter = np.array([np.diag(m * (1 - m) * n) for m, n in zip(means, counts, strict=True)])
    flags = np.ones((2, 2), dtype=bool)
    data = safety.estimates(means, scatter, counts, flags)
    rows = new_layout([2], np.eye(2)[None], np.full((2, 1), -0.2))
    program = noisy_program(rows, np.ones(1), means, scatter, counts, flags)
    for sign in (1.0, -1.0):
        margin = program_safety.entry_margins(program, 0.03, sign, slice(1, None))
        np.testing.assert_allclose(margin, safety.margins(data, 0.03, sign))
    # at least: the same limit with the other sign
    turned = rows._replace(transform=np.diag([1.0, -1.0])[None])
    upper = program_safety.entry_margins(
        noisy_program(turned, np.ones(1), means, scatter, counts, flags), 0.03, 1.0, slice(1, None)
    )
    np.testing.assert_allclose(upper, safety.margins(data, 0.03, -1.0))


def fixed_mix(transform, constant, **options):
    """Two segments with one arm each, whose second metric has a variance of 1."""
    rows = new_layout([1, 1], np.tile(transform, (2, 1, 1)), np.full((2, 1), constant), **options)
    scatter = np.tile(np.diag([0.0, 49.0]), (2, 1, 1))
    return rows, np.array([[1.0, 0.5], [3.0, 1.8]]), scatter, np.full(2, 50.0)


def test_estimated_shares_add_their_variance():
    rows, means, scatter, counts = fixed_mix(np.eye(2), -1.0)
    weight, x = np.array([0.7, 0.3]), np.array([0.7, 0.3])
    for arrivals in (0.0, 200.0):
        limits = ProgramLimits(noisy_program(rows, weight, means, scatter, counts, arrivals=arrivals))
        mean, error = limits.means(x)
        assert mean == pytest.approx([-0.11])
        shares = 0.7 * 0.3 * 1.3**2 / 200 if arrivals else 0.0  # Var of 0.5 w + 1.8 (1 - w) - 1
        assert error**2 == pytest.approx([(0.49 + 0.09) / 50 + shares])
        width = limits.interval(x, 0.05)[1] - mean
        t, q = -stdtrit(54.0, 0.05), -ndtri(0.05)
        assert width**2 == pytest.approx([t**2 * (0.49 + 0.09) / 50 + q**2 * shares])


def test_shares_of_segments_say_nothing_about_a_limit_of_one():
    rows, means, scatter, counts = fixed_mix(np.eye(2), -1.0)
    rows.transform[1, 1], rows.constant[1] = 0.0, 0.0  # of the first segment alone
    limits = ProgramLimits(noisy_program(rows, np.array([0.7, 0.3]), means, scatter, counts, arrivals=10.0))
    assert limits.means(np.array([0.7, 0.3]))[1] ** 2 == pytest.approx([0.49 / 50])


def test_limits_on_shares_have_no_margin():
    rows = new_layout([2], np.array([[[1.0], [0.0]]]), np.array([[-0.4], [0.6]]))  # at most 40% of the second arm
    program = noisy_program(rows, np.ones(1), np.array([[1.0], [2.0]]), np.full((2, 1, 1), 9.0), np.full(2, 10.0))
    found = safe_program_mix(program, solve(program).chance)
    assert found.mixture == pytest.approx([0.6, 0.4])
    assert found.certified
    assert found.kept[0] == 1.0


def test_a_relative_limit_counts_the_noise_of_its_arm():
    # at most 1.1 times the first arm's seconds: the first arm alone keeps it by a tenth of them
    rows = new_layout([2], np.eye(2)[None], np.zeros((2, 1)), reference=np.array([[0]]), factor=np.array([1.1]))
    means, scatter, counts = np.array([[1.0, 2.0], [0.5, 3.0]]), np.tile(99.0 * np.eye(2), (2, 1, 1)), np.full(2, 100.0)
    limits = ProgramLimits(noisy_program(rows, np.ones(1), means, scatter, counts))
    assert limits.means(np.array([1.0, 0.0]))[1] == pytest.approx([0.1 * 0.1])
    assert limits.means(np.array([0.4, 0.6]))[1] ** 2 == pytest.approx([(0.7**2 + 0.6**2) / 100])


def test_where_a_segment_was_never_tried_nothing_is_certain():
    case = random_case(np.random.default_rng(2), trials=(400, 500), shift=-5.0)
    assert safe_program_mix(case.program(), 0.9).certified
    case.counts[4:7] = 0.0
    found = safe_program_mix(case.program(), 0.9)
    assert (found.certified, found.certainty) == (False, 0.0)
    assert not found.mixture[4:7].any()
    case.counts[:] = 0.0
    assert not safe_program_mix(case.program(), None).mixture.any()


def test_limits_are_kept_as_often_as_claimed():
    """Of 60 runs with a certainty of 0.9 at most 12 break a limit: more has a chance below 1% where 10% do."""
    broken, runs = 0, 60
    for seed in range(runs):
        case = random_case(np.random.default_rng(seed), sizes=(3, 3), trials=(60, 61), shift=-0.3)
        program = case.program()
        best = solve(program)
        found = safe_program_mix(program, best.chance, 0.9)
        true = program._replace(data=program.data._replace(means=case.truth))
        broken += found.certified and bool((found.mixture @ true.entries()[1] > 1e-9).any())
    assert broken <= 12


def test_the_safe_mix_meets_an_equality_of_means_at_the_estimates():
    """Wide margins of other limits leave it no room to miss the equality."""
    problem = Problem(["a", "b", "c", "d", "e"], limits=["cost <= 0.5", "time <= 0.5", "tokens = 0.5"])
    met = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        told = [Moments(4).plus(rng.uniform(0, 1, 4) + 0.3 * rng.normal(size=(6, 4))) for _ in problem.arms]
        program = program_of(Evidence(problem, told))
        best = solve(program)
        if best.feasible:
            found = safe_program_mix(program, best.chance, 0.95)
            assert abs((found.mixture @ program.entries()[1])[2]) < 1e-9
            met += 1
    assert met >= 10
