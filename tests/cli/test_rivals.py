import numpy as np
import pytest

from bestmix.cli import rivals
from bestmix.problems import catalog, families
from bestmix.simulation.cells import CORRECT, WRONGLY_INFEASIBLE, Outcomes
from bestmix.simulation.results import CellResult, SweepResult


def cell(strategy, budget, wrong, pulls):
    zeros = np.zeros(10)
    outcome = (np.arange(10) < wrong).astype(np.uint8)
    return CellResult("D2P", strategy, budget, 0, Outcomes(outcome, np.full(10, pulls), zeros, zeros, zeros))


def test_both_kinds_of_strategies_are_simulated():
    budgets, sure = rivals.grids("D2P", catalog.load("D2P"), [4000], 0.9, runs=10, seed=0)
    assert "OCBA" in budgets.strategies
    assert budgets.budgets == {"D2P": [4000]}
    assert "LAGEX[0.9]" in sure.strategies
    assert sure.budgets == {"D2P": [rivals.CAP * 4000]}


def test_the_table_says_who_was_cut_off():
    table = rivals.rivals_table(SweepResult((cell("LATS[0.9]", 100, 2, 100), cell("Challenger[0.9]", 100, 1, 60))))
    trials = list(table.columns[-1].cells)
    assert trials == ["≥ 100", "60"]
    assert [str(text) for text in table.columns[2].cells][1].startswith("10.0 (")


def test_it_is_told_where_strategies_that_stop_by_themselves_are_cut_off(capsys):
    spent, sure = cell("OCBA", 4000, 1, 4000), cell("LATS[0.9]", rivals.CAP * 4000, 1, 9000)
    rivals.conclude([SweepResult((spent,)), SweepResult((sure,))], [])
    assert "at 128,000 trials, 32 times the largest one, they are cut off." in capsys.readouterr().out


def test_a_cell_without_any_mix_says_so_and_the_best_loss_is_that_of_the_others():
    nothing = cell("SFSR", 100, 10, 100)
    outcomes = Outcomes(nothing.outcomes.outcome, nothing.outcomes.pulls, *np.full((3, 10), np.nan))
    none = CellResult("D2P", "SFSR", 100, 0, outcomes)
    table = rivals.rivals_table(SweepResult((none, cell("USLP", 100, 1, 100))))
    losses = list(table.columns[3].cells)
    assert [str(text) for text in losses] == ["no mix", "0.0000"]
    assert [str(text.style) for text in losses] == ["", "bold cyan"]
    assert next(iter(table.columns[4].cells)) == "no mix"
    assert [str(text) for text in rivals.rivals_table(SweepResult((none,))).columns[3].cells] == ["no mix"]


def test_runs_that_wrongly_said_infeasible_have_a_column():
    outcome = np.full(10, CORRECT, dtype=np.uint8)
    outcome[:4] = WRONGLY_INFEASIBLE
    found = np.where(outcome == CORRECT, 0.1, np.nan)
    some = CellResult("D2P", "SFSR", 100, 0, Outcomes(outcome, np.full(10, 100), found, found, found))
    table = rivals.rivals_table(SweepResult((some, cell("USLP", 100, 1, 100))))
    assert table.columns[5].header == "without a mix in %"
    assert list(table.columns[5].cells) == ["40.0", ""]
    assert len(rivals.rivals_table(SweepResult((cell("USLP", 100, 1, 100),))).columns) == 6


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ((["sfsr"], {}), "--strategy"),
        ((None, {"tolerance": "1%"}), "other stop than --confidence"),
        ((None, {}, True), "--arriving"),
        ((None, {}, False, "loss"), "--by"),
    ],
)
def test_options_that_have_no_use_are_refused(options, named):
    with pytest.raises(ValueError, match=f"--rivals: expected no {named} with it"):
        rivals.check(*options)
    rivals.check(None, {"confidence": 0.9})


def test_published_algorithms_know_no_segments():
    with pytest.raises(ValueError, match="--rivals: expected an instance with one segment"):
        rivals.check_plain(families.random_segments(2, arms=3, costs=1, seed=3, margin=0.2))
