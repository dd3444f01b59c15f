"""A trade-off in words: what the limit costs, what another would earn, and where that ends."""

import math
from collections.abc import Mapping

from bestmix.answers.number_text import FIXED, level_text, measured, reach
from bestmix.answers.prices import STEP
from bestmix.answers.tradeoff_curve import Piece, TradeOff
from bestmix.problems.goals import Goal

LONGEST = 1e12  # a value that is written in all its digits
MOST_NAMES = 4  # of arms in a row of the table


def sentences(found: TradeOff) -> list[str]:
    """The limit as it is, 20% higher and lower where that is possible, the range in which it matters, the safe mix."""
    if not found.pieces:
        return [f"Whatever the limit on {found.label}, no mix keeps the others."]
    changes = [_safe_change(found, bound) or _guess(found, _change(found, bound)) for bound in found.changed_bounds]
    now, ends = _guess(found, _now(found)), _guess(found, _range(found))
    return [now, *_safe(found), *filter(None, [*changes, ends, found.note])]


def _guess(found: TradeOff, sentence: str) -> str:
    """A sentence about the optimum, which says so where that is one of estimates."""
    if not found.estimated or not sentence:
        return sentence
    return f"At the estimates, {sentence[0].lower()}{sentence[1:]}"


def _safe_change(found: TradeOff, bound: float) -> str:
    """What another bound would earn with a mix that keeps all limits with certainty; no text where there is none."""
    now, then = found.safe_at(found.bound), found.safe_at(bound)
    if now is None or then is None or found.safety is None:
        return ""
    changed = _difference(found, bound, now.value, then.value)
    return f"Kept with {level_text(found.safety)} certainty, {changed[0].lower()}{changed[1:]}"


def text(found: TradeOff) -> str:
    """The sentences, and a table of the ranges."""
    lines = sentences(found)
    if not found.pieces:
        return lines[0]
    table = rows(found)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    shown = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([*lines, "", shown[0], "-" * max(map(len, shown)), *shown[1:]])


def rows(found: TradeOff) -> list[list[str]]:
    """The table of ranges, as text, with a header."""
    own = found.goal == Goal() and not found.at_least
    step = "1% more adds" if own else f"1% looser {'adds' if found.goal.maximise else 'saves'}"
    side = " of at least" if found.at_least else ""
    header = [f"limit on {found.label}{side}", "value" if found.goal == Goal() else str(found.goal.quantity), step]
    return [[*header, "mix of"], *(_row(found, piece) for piece in found.pieces)]


def _row(found: TradeOff, piece: Piece) -> list[str]:
    mark = " (now)" if found.stands_in(piece) else ""
    names = ", ".join(piece.support[:MOST_NAMES]) + (", ..." if len(piece.support) > MOST_NAMES else "")
    if math.isinf(piece.high):
        return [f"from {piece.low:.4g} on{mark}", f"{piece.low_value:.4g}", "nothing", names]
    if math.isinf(piece.low):
        return [f"up to {piece.high:.4g}{mark}", f"{piece.high_value:.4g}", "nothing", names]
    low, high = pair(piece.low_value, piece.high_value)
    added = " to ".join(f"{saved:.2g}" for saved in _steps(found, piece))
    return [f"{piece.low:.4g} to {piece.high:.4g}{mark}", f"{low} to {high}", added, names]


def _steps(found: TradeOff, piece: Piece) -> list[float]:
    """What a limit that is looser by 1% changes, at the ends of a piece; it may lead beyond the piece.

    At the loose end of a piece that is wider than such a step, the step is the last one within it.
    """
    ends = [piece.low, piece.high]
    loose = 0 if found.at_least else 1
    last = ends[loose] / (1 + math.copysign(STEP, ends[loose]) * (-1 if found.at_least else 1))
    if piece.low < last < piece.high:
        ends[loose] = last
    return [abs(found.at(_looser(found, bound)).value - found.at(bound).value) for bound in ends]


def _looser(found: TradeOff, bound: float) -> float:
    return bound + (-STEP if found.at_least else STEP) * abs(bound)


def _earns(found: TradeOff, value: str) -> str:
    """What a mix earns, in the words of the goal."""
    return f"earns {value}" if found.goal == Goal() else f"has a mean {found.goal.quantity} of {value}"


def _now(found: TradeOff) -> str:
    side = "at least " if found.at_least else ""
    now, limit = found.at(found.bound), f"a limit on {found.label} of {side}{found.bound:.4g}"
    if not now.feasible:
        end = "largest" if found.at_least else "smallest"
        return f"No mix keeps {limit}; the {end} that one keeps is {found.tightest:.4g}."
    return f"With {limit} the best mix is {_mix(now.mixture)} and {_earns(found, f'{now.value:.4g}')}."


def _mix(mixture: Mapping[str, float]) -> str:
    return " with ".join(f"{share:.1%} {arm}" if share < 1 else arm for arm, share in mixture.items())


def _change(found: TradeOff, bound: float) -> str:
    """What another bound would earn, with the optimum."""
    then, now = found.at(bound), found.at(found.bound)
    if now.feasible:
        return _difference(found, bound, now.value, then.value)
    verb = "would earn" if found.goal == Goal() else f"would give a mean {found.goal.quantity} of"
    return f"A limit on {found.label}{_moved(found, bound)} {verb} {then.value:.4g}." if then.feasible else ""


def _difference(found: TradeOff, bound: float, now: float, then: float) -> str:
    """The values of two bounds, and how they differ."""
    limit, own = f"A limit on {found.label}{_moved(found, bound)}", found.goal == Goal()
    if _same(then, now):
        return f"{limit} would earn the same." if own else f"{limit} would change nothing."
    before, after = pair(now, then)
    digits = len(after.partition(".")[2])
    gain, word = abs(then - now), "more" if then > now else "less"
    size = f"{gain:.{digits}f}" if digits else f"{gain:.2g}"
    if own:
        return f"{limit} would earn {size} {word} ({before} -> {after})."
    return f"{limit} would mean {size} {word} {found.goal.quantity} ({before} -> {after})."


def _same(then: float, now: float) -> bool:
    return abs(then - now) <= 1e-12 * max(abs(then), abs(now))


def _moved(found: TradeOff, other: float) -> str:
    bound = found.bound
    if bound > 0 and math.isclose(abs(other - bound), 0.2 * bound):
        return f" that is 20% {'higher' if other > bound else 'lower'} ({other:.4g} instead of {bound:.4g})"
    end = f", the {'largest' if found.at_least else 'smallest'} that a mix keeps," if other == found.tightest else ""
    return f" of {other:.4g} instead of {bound:.4g}{end}"


def _range(found: TradeOff) -> str:
    if found.least == found.most:
        end = "largest" if found.at_least else "smallest"
        same = "and earns as much" if found.goal == Goal() else f"with the same {found.goal.quantity}"
        return f"The limit never costs anything: {found.least:.4g} is the {end} that a mix keeps, {same}."
    loose, tight = ("Below", "above") if found.at_least else ("Above", "below")
    return f"{loose} {found.loosest:.4g} a looser limit adds nothing; {tight} {found.tightest:.4g} no mix keeps it."


def _safe(found: TradeOff) -> list[str]:
    """What the mix earns that keeps all limits with certainty, at the same bounds."""
    if found.safety is None:
        return []
    certain = f"with {level_text(found.safety)} certainty"
    if not found.safe:
        return [f"No mix keeps all limits {certain} at any limit on {found.label} that was looked at."]
    lead = f"Kept {certain}"
    bounds = (found.bound, *found.changed_bounds)
    known = [(bound, found.safe_at(bound)) for bound in bounds]
    parts = [f"{measured(p.value, reach(p.value, p.interval))} at a limit of {bound:.4g}" for bound, p in known if p]
    lacking = known[0][1] is None and found.keepable(found.bound)
    first = found.safe[-1 if found.at_least else 0]
    if lacking or not parts:
        where = f"up to about {first.bound:.4g}" if found.at_least else f"from about {first.bound:.4g} on"
        earns = _earns(found, measured(first.value, reach(first.value, first.interval)))
        return [f"{lead} there is no mix at a limit of {found.bound:.4g}; {where} the best one {earns}."]
    return [f"{lead}, the best mix {_earns(found, ', '.join(parts))}."]


def pair(before: float, after: float) -> tuple[str, str]:
    """Two values with so many digits that their difference has two, and each that is not zero has two.

    >>> pair(0.741, 0.7623), pair(12000.0, 12450.0), pair(0.5, 0.5), pair(0.00048, 0.0153)
    (('0.741', '0.762'), ('12000', '12450'), ('0.5', '0.5'), ('0.00048', '0.01530'))
    """
    sizes = [size for size in map(abs, (after - before, before, after)) if size]
    if after == before or not (FIXED[0] / 100 < min(sizes) and max(sizes) < LONGEST):
        return f"{before:.6g}", f"{after:.6g}"
    places = max(1 - math.floor(math.log10(min(sizes))), 0)
    return f"{before:.{places}f}", f"{after:.{places}f}"
