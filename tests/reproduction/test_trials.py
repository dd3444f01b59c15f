import math

import pytest

from bestmix import SFSR, Challenger, Uniform, catalog, files, simulate
from bestmix.reproduction import trials
from bestmix.reproduction.trials import error_curves, gain
from bestmix.theory.planning import error_rates
from bestmix.theory.planning.error_rates import ErrorRates


def test_a_gain_without_an_end_is_taken_at_the_largest_budget():
    found = {"SFSR": math.inf, "SFSR-L": math.inf, "USLP": 1.0, "Challenger": trials.LARGEST_BUDGET / 2}
    assert gain(found) == 2
    assert gain(found | {"SFSR-L": trials.LARGEST_BUDGET / 4, "Challenger": math.inf}) == 0.25
    assert math.isnan(gain(found | {"Challenger": math.inf}))


def test_a_curve_meets_the_simulated_errors_and_ends_below_the_targets(tmp_path):
    instance = catalog.load("A1")
    (points,) = error_curves([(ErrorRates(instance, SFSR(score="lagrangian"), 4, 1), 300)], tmp_path, 1, progress=False)
    budgets = list(points)
    assert budgets == [round(40 * 2 ** (k / 2)) for k in range(len(budgets))]
    assert points[budgets[-1]] <= trials.ENOUGH < min(points[n] for n in budgets[:-1])
    for budget, error in points.items():
        runs = 250 if error > error_rates.HOPELESS else 300
        assert error == simulate(instance, SFSR(score="lagrangian"), budget, runs, seed=4).error_rate


def test_a_curve_ends_at_the_largest_budget(tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "LARGEST_BUDGET", 200)
    (points,) = error_curves([(ErrorRates(catalog.load("D1I"), Uniform(), 0, 1), 20)], tmp_path, 1, progress=False)
    assert list(points) == [60, 85, 120, 170]


def test_an_interrupted_curve_goes_on_where_it_was(tmp_path, monkeypatch):
    def asked_for():
        return [(ErrorRates(catalog.load("A2"), strategy, 1, 1), 50) for strategy in (SFSR(), Challenger())]

    whole = error_curves(asked_for(), tmp_path / "whole", threads=2, progress=False)
    asked = []

    def counted(*given, **options):
        asked.append(given[1:3])
        if len(asked) == 4:
            raise KeyboardInterrupt
        return simulate(*given, **options)

    monkeypatch.setattr(error_rates, "simulate", counted)
    with pytest.raises(KeyboardInterrupt):
        error_curves(asked_for(), tmp_path / "part", threads=1, progress=False)
    kept = sum(len(files.read(path)) for path in (tmp_path / "part").iterdir())
    assert 3 <= kept <= 4  # the other curve may begin before it hears of the interrupt
    asked[:] = range(4)
    assert error_curves(asked_for(), tmp_path / "part", threads=1, progress=False) == whole
    assert len(asked) - 4 == sum(map(len, whole)) - kept
    asked[:] = range(4)
    assert error_curves(asked_for(), tmp_path / "part", threads=1, progress=False) == whole
    assert len(asked) == 4
