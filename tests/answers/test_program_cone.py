"""Mixes within cones, against plain formulas and planes that HiGHS solves."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, linprog

from bestmix.answers import program_cone
from bestmix.answers.program_cone import Cones, Rows, by_barrier, cone_mix, fails, optimum, planes, widths

SIZES = (3, 2, 3)


def random_line(rng, limits=2, right=0.0):
    n, segment = sum(SIZES), np.repeat(np.arange(3), SIZES)
    rows = rng.normal(size=(n, limits))
    mu = rows.sum(axis=1) + rng.normal(size=n)  # what costs more pays more
    weight = rng.dirichlet(np.full(3, 5.0))
    return Rows(mu, rows, np.full(limits, right), np.zeros(limits, dtype=bool), segment, weight)


def random_cones(rng, line, size=0.3):
    factor = np.zeros(line.rows.shape)
    factor[[0, 3, 5], 0] = 1.1  # the first limit is relative to the first arm
    share = np.array([0.0, 0.2])[: line.rows.shape[1]]
    return Cones(size * rng.uniform(0.5, 1.5, line.rows.shape), factor, share)


def naive_width(line, cones, x, r):
    """Term by term."""
    total, means = 0.0, []
    for s, w in enumerate(line.weight):
        inside = np.flatnonzero(line.segment == s)
        for j in inside:
            total += (cones.margin[j, r] * (x[j] - cones.factor[j, r] * x[inside].sum())) ** 2
        means.append(x[inside] @ line.rows[inside, r] / w)
    spread = sum(w * (m - np.dot(line.weight, means)) ** 2 for w, m in zip(line.weight, means, strict=True))
    return np.sqrt(total + cones.share[r] ** 2 * spread)


def random_mix(rng, line):
    return np.concatenate([w * rng.dirichlet(np.ones(k)) for w, k in zip(line.weight, SIZES, strict=True)])


def test_widths_and_planes_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    line = random_line(rng)
    cones = random_cones(rng, line)
    x, y = random_mix(rng, line), random_mix(rng, line)
    width = widths(line, cones, x)
    assert width == pytest.approx([naive_width(line, cones, x, r) for r in range(2)])
    entries, limit = planes(line, cones, x, np.ones(2, dtype=bool))
    for r, plane in zip(limit, entries.T, strict=True):
        assert plane @ x == pytest.approx(line.rows[:, r] @ x + width[r])  # touches the cone here
        assert plane @ y <= line.rows[:, r] @ y + naive_width(line, cones, y, r) + 1e-12  # and is below it elsewhere
        slope = approx_fprime(x, lambda q, r=r: naive_width(line, cones, q, r))
        np.testing.assert_allclose(plane - line.rows[:, r], slope, atol=1e-6)


def test_widths_as_matrices_are_those_of_the_formula():
    rng = np.random.default_rng(6)
    line = random_line(rng)
    cones = random_cones(rng, line)
    x = random_mix(rng, line)
    assert program_cone._forms(line, cones).spread(x) == pytest.approx(widths(line, cones, x))


@pytest.mark.parametrize("size", [0.3, 0.8])
def test_planes_alone_come_to_the_same_as_the_barrier(size, monkeypatch):
    settled = 0
    for seed in range(6):
        rng = np.random.default_rng([7, seed])
        line = random_line(rng, right=0.3)
        cones = random_cones(rng, line, size)
        (found, sure), best = by_barrier(line, cones, None, finish=True), naive_mix(line, cones)
        settled += sure
        if sure:
            assert (found is None) == (best == -np.inf)
        if found is not None:
            assert line.mu @ found == pytest.approx(best, abs=1e-3 * np.ptp(line.mu))
    assert settled >= 5
    monkeypatch.setattr(program_cone, "MOST_COLUMNS", 0)
    alone = cone_mix(line, cones)
    assert (alone is None) == (best == -np.inf)
    assert alone is None or line.mu @ alone == pytest.approx(best, abs=2e-3 * np.ptp(line.mu))


def test_equalities_and_segments_without_columns_are_left_to_the_planes():
    rng = np.random.default_rng(8)
    line = random_line(rng, right=0.3)
    cones = random_cones(rng, line)
    assert by_barrier(line._replace(equality=np.array([True, False])), cones, None, finish=True) == (None, False)
    more = line._replace(weight=np.r_[0.9 * line.weight, 0.1])
    assert by_barrier(more, cones, None, finish=True) == (None, False)


def test_a_segment_that_nobody_is_in_has_no_shares():
    rng = np.random.default_rng(9)
    line = random_line(rng, right=1.0)
    weight = np.array([0.6, 0.0, 0.4])
    found, sure = by_barrier(line._replace(weight=weight), random_cones(rng, line, 0.1), None, finish=True)
    assert sure
    np.testing.assert_allclose(np.add.reduceat(found, [0, 3, 5]), weight)


def naive_mix(line, cones):
    """Value of the best mix within the cones by many planes; minus infinity when there is none."""
    totals = (line.segment == np.arange(3)[:, None]).astype(float)
    entries, limit = line.rows, np.arange(len(line.right))
    for _ in range(400):
        found = linprog(-line.mu, A_ub=entries.T, b_ub=line.right[limit], A_eq=totals, b_eq=line.weight)
        if found.status == 2:
            return -np.inf
        over = found.x @ line.rows + widths(line, cones, found.x) - line.right
        if over.max() < 1e-7:
            return -found.fun
        more, where = planes(line, cones, found.x, over > 0)
        entries, limit = np.hstack([entries, more]), np.r_[limit, where]
    raise AssertionError("the planes do not converge")


@pytest.mark.parametrize("size", [0.1, 0.6, 2.0])
def test_the_mix_is_the_best_within_the_cones(size):
    feasible = 0
    for seed in range(8):
        rng = np.random.default_rng([int(10 * size), seed])
        line = random_line(rng, right=0.3 if seed % 2 else 0.0)
        cones = random_cones(rng, line, size)
        found, best = cone_mix(line, cones), naive_mix(line, cones)
        some = cone_mix(line, cones, finish=False)
        assert (found is None) == (some is None) == (best == -np.inf)
        if found is not None:
            feasible += 1
            assert not fails(line, cones, found).any()
            assert not fails(line, cones, some).any()
            np.testing.assert_allclose(np.add.reduceat(found, [0, 3, 5]), line.weight)
            assert line.mu @ found >= best - 2e-3 * np.ptp(line.mu)
    assert feasible >= 1 or size == 2.0


def test_without_margins_it_is_the_optimum():
    line = random_line(np.random.default_rng(3))
    none = Cones(np.zeros(line.rows.shape), np.zeros(line.rows.shape), np.zeros(2))
    best, feasible, _ = optimum(line)
    assert feasible
    np.testing.assert_allclose(cone_mix(line, none), best, atol=1e-12)


def test_a_common_mix_is_the_same_in_all_segments():
    rng = np.random.default_rng(4)
    line = random_line(rng)
    common = np.zeros((8, 2))
    common[[0, 3, 5], 0], common[[1, 4, 6], 1] = line.weight, line.weight
    cones = Cones(0.05 * np.ones((8, 2)), np.zeros((8, 2)), np.zeros(2))
    looser = line._replace(right=np.full(2, 1.0))
    mix = cone_mix(looser, cones, common=common)
    shares = mix / line.weight[line.segment]
    np.testing.assert_allclose(shares[[0, 3, 5]], shares[0])
    np.testing.assert_allclose(shares[[1, 4, 6]], shares[1])
    assert shares[0] + shares[1] == pytest.approx(1.0)
    assert looser.mu @ mix <= looser.mu @ cone_mix(looser, cones) + 1e-9


def test_a_mix_has_no_shares_that_only_the_search_has_left():
    from tests.answers.segmented import evidence, problem

    from bestmix.answers.program_safety import safe_program_mix
    from bestmix.answers.programs import program_of

    shares = {f"s{k}": 0.05 for k in range(20)}
    asked = problem(segments=shares)
    program = program_of(evidence(asked, trials=60))
    found = safe_program_mix(program, 0.9)
    inside = found.mixture[found.mixture > 0] / 0.05
    assert found.certified
    assert inside.min() >= 0.01


@pytest.mark.parametrize("total", [0.5, 1.0])
def test_a_segment_without_columns_leaves_the_others_as_they_are(total, monkeypatch):
    found = 0
    for seed in range(6):
        rng = np.random.default_rng([11, seed])
        line = random_line(rng, right=0.3 * total)
        line = line._replace(weight=total * line.weight)
        cones = random_cones(rng, line, 0.4)._replace(share=np.zeros(2))
        mine, sure = by_barrier(line, cones, None, finish=True)
        best = naive_mix(line, cones)
        if sure:
            assert (mine is None) == (best == -np.inf)
        if mine is not None:
            found += 1
            assert mine.sum() == pytest.approx(total)
            assert line.mu @ mine == pytest.approx(best, abs=2e-3 * np.ptp(line.mu))
    assert found >= 2


def test_no_column_is_left_with_next_to_nothing():
    rng = np.random.default_rng(12)
    for _ in range(10):
        line = random_line(rng, right=0.5)
        cones = random_cones(rng, line, 0.5)
        common = np.zeros((8, 2))
        common[[0, 3, 5], 0], common[[1, 4, 6], 1] = line.weight, line.weight
        for some in (None, common):
            mix = cone_mix(line, cones, common=some)
            if mix is not None:
                share = mix / line.weight[line.segment]
                assert ((share == 0) | (share > 1e-5)).all()
