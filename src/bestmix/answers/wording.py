"""The answer in words: what to do, how sure that is, what is in the way."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bestmix.answers.number_text import (
    above,
    chance_text,
    largest,
    level_text,
    listed,
    measured,
    mix_text,
    reach,
    short,
    sure,
)
from bestmix.answers.prices import is_other
from bestmix.problems.goals import Goal
from bestmix.problems.quantities import Ratio

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation

MOST_SEGMENTS = 4  # whose mixes a sentence tells
SURELY = 0.95
NOTHING = 1e-9  # of the value: a gain that is none


def sentence(rec: "Recommendation") -> str:
    """The answer in plain language; that limits are kept is said only with a chance, where it was certified."""
    if not rec.mixture:
        return "No arm has been tried yet, so there is no answer."
    if undefined := undefined_ratios(rec):
        return f"{_verb(rec)} {_mix(rec)}: {_reward(rec)}. {undefined}"
    if unserved := [segment for segment, part in rec.by_segment.items() if not part]:
        some = mix_text(rec.mixture) if len(rec.mixture) <= MOST_SEGMENTS else "the table below"
        there = f"There is no answer for {listed(unserved)} yet: no arm was tried there."
        return f"{there} So far, of all {rec.problem.everybody}: {some}."
    if rec.violation and not rec.feasible:
        return _infeasible(rec)
    if not rec.feasible:
        kept = "The arms that the search kept have no mix within the bounds; all arms together have one"
        return f"{kept}: {_verb(rec).lower()} {mix_text(rec.mixture)}: {_reward(rec)}.{_risk(rec)}"
    if rec.certified or (rec.limits and len(met_at_estimates(rec)) == len(rec.limits)):
        return _certified(rec)
    return _guess(rec) if rec.safety is None or rec.certainty is None else _uncertain(rec)


def _infeasible(rec: "Recommendation") -> str:
    """The closest mix; that there is none within the bounds is certain only where it breaks a known one."""
    failing = ", ".join(f"{_beyond(rec, cost)} its bound" for cost in rec.violation)
    closest = f"The closest is {_mix(rec)}: {failing}, {_reward(rec)}."
    if not rec.limits or any(limit.surely_broken for limit in rec.limits.values()):
        return f"No mix keeps all bounds. {closest}"
    return f"At the estimates no mix keeps all bounds. {closest}{_risk(rec)}"


def _certified(rec: "Recommendation") -> str:
    limits = f"{_kept(rec)}; it" if rec.limits else "It"
    return f"{_verb(rec)} {_mix(rec)}. {limits} {_worth(rec)}.{_segments(rec)}"


def _kept(rec: "Recommendation") -> str:
    """How certain the limits are kept; of an equality of means nothing is."""
    level = met_at_estimates(rec)
    if not level:
        return f"All limits are kept {certainly(rec)}"
    met = f"{' and '.join(repr(name) for name in level)} {'is' if len(level) == 1 else 'are'} met at the estimates"
    return met if len(level) == len(rec.limits) else f"All other limits are kept {certainly(rec)}, and {met}"


def undefined_ratios(rec: "Recommendation") -> str:
    """Why nothing can be said of ratios whose denominator has no positive mean; no text where all have."""
    found = []
    for cost, limit in zip(rec.problem.costs, rec.problem.limits, strict=True):
        if isinstance(limit.quantity, Ratio) and cost in rec.limits and math.isnan(rec.limits[cost].mean):
            divided = f"the mean of {limit.quantity.denominator}, which it divides by"
            found.append(f"'{limit}' cannot be judged: {divided}, is not above zero in this mix.")
    return " ".join(found)


def met_at_estimates(rec: "Recommendation") -> list[str]:
    """Limits that ask for equality of an estimated mean."""
    pairs = zip(rec.problem.costs, rec.problem.limits, strict=True)
    return [str(limit) for cost, limit in pairs if limit.equality and not rec.limits[cost].exact]


def _uncertain(rec: "Recommendation") -> str:
    """What is in the way of a mix that is certain enough, and what would remove it."""
    chance, wanted = rec.certainty or 0.0, level_text(rec.safety or 0.0)
    certain, mix = level_text(chance, digits=3) if sure(chance) else chance_text(chance), _mix(rec)
    ways = " and ".join(rec.short) or "the limits together"
    return (
        f"No mix keeps all limits with {wanted} certainty yet. The most certain is {mix}, with {certain}; in the way: "
        f"{ways}. {_remedy(rec)} It {_worth(rec)}.{_segments(rec)}"
    )


def _remedy(rec: "Recommendation") -> str:
    trials = {arm: more for arm, more in rec.further.items() if math.isfinite(more)}
    if not trials or len(trials) < len(rec.further):
        return "More trials alone are not likely to do; a looser limit would."
    counts, left = largest({arm: float(f"{more:.1e}") for arm, more in trials.items()})
    parts = [f"{n:,.0f} more {'trial' if n == 1 else 'trials'} of {arm}" for arm, n in counts.items()]
    rest = [f"some of {left:,} others"] if left else []
    return f"About {' and '.join([*parts, *rest])} would do."


def _guess(rec: "Recommendation") -> str:
    """The optimum at the estimates."""
    said = f"{_verb(rec)} {_mix(rec)}: {_reward(rec)}"
    for cost, slack in rec.slack.items():
        said += f", {cost} at its bound" if slack == 0 else f", {_beyond(rec, cost)} its bound"
    if rec.support_probability is not None:
        said += f"; chance that this support is right {chance_text(rec.support_probability)}"
    return f"{said}.{_risk(rec)}"


def _risk(rec: "Recommendation") -> str:
    if not rec.limits:
        return ""
    if rec.certainty is None:
        why = "" if any(e.trials > 1 for e in rec.estimates.values()) else ": no arm has two trials"
        return f" How likely the limits are kept cannot be said{why}."
    return f" Estimated chance that all limits are kept: {chance_text(rec.certainty)}."


def _worth(rec: "Recommendation") -> str:
    """What the mix earns, what the best might earn more, and what it gains over a single arm."""
    goal = rec.problem.goal
    less, more, most = ("less", "more", "most") if goal.maximise else ("more", "less", "least")
    verb, can = ("earns", "earn") if goal == Goal() else (f"has a mean {goal.quantity} of", "have")
    parts = [f"{verb} {measured(rec.value, reach(rec.value, rec.value_interval))}"]
    if math.isfinite(rec.regret):
        best = "the best mix of the policy's arms" if rec.strategy == "refit" else "the best mix there is"
        worst = f"at most {above(rec.regret)} {less} than {best}"
        parts.append(worst if rec.regret > 0 else f"the {most} that any mix can {can}")
    if rec.problem.flows:  # an action in one state is no option for all
        return ", ".join(parts)
    if rec.single is None and rec.limits and rec.certified:
        judged = "" if _tried_everywhere(rec) else " that was tried in every segment"
        parts.append(f"and no single option{judged} keeps all limits with that certainty")
    elif rec.single is not None and rec.gain is not None and rec.gain_interval and rec.single not in _alone(rec):
        gain = measured(abs(rec.gain), reach(rec.gain, rec.gain_interval))
        best = f"the best single option{_as_surely(rec)}, {rec.single}"
        parts.append(f"and {gain} {more if rec.gain >= 0 else less} than {best}{_unshown(rec.gain_interval)}")
    return ", ".join(parts)


def _as_surely(rec: "Recommendation") -> str:
    """Which single options a mix is compared with: surely is with the wanted certainty, where that is 95% or more."""
    if not rec.limits:
        return ""
    wanted = rec.safety if rec.safety is not None else SURELY
    if wanted >= SURELY:
        return " that surely keeps the limits"
    return f" that keeps the limits with {level_text(wanted)} certainty"


def _tried_everywhere(rec: "Recommendation") -> bool:
    """Whether every arm could be judged alone."""
    return all(e.trials or e.known for e in rec.estimates.values()) if rec.by_segment else True


def _unshown(interval: tuple[float, float]) -> str:
    """That a difference may be none."""
    low, high = interval
    return " (a difference that these data do not show)" if low <= 0 <= high and low < high else ""


def _alone(rec: "Recommendation") -> tuple[str, ...]:
    """The arm of a mix of one, in all segments."""
    arms = {arm: None for part in rec.by_segment.values() for arm in part} if rec.by_segment else rec.mixture
    return tuple(arms) if len(arms) == 1 else ()


def _verb(rec: "Recommendation") -> str:
    return "Use" if len(rec.mixture) == 1 else "Mix"


def _reward(rec: "Recommendation") -> str:
    return f"estimated {rec.problem.goal.quantity} {measured(rec.value, half_width(rec))}"


def _beyond(rec: "Recommendation", cost: str) -> str:
    """What is limited, and by how much the mix is above or below its bound."""
    away = rec.mean_cost(cost) - rec.bound(cost)
    limit = rec.problem.limits[rec.problem.costs.index(cost)]
    what = cost if cost in rec.problem.metrics else str(limit.quantity)
    where = "" if limit.segment is None else f" in {limit.segment}"
    return f"{what}{where} {short(abs(away))} {'above' if away > 0 else 'below'}"


def certainly(rec: "Recommendation") -> str:
    """How certain all limits are kept; for certain only where the mix has nothing but known costs."""
    said = [limit for limit in rec.limits.values() if not math.isnan(limit.chance)]
    if not all(limit.exact and limit.chance == 1 for limit in said):
        return f"with {chance_text(rec.certainty or 0.0)} certainty"
    tried = [arm for arm in rec.mixture if not rec.estimates[arm].known]
    learnt = tried and any(map(math.isnan, rec.problem.partly_known[:, 1:].flat))  # and not known beforehand
    return "for certain if prices stay what they were in all trials" if learnt else "for certain"


def _mix(rec: "Recommendation") -> str:
    """The mix to deploy; with segments, that of each."""
    if not rec.by_segment:
        return mix_text(rec.mixture)
    if len(rec.by_segment) > MOST_SEGMENTS:
        return f"each of the {len(rec.by_segment)} {rec.problem.group}s as the table below says"
    return _by_segment(rec.by_segment)


def _by_segment(parts: Mapping[str, Mapping[str, float]]) -> str:
    return "; ".join(f"{mix_text(shares)} in {segment}" for segment, shares in parts.items() if shares)


def _segments(rec: "Recommendation") -> str:
    """What a mix for each segment is worth."""
    if rec.segments_worth is None or rec.segments_worth_interval is None:
        return ""
    if abs(rec.segments_worth) <= NOTHING * abs(rec.value):
        return " One mix for all segments does as well."
    goal, interval = rec.problem.goal, rec.segments_worth_interval
    gain = measured(abs(rec.segments_worth), reach(rec.segments_worth, interval))
    up = (rec.segments_worth >= 0) == goal.maximise
    worth = f"earn {gain} {'more' if up else 'less'}"
    if goal != Goal():
        worth = f"have a mean {goal.quantity} that is {gain} {'higher' if up else 'lower'}"
    alike = " that is as certain by the estimates of each segment" if rec.certified else ""
    best = f"the best mix for all{alike}, {mix_text(rec.common_mixture)}"
    return f" Mixes by segment {worth} than {best}{_unshown(interval)}."


def half_width(rec: "Recommendation") -> float:
    """Of the interval of the mix's reward, its longer half; from the arms' own where it is not known."""
    longer = reach(rec.value, rec.value_interval)
    if math.isfinite(longer):
        return longer
    widths = [rec.estimates[a].reward_interval for a in rec.mixture]
    return math.sqrt(sum((p * (w[1] - w[0]) / 2) ** 2 for p, w in zip(rec.mixture.values(), widths, strict=True)))


def guess_text(rec: "Recommendation") -> str:
    """The optimum at the estimates beside a mix that is safer, and what the safety costs; empty where they are one.

    The estimates alone cannot tell which side of its bounds it is on.
    """
    if not is_other(rec):
        return ""
    right = rec.support_probability
    chance = "" if right is None else f"; chance that its support is right {chance_text(right)}"
    better = rec.problem.goal.sign * (rec.best_guess_value - rec.value)
    costs = f", {short(better)} {'more' if rec.problem.goal.maximise else 'less'}" if better > 0 else ""
    verb = "earns" if rec.problem.goal == Goal() else f"has a mean {rec.problem.goal.quantity} of"
    return f"The optimum at the estimates, {_guessed(rec)}, {verb} {rec.best_guess_value:.4g}{costs}{chance}."


def _guessed(rec: "Recommendation") -> str:
    """The optimum at the estimates; with segments, the shares within each, as the mix has them."""
    if not rec.by_segment:
        return mix_text(rec.best_guess)
    if len(rec.by_segment) > MOST_SEGMENTS:
        return "a mix by segment"
    parts: dict[str, dict[str, float]] = {segment: {} for segment in rec.by_segment}
    for cell in (*rec.problem.cells, *rec.problem.known_cells):
        if cell.segment is not None and str(cell) in rec.best_guess:
            parts[cell.segment][cell.arm] = rec.best_guess[str(cell)]
    totals = {segment: sum(shares.values()) for segment, shares in parts.items()}
    return _by_segment({name: {arm: p / totals[name] for arm, p in part.items()} for name, part in parts.items()})


def items_text(rec: "Recommendation") -> str:
    """On how many items arms were tried; no text where there are none."""
    if rec.items is None:
        return ""
    return f"Arms are compared on the items that they share; {rec.items:,} were used."
