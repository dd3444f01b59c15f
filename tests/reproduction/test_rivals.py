import numpy as np

from bestmix.reproduction import rivals
from bestmix.reproduction.rival_instances import Subject, carlsson
from bestmix.simulation.cells import CORRECT, WRONGLY_INFEASIBLE, Outcomes
from bestmix.simulation.results import CellResult, SweepResult


def cell(strategy, wrong, pulls, budget=1000, loss=0.1):
    outcome, values = (np.arange(100) < wrong).astype(np.uint8), np.zeros(100)
    return CellResult("x", strategy, budget, 0, Outcomes(outcome, np.full(100, pulls), values, values, values + loss))


def comparison(has_support=True):
    spent = SweepResult((cell("Challenger", 5, 1000), cell("USLP", 9, 1000, loss=0.05), cell("OCBA", 100, 1000)))
    sure = SweepResult((cell("Challenger[0.95]", 2, 300), cell("LATS[0.95]", 40, 100), cell("CGE[0.95]", 0, 1000)))
    return rivals.Comparison(Subject("x", carlsson(), 1000, has_support), spent, sure)


def test_the_fewest_trials_are_of_those_that_keep_their_word():
    row = rivals.sure_rows([comparison()])[0]
    assert row == {
        "until sure": "x",
        "Challenger": "**300** (2.0%)",
        "LATS": "100 (40.0%)",
        "CGE": "over 1,000 (0.0%)",
    }
    assert rivals.sure_rows([comparison(has_support=False)])[0]["LATS"] == "**100** (loss 0.100)"


def test_single_arms_are_compared_by_loss_alone():
    assert rivals.error_rows([comparison()]) == [
        {"wrong answers in %": "x", "budget": "1,000", "Challenger": "**5.0**", "USLP": "9.0"}
    ]
    assert rivals.error_rows([comparison(has_support=False)]) == []
    assert rivals.loss_rows([comparison()])[0]["USLP"] == "**0.0500** (100%)"
    assert "OCBA" in rivals.loss_rows([comparison()])[0]


def test_the_caption_says_what_is_hollow():
    assert "hollow marks" in rivals._caption(10, 0, ["D1P", "traffic"])


def test_the_caption_says_what_is_left_out():
    assert "traffic is left out: paretobandit" in rivals._caption(10, 0, ["D1P"])
    assert "left out" not in rivals._caption(10, 0, ["D1P", "traffic"])


def test_runs_that_wrongly_said_infeasible_are_told_beside_the_loss():
    outcome = np.full(100, CORRECT, dtype=np.uint8)
    outcome[:7] = WRONGLY_INFEASIBLE
    found = np.where(outcome == CORRECT, 0.05, np.nan)
    cells = CellResult("x", "SFSR", 1000, 0, Outcomes(outcome, np.full(100, 900), found, 0 * found, found))
    result = SweepResult((cells,))
    one = rivals.Comparison(Subject("x", carlsson(), 1000, has_support=False), result, result)
    assert rivals.loss_rows([one])[0]["SFSR"] == "**0.0500** (100%; 7.0% infeasible)"
    assert rivals.sure_rows([one])[0]["SFSR"] == "**900** (loss 0.050; 7.0% infeasible)"
