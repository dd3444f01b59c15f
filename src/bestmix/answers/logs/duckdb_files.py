"""Sums of a log in files by DuckDB, where it is installed: several times faster, and with no row held.

It is taken only where it says what reading every row would: whatever is missing, no plain number or text, or lost
among much larger values is left to the readers that tell it row by row. Sums are compensated floats, which may differ
from exact ones in the last digits; a metric that never varies within an arm has no spread here either.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bestmix.answers.logs import files as log_files
from bestmix.answers.logs.columns import MISSING, places
from bestmix.answers.logs.csv_files import layout, text_of
from bestmix.answers.logs.sum_tables import Names, Sums, added_up
from bestmix.answers.logs.tables import Group
from bestmix.answers.logs.trials_query import COUNTS, Trials, aggregates, literal, measured, quoted
from bestmix.answers.moments import LARGE, ExactSum, Moments
from bestmix.arrays import Flags, Floats
from bestmix.problems.rows import Rows

if TYPE_CHECKING:
    from bestmix.answers.logs.sums import LogColumns

HEAD = 20_000  # rows in which most arms appear
LOST = 1e-8  # of a sum of squares: a smaller scatter is left to exact sums
TINIEST = 1e-140  # products of smaller values lose digits
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
NUMBERS = (*INTEGERS, "DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN", "VARCHAR")
TIMES = ("DATE", "TIMESTAMP")
BLOCK = "block of bestmix"  # a column that files hardly have; where they do, their rows are read


class Unclean(Exception):
    """There is something in the files that DuckDB does not read as we do."""


class Source(NamedTuple):
    """Files of one kind as a table of DuckDB."""

    text: str
    columns: dict[str, str]  # the expression of each wanted column
    label: Callable[[Any], str | None]  # the name of an arm from what DuckDB says; None for what it cannot say
    types: Mapping[str, str] = {}  # of a Parquet file's wanted columns


def duckdb_sums(path: Path, rows: Rows, columns: "LogColumns") -> tuple[dict[Group, Sums], int] | None:
    """Sums of each group, and how many blocks there are; None where the rows themselves must be looked at."""
    files = log_files.matching(path)
    kinds = {log_files.kind_of(file) for file in files}
    large = kinds == {"parquet"} or sum(map(log_files.size_of, files)) >= log_files.SMALL_FILE
    if str(path) == log_files.STANDARD_INPUT or len(kinds) != 1 or not large or not find_spec("duckdb"):
        return None
    import duckdb

    try:
        with duckdb.connect() as connection:
            source = _source(connection, files, str(kinds.pop()), columns)
            return _read(connection, source, rows, columns)
    except (duckdb.Error, Unclean):
        return None


# --- files as tables -----------------------------------------------------------------------------------------


def _source(connection: Any, files: list[Path], kind: str, columns: "LogColumns") -> Source:
    paths = "[" + ", ".join(literal(str(file)) for file in files) + "]"
    if kind == "parquet":
        return _parquet(connection, paths, columns.wanted)
    if columns.block is not None:  # whose spelling decides
        raise Unclean
    return _csv(files, paths, columns.wanted) if kind == "csv" else _json_lines(paths, columns)


def _csv(files: list[Path], paths: str, wanted: Sequence[str]) -> Source:
    layouts = []
    for file in files:
        with log_files.opened(file) as content:
            layouts.append(layout(content, str(file), wanted))
    first = layouts[0]
    if any(found != first for found in layouts):
        raise Unclean
    types = ", ".join(f"'c{k}': 'VARCHAR'" for k in range(first.width))
    options = f"header = true, delim = {literal(first.separator)}, quote = '\"', escape = '\"', auto_detect = false"
    text = f"read_csv({paths}, {options}, columns = {{{types}}})"
    return Source(text, {name: f'"c{k}"' for name, k in first.columns.items()}, text_of)


def _json_lines(paths: str, columns: "LogColumns") -> Source:
    kinds = {name: "VARCHAR" if name in columns.metrics else "JSON" for name in columns.wanted}
    types = ", ".join(f"{literal(name)}: '{kind}'" for name, kind in kinds.items())
    text = f"read_json({paths}, format = 'newline_delimited', columns = {{{types}}})"
    return Source(text, {name: quoted(name) for name in kinds}, _json_text)


def _json_text(value: Any) -> str | None:
    """The text that a JSON value is; numbers and others are not written as Python writes them."""
    text = json.loads(value) if isinstance(value, str) and value.startswith('"') else None
    return text if isinstance(text, str) else None


def _parquet(connection: Any, paths: str, wanted: Sequence[str]) -> Source:
    text = f"read_parquet({paths})"
    described = connection.execute(f"DESCRIBE SELECT * FROM {text}").fetchall()
    types = {name: str(kind).partition("(")[0] for name, kind, *_ in described}
    found = dict(zip(wanted, places(list(types), wanted), strict=True))
    expressions = {name: quoted(column) for name, column in found.items()}
    return Source(text, expressions, lambda value: value, {name: types[column] for name, column in found.items()})


# --- the query -----------------------------------------------------------------------------------------------


def _read(connection: Any, source: Source, rows: Rows, columns: "LogColumns") -> tuple[dict[Group, Sums], int]:
    names = Names.of(rows.measures)
    trials = _trials(source, rows, columns)
    query = trials.grouped(list(trials.keys), [*COUNTS, *aggregates(names, "FSUM")])
    found: dict[Group, list[Any]] = {}
    blocks: dict[Any, int] = {}
    for row in connection.execute(query).fetchall():
        keys, numbers = dict(zip(trials.keys, row, strict=False)), row[len(trials.keys) :]
        place = blocks.setdefault(keys.get("block"), len(blocks))
        found.setdefault(_group(keys, source), []).append((place, *numbers))
    if not found:
        raise Unclean
    sums = {group: _sums(np.array(part, dtype=np.float64), names) for group, part in found.items()}
    if any(_lost(part.moments).any() for part in sums.values()):
        _settle_constants(connection, source, trials, sums)
    ordered = _in_order(connection, source, trials, list(sums))
    return {group: sums[group] for group in ordered}, len(blocks) if trials.block is not None else 0


def _trials(source: Source, rows: Rows, columns: "LogColumns") -> Trials:
    place = dict(zip(rows.metrics, columns.metrics, strict=True))
    numbers = {metric: _number(source, column) for metric, column in place.items()}
    text, block = (source.text, None) if columns.block is None else _in_blocks(source, columns.block, columns.blocks)
    return Trials(
        text,
        _typed(source, columns.arm, (*INTEGERS, "VARCHAR")),
        tuple(measured(numbers[measure.metric], measure, "{}") for measure in rows.measures),
        tuple(dict.fromkeys([*numbers.values(), *([] if block is None else [block])])),
        None if columns.segment is None else _typed(source, columns.segment, (*INTEGERS, "VARCHAR")),
        block,
    )


def _number(source: Source, name: str) -> str:
    """The expression of a metric's column, NULL where it is none."""
    text = _typed(source, name, NUMBERS)
    return text if source.types.get(name) == "DOUBLE" else f"TRY_CAST({text} AS DOUBLE)"


def _typed(source: Source, name: str, types: Sequence[str]) -> str:
    """The expression of a column of one of these types; whole numbers among texts as texts."""
    kind, text = source.types.get(name, "VARCHAR"), source.columns[name]
    if kind not in types:
        raise Unclean
    return f"CAST({text} AS VARCHAR)" if "DOUBLE" not in types and kind != "VARCHAR" else text


def _in_blocks(source: Source, name: str, blocks: int | str | None) -> tuple[str, str]:
    """The table with the block of each row, and the block, as ``block_name`` says it; NULL where the unit is missing.

    A hash of each unit is made once, which is much less work than one for each row.
    """
    unit = _typed(source, name, (*INTEGERS, "VARCHAR", *(TIMES if blocks == "day" else ())))
    there = f"CASE WHEN {unit} IN ({', '.join(map(literal, sorted(MISSING)))}) THEN NULL ELSE {unit} END"
    if blocks is None:
        return source.text, there
    if blocks == "day":
        return source.text, f"CAST(CAST({there} AS DATE) AS VARCHAR)"
    column = source.columns[name]
    distinct = f"SELECT DISTINCT {column} FROM {source.text}"
    units = f"SELECT {column} AS unit, md5_number_lower({there}) % {blocks} AS block FROM ({distinct})"
    joined = f'SELECT rows.*, units.block AS "{BLOCK}" FROM {source.text} AS rows LEFT JOIN ({units}) AS units'
    return f"({joined} ON rows.{column} = units.unit)", f'"{BLOCK}"'


def _group(keys: Mapping[str, Any], source: Source) -> Group:
    names = [source.label(keys[key]) if key in keys and keys[key] is not None else None for key in ("arm", "segment")]
    if any(
        key in keys and (name is None or name in MISSING) for key, name in zip(("arm", "segment"), names, strict=True)
    ):
        raise Unclean
    return str(names[0]), names[1]


def _in_order(connection: Any, source: Source, trials: Trials, groups: list[Group]) -> list[Group]:
    """The groups in order of first appearance, which is mostly seen in the first rows."""
    keys = {name: text for name, text in trials.keys.items() if name != "block"}
    select = ", ".join(f'{text} AS "{name}"' for name, text in keys.items())
    first = f"SELECT {select} FROM {source.text} LIMIT {HEAD}"
    numbers = f"SELECT {select}, row_number() OVER () AS place FROM {source.text}"
    every = f"SELECT * EXCLUDE (place) FROM ({numbers}) GROUP BY ALL ORDER BY min(place)"
    for query in (first, every):
        found = connection.execute(query).fetchall()
        ordered = list(dict.fromkeys(_group(dict(zip(keys, row, strict=True)), source) for row in dict.fromkeys(found)))
        if len(ordered) == len(groups):
            return ordered
    raise Unclean


# --- what it found -------------------------------------------------------------------------------------------


def _sums(table: Floats, names: Names) -> Sums:
    """A group's rows: block, trials, incomplete ones, sums, products and third powers."""
    values, counts = table[:, 3:], table[:, 1].astype(np.int64)
    if table[:, 2].any() or not np.isfinite(values).all():
        raise Unclean
    moments, sums = added_up(counts.tolist(), values, names)
    squares, size = _squares(moments), np.abs([_float(total) for total in moments.sums])
    tiny = (squares < TINIEST**2 * moments.count) & ((squares > 0.0) | (size > 0.0))
    if (squares > LARGE**2).any() or tiny.any():  # of what is larger third powers are not kept
        raise Unclean
    return Sums(moments, counts, sums, table[:, 0].astype(np.int64))


def _squares(moments: Moments) -> Floats:
    """Sums of squares (M,)."""
    pairs = combinations_with_replacement(range(moments.size), 2)
    return np.array([_float(total) for (i, j), total in zip(pairs, moments.products, strict=True) if i == j])


def _float(total: ExactSum) -> float:
    return total.total / (1 << total.shift)


def _lost(moments: Moments) -> Flags:
    """Measures whose scatter may be nothing but rounding (M,)."""
    squares = _squares(moments)
    return np.asarray((squares > 0.0) & (np.diag(moments.scatter()) < LOST * squares))


def _settle_constants(connection: Any, source: Source, trials: Trials, sums: dict[Group, Sums]) -> None:
    """What seems not to vary does not, in a group: then its sums are exact; else there is too little left of it."""
    plain = replace(trials, source=source.text, block=None, read=trials.read[:1])
    size = len(trials.measured)
    extremes = [(f'{end}("m{k}")', f"{end}{k}") for end in ("MIN", "MAX") for k in range(1, size + 1)]
    found: dict[Group, list[Any]] = {}
    for row in connection.execute(plain.grouped(list(plain.keys), extremes)).fetchall():
        group = _group(dict(zip(plain.keys, row, strict=False)), source)
        found.setdefault(group, []).append(row[len(plain.keys) :])
    for group, ends in found.items():  # of one row, or of several whose labels are spelt differently
        low, high = np.min(ends, axis=0)[:size], np.max(ends, axis=0)[size:]
        sums[group] = sums[group]._replace(moments=_with_constants(sums[group].moments, low, low == high))
    if any((_lost(part.moments) & (np.diag(part.moments.scatter()) != 0.0)).any() for part in sums.values()):
        raise Unclean


def _with_constants(found: Moments, values: Floats, constant: Flags) -> Moments:
    """Exact sums of measures that never vary, and of their products with others."""
    moments = found.copied()
    parts = [value.as_integer_ratio() for value in values.tolist()]
    exact = [ExactSum(number, divisor.bit_length() - 1) for number, divisor in parts]
    for place in np.flatnonzero(constant).tolist():
        moments.sums[place] = ExactSum(moments.count * exact[place].total, exact[place].shift)
    for k, pair in enumerate(combinations_with_replacement(range(moments.size), 2)):
        for one, other in (pair, pair[::-1]):
            if constant[one]:
                total = moments.sums[other]
                moments.products[k] = ExactSum(exact[one].total * total.total, exact[one].shift + total.shift)
    return moments
