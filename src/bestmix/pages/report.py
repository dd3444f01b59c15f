"""A recommendation as one HTML page that needs nothing else: no network, no script, no other file."""

import io
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from bestmix import __version__, files, plots
from bestmix.answers.history import question
from bestmix.answers.recommendation import Estimate, Recommendation
from bestmix.answers.wording import chance_text, measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_DOUBTS = 5


def report(
    rec: Recommendation,
    title: str = "The best mix",
    figure: bool = True,
    notes: Sequence[str] = (),
    more: Sequence[str] = (),
) -> str:
    """The recommendation as an HTML page.

    Parameters
    ----------
    rec
        What to tell.
    title
        Above everything.
    figure
        Whether to draw the arms, which needs Matplotlib.
    notes
        Paragraphs of your own, shown below the answer.
    more
        Ready sections of HTML, shown before the question.

    Examples
    --------
    >>> from bestmix import from_log
    >>> log = {"arm": ["s", "s", "l", "l"], "reward": [1.0, 1.2, 2.0, 2.2], "dollars": [0.0, 0.2, 1.8, 2.2]}
    >>> page = report(from_log(log, bounds={"dollars": 1.0}), figure=False)
    >>> page.startswith("<!doctype html>")
    True
    """
    parts = [_answer(rec, title, notes)]
    if figure and rec.mixture and math.isfinite(rec.value):
        parts.append(f"<figure>{_figure(rec)}</figure>")
    parts += [_mixture(rec), _bounds(rec), _doubts(rec), _estimates(rec), _rounds(rec), *more, _question(rec)]
    return page(title, [part for part in parts if part])


def page(title: str, parts: Sequence[str]) -> str:
    """A whole HTML page of ready parts."""
    css = resources.files("bestmix.pages").joinpath("static/report.css").read_text(encoding="utf-8")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = "\n".join(parts)
    foot = f"<footer>Made with bestmix {__version__}.</footer>"
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{css}</style></head>\n<body>{body}{foot}</body></html>\n'
    )


def save_report(
    rec: Recommendation,
    path: str | os.PathLike[str],
    title: str = "The best mix",
    figure: bool = True,
    notes: Sequence[str] = (),
) -> Path:
    """Write ``report`` to a .html file."""
    path = check_path(path)
    files.write_text(path, report(rec, title, figure, notes))
    return path


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path, if its ending is that of a page."""
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{path}: expected a report's name to end in .html; rename it")
    return path


def _answer(rec: Recommendation, title: str, notes: Sequence[str]) -> str:
    look, verdict = ("good", "keeps all bounds") if rec.feasible else ("bad", "no mix keeps all bounds")
    if not rec.mixture:
        look, verdict = "muted", "no answer yet"
    state = "" if rec.complete else ' <span class="bad">The search is not finished.</span>'
    trials = f"{rec.trials:,} trials" + (f" of a budget of {rec.budget:,}" if rec.budget is not None else "")
    said = "".join(f"<p>{escape(note)}</p>" for note in (*notes, rec.note) if note)
    return (
        f'<h1>{escape(title)}</h1><p class="answer">{escape(rec.sentence())}</p>'
        f'<p><span class="verdict {look}">{verdict}</span> <span class="muted">{trials}</span>{state}</p>'
        + (f'<div class="notes">{said}</div>' if said else "")
    )


def _figure(rec: Recommendation) -> str:
    with plots.style():
        return inline(plots.recommendation_figure(rec, shares=False), "arms, bounds and mix")


def inline(figure: "Figure", label: str) -> str:
    """A figure as inline SVG, in the page's own colours so that it follows light and dark."""
    buffer = io.StringIO()
    with plots.style():
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(xmlns|xmlns:xlink)="[^"]*"', "", svg)  # inside HTML the parser knows them
    box = re.search(r'viewBox="[^"]*"', svg)
    svg = f'<svg {box[0] if box else ""} role="img" aria-label="{label}">{svg[svg.index(">") + 1 :]}'
    for role, colour in plots.COLOURS.items():
        svg = svg.replace(colour, f"var(--{role})")
    return svg


def _mixture(rec: Recommendation) -> str:
    if not rec.mixture:
        return ""
    rows = [[_cell(arm, "text"), _cell(f"{share:.1%}"), _bar(share)] for arm, share in rec.mixture.items()]
    return _section("The mix", "How often to use each arm.", _table(["arm|text", "share", ""], rows))


def _bounds(rec: Recommendation) -> str:
    if not rec.problem.bounds or not rec.mixture:
        return ""
    rows, words = [], []
    for cost, bound in rec.problem.bounds.items():
        slack = rec.slack[cost]
        mean = bound - slack
        used = mean / bound if bound > 0 else math.nan
        cells = [_cell(cost, "text"), _cell(_number(mean)), _cell(_number(bound)), _cell(_left(slack))]
        rows.append([*cells, _bar(used, over=slack < 0)])
        words.append(_price(cost, bound, rec.shadow_prices.get(cost)))
    table = _table(["cost|text", "mean of the mix", "bound", "left", "share of the bound"], rows)
    return _section("The bounds", "How far each mean cost is from its bound.", table + "".join(words))


def _left(slack: float) -> str:
    if slack == 0:
        return "none"
    return _number(slack) if slack > 0 else f"{_number(-slack)} too much"


def _price(cost: str, bound: float, price: float | None) -> str:
    """What a shadow price means, in words."""
    if price is None or not math.isfinite(price):
        return ""
    if price <= 0:
        return f"<p>{escape(cost)}: the bound does not limit the reward; a looser one would add nothing.</p>"
    more = ""
    if bound > 0:
        more = f" Loosening it by 1%, to {_number(1.01 * bound)}, would add about {0.01 * bound * price:.2g}."
    return f"<p>{escape(cost)}: one more unit of the bound would add about {price:.2g} to the mean reward.{more}</p>"


def _doubts(rec: Recommendation) -> str:
    """The conditions nearest to failing: what could overturn the answer."""
    known = {column: z for column, z in rec.z_scores.items() if math.isfinite(z)}
    if not known:
        return ""
    nearest = sorted(known, key=lambda column: known[column])[:MOST_DOUBTS]
    rows = [[_cell(_doubt(rec, c), "text"), _cell(f"{known[c]:.1f}"), _cell(_chance(known[c]))] for c in nearest]
    chance = rec.support_probability
    lead = "How many standard errors the estimates are from an answer with other arms; the nearest first."
    if chance is not None:
        lead += f" All together, the chance that this support is right is estimated at {chance_text(chance)}."
    table = _table(["the answer changes if|text", "standard errors away", "estimated chance"], rows)
    return _section("What could overturn it", lead, table)


def _doubt(rec: Recommendation, column: str) -> str:
    inside = column in rec.basis
    cost = rec.problem.slack_cost(column)
    if cost is None:
        return f"{column} has no place in the best mix" if inside else f"{column} belongs in the best mix"
    return f"the best mix reaches its bound on {cost}" if inside else f"the best mix stays below its bound on {cost}"


def _chance(z: float) -> str:
    tail = math.erfc(z / math.sqrt(2)) / 2
    return f"{tail:.1%}" if tail >= 0.001 else "below 0.1%"


def _estimates(rec: Recommendation) -> str:
    order = sorted(rec.estimates.values(), key=lambda e: -rec.mixture.get(e.arm, 0.0))
    heads = ["arm|text", "trials", "mean reward", *(f"mean {cost}" for cost in rec.problem.costs)]
    marks = ["in-mix" if e.arm in rec.mixture else "" for e in order]
    table = _table(heads, [_estimate(e) for e in order], marks)
    return _section("The estimates", "Means with their 95% intervals; the arms of the mix in bold.", table)


def _estimate(e: Estimate) -> list[str]:
    cells = [_cell(e.arm, "text"), _cell("known" if e.known else f"{e.trials:,}")]
    cells.append(_interval(e.reward, e.reward_interval))
    return cells + [_interval(mean, e.cost_intervals[cost]) for cost, mean in e.costs.items()]


def _spent(rec: Recommendation) -> str:
    """What a strategy that gives reasons spent its trials on."""
    spent: Counter[str] = Counter()
    for r in rec.history:
        for conditions in r.reasons.values():
            spent.update(conditions)
    whole = spent.total()
    rows = [[_cell(question(rec.problem, c), "text"), _cell(f"{n:,}"), _bar(n / whole)] for c, n in spent.most_common()]
    first = sum(rec.history[0].pulls.values())
    lead = (
        f"The first round spread {first:,} trials evenly. Each later one went to the arm that most reduced the chance "
        "of a wrong answer; the question that it helped most to settle is counted here."
    )
    return _section("What the trials were spent on", lead, _table(["whether|text", "trials", "share"], rows))


def _rounds(rec: Recommendation) -> str:
    if any(r.reasons for r in rec.history):
        return _spent(rec)
    if not any(r.rejected for r in rec.history):
        return ""
    rows = []
    for r in rec.history:
        score = r.scores.get(r.rejected) if r.rejected else None
        cells = [_cell(str(r.number)), _cell(f"{sum(r.pulls.values()):,}"), _cell(r.rejected or "none", "text")]
        rows.append([*cells, _cell(_number(score)), _cell(_number(r.margin))])
    lead = (
        "After each round the column with the lowest score is rejected: an arm, or a slack, "
        "which says that the bound is worth using up. The margin is how much better the next lowest did."
    )
    return _section("The rounds", lead, _table(["round", "trials", "rejected|text", "score", "margin"], rows))


def _question(rec: Recommendation) -> str:
    problem = rec.problem
    bounds = ", ".join(f"{cost} ≤ {_number(bound)}" for cost, bound in problem.bounds.items()) or "none"
    budget = "none set" if rec.budget is None else f"{rec.budget:,} trials"
    facts = {
        "arms tried": ", ".join(problem.arms) or "none",
        "known arms": ", ".join(problem.known),
        "bounds on mean costs": bounds,
        "strategy": rec.strategy,
        "budget": budget,
    }
    rows = [[_cell(name, "text"), _cell(fact, "text")] for name, fact in facts.items() if fact]
    return _section("The question", "", _table([], rows))


def _section(title: str, lead: str, content: str) -> str:
    said = f'<p class="muted">{escape(lead)}</p>' if lead else ""
    return f"<section><h2>{escape(title)}</h2>{said}{content}</section>"


def _table(heads: Iterable[str], rows: Sequence[Sequence[str]], marks: Sequence[str] = ()) -> str:
    """Rows of ready cells; a head that ends in ``|text`` stands on the left."""
    top = "".join(
        f'<th class="text">{escape(h[:-5])}</th>' if h.endswith("|text") else f"<th>{escape(h)}</th>" for h in heads
    )
    classes = [f' class="{mark}"' if mark else "" for mark in marks] or [""] * len(rows)
    body = "".join(f"<tr{look}>{''.join(row)}</tr>" for row, look in zip(rows, classes, strict=True))
    head = f"<thead><tr>{top}</tr></thead>" if top else ""
    return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'


def _cell(text: str, look: str = "") -> str:
    return f'<td class="{look}">{escape(text)}</td>' if look else f"<td>{escape(text)}</td>"


def _bar(share: float, over: bool = False) -> str:
    if not math.isfinite(share):
        return "<td></td>"
    width = 100 * min(max(share, 0.0), 1.0)
    look = ' class="over"' if over else ""
    return f'<td><div class="bar"><i{look} style="width:{width:.1f}%"></i></div></td>'


def _interval(mean: float, interval: tuple[float, float]) -> str:
    if math.isnan(mean):
        return _cell("not tried")
    return _cell(measured(mean, (interval[1] - interval[0]) / 2))


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    return f"{value:.4g}" if math.isfinite(value) else "infeasible"
