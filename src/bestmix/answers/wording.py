"""The answer in words and tables: the sentence, the rows that terminals and notebooks show, figures with intervals."""

import html
import math
from typing import TYPE_CHECKING

from bestmix.answers.prices import price_sentences

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation


def sentence(rec: "Recommendation") -> str:
    """The answer in plain language."""
    if not rec.mixture:
        return "No arm has been tried yet, so there is no answer."
    parts = [f"{share:.0%} {arm}" if share < 1 else arm for arm, share in rec.mixture.items()]
    verb = "Use" if len(parts) == 1 else "Mix"
    mix, reward = " with ".join(parts), f"estimated reward {measured(rec.value, half_width(rec))}"
    if rec.violation and not rec.feasible:
        failing = ", ".join(f"{c} {_short(v)} above its bound" for c, v in rec.violation.items())
        return f"No mix keeps all bounds. The closest is {mix}: {failing}, {reward}."
    if not rec.feasible:
        kept = "The arms that the search kept have no mix within the bounds; all arms together have one"
        return f"{kept}: {verb.lower()} {mix}: {reward}."
    mixed = f"{verb} {mix}: {reward}"
    for cost, slack in rec.slack.items():
        mixed += f", {cost} at its bound" if slack == 0 else f", {cost} {_short(slack)} below its bound"
    if rec.support_probability is not None:
        mixed += f"; chance that this support is right {chance_text(rec.support_probability)}"
    return mixed + "."


def half_width(rec: "Recommendation") -> float:
    """Of the interval of the mix's reward."""
    widths = [rec.estimates[a].reward_interval for a in rec.mixture]
    return math.sqrt(sum((p * (w[1] - w[0]) / 2) ** 2 for p, w in zip(rec.mixture.values(), widths, strict=True)))


def rows(rec: "Recommendation") -> list[list[str]]:
    """The table of arms, a header first, the mix last."""
    header = ["arm", "share", "trials", "reward", *rec.problem.costs]
    body = []
    for e in sorted(rec.estimates.values(), key=lambda e: -rec.mixture.get(e.arm, 0.0)):
        share = f"{rec.mixture[e.arm]:.1%}" if e.arm in rec.mixture else "-"
        trials = "known" if e.known else str(e.trials)
        costs = [_estimate(e.costs[c], e.cost_intervals[c]) for c in rec.problem.costs]
        body.append([e.arm, share, trials, _estimate(e.reward, e.reward_interval), *costs])
    foot = ["the mix", "", str(rec.trials), measured(rec.value, half_width(rec))]
    foot += [f"{rec.problem.bounds[c] - s:.4g} of {rec.problem.bounds[c]:.4g}" for c, s in rec.slack.items()]
    return [header, *body, foot]


def text(rec: "Recommendation") -> str:
    """The sentence, the table and the notes, as a terminal shows them."""
    table = rows(rec)
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
    rule = "-" * max(map(len, lines))
    extra = [*price_sentences(rec), *([rec.note] if rec.note else [])]
    if not rec.complete:
        extra.append("The search is not finished.")
    return "\n".join([sentence(rec), "", lines[0], rule, *lines[1:-1], rule, lines[-1], *extra])


def fragment(rec: "Recommendation") -> str:
    """The sentence and the table as HTML, as a notebook shows them."""
    table = [[html.escape(cell) for cell in row] for row in rows(rec)]
    head = "".join(f"<th>{cell}</th>" for cell in table[0])
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in table[1:])
    return f"<p>{html.escape(sentence(rec))}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def chance_text(chance: float) -> str:
    """A chance in per cent, never rounded up to certainty.

    >>> chance_text(0.94), chance_text(0.9999)
    ('94%', 'above 99%')
    """
    return f"{chance:.0%}" if chance < 0.995 else "above 99%"


def measured(mean: float, half: float) -> str:
    """A mean with half of its interval, both to the second digit of the latter.

    >>> measured(0.74826, 0.0124), measured(1234.5, 187.0), measured(-0.0004, 0.0996), measured(2.0, 0.0)
    ('0.748 ± 0.012', '1230 ± 190', '0.00 ± 0.10', '2')
    """
    if not (0 < half < math.inf and math.isfinite(mean)):
        return f"{mean:.4g}"
    half = float(f"{half:.1e}")
    places = 1 - math.floor(math.log10(half))
    mean = round(mean, places) + 0.0  # no minus before a zero
    if not -6 < places < 8:
        digits = max(4, 2 + math.ceil(math.log10(abs(mean)) - math.log10(half))) if mean else 4
        return f"{mean:.{min(digits, 15)}g} ± {half:.2g}"
    return f"{mean:.{max(places, 0)}f} ± {half:.{max(places, 0)}f}"


def _short(value: float) -> str:
    return f"{value:.3g}"


def _estimate(mean: float, interval: tuple[float, float]) -> str:
    if math.isnan(mean):
        return "not tried"
    return measured(mean, (interval[1] - interval[0]) / 2)
