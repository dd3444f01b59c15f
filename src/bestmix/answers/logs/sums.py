"""Sums of a log, added up as it comes: in DuckDB where that is installed, else in blocks of rows, exactly."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from hashlib import md5
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers.logs.columns import Column, Labels
from bestmix.answers.logs.sum_tables import DAY, Sums, check_blocks
from bestmix.answers.logs.tables import MADE, Group, Sorter, log_chunks
from bestmix.answers.moments import Moments
from bestmix.arrays import Floats, Integers
from bestmix.problems.rows import Rows

MOST_ROWS = 2**20  # that are held before they are added up


class LogColumns(NamedTuple):
    """Where the values of a trial stand in a log."""

    arm: str
    metrics: tuple[str, ...]  # in the order of the problem's
    segment: str | None = None
    block: str | None = None
    blocks: int | Literal["day"] | None = None  # how many, by a hash; a block for each day; or for each value

    @classmethod
    def of(
        cls,
        rows: Rows,
        arm: str,
        reward: str,
        segment: str | None = None,
        block: str | None = None,
        blocks: int | Literal["day"] | None = None,
    ) -> "LogColumns":
        """The columns of a problem's metrics; the reward has a column of the user's own name."""
        blocks = check_blocks(block, blocks)
        return cls(arm, tuple(reward if m == "reward" else m for m in rows.metrics), segment, block, blocks)

    @property
    def wanted(self) -> list[str]:
        """All columns that are read, the block's once where it is another one too."""
        keys = [self.arm, *self.metrics, *([] if self.segment is None else [self.segment])]
        return keys if self.block is None or self.block in keys else [*keys, self.block]


def read_log_sums(
    frame: Any, rows: Rows, columns: LogColumns, drop_missing: bool = False
) -> tuple[dict[Group, Sums], int]:
    """Sums of each arm (in each segment) in order of first appearance, and how many blocks there are; 0 for none.

    >>> from bestmix.problems.goals import Goal
    >>> log = {"arm": ["b", "a", "b"], "reward": [1.0, 2.0, 4.0]}
    >>> found, _ = read_log_sums(log, Rows(Goal(), ()), LogColumns("arm", ("reward",)))
    >>> {group: part.moments.mean().tolist() for group, part in found.items()}
    {('b', None): [2.5], ('a', None): [2.0]}
    """
    if isinstance(frame, (str, os.PathLike)):
        from bestmix.answers.logs.duckdb_files import duckdb_sums

        found = duckdb_sums(Path(frame), rows, columns)
        if found is not None:
            return found
    return Adder(rows, columns).read(frame, drop_missing)


@dataclass
class Adder:
    """Adds up a log as it comes; no division into parts changes a bit of the sums."""

    rows: Rows
    columns: LogColumns
    totals: dict[Group, "Total"] = field(default_factory=dict)

    @cached_property
    def blocks(self) -> "BlockNumbers":
        """The number of each block that was seen."""
        return BlockNumbers(self.columns.blocks)

    @property
    def in_blocks(self) -> bool:
        """Whether there are blocks."""
        return self.columns.block is not None

    def read(self, frame: Any, drop_missing: bool) -> tuple[dict[Group, Sums], int]:
        """The sums of a whole log."""
        metrics = [*self.columns.metrics, *([] if self.columns.block is None else [MADE + self.columns.block])]
        sorter, rows = Sorter(self.columns.arm, metrics, self.columns.segment), 0
        for chunk in log_chunks(frame, self.columns.wanted):
            sorter.add(self._with_blocks(chunk))
            if sorter.rows - rows >= MOST_ROWS:
                self._add(sorter)
                rows = sorter.rows
        sorter.check(drop_missing, frame)
        self._add(sorter)
        return {group: total.sums(self.in_blocks) for group, total in self.totals.items()}, len(self.blocks.numbers)

    def _with_blocks(self, chunk: Mapping[str, Column]) -> Mapping[str, Column]:
        if self.columns.block is None:
            return chunk
        return {**chunk, MADE + self.columns.block: BlockColumn(chunk[self.columns.block], self.blocks)}

    def _add(self, sorter: Sorter) -> None:
        size = len(self.rows.measures)
        for group, table in sorter.tables():
            table = checks.array(f"log[{group[0]!r}]", table, (None, None), "")
            measured = self.rows.measure(table[:, : len(self.columns.metrics)])
            codes = table[:, -1].astype(np.int64) if self.in_blocks else None
            self.totals.setdefault(group, Total(Moments(size))).add(measured, codes)


@dataclass
class Total:
    """Sums of one group so far."""

    moments: Moments
    counts: Floats = field(default_factory=lambda: np.zeros(0))
    table: Floats | None = None  # sums by block (B, M)

    def add(self, measured: Floats, codes: Integers | None) -> None:
        """Further trials (m, M), and the number of each one's block."""
        self.moments.add(measured)
        if codes is not None:
            number = max(int(codes.max()) + 1, len(self.counts))
            before = np.zeros((0, measured.shape[1])) if self.table is None else self.table
            added = np.column_stack([np.bincount(codes, column, number).astype(np.float64) for column in measured.T])
            added[: len(before)] += before
            counts = np.bincount(codes, minlength=number).astype(np.float64)
            counts[: len(self.counts)] += self.counts
            self.counts, self.table = counts, added

    def sums(self, in_blocks: bool) -> Sums:
        """What a table of sums would say."""
        if not in_blocks or self.table is None:
            total = np.array([s.total / (1 << s.shift) for s in self.moments.sums])
            return Sums(self.moments, np.array([self.moments.count]), total[None], np.zeros(1, dtype=np.int64))
        used = np.flatnonzero(self.counts)
        return Sums(self.moments, self.counts[used].astype(np.int64), self.table[used], used)


@dataclass
class BlockNumbers:
    """Blocks in order of first appearance.

    >>> numbers = BlockNumbers(2)
    >>> numbers.of("user 1"), numbers.of("user 2"), numbers.of("user 1")
    (0, 1, 0)
    """

    blocks: int | Literal["day"] | None
    numbers: dict[object, int] = field(default_factory=dict)

    def of(self, unit: str) -> int:
        """The number of a unit's block."""
        return self.numbers.setdefault(block_name(unit, self.blocks), len(self.numbers))


def block_name(unit: str, blocks: int | Literal["day"] | None) -> int | str:
    """Which block a unit is in, the same here and in DuckDB.

    >>> block_name("user 1", 100), block_name("2026-01-31 10:00", "day"), block_name("user 1", None)
    (45, '2026-01-31', 'user 1')
    """
    if blocks is None:
        return unit
    if blocks == DAY:
        return _day(unit)
    return int.from_bytes(md5(unit.encode(), usedforsecurity=False).digest()[8:], "little") % int(blocks)


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        expected = "dates or times in ISO 8601, such as 2026-01-31, for blocks of days"
        raise checks.InvalidInput(
            "block", expected=expected, got=checks.shown(text), remedy="name another column"
        ) from None


@dataclass(frozen=True)
class BlockColumn:
    """The number of each row's block as a column of a log."""

    column: Column
    found: BlockNumbers

    def __len__(self) -> int:
        return len(self.column)

    def labels(self) -> Labels:
        """The units."""
        return self.column.labels()

    def numbers(self) -> Floats:
        """The numbers of their blocks, NaN where one is missing."""
        codes, names = self.column.labels()
        return np.asarray(np.array([*map(self.found.of, names), np.nan], dtype=np.float64)[codes])
