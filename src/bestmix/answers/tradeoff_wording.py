"""A trade-off in words: what the limit costs, what another would earn, and where that ends."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bestmix.answers.prices import STEP
from bestmix.answers.wording import measured

if TYPE_CHECKING:
    from bestmix.answers.tradeoff import Outcome, Piece, TradeOff

MOST_NAMES = 4  # of arms in a row of the table


def sentences(found: "TradeOff") -> list[str]:
    """The limit as it is, 20% higher and lower, the range in which it matters, and the safe mix."""
    if not found.pieces:
        return [f"Whatever the limit on {found.cost}, no mix keeps the others."]
    changes = [_change(found, bound) for bound in found.changed_bounds]
    return [_now(found), *filter(None, changes), _range(found), *_safe(found)]


def text(found: "TradeOff") -> str:
    """The sentences, and a table of the ranges."""
    lines = sentences(found)
    if not found.pieces:
        return lines[0]
    table = rows(found)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    shown = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([*lines, "", shown[0], "-" * max(map(len, shown)), *shown[1:]])


def rows(found: "TradeOff") -> list[list[str]]:
    """The table of ranges, as text, with a header."""
    header = [f"limit on {found.cost}", "value", "1% more adds", "mix of"]
    return [header, *(_row(found, piece) for piece in found.pieces)]


def _row(found: "TradeOff", piece: "Piece") -> list[str]:
    mark = " (now)" if piece.low <= found.bound < piece.high else ""
    names = ", ".join(piece.support[:MOST_NAMES]) + (", ..." if len(piece.support) > MOST_NAMES else "")
    if math.isinf(piece.high):
        return [f"from {piece.low:.4g} on{mark}", f"{piece.low_value:.4g}", "nothing", names]
    low, high = pair(piece.low_value, piece.high_value)
    added = f"{STEP * abs(piece.low) * piece.slope:.2g} to {STEP * abs(piece.high) * piece.slope:.2g}"
    return [f"{piece.low:.4g} to {piece.high:.4g}{mark}", f"{low} to {high}", added, names]


def _now(found: "TradeOff") -> str:
    now, limit = found.at(found.bound), f"a limit on {found.cost} of {found.bound:.4g}"
    if not now.feasible:
        return f"No mix keeps {limit}; the smallest that one keeps is {found.least:.4g}."
    return f"With {limit} the best mix is {_mix(now.mixture)} and earns {now.value:.4g}."


def _mix(mixture: Mapping[str, float]) -> str:
    return " with ".join(f"{share:.1%} {arm}" if share < 1 else arm for arm, share in mixture.items())


def _change(found: "TradeOff", bound: float) -> str:
    """What another bound would earn."""
    then, now = found.at(bound), found.at(found.bound)
    limit = f"A limit on {found.cost}{_moved(found.bound, bound)}"
    if not now.feasible:
        return f"{limit} would earn {then.value:.4g}." if then.feasible else ""
    if not then.feasible:
        return f"{limit} could be kept by no mix."
    if _same(then, now):
        return f"{limit} would earn the same."
    before, after = pair(now.value, then.value)
    digits = len(after.partition(".")[2])
    gain, word = abs(then.value - now.value), "more" if then.value > now.value else "less"
    size = f"{gain:.{digits}f}" if digits else f"{gain:.2g}"
    return f"{limit} would earn {size} {word} ({before} -> {after})."


def _same(then: "Outcome", now: "Outcome") -> bool:
    return abs(then.value - now.value) <= 1e-12 * max(abs(then.value), abs(now.value))


def _moved(bound: float, other: float) -> str:
    if bound > 0:
        return f" that is 20% {'higher' if other > bound else 'lower'} ({other:.4g} instead of {bound:.4g})"
    return f" of {other:.4g} instead of {bound:.4g}"


def _range(found: "TradeOff") -> str:
    if found.least == found.most:
        return f"The limit never costs anything: {found.least:.4g} is the smallest that a mix keeps, and earns as much."
    return f"Above {found.most:.4g} a looser limit adds nothing; below {found.least:.4g} no mix keeps it."


def _safe(found: "TradeOff") -> list[str]:
    """What the mix earns that keeps all limits with certainty, at the same bounds."""
    if found.safety is None or not found.safe:
        return []
    lead = f"Kept with {found.safety:.0%} certainty"
    bounds = (found.bound, *found.changed_bounds)
    said = [(bound, found.safe_at(bound)) for bound in bounds]
    parts = [
        f"{measured(p.value, (p.interval[1] - p.interval[0]) / 2)} at a limit of {bound:.4g}" for bound, p in said if p
    ]
    missing = (
        f"; nothing at {found.bound:.4g}: too few trials" if said[0][1] is None and found.bound >= found.least else ""
    )
    return [f"{lead}, the best mix earns {', '.join(parts)}{missing}."] if parts else []


def pair(before: float, after: float) -> tuple[str, str]:
    """Two values with so many digits that their difference has two.

    >>> pair(0.741, 0.7623), pair(12000.0, 12450.0), pair(0.5, 0.5)
    (('0.741', '0.762'), ('12000', '12450'), ('0.5', '0.5'))
    """
    gap = abs(after - before)
    if not 1e-7 < gap < math.inf:
        return f"{before:.6g}", f"{after:.6g}"
    places = max(1 - math.floor(math.log10(gap)), 0)
    return f"{before:.{places}f}", f"{after:.{places}f}"
