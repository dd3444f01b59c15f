import csv

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from bestmix import Challenger, catalog, reproduction, simulate
from bestmix.plots.calibration import Claims
from bestmix.reproduction import calibration
from bestmix.simulation.results import wilson


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return reproduction.reproduce("calibration", tmp_path_factory.mktemp("calibration"), runs=20, seed=2)


def rows(made, name):
    with next(path for path in made.files if path.name == name).open() as file:
        return list(csv.DictReader(file))


def test_every_run_is_in_one_bin():
    cell = calibration.judge("uniform sampling", "H2", 1000, runs=300, seed=5)
    assert sum(cell.runs) + cell.unclaimed == 300
    for low, high, runs, claimed, right in zip(
        calibration.EDGES, calibration.EDGES[1:], cell.runs, cell.claimed, cell.right, strict=False
    ):
        assert low * runs <= claimed <= high * runs
        assert 0 <= right <= runs


def test_what_is_right_agrees_with_the_simulator():
    """Two samples of 1,500 runs of the same error rate: 4.5 standard errors apart once in 150,000 seeds."""
    cell = calibration.judge("Challenger", "A3", 1000, runs=1500, seed=6)
    error = 1 - sum(cell.right) / 1500
    told = simulate(catalog.load("A3"), Challenger(), 1000, runs=1500, seed=7).error_rate
    assert 0.05 < told < 0.95
    assert abs(error - told) < 4.5 * np.sqrt(2 * told * (1 - told) / 1500)


def test_more_trials_claim_more():
    few, many = (calibration.judge("Challenger", "A1", n, runs=100, seed=0) for n in (500, 6000))
    assert sum(few.claimed) < sum(many.claimed)
    assert sum(few.right) < sum(many.right)


def test_files_and_caption(made):
    assert [path.name for path in made.files] == [
        "calibration.png",
        "calibration.svg",
        "calibration.csv",
        "calibration-cells.csv",
        "calibration.txt",
    ]
    assert "20 runs a cell" in made.caption
    assert "seed 2" in made.caption
    assert "| Challenger " in made.table
    assert "| uniform sampling " in made.table


def test_the_bins_pool_all_cells(made):
    cells, bins = rows(made, "calibration-cells.csv"), rows(made, "calibration.csv")
    assert len(cells) == 2 * sum(len(calibration.budgets(name)) for name in (*catalog.names(), *calibration.PRICED))
    for sampling in calibration.SAMPLING:
        for part in ("runs", "right"):
            totals = [sum(int(row[part]) for row in table if row["sampling"] == sampling) for table in (cells, bins)]
            assert totals[0] == totals[1]
    for row in bins:
        assert float(row["from"]) <= float(row["claimed"]) <= float(row["to"])
        assert (float(row["low"]), float(row["high"])) == wilson(int(row["right"]), int(row["runs"]))


def test_a_second_call_repeats_nothing(made, monkeypatch):
    monkeypatch.setattr(calibration, "judge", None)
    folder = made.files[0].parent
    before = [path.read_bytes() for path in made.files]
    again = reproduction.reproduce("calibration", folder, runs=20, seed=2)
    assert [path.read_bytes() for path in again.files] == before


def judged(claimed, right, runs=100):
    return calibration.ClaimCounts("Challenger", "A1", 500, (runs,), (claimed * runs,), (right,), 0)


def test_the_most_optimistic_cell_is_named():
    modest, bold = judged(0.5, 80), judged(0.9, 85)
    assert calibration.optimism(bold) == pytest.approx(0.05)
    caption = calibration._caption([modest, bold], 100, 0)
    assert "The most optimistic is Challenger on A1 with budget 500: it claims 90.0% on average where 85.0%" in caption
    assert "No cell claims too much; the closest is" in calibration._caption([modest], 100, 0)
    assert calibration.mean_claim(bold) == Claims(100, 90.0, 85)


def test_prices_500_fold_apart_are_judged_by_what_recommendations_claim():
    """Of 40 live runs the mean claim is within five standard errors above what is right."""
    cell = calibration.Cell(calibration.load("P3"), calibration.SAMPLING["uniform sampling"], 300, seed=1)
    chance, right = calibration.live_claims(cell, 40)
    assert not np.isnan(chance).any()
    assert 0.5 < chance.mean() < right.mean() + 5 * (chance - right).std() / np.sqrt(40)
    assert {row.instance for row in [calibration.judge("Challenger", "P1", 60, runs=7, seed=0)]} == {"P1"}
