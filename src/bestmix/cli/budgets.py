"""Options for a budget: a number of trials, or what they may cost together."""

from typing import TYPE_CHECKING, Annotated

import typer

from bestmix.cli import common

if TYPE_CHECKING:
    from bestmix.problems.spend import Spend

Budget = Annotated[
    str,
    typer.Option(
        metavar="TRIALS|AMOUNT",
        help="The most trials to make; or what they may cost, as '200 dollars' or '3 hours'.",
        show_default=False,
    ),
]
OptionalBudget = Annotated[
    str | None,
    typer.Option(
        metavar="TRIALS|AMOUNT",
        help="The most trials to make; or what they may cost, as '200 dollars' or '3 hours'.",
        show_default=False,
    ),
]
Prices = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        metavar="ARM=AMOUNT",
        help="What a trial of an arm costs, where the budget is an amount and trials need not tell.",
        show_default=False,
    ),
]
Most = Annotated[
    list[str] | None,
    typer.Option(
        "--most",
        metavar="AMOUNT",
        help="The most that a trial can cost, or ARM=AMOUNT for each: the budget is then never exceeded.",
        show_default=False,
    ),
]


def parse_budget(text: str, prices: list[str] | None = None, most: list[str] | None = None) -> "int | Spend":
    """A number of trials, or an amount with its unit.

    >>> parse_budget("2000"), str(parse_budget("200 dollars", most=["0.5"]))
    (2000, '200 dollars')
    """
    from bestmix.problems.spend import Spend

    if not text.strip().lstrip("+-").replace("_", "").isdigit():
        spend = Spend.parse(text, common.parse_bounds(prices or [], "--price", "small=0.01") or None, parse_most(most))
        if not spend.hard:
            common.messages().print(
                f"The budget of {spend} is soft: the last trials may exceed it, and so may the first, a few an arm, "
                "if it is small. --most, the most that a trial can cost, makes it hard.",
                markup=False,
                soft_wrap=True,
            )
        return spend
    if prices or most:
        raise ValueError(f"--price and --most: only a budget such as '200 dollars' has prices, got --budget {text}")
    if (trials := int(text)) < 0:
        raise ValueError(f"--budget: expected at least one trial of each arm, got {text}; raise it")
    return trials


def parse_total(text: str) -> "int | Spend":
    """A new total, of trials or of money.

    >>> parse_total("4000"), str(parse_total("300 dollars"))
    (4000, '300 dollars')
    """
    from bestmix.problems.spend import as_budget

    found: int | Spend = as_budget(text)
    return found


def parse_most(texts: list[str] | None) -> float | dict[str, float] | None:
    """One amount for all arms, or one for each."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return common.parse_bounds([f"each={texts[0]}"], "--most", "0.5")["each"]
    return common.parse_bounds(texts, "--most", "small=0.01")
