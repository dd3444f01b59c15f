"""The strategies of this package by name, as saved searches and experiments name them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bestmix import checks
from bestmix.problems.spend import Spend
from bestmix.strategies.challenger import NEWEST, Challenger
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import Strategy
from bestmix.strategies.rivals import CGE, LAGEX, LATS, OCBA, ConstrainedSR, CTnS, PacedThompson, TopTwo
from bestmix.strategies.sfsr import SFSR
from bestmix.strategies.single_arm import SingleArm
from bestmix.strategies.traffic import Traffic
from bestmix.strategies.uniform import Uniform

BUILT_IN: Mapping[str, Callable[..., Strategy]] = {
    "SFSR": SFSR,
    "Challenger": Challenger,
    "SingleArm": SingleArm,
    "Uniform": Uniform,
    "Traffic": Traffic,
} | {rival.__name__: rival for rival in (LAGEX, LATS, CTnS, CGE, ConstrainedSR, OCBA, TopTwo, PacedThompson)}


def restore_strategy(data: Mapping[str, Any], edition: int = 1) -> Strategy:
    """The built-in strategy that ``to_dict`` described; what was saved without an ``edition`` has the first one.

    >>> restore_strategy({"kind": "SFSR", "score": "lagrangian"})
    SFSR(score='lagrangian')
    """
    kind = checks.mapping("strategy", data, "with its kind").get("kind")
    options = {key: value for key, value in data.items() if key != "kind"}
    if kind == "Paid":
        return Paid(restore_strategy(options.get("strategy", {}), edition), Spend.from_dict(options.get("spend")))
    if any(isinstance(value, str) and value.startswith("function ") for value in options.values()):
        raise checks.InvalidInput(
            "strategy", f"the search was saved with your own {options}", "pass the strategy when loading"
        )
    given = checks.shown(options)
    if kind == "Challenger":
        options.setdefault("edition", edition)
    make = BUILT_IN[checks.choice("strategy", kind, list(BUILT_IN))]
    try:
        return make(**options)
    except TypeError:
        raise checks.InvalidInput("strategy", f"{kind} has no such options, got {given}", "leave them out") from None


def restore_saved(data: Mapping[str, Any]) -> Strategy:
    """The built-in strategy of an experiment."""
    return restore_strategy(as_numbered(data))


def as_numbered(strategy: Any) -> Any:
    """The data of a strategy, with the edition by its number since 0.2: revisions before it counted up to seven.

    >>> as_numbered({"kind": "Challenger", "edition": 5}), as_numbered({"kind": "Challenger"})
    ({'kind': 'Challenger', 'edition': 2}, {'kind': 'Challenger'})
    """
    if not isinstance(strategy, Mapping):
        return strategy
    later = {"edition": NEWEST} if strategy.get("edition") in range(NEWEST + 1, 8) else {}
    inner = {"strategy": as_numbered(strategy["strategy"])} if "strategy" in strategy else {}
    return {**strategy, **later, **inner}


def as_saved(strategy: Strategy, data: Mapping[str, Any]) -> Strategy:
    """The strategy of a program that goes on with what an earlier one saved, by the edition that was saved.

    A program that names the newest is not told from one that names none.

    >>> as_saved(Challenger(confidence=0.9), {"kind": "Challenger", "confidence": 0.9}).edition
    1
    """
    data = data.get("strategy", {}) if data.get("kind") == "Paid" else data
    if isinstance(strategy, Paid):
        return replace(strategy, strategy=as_saved(strategy.strategy, data))
    if not isinstance(strategy, Challenger) or strategy.edition != NEWEST:
        return strategy
    return replace(strategy, edition=data.get("edition", 1))
