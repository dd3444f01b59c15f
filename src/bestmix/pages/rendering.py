"""From values to HTML: the one environment of all templates, in which whatever comes from outside is escaped."""

from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bestmix import __version__
from bestmix.answers.number_text import chance_text, share_text
from bestmix.pages import formats

# Characters that turn the direction of all that follows: a name must not make a sentence read backwards. Names in
# scripts from right to left need none of them.
DIRECTIONS = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def render(template: str, **values: Any) -> str:
    """A template filled with values.

    >>> render("error.html", words="Not found", said="<b>gone</b>", token=None).count("&lt;b&gt;")
    1
    """
    return environment().get_template(template).render(values)


@cache
def environment() -> Environment:
    """The templates, their filters, and what every page knows."""
    made = Environment(
        loader=PackageLoader("bestmix.pages"), autoescape=True, undefined=StrictUndefined, finalize=without_directions
    )
    made.trim_blocks = made.lstrip_blocks = True
    made.globals |= {"version": __version__, "style_sheet": style_sheet}
    made.filters |= {name: getattr(formats, name) for name in ("number", "percent", "count", "z_score")}
    made.filters |= {"chance": chance_text, "share": share_text}
    made.filters["place"] = lambda value: f"{value:.1f}"
    return made


def without_directions(value: Any) -> Any:
    r"""What an expression writes, without characters that turn what comes after it.

    >>> without_directions("right \u202eto left")
    'right to left'
    """
    return value.translate(DIRECTIONS) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def style_sheet() -> Markup:
    """The style of all pages, for those that must need no other file."""
    return Markup(resources.files("bestmix.pages").joinpath("static/style.css").read_text(encoding="utf-8"))
