"""Items from the shell: a file with one a line, or how many there are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from bestmix.problems.items import Items

ItemList = Annotated[
    str | None,
    typer.Option(
        "--items",
        metavar="FILE|NUMBER",
        help="What trials are made on: a file with one item a line, or how many there are, from 0 on.",
        show_default="trials are made on no items",
    ),
]
Shared = Annotated[
    bool,
    typer.Option("--shared/--separate", help="All arms go through the items in one order, or each in one of its own."),
]
LogItem = Annotated[
    str | None,
    typer.Option(
        "--item", metavar="COLUMN", help="Column of the log that names the items of its trials.", show_default=False
    ),
]
ItemsSeed = Annotated[int, typer.Option("--items-seed", min=0, help="Of the order of the items.")]


def load_items(given: str | None, shared: bool, seed: int) -> "Items | None":
    """The items that options give; None where they give none.

    >>> len(load_items("500", True, 0))
    500
    """
    from bestmix.problems.items import Items

    if given is None:
        if not shared or seed:
            option = "--items-seed" if shared else "--separate"
            raise ValueError(f"{option}: there are no items; add --items, or leave it out")
        return None
    if given.strip().isdigit():
        return Items(int(given), shared, seed)
    path = Path(given)
    try:
        lines = path.read_text(encoding="utf-8").replace("\r\n", "\n").split("\n")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise ValueError(
            f"--items: cannot read {given}, {why}; give a file with one item a line, or a number"
        ) from None
    except UnicodeDecodeError:
        raise ValueError(f"--items: {given} is no text in UTF-8; save it as such") from None
    return Items([line for line in lines if line.strip()], shared, seed)
