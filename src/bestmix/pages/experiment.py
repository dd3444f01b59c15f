"""A durable experiment as one HTML page that needs nothing else, for a colleague."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestmix import plots
from bestmix.answers.recommendation import Round
from bestmix.pages.report import check_path, inline, report

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment
    from bestmix.experiments import Experiment, State, Trial

MOST = 50  # odd trials, workers and rounds that are listed
ODD = {
    "failed": "reported as failed",
    "expired": "lease ran out",
    "surplus": "came too late to count",
    "withdrawn": "no longer wanted",
}


def experiment_report(experiment: "Experiment | RemoteExperiment", figure: bool | None = None) -> str:
    """The experiment as an HTML page: the answer, and how the trials went.

    Parameters
    ----------
    experiment
        One that is open, here or through a server.
    figure
        Whether to draw the arms; by default where Matplotlib is installed.

    Examples
    --------
    >>> from bestmix import Problem, Uniform, open_experiment
    >>> exp = open_experiment("memory://", "prices", Problem(["low", "high"]), budget=4, strategy=Uniform())
    >>> "How the trials went" in experiment_report(exp, figure=False)
    True
    """
    state, rec = experiment.state, experiment.recommend()
    drawn = plots.available() if figure is None else figure
    more = [_rounds(experiment, rec.history, drawn), _progress(state), _workers(experiment), _odd(experiment)]
    return report(rec, state.name, drawn, state.notes.splitlines(), [part for part in more if part])


def save_experiment_report(experiment: "Experiment | RemoteExperiment", path: Path) -> Path:
    """Write ``experiment_report`` to a .html file."""
    from bestmix import files

    path = check_path(path)
    files.write_text(path, experiment_report(experiment))
    return path


def _progress(state: "State") -> str:
    rows = [
        ["status", state.status + (f": {state.reason}" if state.reason else "")],
        ["trials that count", f"{state.complete:,} of {state.budget:,}"],
        ["on lease", f"{state.leased:,}"],
        ["failed", f"{state.failed:,}"],
        ["leases that ran out", f"{state.expired:,}"],
        ["too late to count", f"{state.surplus:,}"],
        ["created", f"{state.created:%Y-%m-%d %H:%M} UTC"],
        *([["ended", f"{state.ended:%Y-%m-%d %H:%M} UTC"]] if state.ended else []),
    ]
    return _section("How the trials went", [], rows)


def _rounds(experiment: "Experiment | RemoteExperiment", history: Sequence[Round], drawn: bool) -> str:
    """How the mixture and the scores moved; of many rounds the table has the last."""
    mixtures = experiment.mixtures
    known = [(number, mixture) for number, mixture in mixtures if mixture]
    if not known:
        return ""
    rows = [[str(n), ", ".join(f"{p:.0%} {arm}" for arm, p in m.items())] for n, m in known[-MOST:]]
    figure = inline(plots.rounds_figure(history, mixtures), "mixture and scores by round") if drawn else ""
    table = _table(["round", "the mix after it"], rows)
    folded = f"<details><summary>The mix after each round</summary>{table}</details>" if figure else table
    return f"<section><h2>Round by round</h2>{f'<figure>{figure}</figure>' if figure else ''}{folded}</section>"


def _workers(experiment: "Experiment | RemoteExperiment") -> str:
    recent: list[Trial] = experiment.trials(limit=1000, newest_first=True)
    told = Counter(t.worker for t in recent if t.told is not None)
    rows = [[worker, f"{n:,}"] for worker, n in told.most_common(MOST)]
    return _section("The workers", ["worker", f"results among the last {len(recent):,} trials"], rows) if rows else ""


def _odd(experiment: "Experiment | RemoteExperiment") -> str:
    found = [t for state in ODD for t in experiment.trials(state, limit=MOST, newest_first=True)]
    newest = sorted(found, key=lambda t: -t.token)[:MOST]
    rows: list[list[Any]] = [[str(t.token), t.arm, ODD[t.state.value], t.worker, t.note] for t in newest]
    return _section("Failed and late trials", ["trial", "arm", "what", "worker", "why"], rows) if rows else ""


def _section(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f"<section><h2>{escape(title)}</h2>{_table(heads, rows)}</section>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f'<th class="text">{escape(head)}</th>' for head in heads)
    body = "".join("<tr>" + "".join(f'<td class="text">{escape(c)}</td>' for c in row) + "</tr>" for row in rows)
    head = f"<thead><tr>{top}</tr></thead>" if top else ""
    return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'
