"""A durable experiment as one HTML page that needs nothing else, for a colleague."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bestmix import files
from bestmix.answers.tradeoff import POINTS
from bestmix.pages import experiment_view
from bestmix.pages.answer_view import SAFETY
from bestmix.pages.rendering import render
from bestmix.pages.report import check_path

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment
    from bestmix.experiments import Experiment

RECENT_TRIALS = 1000  # in which the workers' results are counted
UNCOUNTED_TRIALS = 50  # listed of those that did not count
MOST_ROUNDS = 50  # whose mixture is listed


def experiment_report(
    experiment: "Experiment | RemoteExperiment", figure: bool = True, safety: float | None = SAFETY
) -> str:
    """The experiment as an HTML page: the answer, and how the trials went, as they were at one moment.

    Parameters
    ----------
    experiment
        One that is open, here or through a server.
    figure
        Whether to draw the arms and the rounds.
    safety
        The wanted certainty that the mix keeps all limits; None for the optimum at the estimates.

    Examples
    --------
    >>> from bestmix import Problem, Uniform, open_experiment
    >>> exp = open_experiment("memory://", "prices", Problem(["low", "high"]), budget=4, strategy=Uniform())
    >>> "How the trials went" in experiment_report(exp, figure=False)
    True
    """
    view = experiment_view.read(experiment, RECENT_TRIALS, UNCOUNTED_TRIALS, safety)
    notes = [note for note in (*view.state.notes.splitlines(), view.answer.rec.note) if note]
    values = {
        "view": view,
        "answer": replace(view.answer, safe_points=POINTS),
        "title": view.state.name,
        "notes": notes,
    }
    rounds = view.answer.rounds[-MOST_ROUNDS:]
    return render("experiment_report.html", figure=figure, rounds=rounds, **values)


def save_experiment_report(
    experiment: "Experiment | RemoteExperiment", path: Path, safety: float | None = SAFETY
) -> Path:
    """Write ``experiment_report`` to a .html file."""
    path = check_path(path)
    files.write_text(path, experiment_report(experiment, safety=safety))
    return path
