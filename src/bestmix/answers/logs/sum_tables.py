"""Tables of sums: what their columns are called, and how they are read.

Of each measure a table has its sum, in a column of its name, and of each two measures the sum of their products,
squares too, in columns such as ``quality*dollars``. It may have sums of third powers, ``dollars*dollars*dollars``: they
tell how skewed a measure is. Two other forms say the same: means and covariances (``mean(quality)``, ``var(quality)``,
``cov(quality, dollars)``), and numbers in place of names (``sum_1``, ``sum_1_2``) for databases that do not take such
names; the column ``measures`` lists the names then.
"""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from bestmix import checks
from bestmix.answers.logs.columns import Values, places
from bestmix.answers.logs.files import read_table
from bestmix.answers.logs.tables import MADE, Group, MissingValues, read_groups
from bestmix.answers.moments import ExactSum, Moments, add_columns
from bestmix.arrays import Floats, Integers
from bestmix.problems.quantities import Column, Mean

BLOCK = "block"  # the column with the block, where there is one
INCOMPLETE = "incomplete"  # the column with the number of rows that miss a value
MEASURES = "measures"  # the column with the names, where the others have numbers
ROUNDING = 1e-9  # of a sum of squares: by so much it may miss what the sums ask for
RESIDUE = 16 * 2.0**-52  # of a sum of squares: what rounding leaves of values that were all alike
FEW = 16  # trials up to which it grows like their root; a real spread of many is not to be taken for it
CORRELATED = 1e-6  # a correlation of rounded sums may be beyond 1 by so much
SKEWED = 1.1  # times the skewness that so many trials can have at most: rounding
DAY = "day"  # a block for each day of a time


@dataclass(frozen=True)
class Names:
    """What the columns of a table of sums are called.

    >>> from bestmix.problems.quantities import Tail
    >>> names = Names.of([Mean("quality"), Tail("seconds", ">", 2.0)])
    >>> names.sums, [names.product(*pair) for pair in names.pairs]
    (('quality', 'p(seconds > 2)'), ['quality*quality', 'quality*p(seconds > 2)'])
    """

    sums: tuple[str, ...]
    events: tuple[bool, ...]  # of 0 and 1, whose squares are themselves

    @classmethod
    def of(cls, measures: Sequence[Column], reward: str = "reward") -> "Names":
        """The names of measures; the reward has a column of the user's own name."""
        plain = [measure.metric if isinstance(measure, Mean) else str(measure) for measure in measures]
        sums = tuple(reward if name == "reward" else name for name in plain)
        return cls(sums, tuple(not isinstance(measure, Mean) for measure in measures))

    @property
    def squares(self) -> list[tuple[int, int]]:
        """All pairs of measures, in the order of ``Moments``."""
        return [(i, j) for i in range(len(self.sums)) for j in range(i, len(self.sums))]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs whose products have a column."""
        return [(i, j) for i, j in self.squares if i != j or not self.events[i]]

    @property
    def powers(self) -> list[tuple[int, int, int]]:
        """Measures whose third powers have a column, each three times."""
        return [(i, i, i) for i, event in enumerate(self.events) if not event]

    def product(self, *measures: int) -> str:
        """The name of a sum of products."""
        return "*".join(self.sums[i] for i in measures)


class Sums(NamedTuple):
    """What a table says of one arm in one segment."""

    moments: Moments  # of all of its rows
    counts: Integers  # trials of each row (r,)
    sums: Floats  # of the measures, of each row (r, M)
    blocks: Integers  # the number of each row's block (r,); zeros where there are none


def check_blocks(block: str | None, blocks: int | str | None) -> int | Literal["day"] | None:
    """How the units of a column are put into blocks: so many, one for each day, or one for each value.

    >>> check_blocks("user", 100), check_blocks("time", "day"), check_blocks("user", None)
    (100, 'day', None)
    """
    if blocks is not None and block is None:
        raise checks.InvalidInput("blocks", "there is no column of the unit", "name it with block")
    if blocks is None:
        return None
    if blocks == DAY:
        return "day"
    return checks.whole("blocks", blocks, 2, "100 is a good number, or 'day'", most=100_000)


def unit_column(item: str | None, block: str | None, blocks: int | str | None = None) -> str | None:
    """The column of what rows have in common: the item, which is a block of its own, or the block.

    >>> unit_column("prompt", None), unit_column(None, "user")
    ('prompt', 'user')
    """
    if item is None:
        return block
    if block is not None or blocks is not None:
        raise checks.InvalidInput("item", "an item is a block of its own", "leave out block and blocks, or the item")
    return checks.names("item", [item], "column")[0]


def read_sums(
    frame: Any, names: Names, arm: str, n: str, segment: str | None, block: str | None
) -> tuple[dict[Group, Sums], int]:
    """What the table says of each group, and how many blocks there are; 0 where it has no column of that name.

    >>> table = {"arm": ["a", "b"], "n": [2, 1], "x": [3.0, 1.0], "x*x": [5.0, 1.0]}
    >>> read_sums(table, Names(("x",), (False,)), "arm", "n", None, None)[0]["a", None].moments.mean()
    array([1.5])
    """
    columns = named(table_of(frame), names.sums)
    _check_complete(columns)
    blocks = 0
    if block == BLOCK and BLOCK not in columns:
        block = None
    if block is not None:
        (block,) = places(list(columns), [block])
        labels = Values(list(columns[block])).labels()
        codes = [code if code >= 0 else None for code in labels.codes.tolist()]  # a missing one is told as such
        columns, blocks = columns | {MADE + block: codes}, len(labels.names)
    wanted = _statistics(columns, names) or _sums(columns, names)
    found = read_groups(columns, arm, n, [*wanted, *([] if block is None else [MADE + block])], segment=segment)
    add_up = _from_statistics if wanted[0] == f"mean({names.sums[0]})" else added_up
    return {group: _group(group[0], table, names, add_up, block is not None) for group, table in found.items()}, blocks


def table_of(frame: Any) -> dict[str, Any]:
    """The columns of a file, a frame or a mapping, by their names without spaces around."""
    if isinstance(frame, (str, os.PathLike)):
        frame = read_table(Path(frame))
    available = list(frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", []))
    if not available:
        expected = "a path of a table or -, a pandas or polars frame or a mapping of columns"
        raise checks.InvalidInput("sums", expected=expected, got=type(frame).__name__, remedy="pass one of them")
    return {str(name).strip(): frame[name] for name in available}


def named(columns: dict[str, Any], sums: Sequence[str]) -> dict[str, Any]:
    """A table whose columns have names, from one with numbers; any other as it is.

    >>> named({"n": [1], "sum_1": [2.0], "sum_1_1": [4.0], "measures": ['["x"]']}, ["x"])
    {'n': [1], 'x': [2.0], 'x*x': [4.0]}
    """
    if "sum_1" not in columns or MEASURES not in columns or MEASURES in sums:
        return columns
    texts = list(dict.fromkeys(map(str, columns[MEASURES])))
    try:
        (text,) = texts
        names = dict(enumerate(json.loads(text), 1))
    except (ValueError, TypeError):
        expected = "the same list of names in every row of the column 'measures'"
        raise checks.InvalidInput("sums", expected=expected, got=checks.shown(texts), remedy="sum it again") from None
    numbers = {f"sum_{i}": name for i, name in names.items()}
    numbers |= {f"sum_{i}_{j}": f"{a}*{b}" for i, a in names.items() for j, b in names.items()}
    numbers |= {f"sum_{i}_{i}_{i}": f"{a}*{a}*{a}" for i, a in names.items()}
    return {numbers.get(name, name): values for name, values in columns.items() if name != MEASURES}


def _check_complete(columns: Mapping[str, Any]) -> None:
    """Refuse sums of rows of which some miss a value: what they add up to is not known."""
    if INCOMPLETE in columns and (missing := int(np.nansum(Values(list(columns[INCOMPLETE])).numbers()))):
        raise MissingValues("sums", f"{missing} rows miss a value", "fill them in, or leave them out of the query")


def _sums(columns: Mapping[str, Any], names: Names) -> list[str]:
    """Columns with sums and products, written in either order, and with third powers if all of these are there."""
    products = [_either(columns, names.product(i, j), names.product(j, i)) for i, j in names.pairs]
    powers = [names.product(*each) for each in names.powers]
    return [*names.sums, *products, *(powers if all(_is_told(columns, name) for name in powers) else [])]


def _is_told(columns: Mapping[str, Any], name: str) -> bool:
    """Whether there is such a column, with numbers that can be reckoned with; a third power may be too large."""
    return name in columns and bool((np.abs(Values(list(columns[name])).numbers()) <= checks.LARGEST).all())


def _statistics(columns: Mapping[str, Any], names: Names) -> list[str]:
    """Columns with means and covariances; nothing where the table has none."""
    means = [f"mean({name})" for name in names.sums]
    if means[0] not in columns:
        return []
    if names.sums[0] in columns:
        fault = f"there is the sum {names.sums[0]!r} as well as {means[0]!r}"
        raise checks.InvalidInput("sums", fault, "give sums and products, or means and covariances")
    spelt = {name.replace(", ", ","): name for name in columns}
    found = []
    for i, j in names.pairs:
        a, b = names.sums[i].replace(", ", ","), names.sums[j].replace(", ", ",")
        text = _either(spelt, f"cov({a},{b})", f"cov({b},{a})") if i != j else f"var({a})"
        found.append(spelt.get(text, text))
    return [*means, *found]


def _either(columns: Mapping[str, Any], first: str, second: str) -> str:
    if first != second and first in columns and second in columns:
        raise checks.InvalidInput("sums", f"{first!r} and {second!r} are the same column", "leave one of them out")
    return second if first not in columns and second in columns else first


def _group(name: str, table: Floats, names: Names, add_up: "AddUp", in_blocks: bool) -> Sums:
    counts = [checks.whole(f"n of {name!r}", float(n), 0, "give the number of trials") for n in table[:, 0]]
    blocks = table[:, -1].astype(np.int64) if in_blocks else np.zeros(len(table), dtype=np.int64)
    values = table[:, 1:-1] if in_blocks else table[:, 1:]
    moments, sums = add_up(counts, values, names)
    return Sums(
        _possible(name, moments, names, RESIDUE if add_up is added_up else 0.0),
        np.array(counts, dtype=np.int64),
        sums,
        blocks,
    )


def added_up(counts: list[int], values: Floats, names: Names) -> tuple[Moments, Floats]:
    """All rows together, exactly, and the sums of each; the powers of an event are the event."""
    size, pairs = len(names.sums), len(names.pairs)
    place = {pair: size + k for k, pair in enumerate(names.pairs)}
    power = {i: size + pairs + k for k, (i, *_) in enumerate(names.powers)}
    moments = Moments(size, sum(counts))
    columns = [*range(size), *(place.get(pair, pair[0]) for pair in names.squares)]
    totals = [*moments.sums, *moments.products]
    if values.shape[1] == size + pairs + len(power):
        moments.cubes = [ExactSum() for _ in names.sums]
        columns, totals = [*columns, *(power.get(i, i) for i in range(size))], [*totals, *moments.cubes]
    add_columns(values[:, columns], totals)
    return moments, values[:, :size]


def _from_statistics(counts: list[int], values: Floats, names: Names) -> tuple[Moments, Floats]:
    """The same from means and covariances, which are the unbiased ones that databases give."""
    size = len(names.sums)
    moments, means = Moments(size), values[:, :size]
    place = {pair: size + k for k, pair in enumerate(names.pairs)}
    for n, row in zip(counts, values, strict=True):
        scatter = np.zeros((size, size))
        for i, j in names.squares:
            event = n * row[i] * (1.0 - row[i])
            scatter[i, j] = scatter[j, i] = (n - 1) * row[place[i, j]] if (i, j) in place else event
        moments = moments.joined(Moments.from_statistics(n, row[:size], scatter))
    return moments, np.array(counts)[:, None] * means


AddUp = Callable[[list[int], Floats, Names], tuple[Moments, Floats]]


def _possible(name: str, moments: Moments, names: Names, residue: float) -> Moments:
    """The sums of a group, rounded to what trials can have; what is far from it is refused.

    ``residue`` is what rounding may leave of a sum of squares where values were all alike.
    """
    whole = moments.scatter().copy()
    scatter = np.diag(whole).copy()
    squares = [p for (i, j), p in zip(names.squares, moments.products, strict=True) if i == j]
    largest = np.array([abs(p.total) / 2**p.shift for p in squares])
    if (scatter < -ROUNDING * largest).any() or (moments.count == 0 and largest.any()):
        column = names.sums[int(np.argmin(scatter))]
        fault = f"of {name!r} the sum of {column}*{column} is less than {column} and n ask for"
        raise checks.InvalidInput("sums", fault, "give sums of squares, not squares of sums")
    _check_spread(name, moments, names, np.sqrt(np.maximum(scatter, 0.0)), np.sqrt(largest))
    noise = residue * math.sqrt(min(max(moments.count, 1), FEW)) * largest
    if (scatter < 0).any() or ((scatter > 0) & (scatter <= noise)).any():  # of values that were all alike: no spread
        none = scatter <= noise
        whole[none], whole[:, none] = 0.0, 0.0
        return Moments.from_statistics(moments.count, moments.mean(), whole).as_skewed(moments.skewness())
    return moments


def _check_spread(name: str, moments: Moments, names: Names, spread: Floats, size: Floats) -> None:
    """Refuse what no trials can have: a spread of a single one, correlations beyond one, parts of an event."""
    if moments.count == 1 and (spread > math.sqrt(ROUNDING) * size).any():
        column = names.sums[int(np.argmax(spread / np.where(size > 0, size, 1.0)))]
        fault = f"of {name!r} the sum of {column}*{column} is not the square of {column}, of a single trial"
        raise checks.InvalidInput("sums", fault, "sum them again")
    far = np.abs(moments.scatter()) - np.outer(spread, spread) * (1.0 + CORRELATED) - ROUNDING * np.outer(size, size)
    if moments.count and (far > 0).any():
        i, j = divmod(int(np.argmax(far)), len(spread))
        fault = f"of {name!r} the sum of {names.product(*sorted((i, j)))} would make a correlation beyond 1"
        raise checks.InvalidInput("sums", fault, "sum them again")
    skewness, most = moments.skewness(), (moments.count - 2.0) / math.sqrt(max(moments.count - 1.0, 1.0))
    if skewness is not None and moments.count > 2 and np.abs(skewness).max(initial=0.0) > SKEWED * most:
        column = names.sums[int(np.argmax(np.abs(skewness)))]
        fault = f"of {name!r} the sum of {column}*{column}*{column} is more than so many trials can have"
        raise checks.InvalidInput("sums", fault, "sum third powers, not third powers of sums")
    told = moments.mean() * moments.count if moments.count else np.zeros(len(spread))
    part = np.where(names.events, np.abs(told - np.round(told)), 0.0)
    if (part > CORRELATED * max(moments.count, 1)).any():
        column = names.sums[int(np.argmax(part))]
        fault = f"of {name!r} {column} counts events, got a sum that is no whole number"
        raise checks.InvalidInput("sums", fault, "give the number of trials in which it happened")
