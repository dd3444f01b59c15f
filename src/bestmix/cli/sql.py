"""``bestmix sql``: the query that makes sums in a database, for ``bestmix solve --sums``."""

from enum import StrEnum
from typing import Annotated, Literal

import typer

from bestmix.cli import common, problems


class Dialect(StrEnum):
    """Databases that the query is written for."""

    duckdb = "duckdb"
    postgres = "postgres"
    sqlite = "sqlite"
    bigquery = "bigquery"
    snowflake = "snowflake"
    spark = "spark"


def sql(
    table: Annotated[str, typer.Option(metavar="NAME", help="The table with one trial a row, as in analytics.events.")],
    arm: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the arm.")] = "arm",
    metric: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A metric to add up; repeat it.", show_default=False)
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the reward.", show_default="reward, where no --metric is given"),
    ] = None,
    bound: problems.Bound = None,
    goal: problems.Goal = None,
    limit: problems.Limits = None,
    segment: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the segment.", show_default="one group of users")
    ] = None,
    time: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the time, for --since and --until.")] = "time",
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only rows from this date or time on.", show_default=False)
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Only rows before this date or time.", show_default=False)
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of what rows have in common (a user, a day): sums by blocks, for honest errors.",
            show_default=False,
        ),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the item (a prompt) that arms were tried on: sums by item, for paired variances.",
            show_default=False,
        ),
    ] = None,
    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|day",
            help="With --block: so many blocks, by its hash; or a block for each day of a time.",
            show_default="one for each value",
        ),
    ] = None,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows that miss a value.")] = False,
    dialect: Annotated[Dialect, typer.Option(help="The database.")] = Dialect.duckdb,
) -> None:
    """Print the query that adds up a table of trials in the database where it is.

    It has a row for each arm (and segment, and block): how many trials, the sums of what the goal and the limits read,
    the sums of the products of each two, and of third powers, which tell how skewed values are. [bold]bestmix solve
    --sums[/bold] answers from them, with the same options.

    Example: [bold]bestmix sql --table events --arm model --reward quality --bound dollars=5 --dialect postgres[/bold]
    """
    from bestmix.answers.logs.sums_query import sums_query

    text = sums_query(
        table,
        arm,
        reward,
        common.parse_bounds(bound or []),
        goal=goal,
        limits=limit or (),
        metrics=metric or (),
        segment=segment,
        time=time,
        since=since,
        until=until,
        block=block,
        blocks=parse_blocks(blocks),
        drop_missing=drop_missing,
        dialect=dialect.value,
        item=item,
    )
    typer.echo(f"{text};")


def parse_blocks(text: str | None) -> int | Literal["day"] | None:
    """How many blocks, or one for each day.

    >>> parse_blocks("100"), parse_blocks("day"), parse_blocks(None)
    (100, 'day', None)
    """
    if text is None:
        return None
    if text == "day":
        return "day"
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"--blocks: expected a number or day, got {text!r}; 100 is a good number")
    return int(text)
