"""The answer as a table, and with all that a terminal shows around it."""

import math
from typing import TYPE_CHECKING

from bestmix.answers.number_text import chance_text, exact_share, measured, reach
from bestmix.answers.prices import price_sentences
from bestmix.answers.wording import guess_text, half_width, items_text, sentence

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Estimate, MeanCost, Recommendation

RELATIONS = {"<=": "of", ">=": "for at least", "=": "for exactly"}  # between a mean and its bound
FOOTNOTE = "± is the longer half of a 95% interval, which has two sides; the chance that a limit is kept has one"


def text(rec: "Recommendation") -> str:
    """The sentence, the table and the notes, as a terminal shows them."""
    table = rows(rec)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
    rule = "-" * max(map(len, lines))
    extra = [guess_text(rec)] if guess_text(rec) else []
    extra += [*other_limits(rec), *price_sentences(rec), *([rec.note] if rec.note else [])]
    extra += [rec.account.sentence()] if rec.account is not None else []
    extra += [items_text(rec)] if rec.items is not None else []
    if not rec.complete:
        extra.append("The search is not finished.")
    return "\n".join([sentence(rec), "", lines[0], rule, *lines[1:-1], rule, lines[-1], *extra])


def rows(rec: "Recommendation") -> list[list[str]]:
    """The table of arms, a header first, the mix last."""
    charted = rec.problem.charted
    header = ["arm", "share", "trials", rec.problem.measures[0], *charted.values()]
    body = []
    for e in sorted(rec.estimates.values(), key=lambda e: -rec.mixture.get(e.arm, 0.0)):
        share = exact_share(rec.mixture[e.arm]) if e.arm in rec.mixture else "-"
        trials = "known" if e.known else f"{e.trials:,}"
        reward, *costs = shown_intervals(rec, e)
        means = [_estimate(e.costs[c], ends, e.trials) for c, ends in zip(charted, costs, strict=True)]
        body.append([e.arm, share, trials, _estimate(e.reward, reward, e.trials), *means])
    means = [measured(rec.value, half_width(rec)), *(cost_text(rec, c) if _whole(rec, c) else "" for c in charted)]
    foot = ["the mix", "", f"{rec.trials:,}", *(means if rec.mixture else ["-"] * len(means))]
    return [header, *body, foot]


def shown_intervals(rec: "Recommendation", e: "Estimate") -> list[tuple[float, float]]:
    """Intervals of an arm in a table, of the reward and of the costs that it shows.

    They are the arm's own, from its own trials. An arm that is all of the mix has those of the mix, which are beside
    them: they blend its variance with that of the others, and that of the reward allows for its choice.
    """
    own = [e.reward_interval, *(e.cost_intervals[c] for c in rec.problem.charted)]
    if list(rec.mixture) != [e.arm] or rec.by_segment or e.known:
        return own
    mix = [(rec.value, rec.value_interval), *(_whole_cost(rec, c) for c in rec.problem.charted)]
    means = [e.reward, *(e.costs[c] for c in rec.problem.charted)]
    places = zip(means, own, mix, strict=True)
    return [ends if math.isclose(m, mean) and math.isfinite(reach(m, ends)) else o for m, o, (mean, ends) in places]


def _whole_cost(rec: "Recommendation", cost: str) -> tuple[float, tuple[float, float]]:
    """A mean cost of the mix with its interval; NaN where the table does not show it."""
    limit = rec.limits.get(cost)
    return (math.nan, (math.nan, math.nan)) if limit is None or not _whole(rec, cost) else (limit.mean, limit.interval)


def other_limits(rec: "Recommendation") -> list[str]:
    """Limits that the table of arms does not show: on shares, of one segment, and further ones on the same quantity."""
    left = [cost for cost in rec.problem.costs if cost not in rec.problem.charted or not _whole(rec, cost)]
    return [f"{cost}: {cost_text(rec, cost)}." for cost in left] if rec.mixture else []


def _whole(rec: "Recommendation", cost: str) -> bool:
    """Whether a limit is one of all users."""
    return rec.problem.limits[rec.problem.costs.index(cost)].segment is None


def cost_text(rec: "Recommendation", cost: str) -> str:
    """A mean cost of the mix, its bound, and the chance that it is kept."""
    relation = rec.problem.limits[rec.problem.costs.index(cost)].relation
    bound = f"{RELATIONS[relation]} {rec.bound(cost):.4g}"
    limit = rec.limits.get(cost)
    if limit is None:
        return f"{rec.mean_cost(cost):.4g} {bound}"
    if math.isnan(limit.mean) and rec.mixture:
        return "undefined"
    mean = measured(limit.mean, reach(limit.mean, limit.interval))
    if not math.isfinite(limit.chance):
        return f"{mean} {bound}"
    return f"{mean} {bound}, {'not kept' if limit.surely_broken else f'kept {kept_text(limit)}'}"


def kept_text(limit: "MeanCost") -> str:
    """The chance that a bound is kept; certain is only what no trial can change."""
    if limit.surely_broken:
        return "no"
    return "for certain" if limit.exact and limit.chance == 1 else chance_text(limit.chance)


def _estimate(mean: float, interval: tuple[float, float], trials: int) -> str:
    if math.isnan(mean):  # a ratio has no value where its denominator is not above zero
        return "undefined" if trials else "not tried"
    return measured(mean, reach(mean, interval))
