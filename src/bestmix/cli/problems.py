"""The question as options: a goal, limits and segments, alone or beside those of a problem's file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestmix.cli import common

if TYPE_CHECKING:
    from bestmix.problems.problem import Problem

Bound = Annotated[
    list[str] | None,
    typer.Option(metavar="COST=NUMBER", help="Largest acceptable mean of a cost; repeat it.", show_default=False),
]
Goal = Annotated[
    str | None,
    typer.Option(metavar="GOAL", help="What to aim at, as in 'minimise dollars'.", show_default="maximise reward"),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--feature",
        metavar="COLUMN",
        help="Column of what arms are made of (their model, their prompt), where all means are linear in it: "
        "one fit of all trials; may be given several times, and 'text(COLUMN)' is for numbers that are mere names.",
        show_default="each arm for itself",
    ),
]
Discount = Annotated[
    float | None,
    typer.Option(
        help="Rows are steps between states, --arm is the action and --segment the state: what a step counts for, "
        "compared with the one before.",
        show_default="rows are trials",
    ),
]
Start = Annotated[
    str | None,
    typer.Option(
        help="With --discount: the first state, or probabilities, as in idle=0.8,busy=0.2.", show_default=False
    ),
]
NextState = Annotated[
    str, typer.Option("--next", metavar="COLUMN", help="With --discount: column of the state that comes next.")
]
Limits = Annotated[
    list[str] | None,
    typer.Option(
        "--limit",
        metavar="LIMIT",
        help="What the mix must keep, as in 'quality >= 0.9' or 'p(seconds > 2) <= 5%'; repeat it.",
        show_default=False,
    ),
]
Segments = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=SHARE,...",
        help="Groups of users with mixes of their own, and their shares of all users, as in free=0.7,paid=0.3.",
        show_default=False,
    ),
]


def load_problem(
    path: Path,
    bounds: list[str] | None = None,
    limits: list[str] | None = None,
    goal: str | None = None,
    segments: str | None = None,
) -> "Problem":
    """The problem of a file; bounds and limits are added to its own, a goal and segments take the place of its own."""
    from bestmix import checks, files
    from bestmix.problems.problem import Problem

    data = files.read(path, "a problem")
    if bounds:
        own = checks.mapping("bounds", data.get("bounds") or {}, "of cost names to bounds")
        data["bounds"] = {**own, **common.parse_bounds(bounds)}
    if limits:
        data["limits"] = [*data.get("limits", []), *limits]
    if goal is not None:
        data["goal"] = goal
    if segments is not None:
        data["segments"] = parse_segments(segments)
    return Problem.from_dict(data)


def parse_segments(text: str) -> dict[str, float] | list[str]:
    """Segments with their shares, or their names alone.

    >>> parse_segments("free=70%,paid=0.3"), parse_segments("free, paid")
    ({'free': 0.7, 'paid': 0.3}, ['free', 'paid'])
    """
    parts = [part.strip() for part in text.split(",")]
    if not any("=" in part for part in parts):
        return parts
    return common.parse_bounds([_as_number(part) for part in parts], "--segments", "free=0.7,paid=0.3")


def parse_steps(discount: float | None, start: str | None, next_state: str) -> dict[str, Any]:
    """Arguments of a log of steps between states; none for one of trials.

    >>> parse_steps(0.9, "idle", "next")
    {'discount': 0.9, 'start': 'idle', 'next_state': 'next'}
    """
    if discount is None and start is not None:
        raise ValueError("--start: expected --discount with it, got none; rows are steps between states with both")
    return {} if discount is None else {"discount": discount, "start": parse_start(start), "next_state": next_state}


def parse_start(text: str | None) -> str | dict[str, float] | None:
    """The first state, or the probability of each to be it.

    >>> parse_start("idle"), parse_start("idle=80%,busy=0.2")
    ('idle', {'idle': 0.8, 'busy': 0.2})
    """
    if text is None or "=" not in text:
        return text
    return common.parse_bounds([_as_number(part.strip()) for part in text.split(",")], "--start", "idle=0.8,busy=0.2")


def _as_number(part: str) -> str:
    """A share in per cent as a number; anything else as it is."""
    name, _, value = part.rpartition("=")
    if not value.strip().endswith("%"):
        return part
    try:
        return f"{name}={float(value.strip().removesuffix('%')) / 100:.15g}"
    except ValueError:
        return part


def parse_features(texts: list[str], arms: list[str]) -> dict[str, dict[str, float | str]]:
    """Features of arms that come new, as in tiny:model=small,heat=0.5.

    >>> parse_features(["a:1:model=small,heat=0.5"], ["a:1"])
    {'a:1': {'model': 'small', 'heat': 0.5}}
    """
    from bestmix.answers.logs.feature_columns import as_numbers

    found: dict[str, dict[str, float | str]] = {}
    for text in texts:
        named = max((arm for arm in arms if text.startswith(f"{arm}:")), key=len, default=None)
        pairs = [part.partition("=") for part in text[len(named or "") + 1 :].split(",")]
        if named is None or not all(name.strip() and value.strip() for name, _, value in pairs):
            raise ValueError(
                f"--feature: expected an arm that comes with --arm and what it is made of, as in "
                f"tiny:model=small,heat=0.5, got {text!r}; write it so"
            )
        found[named] = found.get(named, {}) | {name.strip(): as_numbers([value.strip()])[0] for name, _, value in pairs}
    return found
