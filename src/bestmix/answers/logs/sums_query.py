"""The query that makes a table of sums in a database: one scan, one row for each arm (and segment, and block).

It is written for DuckDB; SQLGlot translates it. What trials measure is computed inside (a tail as 0 or 1), and the
counts, sums and products around it, so that ``from_sums`` gives the answer that ``from_log`` gives for the rows.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from bestmix import checks
from bestmix.answers.logs.sum_tables import BLOCK, DAY, INCOMPLETE, MEASURES, Names, check_blocks, unit_column
from bestmix.answers.logs.trials_query import COUNTS, Trials, aggregates, literal, measured, quoted
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.quantities import Column, Mean
from bestmix.problems.rows import Rows, parse_limits

DIALECTS = ("duckdb", "postgres", "sqlite", "bigquery", "snowflake", "spark")
LONGEST_NAME = {"postgres": 63}  # bytes of a column's name; more are cut off
ZONED = ("bigquery", "spark")  # whose usual type of time has a zone
_SUM = {"duckdb": "FSUM"}  # which loses next to nothing, and takes no longer
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')

# A number below {n} for each unit {x}. Each database has its own hash; SQLite has none, so the last characters serve.
_WEIGHTS = [pow(131, k, 1_000_003) for k in range(8)]
_CHARACTER = "COALESCE(UNICODE(SUBSTR(CAST({{x}} AS TEXT), -{k}, 1)), 0) * {weight}"
_HASH = {
    "duckdb": "MD5_NUMBER_LOWER(CAST({x} AS TEXT)) % {n}",  # as block_name does
    "postgres": "ABS(MOD(HASHTEXT(CAST({x} AS TEXT)), {n}))",
    "sqlite": f"({' + '.join(_CHARACTER.format(k=k, weight=w) for k, w in enumerate(_WEIGHTS, 1))}) % {{n}}",
    "bigquery": "ABS(MOD(FARM_FINGERPRINT(CAST({x} AS TEXT)), {n}))",
    "snowflake": "ABS(MOD(HASH({x}), {n}))",
    "spark": "ABS(MOD(XXHASH64({x}), {n}))",
}


def sums_query(
    table: str,
    arm: str = "arm",
    reward: str | None = None,
    bounds: Mapping[str, float] | None = None,
    *,
    goal: str | Goal | None = None,
    limits: Sequence[str | Limit] = (),
    metrics: Sequence[str] = (),
    segment: str | None = None,
    time: str = "time",
    since: str | None = None,
    until: str | None = None,
    block: str | None = None,
    blocks: int | Literal["day"] | None = None,
    drop_missing: bool = False,
    dialect: str = "duckdb",
    item: str | None = None,
) -> str:
    """The query that makes the sums which ``from_sums`` takes, for a table with one trial a row.

    Parameters
    ----------
    table
        Name of the table; of several parts, as in ``analytics.events``. A part with a point inside stands in double
        quotes.
    arm, reward, bounds, goal, limits, segment
        As for ``from_log``: names of columns, and what is asked. Sums do not depend on any bound, so that other bounds
        may be asked of the same sums later.
    metrics
        Further metrics to add up. With some, and neither a goal nor a reward, the goal is left open.
    time, since, until
        Column of the time, and which rows count: from ``since`` to before ``until``, dates or times in ISO 8601.
    block, blocks
        Column of the unit whose rows belong together, such as a user, a prompt or a day, for honest errors: with
        ``blocks=100`` the units are put into so many blocks by their hash; ``"day"`` makes a block of each day of a
        time; None, of each value.
    drop_missing
        Leave out rows that miss a value; otherwise ``from_sums`` refuses the sums where there are such rows.
    dialect
        One of "duckdb", "postgres", "sqlite", "bigquery", "snowflake" and "spark"; all but the first need
        ``bestmix[sql]``.
    item
        Or the column with the item, such as a prompt, that a row was tried on, where arms were tried on the same ones:
        the sums have a row for each arm on each item, and ``from_sums`` with the same ``item`` has what arms have in
        common on an item count in all variances.

    Examples
    --------
    >>> print(sums_query("events", "model", limits=["p(seconds > 2) <= 5%"], metrics=["quality"]))
    SELECT
      "trials"."arm" AS "model",
      COUNT(*) AS "n",
      COUNT(*) - COUNT("whole") AS "incomplete",
      FSUM("m1") AS "p(seconds > 2)",
      FSUM("m2") AS "quality",
      FSUM("m1" * "m2") AS "p(seconds > 2)*quality",
      FSUM("m2" * "m2") AS "quality*quality",
      FSUM("m2" * "m2" * "m2") AS "quality*quality*quality"
    FROM (
      SELECT
        "model" AS "arm",
        CAST(CASE WHEN CAST("seconds" AS DOUBLE) > 2 THEN 1 ELSE 0 END AS DOUBLE) AS "m1",
        CAST("quality" AS DOUBLE) AS "m2",
        CASE WHEN NOT "seconds" IS NULL AND NOT "quality" IS NULL THEN 1 END AS "whole"
      FROM "events"
    ) AS "trials"
    GROUP BY
      "trials"."arm"
    ORDER BY
      "trials"."arm"
    """
    checks.choice("dialect", dialect, DIALECTS)
    measures = _measures(goal, reward, limits, bounds, metrics)
    names = Names.of(measures, reward or "reward")
    spelling, unit = Spelling(dialect), unit_column(item, block, blocks)
    keys = {"arm": arm, "segment": segment, "block": BLOCK if item is None and block is not None else item}
    _check_names([name for name in keys.values() if name is not None], names)
    trials = Trials(
        spelling.table(table),
        spelling.column(arm),
        tuple(measured(spelling.column(n.metric, reward), n) for n in measures),
        _read(spelling, measures, reward, unit),
        None if segment is None else spelling.column(segment),
        _block(spelling, unit, blocks),
        tuple(_times(spelling, time, since, until)),
        drop_missing,
    )
    return _translated(_written(trials, keys, names, dialect), dialect)


@dataclass(frozen=True)
class Spelling:
    """Names and texts as a dialect takes them, written for DuckDB."""

    dialect: str = "duckdb"

    def column(self, name: str, reward: str | None = None) -> str:
        r"""A column's name in quotes.

        >>> Spelling().column('a"b'), Spelling("snowflake").column("model"), Spelling("snowflake").column("Model")
        ('"a""b"', '"MODEL"', '"Model"')
        """
        name = reward if name == "reward" and reward is not None else name
        checks.names("column", [name], "column")
        if self.dialect == "snowflake" and re.fullmatch(r"[a-z_][a-z0-9_$]*", name):
            name = name.upper()  # which is what the same name without quotes means there
        return quoted(name)

    def table(self, name: str) -> str:
        """A table's name, of one part or several.

        >>> Spelling().table('analytics."odd.name"')
        '"analytics"."odd.name"'
        """
        found = _PART.finditer(name) if isinstance(name, str) else ()
        parts = [match[1].replace('""', '"') if match[1] else match[2] for match in found]
        if not parts or '"'.join(parts).count("\n") or ".".join(_again(name)) != name:
            raise checks.InvalidInput(
                "table", expected="a name such as events or analytics.events", got=checks.shown(name), remedy="check it"
            )
        return ".".join(map(self.column, parts))


def _again(name: str) -> list[str]:
    """The parts of a table's name as they were written."""
    return [match[0] for match in _PART.finditer(name)]


def _measures(
    goal: str | Goal | None,
    reward: str | None,
    limits: Sequence[str | Limit],
    bounds: Mapping[str, float] | None,
    metrics: Sequence[str],
) -> tuple[Column, ...]:
    """What is added up: what the goal and the limits read, and the further metrics."""
    further = [Mean("reward" if name == reward else name) for name in checks.names("metrics", metrics, "metric")]
    bounds = checks.mapping("bounds", bounds or {}, "of cost columns to bounds")
    aim = goal if isinstance(goal, Goal) else Goal.parse(goal or "maximise reward")
    rows = Rows(aim, parse_limits(limits, bounds))
    if goal is None and reward is None and further:
        rows = Rows(Goal(further[0]), rows.limits)
        return tuple(dict.fromkeys([*rows.measures[1:], *further]))
    return tuple(dict.fromkeys([*rows.measures, *further]))


def _read(spelling: Spelling, measures: Sequence[Column], reward: str | None, block: str | None) -> tuple[str, ...]:
    """Columns that no row may miss, besides the arm and the segment."""
    columns = [spelling.column(measure.metric, reward) for measure in measures]
    return tuple(dict.fromkeys([*columns, *([] if block is None else [spelling.column(block)])]))


def _check_names(keys: list[str], names: Names) -> None:
    """Refuse what is no name, and columns of the same name in what comes out."""
    for key in keys:
        checks.names("column", [key], "column")
    outputs = [*keys, "n", INCOMPLETE, *names.sums]
    outputs += [names.product(*measures) for measures in [*names.pairs, *names.powers]]
    folded = [name.casefold() for name in outputs]
    twice = [name for name in outputs if folded.count(name.casefold()) > 1]
    if twice:
        fault = f"two columns of the sums would be called {checks.shown(twice[0])}"
        raise checks.InvalidInput("columns", fault, "rename one of them in a view, and query that")


def _block(spelling: Spelling, block: str | None, blocks: int | str | None) -> str | None:
    """The block of a row."""
    number = check_blocks(block, blocks)
    if block is None:
        return None
    column = spelling.column(block)
    if number is None:
        return column
    if number == DAY:
        return f"CAST({column} AS DATE)"
    return _HASH[spelling.dialect].format(x=column, n=number)


def _times(spelling: Spelling, time: str, since: str | None, until: str | None) -> list[str]:
    """Conditions on the time."""
    column, pairs = spelling.column(time), ((">=", "since", since), ("<", "until", until))
    return [f"{column} {sign} {_moment(spelling, name, text)}" for sign, name, text in pairs if text is not None]


def _moment(spelling: Spelling, name: str, text: str) -> str:
    try:
        moment = datetime.fromisoformat(str(text).strip())
    except ValueError:
        expected = "a date or a time in ISO 8601, such as 2026-01-31"
        raise checks.InvalidInput(name, expected=expected, got=checks.shown(text), remedy="write it so") from None
    zone = "TZ" if moment.tzinfo is not None or spelling.dialect in ZONED else ""
    utc = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    written = utc.isoformat(" ").removesuffix(" 00:00:00")  # a date alone compares with texts of any form
    if spelling.dialect == "sqlite":
        return literal(written)
    return f"CAST({literal(written + ('+00:00' if moment.tzinfo else ''))} AS TIMESTAMP{zone})"


def _written(trials: Trials, keys: Mapping[str, str | None], names: Names, dialect: str) -> str:
    """The whole query; ``keys`` are the names of the columns that it groups by."""
    longest = max(len(names.product(*measures).encode()) for measures in [*names.squares, *names.powers])
    numbered = dialect == "bigquery" or longest > LONGEST_NAME.get(dialect, longest)
    columns = [*COUNTS, *aggregates(names, _SUM.get(dialect, "SUM"), numbered)]
    if numbered:
        columns.append((literal(json.dumps(names.sums)), MEASURES))
    return trials.grouped([keys[key] or "" for key in trials.keys], columns)


def _translated(text: str, dialect: str) -> str:
    if dialect == "duckdb":
        return text
    try:
        import sqlglot
    except ImportError:
        raise checks.InvalidInput("dialect", f"{dialect} needs sqlglot", "install bestmix[sql]") from None
    return sqlglot.transpile(text, read="duckdb", write=dialect, pretty=True)[0]
