"""What the commands share: errors in one line, bounds, tables, files to write.

Everything that takes long to load is imported inside functions, so that ``--help`` is quick.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation
    from bestmix.strategies import Strategy

RUNS = 5000  # of a simulated cell, where nothing else is said
MOST_ROWS = 200  # arms in a table
WIDE = 160  # columns when the output is not a terminal
INTERRUPTED = 130  # exit code after Ctrl-C

# Typer carries its own copy of Click in some versions; the base of its errors is the same in all.
UsageError: Any = typer.BadParameter.__base__


class StrategyName(StrEnum):
    """Strategies that the command line knows."""

    challenger = "challenger"
    sfsr = "sfsr"
    sfsr_l = "sfsr-l"
    uniform = "uniform"
    single = "single"


class Measure(StrEnum):
    """What simulations are compared by."""

    error = "error"
    loss = "loss"
    kept = "kept"


Arriving = Annotated[
    bool,
    typer.Option(
        "--arriving", help="With segments: users arrive and only their arm is chosen; a budget is a number of users."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, on standard output.")]
Figure = Annotated[Path | None, typer.Option(help="Save a figure (.png, .svg or .pdf).", show_default=False)]
Report = Annotated[Path | None, typer.Option(help="Save a report (.html).", show_default=False)]
PolicyFile = Annotated[
    Path | None, typer.Option("--policy", help="Save the weights to deploy (.json or .toml).", show_default=False)
]
Strategies = Annotated[StrategyName, typer.Option(help="How to spend the trials.")]
Safety = Annotated[
    str,
    typer.Option(
        metavar="CERTAINTY", help="How certain the mix must keep all limits, as 0.95 or 95%; none: the best guess."
    ),
]
Everything = Annotated[bool, typer.Option("--everything", help="Count results too that the strategy has no place for.")]
Threads = Annotated[int | None, typer.Option(min=1, help="How many threads.", show_default="all cores")]


class Terminal(Console):
    """Where nothing that came from outside acts on the screen or hides in it, as escapes in a note would."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """What is printed, with control characters written out; colours are Rich's own and stay."""
        try:
            from bestmix.checks import visible
        except ImportError:  # stopped while NumPy was being loaded, which cannot begin again: nothing is from outside
            yield from super().render(renderable, options)
            return
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def output() -> Console:
    """Standard output; wide where it is not a terminal, so that no table is cut."""
    console = Terminal(highlight=False)
    return console if console.is_terminal else Terminal(highlight=False, width=WIDE)


def messages() -> Console:
    """Standard error: progress, and whatever is not the answer."""
    console = Terminal(highlight=False, stderr=True)
    return console if console.is_terminal else Terminal(highlight=False, stderr=True, width=WIDE)


class Commands(TyperGroup):
    """All commands; a user's mistake ends any of them with one line."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the options before the command."""
        with friendly():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with friendly():
            return super().invoke(ctx)


@contextmanager
def friendly() -> Iterator[None]:
    """Errors as one red line with exit code 2; Ctrl-C as a sentence with 130."""
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        complain("Stopped before the end.")
        raise typer.Exit(INTERRUPTED) from None
    except UsageError as error:
        where = error.ctx.command_path if getattr(error, "ctx", None) else "bestmix"
        complain(f"Error: {error.format_message().rstrip('.')}; see {where} --help.")
        raise typer.Exit(2) from None
    except OSError as error:
        complain(f"Error: {error.filename or 'file'}: {error.strerror or error}; check the path.")
        raise typer.Exit(2) from None
    except (ValueError, RuntimeError, ArithmeticError) as error:
        complain(f"Error: {getattr(error, 'sentence', error)}", getattr(error, "mark", ""))
        raise typer.Exit(2) from None


@contextmanager
def missing_values(remedy: str) -> Iterator[None]:
    """A log whose rows miss values: what helps, in the words of the command."""
    from bestmix.answers.logs.tables import MissingValues

    try:
        yield
    except MissingValues as error:
        raise error.with_remedy(remedy) from None


def complain(message: str, mark: str = "") -> None:
    """One red line on standard error; below it, where there is one, a text with a mark under the place."""
    messages().print(Text(" ".join(message.split()), style="bold red"), soft_wrap=True)
    if mark:
        messages().print(Text(mark), soft_wrap=True)


def trials(number: int) -> str:
    """So many trials, in words.

    >>> trials(1), trials(1200)
    ('1 trial', '1,200 trials')
    """
    return f"{number:,} {'trial' if number == 1 else 'trials'}"


def parse_bounds(texts: list[str], option: str = "--bound", example: str = "dollars=5") -> dict[str, float]:
    """Bounds, or other numbers by name, given as ``name=value``.

    >>> parse_bounds(["dollars=5", "seconds=1.2"])
    {'dollars': 5.0, 'seconds': 1.2}
    """
    bounds: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not name.strip() or number != number or abs(number) == float("inf"):
            raise ValueError(f"{option}: expected name=number, as in {example}, got {text!r}; write it so")
        if name in bounds:
            raise ValueError(f"{option}: {name!r} is given twice; give every name one")
        bounds[name] = number
    return bounds


def parse_safety(text: str) -> float | None:
    """A wanted certainty, or none.

    >>> parse_safety("0.9"), parse_safety("none")
    (0.9, None)
    """
    from bestmix import checks

    try:
        return checks.safety(text)
    except checks.InvalidInput as error:
        raise ValueError(f"--{error}") from None


def parse_fraction(text: str) -> float:
    """A number that may be a percentage; what uses it says which numbers it takes.

    >>> parse_fraction("0.9"), parse_fraction("95%")
    (0.9, 0.95)
    """
    from bestmix import checks

    found = checks.fraction(text)
    if found != found:
        raise typer.BadParameter(f"expected a number such as 0.95, or 95%, got {text!r}")
    return found


def make_strategy(name: StrategyName, stop: Mapping[str, Any] | None = None) -> "Strategy":
    """The strategy of that name; ``stop`` are Challenger's options that ``stopping.options`` has parsed."""
    from bestmix.strategies import SFSR, Challenger, SingleArm, Uniform

    if name is StrategyName.challenger:
        return Challenger(**stop or {})
    if stop:
        option = next(iter(stop)).replace("_", "-")
        raise ValueError(f"--{option}: only challenger has it, got --strategy {name.value}; leave one out")
    if name is StrategyName.uniform:
        return Uniform()
    if name is StrategyName.single:
        return SingleArm()
    return SFSR(score="lagrangian" if name is StrategyName.sfsr_l else "intersection")


@contextmanager
def loading(console: Console) -> Iterator[None]:
    """Says that the arithmetic is compiled inside, and ends the process on Ctrl-C: an interrupted compiler crashes."""

    def leave(number: int, frame: object) -> None:
        console.show_cursor()
        complain("Stopped before the work began.")
        os._exit(128 + number)

    alone = threading.current_thread() is not threading.main_thread()
    before = None if alone else signal.signal(signal.SIGINT, leave)
    try:
        with console.status("Loading; on the first run the arithmetic is compiled ..."):
            yield
    finally:
        if not alone:
            signal.signal(signal.SIGINT, before)


@contextmanager
def progress_aside() -> Iterator[None]:
    """Whatever is printed inside, such as a progress bar, goes to standard error."""
    with redirect_stdout(sys.stderr):
        yield


@dataclass(frozen=True)
class Outputs:
    """Files that a recommendation is saved to, where they are wanted."""

    figure: Path | None = None
    report: Path | None = None
    policy: Path | None = None

    def check(self) -> None:
        """Complain about names before the work, not after it."""
        paths = [path for path in (self.figure, self.report, self.policy) if path]
        for path in paths:
            if path.is_dir():
                raise ValueError(f"{path}: expected the name of a file, got a folder; add a name")
        if self.figure:
            from bestmix import plots

            plots.check_path(self.figure)
            with plots.style():
                pass
        if self.report:
            from bestmix.pages import report

            report.check_path(self.report)
        if self.policy and self.policy.suffix.lower() not in (".json", ".toml"):
            raise ValueError(f"{self.policy}: expected a policy's name to end in .json or .toml; rename it")
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)

    def save(self, rec: "Recommendation", title: str) -> list[Path]:
        """Write them, and say which."""
        saved = []
        if self.figure:
            from bestmix import plots

            saved.append(plots.save(plots.recommendation_figure(rec), self.figure))
        if self.report:
            from bestmix.pages import report

            saved.append(report.save_report(rec, self.report, title))
        if self.policy:
            rec.policy().save(self.policy)
            saved.append(self.policy)
        return saved


def conclude(rec: "Recommendation", outputs: Outputs, title: str, as_json: bool, live: bool = False) -> None:
    """Save what is wanted and print the answer; ``live`` traffic has no end."""
    saved = outputs.save(rec, title)
    if as_json:
        typer.echo(rec.to_json())
        return
    console = output()
    show(rec, console, live)
    for path in saved:
        console.print(f"Saved {path}", markup=False, soft_wrap=True)


def show(rec: "Recommendation", console: Console, live: bool = False) -> None:
    """The sentence, the table, the prices and the notes."""
    from bestmix.answers.prices import price_sentences
    from bestmix.answers.table_text import other_limits
    from bestmix.answers.wording import guess_text, items_text

    sure = rec.feasible and (rec.certified or rec.safety is None)
    console.print(Text(rec.sentence(), style="bold" if sure else "bold yellow"))
    if rec.by_segment and rec.mixture:
        console.print(segments_table(rec))
    console.print(arms_table(rec))
    for line in [guess_text(rec), *other_limits(rec), *price_sentences(rec), items_text(rec)]:
        if line:
            console.print(line, markup=False)
    if rec.note:
        console.print(rec.note, markup=False)
    if rec.account is not None:
        console.print(rec.account.sentence(), markup=False)
    if not rec.complete and not live:
        console.print("The search is not finished.", style="yellow")


def segments_table(rec: "Recommendation") -> Table:
    """The mix of each segment: its share of all users, and the shares of the arms within it."""
    from bestmix.answers.number_text import exact_share

    arms, users = rec.used_arms, rec.segment_shares
    group, everybody = rec.problem.group, rec.problem.everybody
    table = Table(title=f"The mix of each {group}", title_justify="left", title_style="bold")
    for name in (group, f"of all {everybody}", *arms):
        table.add_column(Text(name), justify="left" if name == group else "right", overflow="fold")
    for segment, part in rec.by_segment.items():
        shares = [exact_share(part[arm]) if part.get(arm) else "-" for arm in arms]
        table.add_row(*map(Text, [segment, exact_share(users[segment]), *shares]))
    return table


def arms_table(rec: "Recommendation") -> Table:
    """The arms with their estimates, those of the mix first and marked; the mix last. Of very many, the first ones."""
    from bestmix.answers.table_text import FOOTNOTE

    header, *rows, foot = rec.rows()
    left = f"; {len(rows) - MOST_ROWS} further arms are left out" if len(rows) > MOST_ROWS else ""
    table = Table(title_justify="left", caption=f"{FOOTNOTE}{left}", caption_justify="left")
    for place, name in enumerate(header):
        table.add_column(Text(name), justify="right" if place else "left", footer=Text(foot[place]), overflow="fold")
    table.show_footer = True
    for row in rows[:MOST_ROWS]:
        inside = row[0] in rec.mixture
        table.add_row(*map(Text, row), style="bold cyan" if inside else "")
    return table
