"""Results by item and arm, added up exactly: what the covariances of arms that share items are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestmix.answers.blocks import Blocks, with_errors
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import ExactSum, Moments
from bestmix.problems.problem import Problem


@dataclass(frozen=True)
class ItemSum:
    """Results of one arm on one item, nearly always a single one.

    >>> ItemSum.of([0.5, 2.0]).plus(ItemSum.of([0.25, 1.0])).values
    [0.75, 3.0]
    """

    count: int
    sums: tuple[ExactSum, ...]

    @classmethod
    def of(cls, row: Sequence[float]) -> "ItemSum":
        """One result."""
        return cls(1, tuple(map(ExactSum.of, row)))

    def plus(self, other: "ItemSum") -> "ItemSum":
        """These results and further ones."""
        both = zip(self.sums, other.sums, strict=True)
        return ItemSum(self.count + other.count, tuple(a.plus(b) for a, b in both))

    @property
    def values(self) -> list[float]:
        """The sums, each correctly rounded."""
        return [s.total / (1 << s.shift) for s in self.sums]

    def to_list(self) -> list[Any]:
        """Plain data, exact."""
        return [self.count, [str(s) for s in self.sums]]

    @classmethod
    def from_list(cls, data: Sequence[Any]) -> "ItemSum":
        """Inverse of ``to_list``."""
        return cls(data[0], tuple(map(ExactSum.parse, data[1])))


def item_blocks(found: Mapping[tuple[int, int], ItemSum], arms: Sequence[int], size: int) -> Blocks:
    """Counts and sums by item, from those of each (item, arm), for some arms in their order.

    >>> sums = {(7, 0): ItemSum.of([1.0]), (7, 2): ItemSum.of([3.0]), (4, 1): ItemSum.of([9.0])}
    >>> item_blocks(sums, [0, 2], 1).sums[0].ravel()
    array([1., 3.])
    """
    columns = {arm: column for column, arm in enumerate(arms)}
    used = [key for key in found if key[1] in columns]
    rows = {item: row for row, item in enumerate(sorted({item for item, _ in used}))}
    counts, sums = np.zeros((len(rows), len(arms))), np.zeros((len(rows), len(arms), size))
    for item, arm in used:
        one = found[item, arm]
        counts[rows[item], columns[arm]], sums[rows[item], columns[arm]] = one.count, one.values
    return Blocks(counts, sums)


def evidence_on_items(
    problem: Problem, moments: list[Moments], blocks: Blocks, without: Sequence[Moments | None] = ()
) -> Evidence:
    """What trials on items tell: where an arm met one several times, errors are those of items, not of trials.

    ``without`` are sums of each arm's trials that have no item, such as those of a log; they are among the moments.
    """
    if not blocks.repeated:
        return Evidence(problem, moments, blocks)
    rest = [*without, *[None] * (len(moments) - len(without))]
    plain = [m if log is None else m.without(log) for m, log in zip(moments, rest, strict=True)]
    own = with_errors(plain, blocks.errors(plain))
    whole = [m if log is None else m.joined(log) for m, log in zip(own, rest, strict=True)]
    return Evidence(problem, whole, blocks)
