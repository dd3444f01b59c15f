import numpy as np
import pytest
from tests.kernels.segment_states import plain_case, random_case
from tests.kernels.states import random_instance, told

from bestmix import from_log
from bestmix.answers import certificate
from bestmix.answers.noisy_program import noisy_program, solve
from bestmix.answers.program_certificate import certify_program, value_interval
from bestmix.answers.program_safety import safe_program_mix
from bestmix.kernels.layout import new_layout
from bestmix.problems.solution import solve_means


@pytest.mark.parametrize("chance", [0.7, 1.0])
@pytest.mark.parametrize("size", [(6, 6, 0), (6, 6, 1), (7, 4, 1), (6, 5, 2)])
def test_one_segment_has_the_certificate_of_the_plain_problem(size, chance):
    compared = 0
    for seed in range(5):
        instance = random_instance(*size, seed)
        evidence = told(instance, np.random.default_rng(seed).integers(5, 200, size[1]), seed)
        guess = solve_means(evidence.means, instance.bound)
        if guess.feasible:
            compared += 1
            plain = certificate.certify(evidence.estimates, guess.mixture, instance.bound, chance, guess.dual)
            program = plain_case(evidence, instance.bound).program()
            found = certify_program(program, guess.mixture, chance, guess.dual)
            assert found.regret == pytest.approx(plain.regret, rel=0.03, abs=1e-9)
            np.testing.assert_allclose(found.value_interval, plain.value_interval)
            assert found.single == plain.single
            assert found.gain == (None if plain.gain is None else pytest.approx(plain.gain, abs=1e-12))
            assert found.common is None
    assert compared >= 2


def true_program(case):
    """The same program with nothing left to learn."""
    return case._replace(rows=case.rows._replace(given=case.truth)).program()


def test_regret_and_worth_hold_where_the_truth_is_known():
    held = worth = total = 0
    for seed in range(25):
        case = random_case(np.random.default_rng(seed), ("all segments",), sizes=(3, 3), trials=(40, 41), shift=-0.3)
        program, truth = case.program(), true_program(case)
        best, mu = solve(program), truth.entries()[0]
        found = safe_program_mix(program, best.chance)
        if not (best.feasible and found.certified):
            continue
        proof = certify_program(program, found.mixture, best.chance, best.prices)
        total += 1
        held += solve(truth).value - found.mixture @ mu <= proof.regret
        low, high = proof.value_interval
        assert low < proof.value < high
        if proof.common is not None:
            assert proof.worth == pytest.approx((found.mixture - proof.common) @ program.entries()[0])
            ends = proof.worth_interval
            worth += ends[0] <= (found.mixture - proof.common) @ mu <= ends[1]
            shares = proof.common.reshape(2, 3) / case.weight[:, None]
            np.testing.assert_allclose(shares[0], shares[1], atol=1e-9)
        else:
            worth += 1
    assert total >= 8
    assert held >= total - 2
    assert worth >= total - 2


def test_segments_are_worth_what_they_earn_more():
    # What is good for one is bad for the other; all is known but for a little noise.
    rows = new_layout([2, 2], np.ones((2, 1, 1)), np.empty((4, 0)))
    means, weight = np.array([[1.0], [0.0], [0.0], [1.0]]), np.array([0.6, 0.4])
    program = noisy_program(rows, weight, means, np.full((4, 1, 1), 0.01 * 99), np.full(4, 100.0))
    best = solve(program)
    proof = certify_program(program, best.weights, best.chance, best.prices)
    assert proof.common.tolist() == [0.6, 0.0, 0.4, 0.0]
    assert proof.worth == pytest.approx(0.4)
    low, high = proof.worth_interval
    assert 0.35 < low < 0.4 < high < 0.45
    assert proof.single == 0
    estimated = program._replace(arrivals=100.0)
    assert np.diff(value_interval(estimated, best.weights - proof.common, 0.05)) > 2 * (high - low)


def test_where_no_arm_is_in_all_segments_there_is_no_common_mix():
    rows = new_layout([1, 1], np.ones((2, 1, 1)), np.empty((2, 0)), arm=np.array([0, 1]))
    program = noisy_program(rows, np.full(2, 0.5), np.ones((2, 1)), np.ones((2, 1, 1)), np.full(2, 9.0))
    proof = certify_program(program, np.full(2, 0.5), 0.9, np.empty(0))
    assert (proof.common, proof.worth, proof.single) == (None, None, None)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1.0, 1e9])
def test_whether_an_arm_alone_meets_an_equality_does_not_depend_on_the_unit(unit):
    rows = [("a", 1 + 0.1 * (k % 5), (0.5 + 0.1 * (k % 3)) * unit) for k in range(30)]
    rows += [("b", 2 + 0.1 * (k % 5), (1.5 + 0.1 * (k % 3)) * unit) for k in range(30)]
    log = dict(zip(("arm", "reward", "dollars"), map(list, zip(*rows, strict=True)), strict=True))
    rec = from_log(log, limits=[f"dollars = {unit!r}"])
    assert (rec.single, rec.gain) == (None, None)
