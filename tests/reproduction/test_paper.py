import csv

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from bestmix import SFSR, catalog, reproduction, solve

FAILURE = reproduction.find_failure()


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", reproduction.FIGURES)
def test_every_figure_has_its_files(tmp_path, name):
    made = reproduction.reproduce(name, tmp_path / "deep", runs=20)
    assert [path.name for path in made.files] == [f"{name}.{kind}" for kind in ("png", "svg", "csv", "txt")]
    assert all(path.stat().st_size > 50 for path in made.files)
    assert (tmp_path / "deep" / f"{name}.txt").read_text() == made.caption + "\n"
    assert ("designed for this package" in made.caption) == (name in ("A", "H", "failure"))
    assert ("the paper's table" in made.caption) == (name == "D")
    assert "<svg" in (tmp_path / "deep" / f"{name}.svg").read_text()


def test_the_data_are_those_of_the_sweep(tmp_path):
    reproduction.reproduce("H", tmp_path, runs=30, seed=3)
    result = reproduction.error_curves("H", runs=30, seed=3)
    for written, cell in zip(rows(tmp_path / "H.csv"), result, strict=True):
        assert (written["instance"], written["strategy"], int(written["budget"])) == (
            cell.instance,
            cell.strategy,
            cell.budget,
        )
        assert (int(written["errors"]), int(written["runs"]), int(written["seed"])) == (cell.errors, 30, 3)
        assert float(written["error_rate"]) == cell.error_rate
    assert {cell.budget for cell in result if cell.instance == "H2"} == set(catalog.budgets("H2"))


def test_a_second_call_repeats_no_run_and_gives_the_same_files(tmp_path):
    first = reproduction.reproduce("A", tmp_path, runs=10)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()}
    images = [path.read_bytes() for path in first.files]
    second = reproduction.reproduce("A", tmp_path, runs=10)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").iterdir()} == before
    assert [path.read_bytes() for path in second.files] == images


def test_the_score_data(tmp_path):
    reproduction.reproduce("score", tmp_path)
    found = {row["column"]: (row["partner"], round(float(row["score"]), 3)) for row in rows(tmp_path / "score.csv")}
    arms = {"1": ("2", 2.2), "2": ("1", 2.2), "3": ("4", 1.14), "4": ("1", 2.008), "5": ("1", 1.45)}
    assert found == arms | {"slack": ("1", 1.7)}


def test_the_failure_is_what_it_is_said_to_be():
    instance = catalog.load("H2")
    best = [arm for arm, share in zip(instance.arms, solve(instance).mixture, strict=True) if share > 0]
    victim = instance.arms.index(FAILURE.rejected)
    assert FAILURE.rejected in best
    assert instance.cost[0, victim] == min(instance.cost[0, instance.arms.index(arm)] for arm in best)
    assert FAILURE.means[victim, 0] >= instance.reward[victim]
    assert FAILURE.means[victim, 1] <= instance.cost[0, victim]
    assert FAILURE.scores[FAILURE.rejected] == min(FAILURE.scores.values())
    assert FAILURE.spared not in best


def test_the_failure_happens_again_in_a_live_search():
    instance = catalog.load("H2")
    search = SFSR(score="lagrangian").start(instance.problem, FAILURE.budget)
    rng = np.random.default_rng([FAILURE.seed, FAILURE.run])
    owed = search.ask()
    assert set(owed.values()) == {FAILURE.pulls}
    for arm, count in owed.items():
        trials = instance.draw(instance.arms.index(arm), count, rng)
        search.tell(arm, trials[:, 0], trials[:, 1:])
    assert search.history[0].rejected == FAILURE.rejected
    np.testing.assert_array_equal(search.evidence.means, FAILURE.means)


def test_the_failure_data(tmp_path):
    made = reproduction.reproduce("failure", tmp_path)
    written = rows(tmp_path / "failure.csv")
    assert [row["arm"] for row in written if row["rejected"] == "True"] == [FAILURE.rejected]
    for row in written:
        assert (int(row["seed"]), int(row["run"])) == (FAILURE.seed, FAILURE.run)
        assert float(row["distance"]) == pytest.approx(-FAILURE.scores[row["arm"]], abs=1e-9)
    far = max(written, key=lambda row: float(row["distance"]))
    assert far["arm"] == FAILURE.rejected
    assert f"run {FAILURE.run} with seed {FAILURE.seed}" in made.caption


def test_a_search_without_success_says_so(monkeypatch):
    monkeypatch.setattr(reproduction.paper, "MOST_TRIES", 1)
    with pytest.raises(RuntimeError, match="none in 1 runs of H2"):
        reproduction.find_failure()


def test_unknown_figures_are_refused(tmp_path):
    with pytest.raises(ValueError, match="expected one of 'score', 'A'"):
        reproduction.reproduce("B", tmp_path)


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"runs": 2.5}, {"instances": 0}])
def test_numbers_that_make_no_sense_are_refused(tmp_path, wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}: expected a whole number of at least 1"):
        reproduction.reproduce("beyond", tmp_path / "new", **wrong)
    assert not (tmp_path / "new").exists()
