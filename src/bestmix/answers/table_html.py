"""The answer as a notebook shows it: the sentence and the table as HTML, from a template."""

import html
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from bestmix.answers.table_text import rows
from bestmix.answers.wording import items_text, sentence

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation


def fragment(rec: "Recommendation") -> str:
    """The sentence, the table, and what money and items are to be told of."""
    header, *body = rows(rec)
    notes = ["" if rec.account is None else rec.account.sentence(), items_text(rec)]
    return _template().render(sentence=sentence(rec), header=header, rows=body, notes=filter(None, notes))


@cache
def _template() -> Template:
    """The template beside this file, in which whatever comes from outside is escaped."""
    loader = PackageLoader("bestmix.answers", "")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, finalize=_escaped)
    return made.get_template("table.html")


def _escaped(value: Any) -> Markup:
    """Quotes as the standard library writes them (``&quot;``), so that notebooks in version control stay the same."""
    return Markup(html.escape(str(value)))
