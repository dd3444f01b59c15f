"""Results of metrics without noise: each is held against the arm's results before it, in the same transaction too."""

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.experiments.revision import Setup
from bestmix.experiments.store import Transaction
from bestmix.strategies.exact_values import check_exact, exact_measures


class ExactResults:
    """What the arms have told so far, as far as a transaction asks."""

    def __init__(self, transaction: Transaction, setup: Setup) -> None:
        self._transaction, self._setup = transaction, setup
        self._any = bool(exact_measures(setup.strategy, setup.problem))
        self._told: dict[int, Moments] = {}

    def check(self, arm: int, values: tuple[float, ...]) -> None:
        """Refuse a result that differs from those before it where it must not."""
        if not self._any:
            return
        problem, rows = self._setup.problem, self._setup.problem.rows.measure(np.array([values]))
        told = self._told.get(arm) or self._transaction.moments([arm])[arm]
        check_exact(self._setup.strategy, problem, str(self._setup.revision.cells[arm]), told, rows)
        self._told[arm] = told if told.count else told.plus(rows)
