"""From values to HTML: the one environment of all templates, in which whatever comes from outside is escaped."""

from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from bestmix import __version__
from bestmix.answers.wording import chance_text
from bestmix.pages import formats


def render(template: str, **values: Any) -> str:
    """A template filled with values.

    >>> render("error.html", words="Not found", said="<b>gone</b>", token=None).count("&lt;b&gt;")
    1
    """
    return environment().get_template(template).render(values)


@cache
def environment() -> Environment:
    """The templates, their filters, and what every page knows."""
    made = Environment(loader=PackageLoader("bestmix.pages"), autoescape=True, undefined=StrictUndefined)
    made.trim_blocks = made.lstrip_blocks = True
    made.globals |= {"version": __version__, "style_sheet": style_sheet}
    made.filters |= {name: getattr(formats, name) for name in ("number", "percent", "count")}
    made.filters["chance"] = chance_text
    made.filters["place"] = lambda value: f"{value:.1f}"
    return made


@cache
def style_sheet() -> Markup:
    """The style of all pages, for those that must need no other file."""
    return Markup(resources.files("bestmix.pages").joinpath("static/style.css").read_text(encoding="utf-8"))
