"""The look that all figures share: colours, markers, style, and how a figure becomes a file."""

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestmix import checks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The Okabe-Ito palette, which stays distinct under the common kinds of colour blindness; the bound's orange is
# darker, since it is also a colour of text. Reports and the dashboard have the same ones.
COLOURS = {
    "ink": "#222426",
    "muted": "#5c6268",
    "grid": "#e3e5e8",
    "support": "#0072b2",
    "rejected": "#80868c",
    "known": "#aa4499",
    "bound": "#b84f00",
    "mix": "#e69f00",
    "paper": "#ffffff",
}

MARKERS = {"support": "o", "optimal": "^", "other": "s", "rejected": "X", "known": "D", "mix": "*"}

STRATEGIES: dict[str, dict[str, Any]] = {
    "SFSR": {"color": "#0072b2", "marker": "o", "linestyle": "-"},
    "SFSR-L": {"color": "#56b4e9", "marker": "^", "linestyle": "--"},
    "USLP": {"color": "#e69f00", "marker": "s", "linestyle": "-."},
    "Challenger": {"color": "#009e73", "marker": "D", "linestyle": "-"},
    "single arm": {"color": "#6f757b", "marker": "x", "linestyle": ":"},
    "top-two": {"color": "#cc79a7", "marker": "v", "linestyle": "--"},
    "LAGEX": {"color": "#d55e00", "marker": "P", "linestyle": "--"},
    "LATS": {"color": "#332288", "marker": "<", "linestyle": "--"},
    "CTnS": {"color": "#8c6d00", "marker": "X", "linestyle": "--"},
    "CGE": {"color": "#882255", "marker": "*", "linestyle": "--"},
    "paced Thompson": {"color": "#222426", "marker": "p", "linestyle": "--"},
    "Constrained-SR": {"color": "#117733", "marker": ">", "linestyle": "--"},
    "OCBA": {"color": "#994f00", "marker": "h", "linestyle": "--"},
}

OTHERS = ("#cc79a7", "#d55e00", "#8c6d00", "#332288", "#117733", "#882255", "#994f00")
OTHER_MARKERS = ("v", "P", "X", "<", ">", "h")

STYLE = Path(__file__).with_name("bestmix.mplstyle")  # for matplotlib.style.use

SUFFIXES = (".png", ".svg", ".pdf")
DRAWING = threading.RLock()  # Matplotlib's settings belong to the whole process


def available() -> bool:
    """Whether Matplotlib is installed."""
    return find_spec("matplotlib") is not None


@contextmanager
def style() -> Iterator[None]:
    """The look of all figures, for the time of a ``with`` block; other threads that draw wait meanwhile.

    Letters that the font lacks are drawn as boxes, without a warning for each.

    >>> import matplotlib
    >>> with style():
    ...     matplotlib.rcParams["axes.spines.top"]
    False
    """
    if not available():
        raise RuntimeError("figures need Matplotlib, which is not installed; install bestmix[plots]")
    import matplotlib.style

    with DRAWING, matplotlib.style.context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        yield


def strategy_style(name: str) -> dict[str, Any]:
    """Colour, marker and line of a strategy's curve; a name always gets the same.

    >>> strategy_style("SFSR")["color"]
    '#0072b2'
    """
    if name in STRATEGIES:
        return dict(STRATEGIES[name])
    place = sum(name.encode())
    return {
        "color": OTHERS[place % len(OTHERS)],
        "marker": OTHER_MARKERS[place // len(OTHERS) % len(OTHER_MARKERS)],
        "linestyle": "--",
    }


def save(figure: "Figure", path: str | os.PathLike[str]) -> Path:
    """Write a figure to a .png, .svg or .pdf file."""
    path = check_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the date the same figure gives the same file.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    with style():
        figure.savefig(path, metadata=metadata)
    return path


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path, if its ending is that of a figure."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise checks.InvalidInput(path, f"expected a figure's name to end in {', '.join(SUFFIXES)}", "rename it")
    return path


def new_axes() -> "Axes":
    """Axes of their own for a function that was given none."""
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(6.4, 4.4), layout="constrained")[1]
