import numpy as np
import pytest

from bestmix.cli import rivals
from bestmix.problems import catalog
from bestmix.simulation.cells import Outcomes
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


@pytest.mark.parametrize(("strategy", "stop"), [(["sfsr"], {}), (None, {"tolerance": "1%"})])
def test_options_that_have_no_use_are_refused(strategy, stop):
    with pytest.raises(ValueError, match="--rivals: expected no --strategy"):
        rivals.check(strategy, stop)
    rivals.check(None, {"confidence": 0.9})
