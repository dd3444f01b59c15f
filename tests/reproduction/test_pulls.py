import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix import SFSR, Challenger, Uniform, catalog, files, simulate
from bestmix.reproduction import pulls
from bestmix.reproduction.pulls import Walk, gain, pulls_for, walk_all

BUDGETS = [round(60 * 2 ** (k / 2)) for k in range(20)]


@given(at=st.floats(150, 20_000), power=st.floats(0.5, 6.0), target=st.sampled_from([0.1, 0.01]))
def test_errors_that_fall_by_a_power_of_the_budget_give_the_exact_pulls(at, power, target):
    points = {n: min(target * (at / n) ** power, 1.0) for n in BUDGETS}
    above = max(points[n] for n in BUDGETS if n >= at)
    below = [n for n in BUDGETS if n < at]
    if points[below[-1]] < 1 and above > 0.5e-9:  # no rounding to the ends of [0, 1] in the bracket
        assert pulls_for(target, points, runs=10**9) == pytest.approx(at)


def test_the_last_crossing_counts():
    points = {100: 0.2, 200: 0.05, 400: 0.2, 800: 0.05}
    assert 400 < pulls_for(0.1, points, runs=1000) < 800


def test_errors_without_a_crossing():
    assert pulls_for(0.1, {100: 0.05, 200: 0.0}, runs=1000) == 100
    assert pulls_for(0.1, {100: 0.5, 200: 0.3}, runs=1000) == math.inf


@pytest.mark.parametrize("runs", [1, 20, 1000])
def test_no_error_seen_still_lies_between_the_budgets(runs):
    assert 100 < pulls_for(0.01, {100: 1.0, 200: 0.0}, runs) <= 200


def test_a_gain_without_an_end_is_taken_at_the_largest_budget():
    found = {"SFSR": math.inf, "SFSR-L": math.inf, "USLP": 1.0, "Challenger": pulls.MOST / 2}
    assert gain(found) == 2
    assert gain(found | {"SFSR-L": pulls.MOST / 4, "Challenger": math.inf}) == 0.25
    assert math.isnan(gain(found | {"Challenger": math.inf}))


def test_a_walk_meets_the_simulated_errors_and_ends_below_the_targets(tmp_path):
    instance = catalog.load("A1")
    (points,) = walk_all([Walk(instance, SFSR(score="lagrangian"), 300, seed=4)], tmp_path, 1, progress=False)
    budgets = list(points)
    assert budgets == [round(40 * 2 ** (k / 2)) for k in range(len(budgets))]
    assert points[budgets[-1]] <= pulls.ENOUGH < min(points[n] for n in budgets[:-1])
    for budget, error in points.items():
        runs = 250 if error > pulls.HOPELESS else 300
        assert error == simulate(instance, SFSR(score="lagrangian"), budget, runs, seed=4).error_rate


def test_a_walk_ends_at_the_largest_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(pulls, "MOST", 200)
    (points,) = walk_all([Walk(catalog.load("D1I"), Uniform(), 20, seed=0)], tmp_path, 1, progress=False)
    assert list(points) == [60, 85, 120, 170]


def test_an_interrupted_walk_goes_on_where_it_was(tmp_path, monkeypatch):
    walks = [Walk(catalog.load("A2"), strategy, 50, seed=1) for strategy in (SFSR(), Challenger())]
    whole = walk_all(walks, tmp_path / "whole", threads=2, progress=False)
    asked = []

    def counted(*given, **options):
        asked.append(given[1:3])
        if len(asked) == 4:
            raise KeyboardInterrupt
        return simulate(*given, **options)

    monkeypatch.setattr(pulls, "simulate", counted)
    with pytest.raises(KeyboardInterrupt):
        walk_all(walks, tmp_path / "part", threads=1, progress=False)
    kept = sum(len(files.read(path)) for path in (tmp_path / "part").iterdir())
    assert 3 <= kept <= 4  # the other walk may begin before it hears of the interrupt
    asked[:] = range(4)
    assert walk_all(walks, tmp_path / "part", threads=1, progress=False) == whole
    assert len(asked) - 4 == sum(map(len, whole)) - kept
    asked[:] = range(4)
    assert walk_all(walks, tmp_path / "part", threads=1, progress=False) == whole
    assert len(asked) == 4


def test_other_runs_and_seeds_are_not_mixed_up():
    walk = Walk(catalog.load("A2"), SFSR(), 50, seed=1)
    others = [
        Walk(walk.instance, SFSR(), 51, 1),
        Walk(walk.instance, SFSR(), 50, 2),
        Walk(walk.instance, Uniform(), 50, 1),
    ]
    assert len({w.key for w in [walk, *others]}) == 4
