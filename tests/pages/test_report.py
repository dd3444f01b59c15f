import html
import re
from html.parser import HTMLParser

import pytest

from bestmix import SFSR, Instance, Known, Problem, from_log, identify
from bestmix.answers.history import question
from bestmix.pages.report import report, save_report

LOG = {"arm": list("sssslll"), "reward": [1.0, 1.2, 1.1, 1.0, 2.0, 2.2, 2.1], "dollars": [0, 0.2, 0.1, 0, 1.8, 2.2, 2]}


@pytest.fixture(scope="module")
def searched():
    inst = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.1, sigma_cost=0.1, costs=["dollars"])
    return identify(inst.problem, inst.sampler(seed=1), budget=60)


class Tags(HTMLParser):
    """Collects the tags, and fails on one that is closed without having been opened."""

    VOID = ("meta", "path", "use", "image", "rect", "line")

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def tags(page):
    parser = Tags()
    parser.feed(page)
    assert parser.open == []
    return parser.seen


def test_tells_everything(searched):
    page = report(searched, title="A title", notes=["first note", "second note"])
    for part in ("A title", "first note", "second note", "keeps all bounds", "The mix", "The bounds", "The estimates"):
        assert part in page
    assert searched.sentence() in page
    assert "one more unit of the bound would add about" in page
    assert "What could overturn it" in page
    spent = {condition for r in searched.history for why in r.reasons.values() for condition in why}
    assert spent
    assert all(html.escape(question(searched.problem, condition)) in page for condition in spent)
    assert "Challenger" in page


def test_tells_who_was_rejected():
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.1, sigma_cost=0.1)
    said = identify(instance.problem, instance.sampler(seed=1), 90, SFSR())
    page = report(said)
    assert "The rounds" in page
    assert all(r.rejected in page for r in said.history)
    assert "SFSR" in page


def test_needs_nothing_else(searched):
    page = report(searched)
    assert "<svg" in page
    assert not re.search(r"https?://", page)
    assert not re.search(r"@import|url\((?!#)", page)
    for tag, attributes in tags(page):
        assert tag not in ("script", "link", "img", "iframe")
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#")


def test_follows_light_and_dark(searched):
    page = report(searched)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert "fill: var(--ink)" in page
    assert "#0072b2" not in page[page.index("<svg") :]


def test_names_are_escaped():
    evil = "<script>alert('&')</script>"
    data = {"arm": [evil if a == "s" else a for a in LOG["arm"]], "reward": LOG["reward"], evil: LOG["dollars"]}
    rec = from_log(data, bounds={evil: 1.0}, known={f"{evil}2": Known(0.0, {evil: 0.0})})
    page = report(rec, title=evil, notes=[evil])
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    tags(page)


def test_without_a_figure(searched):
    assert "<svg" not in report(searched, figure=False)


def test_infeasible():
    page = report(from_log(LOG, bounds={"dollars": -1.0}))
    assert "no mix keeps all bounds" in page
    assert "too much" in page


def test_a_bound_that_does_not_bind():
    page = report(from_log(LOG, bounds={"dollars": 50.0}), figure=False)
    assert "the bound does not limit the reward" in page


def test_no_bounds_and_no_trials():
    assert "The bounds" not in report(from_log(LOG), figure=False)
    page = report(SFSR().start(Problem(["a", "b"], {"dollars": 1.0}), budget=20).recommend())
    assert "no answer yet" in page
    assert "not finished" in page


def test_saved(tmp_path, searched):
    path = save_report(searched, tmp_path / "new" / "r.html")
    assert path.read_text(encoding="utf-8") == report(searched)
    with pytest.raises(ValueError, match=r"end in \.html"):
        save_report(searched, tmp_path / "r.pdf")
