"""The answer in words and tables: the sentence, the rows that terminals and notebooks show, figures with intervals."""

import html
import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_UP, Context, Decimal
from typing import TYPE_CHECKING

from bestmix.answers.prices import is_other, price_sentences
from bestmix.problems.goals import Goal
from bestmix.problems.quantities import Ratio

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Estimate, MeanCost, Recommendation

MOST_LETTERS = 22  # of a name that has to share its room
MOST_SEGMENTS = 4  # whose mixes a sentence tells
NEARLY_CERTAIN = 0.995
SURELY = 0.95
NOTHING = 1e-9  # of the value: a gain that is none
RELATIONS = {"<=": "of", ">=": "for at least", "=": "for exactly"}  # between a mean and its bound
SMALLEST_STEP = 1e-300  # a number whose second digit could be too small for a float is not rounded up
MOST_DIGITS = 7  # behind the first one of a mean, which its interval has in the same power of ten
FIXED = 1e-4, 1e7  # numbers between are written without a power of ten
FOOTNOTE = "± is the longer half of a 95% interval, which has two sides; the chance that a limit is kept has one"


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


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, the first few of many.

    >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdef"))
    ('a', 'a and b', 'a, b, c and 3 others')
    """
    if len(names) > MOST_SEGMENTS:
        return f"{', '.join(names[:3])} and {len(names) - 3} others"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


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
    counts = {arm: float(f"{more:.1e}") for arm, more in trials.items()}
    parts = [f"{n:,.0f} more {'trial' if n == 1 else 'trials'} of {arm}" for arm, n in counts.items()]
    return f"About {' and '.join(parts)} would do."


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
        worst = f"at most {above(rec.regret)} {less} than the best mix there is"
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
    return f"{what}{where} {_short(abs(away))} {'above' if away > 0 else 'below'}"


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


def mix_text(shares: Mapping[str, float]) -> str:
    """The arms of a mix with their shares.

    >>> mix_text({"small": 0.62, "large": 0.38}), mix_text({"small": 1.0})
    ('62% small with 38% large', 'small')
    """
    return " with ".join(f"{share_text(p)} {arm}" if len(shares) > 1 else arm for arm, p in shares.items())


def shortened(name: str) -> str:
    """A name that has room beside a mark.

    >>> shortened("a"), shortened("distilled-with-a-very-long-name")
    ('a', 'distilled-with-a-very…')
    """
    return name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…"


def share_text(share: float) -> str:
    """A share in per cent; a small one is not nothing, and one that is almost all is not all.

    >>> share_text(0.462), share_text(0.003), share_text(0.9962), share_text(0.00004)
    ('46%', '0.3%', '99.6%', '0.004%')
    """
    small = min(share, 1.0 - share)
    if small <= 0 or small >= 0.01:
        return f"{share:.0%}"
    places = min(-math.floor(math.log10(small)) - 2, 12)
    return f"{share:.{places}%}"


def half_width(rec: "Recommendation") -> float:
    """Of the interval of the mix's reward, its longer half; from the arms' own where it is not known."""
    longer = reach(rec.value, rec.value_interval)
    if math.isfinite(longer):
        return longer
    widths = [rec.estimates[a].reward_interval for a in rec.mixture]
    return math.sqrt(sum((p * (w[1] - w[0]) / 2) ** 2 for p, w in zip(rec.mixture.values(), widths, strict=True)))


def reach(middle: float, interval: tuple[float, float]) -> float:
    """The longer half of an interval."""
    return max(middle - interval[0], interval[1] - middle)


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


def exact_share(share: float) -> str:
    """A share to a tenth of a per cent, and finer where that would say nothing or all.

    >>> exact_share(0.4621), exact_share(0.0003), exact_share(0.0), exact_share(1.0)
    ('46.2%', '0.03%', '0.0%', '100.0%')
    """
    return f"{share:.1%}" if 0.001 <= share <= 0.999 or not 0 < share < 1 else share_text(share)


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


def guess_text(rec: "Recommendation") -> str:
    """The optimum at the estimates beside a mix that is safer, and what the safety costs; empty where they are one.

    The estimates alone cannot tell which side of its bounds it is on.
    """
    if not is_other(rec):
        return ""
    right = rec.support_probability
    chance = "" if right is None else f"; chance that its support is right {chance_text(right)}"
    better = rec.problem.goal.sign * (rec.best_guess_value - rec.value)
    costs = f", {_short(better)} {'more' if rec.problem.goal.maximise else 'less'}" if better > 0 else ""
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


def fragment(rec: "Recommendation") -> str:
    """The sentence and the table as HTML, as a notebook shows them."""
    table = [[html.escape(cell) for cell in row] for row in rows(rec)]
    head = "".join(f"<th>{cell}</th>" for cell in table[0])
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in table[1:])
    money = "" if rec.account is None else f"<p>{html.escape(rec.account.sentence())}</p>"
    said = f"<p>{html.escape(sentence(rec))}</p>"
    items = "" if rec.items is None else f"<p>{items_text(rec)}</p>"
    return f"{said}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{money}{items}"


def chance_text(chance: float) -> str:
    """A chance in per cent, never rounded up, and never to certainty or impossibility.

    >>> chance_text(0.94), chance_text(0.9496), chance_text(0.9999), chance_text(0.004)
    ('94%', '94%', 'above 99%', 'below 1%')
    """
    if sure(chance):
        return "above 99%"
    return f"{math.floor(100 * chance + 1e-9)}%" if chance >= 0.01 else "below 1%"


def level_text(certainty: float, digits: int = 6) -> str:
    """A certainty as it was asked for, in per cent: so many digits of the risk, which is never rounded to none.

    >>> level_text(0.95), level_text(0.9999999), level_text(0.99871234, digits=3)
    ('95%', '99.99999%', '99.871%')
    """
    exact = Decimal(f"{1.0 - certainty:.12g}")
    risk = Context(prec=digits, rounding=ROUND_UP).create_decimal(exact)
    text = f"{100 * (1 - risk):f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


def sure(chance: float) -> bool:
    """Whether a chance is as good as certain.

    >>> sure(0.9949), sure(0.995)
    (False, True)
    """
    return chance >= NEARLY_CERTAIN


def above(value: float) -> str:
    """A number of two digits that is not below.

    >>> above(0.00412), above(0.004), above(123.4), above(1.01e150)
    ('0.0042', '0.004', '130', '1.1e+150')
    """
    if value < SMALLEST_STEP or not math.isfinite(value):
        return f"{value:.2g}"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    value = math.ceil(value / step - 1e-9) * step
    return f"{value:.0f}" if 10 <= value < FIXED[1] else f"{value:.2g}"


def measured(mean: float, half: float) -> str:
    """A mean with half of its interval, both to the second digit of the latter.

    >>> measured(0.74826, 0.0124), measured(1234.5, 187.0), measured(-0.0004, 0.0996), measured(2.0, 0.0)
    ('0.748 ± 0.012', '1230 ± 190', '0.00 ± 0.10', '2')
    >>> measured(0.0000293, 0.0000011), measured(0.000021352, 0.00000083), measured(3.21e150, 1.2e149)
    ('2.93e-05 ± 0.11e-05', '2.135e-05 ± 0.083e-05', '3.21e+150 ± 0.12e+150')
    """
    if not (0 < half < math.inf and math.isfinite(mean)):
        return f"{mean:.4g}"
    half = float(f"{half:.1e}")
    places = 1 - math.floor(math.log10(half))
    mean = round(mean, places) + 0.0  # no minus before a zero
    size = max(abs(mean), half)
    power = math.floor(math.log10(size))
    if power + places > MOST_DIGITS:
        return f"{mean:.{min(power + places + 1, 15)}g} ± {half:.2g}"
    if not FIXED[0] <= size < FIXED[1]:
        return " ± ".join(_scaled(value, power, places) for value in (mean, half))
    return f"{mean:.{max(places, 0)}f} ± {half:.{max(places, 0)}f}"


def _scaled(value: float, power: int, places: int) -> str:
    """A number to a decimal place, in units of a power of ten."""
    mantissa, own = f"{value:.17e}".split("e")
    return f"{float(f'{mantissa}e{int(own) - power}'):.{max(places + power, 0)}f}e{power:+03d}"


def _short(value: float) -> str:
    return f"{value:.3g}"


def _estimate(mean: float, interval: tuple[float, float], trials: int) -> str:
    if math.isnan(mean):  # a ratio has no value where its denominator is not above zero
        return "undefined" if trials else "not tried"
    return measured(mean, reach(mean, interval))
