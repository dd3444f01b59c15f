"""What comes of drawing a figure, before it is written to files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KEPT = "cells"  # folder of finished runs, inside the output folder


@dataclass(frozen=True, eq=False)
class Drawing:
    """Figures by the name of their file without its ending, texts by the full name, and the caption.

    ``table`` is what a reader wants to see at once, where the figure does not say it in numbers.
    """

    figures: "Mapping[str, Figure]"
    texts: Mapping[str, str]
    caption: str
    table: str = ""


def as_markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows of the same keys as a Markdown table that can be read as it stands.

    >>> print(as_markdown([{"arm": "a", "pulls": "3"}, {"arm": "b", "pulls": "1,200"}]), end="")
    | arm | pulls |
    | --- | ----: |
    | a   |     3 |
    | b   | 1,200 |
    """
    header = list(rows[0])
    width = {name: max(3, len(name), *(len(row[name]) for row in rows)) for name in header}
    left = header[0]

    def line(row: Mapping[str, str]) -> str:
        cells = (row[name].ljust(width[name]) if name == left else row[name].rjust(width[name]) for name in header)
        return "| " + " | ".join(cells) + " |"

    rule = {name: "-" * (width[name] - (name != left)) + (":" if name != left else "") for name in header}
    return "\n".join(map(line, [dict(zip(header, header, strict=True)), rule, *rows])) + "\n"
