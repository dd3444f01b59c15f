"""The program of a problem: laws that hold whatever the segments are called and however limits are written."""

import numpy as np
import pytest
from tests.answers.segmented import SHARES, evidence, problem

from bestmix import Problem
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.noisy_program import solve
from bestmix.answers.programs import program_of, segment_shares


def best(asked):
    return solve(program_of(evidence(asked)))


def test_splitting_a_segment_into_equal_halves_changes_nothing():
    whole = evidence(problem())
    halves = problem(segments={"f": 0.35, "g": 0.35, "p": 0.3})
    split = Evidence(halves, [*whole.moments[:3], *whole.moments[:3], *whole.moments[3:]])
    one, other = solve(program_of(whole)), solve(program_of(split))
    assert other.value == pytest.approx(one.value)
    assert other.prices == pytest.approx(one.prices)
    weights = other.weights.reshape(3, 3)
    assert np.vstack([weights[0] + weights[1], weights[2]]) == pytest.approx(one.weights.reshape(2, 3))


def test_segments_with_one_arm_each_are_a_fixed_mix():
    asked = Problem(["only"], limits=["time <= 9"], segments={"a": 0.25, "b": 0.75})
    told = [Moments(2).plus(np.array([[1.0, 2.0], [3.0, 4.0]])), Moments(2).plus(np.array([[5.0, 1.0], [7.0, 3.0]]))]
    found = solve(program_of(Evidence(asked, told)))
    assert found.weights.tolist() == [0.25, 0.75]
    assert found.value == pytest.approx(0.25 * 2 + 0.75 * 6)
    assert found.slack == pytest.approx([9 - (0.25 * 3 + 0.75 * 2)])


def test_a_relative_limit_is_its_expanded_form():
    relative = evidence(problem("dollars <= 4 * dollars(small)", segments=None))
    expanded = 4 * float(relative.measured[0, 0])
    fixed = Evidence(problem(f"dollars <= {expanded!r}", segments=None), relative.moments)
    one, other = solve(program_of(relative)), solve(program_of(fixed))
    assert one.weights == pytest.approx(other.weights)
    assert one.value == pytest.approx(other.value)


def test_a_limit_on_a_share_is_kept_in_all_segments_together_or_in_one():
    everywhere = best(problem("share(large) <= 5%")).weights.reshape(2, 3)
    assert everywhere[:, 2].sum() <= 0.05 + 1e-9
    in_paid = best(problem("share(large) <= 5% in paid")).weights.reshape(2, 3)
    assert in_paid[1, 2] <= 0.05 * SHARES["paid"] + 1e-9


def test_a_limit_of_one_segment_asks_nothing_of_the_others():
    strict = best(problem("dollars <= 0.2 in free")).weights.reshape(2, 3)
    means = evidence(problem()).measured[:, 0].reshape(2, 3)
    assert strict[0] @ means[0] / 0.7 <= 0.2 + 1e-9
    assert strict[1] @ means[1] / 0.3 > 0.2


def test_shares_are_learnt_from_who_arrived():
    asked = problem(segments=["free", "paid"])
    told = [Moments(2).plus(np.ones((n, 2))) for n in (3, 2, 1, 1, 1, 0)]
    shares, arrivals = segment_shares(Evidence(asked, told))
    assert shares == pytest.approx([0.75, 0.25])
    assert arrivals == 8
