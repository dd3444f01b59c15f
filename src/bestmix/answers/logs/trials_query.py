"""Trials as a query sees them, one a row, and what it adds up of them; as text for DuckDB."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bestmix.answers.logs.sum_tables import INCOMPLETE, Names
from bestmix.problems.quantities import Column, Tail

COUNTS = (("COUNT(*)", "n"), ('COUNT(*) - COUNT("whole")', INCOMPLETE))


@dataclass(frozen=True)
class Trials:
    """The rows that are added up, as texts in the query: where they come from, and what is read of each."""

    source: str
    arm: str
    measured: tuple[str, ...]
    read: tuple[str, ...]  # the columns that must not be missing
    segment: str | None = None
    block: str | None = None
    conditions: tuple[str, ...] = ()
    drop_missing: bool = False

    @property
    def keys(self) -> dict[str, str]:
        """What rows are grouped by."""
        keys = {"arm": self.arm, "segment": self.segment, "block": self.block}
        return {name: text for name, text in keys.items() if text is not None}

    def text(self) -> str:
        """The inner query."""
        whole = " AND ".join(f"NOT {column} IS NULL" for column in self.read)
        columns = [f'{text} AS "{name}"' for name, text in self.keys.items()]
        columns += [f'{text} AS "m{k}"' for k, text in enumerate(self.measured, 1)]
        columns.append(f'CASE WHEN {whole} THEN 1 END AS "whole"')
        there = [f"NOT {text} IS NULL" for text in (self.arm, self.segment) if text is not None]
        conditions = [*self.conditions, *([*there, whole] if self.drop_missing else [])]
        where = "\n  WHERE\n    " + "\n    AND ".join(conditions) if conditions else ""
        return "  SELECT\n    " + ",\n    ".join(columns) + f"\n  FROM {self.source}{where}"

    def grouped(self, keys: Sequence[str], columns: Iterable[tuple[str, str]]) -> str:
        """The whole query: these names for the keys, and aggregates with theirs."""
        # With the inner query's name: a user's column may be called as one of its keys.
        inner = [f'"trials"."{key}"' for key in self.keys]
        named = [f"{text} AS {quoted(name)}" for text, name in [*zip(inner, keys, strict=True), *columns]]
        select, groups = ",\n  ".join(named), ",\n  ".join(inner)
        return f'SELECT\n  {select}\nFROM (\n{self.text()}\n) AS "trials"\nGROUP BY\n  {groups}\nORDER BY\n  {groups}'


def measured(column: str, measure: Column, number: str = "CAST({} AS DOUBLE)") -> str:
    """What is measured in a row.

    >>> measured('"seconds"', Tail("seconds", ">", 2.5), "{}")
    'CAST(CASE WHEN "seconds" > 2.5 THEN 1 ELSE 0 END AS DOUBLE)'
    """
    value = number.format(column)
    if not isinstance(measure, Tail):
        return value
    threshold = repr(measure.threshold).removesuffix(".0")
    return f"CAST(CASE WHEN {value} {measure.comparison} {threshold} THEN 1 ELSE 0 END AS DOUBLE)"


def aggregates(names: Names, function: str, numbered: bool = False) -> list[tuple[str, str]]:
    """Sums of the inner query's measures, of their products and of their third powers, each with its name."""
    sums = [(f'{function}("m{i}")', f"sum_{i}" if numbered else name) for i, name in enumerate(names.sums, 1)]
    for measures in [*names.pairs, *names.powers]:
        factors, number = " * ".join(f'"m{i + 1}"' for i in measures), "_".join(str(i + 1) for i in measures)
        sums.append((f"{function}({factors})", f"sum_{number}" if numbered else names.product(*measures)))
    return sums


def quoted(name: str) -> str:
    """A name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in single quotes."""
    return "'" + text.replace("'", "''") + "'"
