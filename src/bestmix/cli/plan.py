"""``bestmix plan``: how many trials a wanted error takes, from guessed means or from a pilot log."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import common, problems
from bestmix.cli.solve import DROP

if TYPE_CHECKING:
    from bestmix.theory import Plan

InstanceOrLog = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE",
        help="A name from the catalog, or a file; or a log of trials (.csv, .csv.gz, .jsonl, .parquet or -), whose "
        "estimates are taken for the truth.",
        show_default=False,
    ),
]
LogArm = Annotated[str, typer.Option(help="Of a log: column of the arm.")]
LogReward = Annotated[str, typer.Option(help="Of a log: column of the reward.")]
LogSegment = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Of a log: the column of the segments; with a name, as in tier=free, only the rows of this one.",
        show_default="one mix for all rows",
    ),
]
LogDrop = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows that miss a value.")]
LogBound = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=NUMBER", help="Of a log: largest acceptable mean cost; repeat it."),
]


def plan(
    source: Annotated[
        str,
        typer.Argument(
            metavar="GUESS",
            help="Guessed means: a .toml or .json file of an instance, or a name from the catalog. Or a pilot "
            "log, one trial a row: .csv, .csv.gz, .jsonl or .parquet; - is standard input.",
            show_default=False,
        ),
    ],
    error: Annotated[
        float,
        typer.Option(
            parser=common.parse_fraction,
            metavar="CHANCE",
            help="Wanted chance of a wrong support, as 0.05 or 5%; --tolerance plans for the loss instead.",
        ),
    ] = 0.05,
    strategy: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(common.StrategyName)} or module:object; repeat it.", show_default="all"),
    ] = None,
    bound: LogBound = None,
    goal: problems.Goal = None,
    limit: problems.Limits = None,
    arm: LogArm = "arm",
    reward: LogReward = "reward",
    segment: LogSegment = None,
    discount: problems.Discount = None,
    start: problems.Start = None,
    next_state: problems.NextState = "next",
    feature: problems.Features = None,
    drop_missing: LogDrop = False,
    arriving: common.Arriving = False,
    pilot: Annotated[float, typer.Option(help="Trials of each arm that guessed means are worth.")] = 100.0,
    draws: Annotated[int, typer.Option(min=0, help="Draws around the guesses, for the sensitivity.")] = 20,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Runs of each simulated budget.", show_default="4000 or more")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all runs.")] = 0,
    most: Annotated[int, typer.Option(min=1, help="Trials at which the search is given up.")] = 10_000_000,
    tolerance: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT",
            help="Plan for this mean loss of the mix, such as 0.01 or 1%, instead of for the support.",
            show_default="plan for the error",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="UNIT",
            help="Plan an amount of money instead of a number of trials: one of the costs, or the unit of --price.",
            show_default="plan trials",
        ),
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(metavar="ARM=AMOUNT", help="What a trial of an arm costs; repeat it for all.", show_default=False),
    ] = None,
    threads: common.Threads = None,
    figure: Annotated[
        Path | None, typer.Option(help="Save the figure here (.png, .svg or .pdf).", show_default="GUESS-plan.png")
    ] = None,
    no_figure: Annotated[bool, typer.Option("--no-figure", help="Save no figure.")] = False,
    as_json: common.Json = False,
) -> None:
    """Plan an experiment: the number of trials, or with --in the money, that each strategy needs.

    The budgets come from simulations of what is guessed, with theoretical budgets beside them; the file format of
    guessed means is that of [bold]bestmix instances D2P --export guess.toml[/bold].

    Example: [bold]bestmix plan guess.toml --error 0.05[/bold]
    """
    from bestmix import plots

    path = None if no_figure else figure or (Path(f"{Path(source).stem}-plan.png") if plots.available() else None)
    common.Outputs(path).check()
    with common.messages().status("Loading ...") as status, common.missing_values(DROP):
        columns: dict[str, Any] = {"arm": arm, "reward": reward, "drop_missing": drop_missing}
        columns |= problems.parse_steps(discount, start, next_state) | ({"features": feature} if feature else {})
        guess, log = find_guess(source, bound, goal, limit, segment, columns)
        from bestmix.cli.grid import find_strategy
        from bestmix.theory import plan as make

        chosen = [find_strategy(text, Path.cwd(), f"--strategy {text}") for text in strategy or []]
        hint = "; the first time the arithmetic is compiled"
        answer = make(
            guess,
            error,
            chosen or None,
            **log,
            pilot=pilot,
            draws=draws,
            runs=runs,
            seed=seed,
            most=most,
            tolerance=tolerance,
            unit=unit,
            prices=common.parse_bounds(price or [], "--price", "small=0.01") or None,
            threads=threads,
            arriving=arriving,
            progress=lambda sentence: status.update(f"{sentence} ...{hint if 'SFSR' in sentence else ''}"),
        )
    saved = [plots.save(plots.plan_figure(answer), path)] if path else []
    if as_json:
        typer.echo(json.dumps({**answer.to_dict(), "files": list(map(str, saved))}, indent=1, allow_nan=False))
        return
    show(answer)
    for file in saved:
        common.output().print(f"Saved {file}", markup=False, soft_wrap=True)


def find_guess(
    source: str,
    bound: list[str] | None,
    goal: str | None,
    limit: list[str] | None,
    segment: str | None,
    columns: dict[str, Any],
) -> tuple[Any, dict[str, Any]]:
    """What to plan from or to explain, and how to read it if it is a log: its columns, and what is asked of it."""
    from bestmix.answers.logs.files import is_log

    if is_log(source):
        bounds = common.parse_bounds(bound or [])
        asked = {"bounds": bounds, "goal": goal or "maximise reward", "limits": limit or ()}
        return source, {**asked, **columns, "segment": parse_segment(segment)}
    given = {"--bound": bound, "--limit": limit, "--goal": goal, "--segment": segment}
    for option, value in (
        given | {"--discount": columns.get("discount"), "--feature": columns.get("features")}
    ).items():
        if value:
            raise ValueError(
                f"{option}: expected with a log of trials only, got guessed means; their file has the bounds"
            )
    from bestmix.cli.grid import find_instance

    return find_instance(source, Path.cwd(), f"guess {source}"), {}


def parse_segment(text: str | None) -> str | tuple[str, str] | None:
    """The column of the segments; or a column, and what it says in the rows that count.

    >>> parse_segment("tier=free"), parse_segment("tier")
    (('tier', 'free'), 'tier')
    """
    if text is None:
        return None
    column, equals, name = text.partition("=")
    if not column.strip() or (equals and not name.strip()):
        raise ValueError(f"--segment: expected a column, or one segment as in tier=free, got {text!r}; write it so")
    return (column, name.strip()) if equals else column


def show(answer: "Plan") -> None:
    """The sentence, the table, the theory and what makes it hard."""
    console = common.output()
    around = [] if answer.sensitivity is None else [answer.sensitivity.sentence(answer.from_log)]
    for line in around if answer.from_log else []:
        console.print(Text(line, style="bold"))
    console.print(Text(answer.sentence(), style="bold"))
    console.print(budget_table(answer))
    for line in answer.theory():
        console.print(line, markup=False)
    for lead, line in zip(("Hard because", "and", "and"), answer.hard, strict=False):
        console.print(f"{lead}: {line}", markup=False)
    for line in [] if answer.from_log else around:
        console.print(line, markup=False)


def budget_table(answer: "Plan") -> Table:
    """A strategy a row, the one that needs the fewest trials first and bold."""
    runs = answer.budgets[0].runs
    name = "Trials" if answer.coin is None else answer.coin.unit.capitalize()
    table = Table(title=f"{name} for {answer.goal}", title_justify="left", title_style="bold")
    table.caption, table.caption_justify = (
        f"{runs:,} simulated runs of each budget, seed {answer.budgets[0].seed}",
        "left",
    )
    for name in ("strategy", "budget", "need is above", "simulated error (95% interval)", "mean loss"):
        table.add_column(name, justify="left" if name == "strategy" else "right")
    for b in answer.budgets:
        budget = f"more than {answer.short(b.most)}" if b.trials is None else answer.short(b.trials)
        low, high = b.error_interval
        rate = f"{b.error_rate:.4f} ({low:.4f}–{high:.4f})"
        best = answer.best is b
        table.add_row(
            Text(b.strategy), budget, answer.short(b.least), rate, f"{b.loss:.3g}", style="bold cyan" if best else ""
        )
    return table
