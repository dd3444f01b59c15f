"""Options that say when Challenger stops, what its last trials are for, and the scale and ranges of metrics."""

from typing import Annotated, Any

import typer

from bestmix.cli import common

Confidence = Annotated[
    float | None,
    typer.Option(
        parser=common.parse_fraction,
        metavar="CHANCE",
        help="Stop as soon as the answer is this sure, such as 0.95 or 95%; the budget is then a cap.",
        show_default="spend the budget",
    ),
]
Tolerance = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT",
        help="With --confidence: stop as soon as a mix is this close to the best, such as 0.01, or 1% of its value.",
        show_default="find the best mix itself",
    ),
]
Proven = Annotated[
    bool, typer.Option("--proven", help="With --confidence: stop by a theorem, which takes more trials.")
]
Sigma = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SCALE",
        help="For --proven: scale of the noise, as 0.3, or reward=0.3 for each metric.",
        show_default=False,
    ),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME=LOW,HIGH",
        help="Where a metric lies, as reward=0,500: trials that are all alike then leave rare events possible. "
        "For --proven: where each lies, but for tails.",
        show_default=False,
    ),
]
MarginShare = Annotated[
    float | None,
    typer.Option(
        parser=common.parse_fraction,
        metavar="SHARE",
        help="Last share of the budget for the margin of the safe mix, as 0.3 or 30%.",
        show_default="none",
    ),
]


def options(
    confidence: float | None,
    tolerance: str | None,
    proven: bool,
    sigma: list[str] | None,
    ranges: list[str] | None,
    margin_share: float | None = None,
) -> dict[str, Any]:
    """Arguments of Challenger, where they are not its defaults.

    >>> options(0.95, "1%", True, ["0.3"], None)
    {'confidence': 0.95, 'tolerance': '1%', 'proven': True, 'sigma': 0.3}
    """
    if tolerance is not None and confidence is None:
        raise ValueError("--tolerance: expected a confidence with it, got none; add --confidence 0.95")
    if proven and (confidence is None or bool(sigma) == bool(ranges)):
        raise ValueError(
            "--proven: expected a confidence, and the scale of the noise either as --sigma or as --range; try "
            "--confidence 0.95 --proven --range reward=0,1 --range COST=0,5"
        )
    if sigma and not proven:
        raise ValueError("--sigma: only --proven uses the scale of the noise; add it, or leave it out")
    given = {
        "confidence": confidence,
        "tolerance": tolerance,
        "proven": proven or None,
        "sigma": parse_scales(sigma or []),
        "ranges": parse_ranges(ranges or []),
        "margin_share": margin_share,
    }
    return {name: value for name, value in given.items() if value is not None}


def parse_scales(texts: list[str], option: str = "--sigma") -> float | dict[str, float] | None:
    """One number for all metrics, or one for each.

    >>> parse_scales(["reward=0.3", "dollars=2"]), parse_scales(["0.5"]), parse_scales([])
    ({'reward': 0.3, 'dollars': 2.0}, 0.5, None)
    """
    if len(texts) != 1 or "=" in texts[0]:
        return common.parse_bounds(texts, option) or None
    return common.parse_bounds([f"all={texts[0]}"], option)["all"]


def parse_ranges(texts: list[str]) -> dict[str, tuple[float, float]] | None:
    """The lowest and the highest value of each metric.

    >>> parse_ranges(["reward=0,1", "dollars=0,5"])
    {'reward': (0.0, 1.0), 'dollars': (0.0, 5.0)}
    """
    ranges: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, _, ends = text.rpartition("=")
        try:
            low, high = map(float, ends.split(","))
        except ValueError:
            raise ValueError(f"--range: expected name=low,high, as in reward=0,1, got {text!r}; write it so") from None
        if not name.strip() or name in ranges:
            raise ValueError(f"--range: expected every metric's name once, got {text!r}; write reward=0,1")
        ranges[name] = low, high
    return ranges or None
