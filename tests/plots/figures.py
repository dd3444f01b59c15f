"""What the tests of figures share: an instance, tables of made-up results, and a look at where the texts are."""

import numpy as np

from bestmix import Instance
from bestmix.simulation.cells import Outcomes
from bestmix.simulation.results import CellResult, SweepResult

FIVE = Instance([1.7, 2.6, 0.5, 2.1, 1.2], [[0.0, 1.8, 0.8, 1.3, 2.0]], [1.0])


def cell(instance, strategy, budget, errors, runs=1000):
    outcome = np.zeros(runs, np.uint8)
    outcome[:errors] = 1
    return CellResult(instance, strategy, budget, 0, Outcomes(outcome, np.zeros(runs, np.int64), *np.zeros((3, runs))))


def table(*errors, names=("one",), strategies=("SFSR", "USLP"), budgets=(1000, 2000, 4000)):
    cells = [
        cell(name, strategy, budget, e)
        for name in names
        for strategy in strategies
        for budget, e in zip(budgets, errors, strict=True)
    ]
    return SweepResult(tuple(cells))


def assert_nothing_is_clipped(figure):
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= -0.01
    assert drawn.x1 <= width + 0.01
    assert drawn.y1 <= height + 0.01


def assert_names_do_not_overlap(figure):
    for ax in figure.axes:
        names = [text.get_window_extent() for text in ax.texts]
        assert not any(a.overlaps(b) for i, a in enumerate(names) for b in names[:i])
