from importlib import resources

import matplotlib
import pytest
from matplotlib.colors import to_hex

import bestmix
from bestmix import plots

CSS = resources.files("bestmix.pages").joinpath("static/style.css").read_text()


@pytest.mark.parametrize(
    ("setting", "colour"),
    [
        ("text.color", "ink"),
        ("axes.labelcolor", "ink"),
        ("xtick.labelcolor", "ink"),
        ("axes.edgecolor", "muted"),
        ("xtick.color", "muted"),
        ("grid.color", "grid"),
        ("figure.facecolor", "paper"),
    ],
)
def test_the_style_file_has_the_colours_of_the_rest(setting, colour):
    with plots.style():
        assert to_hex(matplotlib.rcParams[setting]) == plots.COLOURS[colour]


def test_the_style_ends_with_its_block():
    before = dict(matplotlib.rcParams)
    with plots.style():
        assert dict(matplotlib.rcParams) != before
    assert dict(matplotlib.rcParams) == before


def test_others_can_use_the_style():
    with matplotlib.style.context(plots.STYLE):
        assert matplotlib.rcParams["svg.hashsalt"] == "bestmix"
        assert not matplotlib.rcParams["axes.spines.top"]


@pytest.mark.parametrize("thing", ["support", "rejected", "known", "bound", "mix", "ink", "muted", "grid", "paper"])
def test_reports_on_paper_have_the_colours_of_figures(thing):
    assert f"--{thing}: {plots.COLOURS[thing]};" in CSS.split("@media")[0]


def test_strategies_have_their_own_look():
    names = ["SFSR", "SFSR-L", "USLP", "Challenger", "single arm"]
    assert len({plots.strategy_style(name)["color"] for name in names}) == len(names)
    assert len({plots.strategy_style(name)["marker"] for name in names}) == len(names)
    assert plots.strategy_style("mine") == plots.strategy_style("mine")
    plots.strategy_style("SFSR")["color"] = "red"
    assert plots.strategy_style("SFSR")["color"] != "red"


def test_without_matplotlib_the_remedy_is_told(monkeypatch):
    monkeypatch.setattr(plots.theme, "available", lambda: False)
    with pytest.raises(RuntimeError, match=r"install bestmix\[plots\]"):
        plots.plot_instance(bestmix.catalog.load("A1"))
