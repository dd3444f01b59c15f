"""An explanation as one HTML page: the text of ``explain`` and its figure, in a file that needs nothing else."""

import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from bestmix import files, plots
from bestmix.pages.rendering import render
from bestmix.pages.report import check_path
from bestmix.theory import Explanation, SegmentExplanation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Drawing(NamedTuple):
    """What is inside an SVG, and the box that shows it."""

    box: str
    content: Markup


def explanation_page(
    explained: Explanation | SegmentExplanation, title: str = "The best mix explained", figure: bool = True
) -> str:
    """The page.

    >>> from bestmix import catalog
    >>> from bestmix import explain
    >>> explanation_page(explain(catalog.load("A1")), figure=False).startswith("<!doctype html>")
    True
    """
    (_, (answer, *more)), *sections = explained.paragraphs().items()
    drawn = inline(plots.explanation_figure(explained)) if figure else None
    return render("explanation.html", title=title, answer=answer, more=more, drawn=drawn, sections=sections)


def save_explanation(
    explained: Explanation | SegmentExplanation,
    path: str | os.PathLike[str],
    title: str = "The best mix explained",
    figure: bool = True,
) -> Path:
    """Write ``explanation_page`` to a .html file."""
    path = check_path(path)
    files.write_text(path, explanation_page(explained, title, figure))
    return path


def inline(figure: "Figure") -> Drawing:
    """A figure in the page's own colours, so that it follows light and dark."""
    buffer = io.StringIO()
    with plots.style():
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    svg = buffer.getvalue()
    start, end = svg.index(">", svg.index("<svg")) + 1, svg.rindex("</svg>")
    box = re.search(r'viewBox="([^"]*)"', svg[:start])
    inside = re.sub(r"<metadata>.*?</metadata>", "", svg[start:end], flags=re.DOTALL)
    for role, colour in plots.COLOURS.items():
        inside = inside.replace(colour, f"var(--{role})")
    return Drawing(box[1] if box else "", Markup(inside))  # Matplotlib has escaped the names
