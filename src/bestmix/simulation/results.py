"""Results of simulations: error rates with intervals, and tables of them."""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import checks, files
from bestmix.arrays import Floats
from bestmix.simulation.cells import CORRECT, WRONG_SUPPORT, WRONGLY_INFEASIBLE, Outcomes

Z = 1.959963984540054  # 97.5% quantile of the standard normal
QUANTILES = (0.5, 0.9, 0.99)


def wilson(errors: int, runs: int) -> tuple[float, float]:
    """95% interval of a proportion (Wilson's score interval).

    >>> wilson(5, 100)
    (0.02154..., 0.11175...)
    """
    if not runs:
        return 0.0, 1.0
    rate = errors / runs
    middle = (rate + Z * Z / (2 * runs)) / (1 + Z * Z / runs)
    half = Z / (1 + Z * Z / runs) * math.sqrt(rate * (1 - rate) / runs + Z * Z / (4 * runs * runs))
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(frozen=True, eq=False)
class CellResult:
    """Runs of one strategy on one instance with one budget."""

    instance: str
    strategy: str
    budget: float  # a number of trials, or an amount of money
    seed: int
    outcomes: Outcomes

    @property
    def runs(self) -> int:
        """How many runs."""
        return len(self.outcomes)

    @property
    def errors(self) -> int:
        """Runs with a wrong answer."""
        return int((self.outcomes.outcome != CORRECT).sum())

    @property
    def wrong_support(self) -> int:
        """Errors in which a mixture was recommended."""
        return int((self.outcomes.outcome == WRONG_SUPPORT).sum())

    @property
    def wrongly_infeasible(self) -> int:
        """Errors in which the verdict was infeasible."""
        return int((self.outcomes.outcome == WRONGLY_INFEASIBLE).sum())

    @property
    def error_rate(self) -> float:
        """Share of wrong answers."""
        return self.errors / self.runs if self.runs else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the error rate (Wilson)."""
        return wilson(self.errors, self.runs)

    @property
    def mean_pulls(self) -> float:
        """Mean number of trials made."""
        return float(self.outcomes.pulls.mean()) if self.runs else math.nan

    @property
    def kept(self) -> float:
        """Share of the recommended mixes that truly keep all limits, without runs whose verdict is infeasible."""
        kept, mixes = self._kept()
        return kept / mixes if mixes else math.nan

    @property
    def kept_interval(self) -> tuple[float, float]:
        """95% interval of that share (Wilson)."""
        return wilson(*self._kept())

    def _kept(self) -> tuple[int, int]:
        violation = self.outcomes.violation
        return int((violation <= 0).sum()), int((~np.isnan(violation)).sum())

    @property
    def regret(self) -> float:
        """Mean regret of the recommended mixes; below zero where they buy reward with violations."""
        return _mean(self.outcomes.regret)[0]

    @property
    def regret_interval(self) -> tuple[float, float]:
        """95% interval of the mean regret (normal)."""
        return _mean(self.outcomes.regret)[1]

    @property
    def loss(self) -> float:
        """Mean loss: regret, and every excess over a bound at its true shadow price.

        Runs whose verdict is infeasible recommend nothing and are left out: look at ``wrongly_infeasible`` too.
        """
        return _mean(self.outcomes.loss)[0]

    @property
    def loss_interval(self) -> tuple[float, float]:
        """95% interval of the mean loss (normal)."""
        return _mean(self.outcomes.loss)[1]

    def measured(self, by: str) -> tuple[float, tuple[float, float]]:
        """What figures and tables compare, with its 95% interval: ``"error"``, ``"loss"`` or ``"kept"``.

        >>> from bestmix import Uniform, simulate
        >>> cell = simulate("D1P", Uniform(), budget=2000, runs=50)
        >>> cell.measured("error") == (cell.error_rate, cell.interval)
        True
        """
        values = {
            "error": (self.error_rate, self.interval),
            "loss": (self.loss, self.loss_interval),
            "kept": (self.kept, self.kept_interval),
        }
        return values[checks.choice("by", by, list(values))]

    def row(self) -> dict[str, Any]:
        """One row of the table."""
        low, high = self.interval
        row: dict[str, Any] = {
            "instance": self.instance,
            "strategy": self.strategy,
            "budget": self.budget,
            "seed": self.seed,
            "runs": self.runs,
            "errors": self.errors,
            "error_rate": self.error_rate,
            "low": low,
            "high": high,
            "wrong_support": self.wrong_support,
            "wrongly_infeasible": self.wrongly_infeasible,
        }
        for name in ("pulls", "regret", "violation", "loss"):
            row |= _summary(name, vars(self.outcomes)[name].astype(np.float64))
        row |= dict(zip(("loss_low", "loss_high"), self.loss_interval, strict=True))
        return row | dict(zip(("kept", "kept_low", "kept_high"), (self.kept, *self.kept_interval), strict=True))

    def __str__(self) -> str:
        wrong, kept = (_shown(*pair) for pair in ((self.error_rate, self.interval), (self.kept, self.kept_interval)))
        return (
            f"{self.strategy} on {self.instance}, budget {self.budget:,}, {self.runs:,} runs: wrong support {wrong}, "
            f"limits kept {kept}, loss {_shown(self.loss, self.loss_interval)}"
        )


def _shown(value: float, interval: tuple[float, float]) -> str:
    return f"{value:.4f} ({interval[0]:.4f}, {interval[1]:.4f})"


def _mean(values: Floats) -> tuple[float, tuple[float, float]]:
    """Mean of the runs that have a value, with its 95% interval."""
    values = values[~np.isnan(values)]
    if not len(values):
        return math.nan, (math.nan, math.nan)
    mean = float(values.mean())
    half = Z * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return mean, (mean - half, mean + half)


def _summary(name: str, values: Floats) -> dict[str, float]:
    """Mean and quantiles of the runs that have a value."""
    values = values[~np.isnan(values)]
    if not len(values):
        return {f"{name}_mean": math.nan} | {f"{name}_q{q * 100:.0f}": math.nan for q in QUANTILES}
    quantiles = np.quantile(values, QUANTILES)
    return {f"{name}_mean": float(values.mean())} | {
        f"{name}_q{q * 100:.0f}": float(v) for q, v in zip(QUANTILES, quantiles, strict=True)
    }


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Cells of a sweep, in the order of instances, strategies and budgets."""

    cells: tuple[CellResult, ...]

    def __iter__(self) -> Iterator[CellResult]:
        return iter(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def get(self, instance: str, strategy: str, budget: float) -> CellResult:
        """The cell of that instance, strategy and budget."""
        for cell in self.cells:
            if (cell.instance, cell.strategy, cell.budget) == (instance, strategy, budget):
                return cell
        raise checks.InvalidInput("sweep", f"there is no cell ({instance!r}, {strategy!r}, {budget})", "see .rows()")

    def rows(self) -> list[dict[str, Any]]:
        """The table, a dict for each cell."""
        return [cell.row() for cell in self.cells]

    def to_pandas(self) -> Any:
        """The table as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.rows())

    def to_polars(self) -> Any:
        """The table as a polars frame."""
        import polars

        return polars.DataFrame(self.rows())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a .csv, .json or .parquet file."""
        path = Path(path)
        rows = self.rows()
        if path.suffix == ".json":
            files.write(path, {"rows": [_plain(row) for row in rows]})
        elif path.suffix == ".csv":
            files.write_text(path, files.csv_text([_plain(row) for row in rows]))
        elif path.suffix == ".parquet":
            import pyarrow
            from pyarrow import parquet

            with files.replacing(path) as temporary:
                parquet.write_table(pyarrow.Table.from_pylist(rows), temporary)
        else:
            raise checks.InvalidInput(path, "expected a name that ends in .csv, .json or .parquet", "rename it")

    def __str__(self) -> str:
        title = f"{'error rate (95% interval)':<25}  {'limits kept':<25}  loss"
        lines = [f"{'instance':<10} {'strategy':<12} {'budget':>8} {'runs':>7}  {title}"]
        for c in self.cells:
            pairs = (c.error_rate, c.interval), (c.kept, c.kept_interval), (c.loss, c.loss_interval)
            shown = "  ".join(f"{_shown(*pair):<25}" for pair in pairs).rstrip()
            lines.append(f"{c.instance:<10} {c.strategy:<12} {c.budget:>8} {c.runs:>7}  {shown}")
        return "\n".join(lines)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
