"""An explanation as one HTML page: the text of ``explain`` and its picture, in a file that needs nothing else."""

import os
from html import escape
from pathlib import Path

from bestmix import files, plots
from bestmix.pages.report import check_path, inline, page
from bestmix.theory import Explanation


def explanation_page(explained: Explanation, title: str = "The best mix explained", figure: bool = True) -> str:
    """The page.

    >>> from bestmix.problems import catalog
    >>> from bestmix import explain
    >>> explanation_page(explain(catalog.load("A1")), figure=False).startswith("<!doctype html>")
    True
    """
    (_, (answer, *more)), *rest = explained.paragraphs().items()
    parts = [f'<h1>{escape(title)}</h1><p class="answer">{escape(answer)}</p>', _lines(more)]
    if figure:
        with plots.style():
            drawn = inline(plots.explanation_figure(explained), "arms, bounds, mix and margins")
        parts.append(f"<figure>{drawn}</figure>")
    parts += [f"<section><h2>{escape(head)}</h2>{_lines(lines)}</section>" for head, lines in rest]
    return page(title, [part for part in parts if part])


def save_explanation(
    explained: Explanation, path: str | os.PathLike[str], title: str = "The best mix explained", figure: bool = True
) -> Path:
    """Write ``explanation_page`` to a .html file."""
    path = check_path(path)
    files.write_text(path, explanation_page(explained, title, figure))
    return path


def _lines(lines: list[str]) -> str:
    return "".join(f"<p>{escape(line)}</p>" for line in lines)
