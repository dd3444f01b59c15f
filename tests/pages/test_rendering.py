import re
from importlib import resources

import jinja2
import pytest

from bestmix.pages.rendering import environment, render, style_sheet

TEMPLATES = environment().list_templates()


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_compiles_and_trusts_nothing(name):
    source = environment().loader.get_source(environment(), name)[0]
    environment().compile(source)
    assert "|safe" not in source
    assert "autoescape" not in source
    assert not re.search(r'\sstyle="', source)  # the service's policy of content forbids it


def test_a_value_that_is_missing_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        render("error.html", words="w")


def test_there_is_one_style():
    folder = resources.files("bestmix.pages").joinpath("static")
    own = [f.name for f in folder.iterdir() if f.name.endswith(".css") and not f.name.startswith("uPlot")]
    assert own == ["style.css"]
    assert folder.joinpath("style.css").read_text(encoding="utf-8") == style_sheet()
