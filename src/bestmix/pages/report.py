"""A recommendation as one HTML page that needs nothing else: no network, no script, no other file."""

import os
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from bestmix import files
from bestmix.answers.recommendation import Recommendation
from bestmix.checks import InvalidInput
from bestmix.pages.answer_view import Answer
from bestmix.pages.rendering import render


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
        Whether to draw the arms.
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
    answer, paragraphs = Answer(rec), [note for note in (*notes, rec.note) if note]
    sections = list(map(Markup, more))
    return render("report.html", answer=answer, view=None, title=title, figure=figure, notes=paragraphs, more=sections)


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
        raise InvalidInput(path, "expected a report's name to end in .html", "rename it")
    return path
