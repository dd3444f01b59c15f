import html
import re
import subprocess
import sys

import pytest
from tests.pages.pages import HOSTILE, check_harmless, parse

from bestmix import SFSR, Instance, Known, Problem, from_log, identify
from bestmix.answers.history import question
from bestmix.pages.report import report, save_report

LOG = {"arm": list("sssslll"), "reward": [1.0, 1.2, 1.1, 1.0, 2.0, 2.2, 2.1], "dollars": [0, 0.2, 0.1, 0, 1.8, 2.2, 2]}


@pytest.fixture(scope="module")
def searched():
    inst = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.1, sigma_cost=0.1, costs=["dollars"])
    return identify(inst.problem, inst.sampler(seed=1), budget=60)


def test_tells_everything(searched):
    page = report(searched, title="A title", notes=["first note", "second note"])
    for part in ("A title", "first note", "second note", "keeps all bounds", "The mix", "The bounds", "The arms"):
        assert part in page
    assert searched.sentence() in page
    assert "At the estimates, 1% more of the limit on dollars (1 -&gt; 1.01) would add" in page
    assert "What could overturn the optimum at the estimates" in page
    assert "the optimum at the estimates changes if" in page
    assert "z is how many standard errors the optimum at the estimates is from changing" in page
    spent = {condition for r in searched.history for why in r.reasons.values() for condition in why}
    assert spent
    assert all(html.escape(question(searched.problem, condition)) in page for condition in spent)
    assert "Challenger" in page


def test_what_could_overturn_a_mix_that_is_the_optimum_at_the_estimates(searched):
    page = report(from_log(LOG, bounds={"dollars": 1.0}, safety=None))
    assert "What could overturn it" in page
    assert "the answer changes if" in page
    assert "optimum at the estimates" not in page.replace("best mix at the estimates", "")


def test_tells_who_was_rejected():
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.1, sigma_cost=0.1)
    rec = identify(instance.problem, instance.sampler(seed=1), 90, SFSR())
    page = report(rec)
    assert "The rounds" in page
    assert all(r.rejected in page for r in rec.history)
    assert "SFSR" in page


def test_needs_nothing_else(searched):
    page = report(searched)
    assert "<svg" in page
    assert not re.search(r"https?://", page)
    assert not re.search(r"@import|url\((?!#)", page)
    for tag, attributes in parse(page).seen:
        assert tag not in ("script", "link", "img", "iframe")
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#")


def test_needs_neither_matplotlib_nor_the_service():
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['fastapi'] = None\n"
        "from bestmix import from_log\nfrom bestmix.pages.report import report\n"
        "print('<figure' in report(from_log({'arm': ['a', 'b'], 'reward': [1.0, 2.0]})))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"


def test_follows_light_and_dark(searched):
    page = report(searched)
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert "fill: var(--ink)" in page
    assert "#0072b2" not in page[page.index("<svg") :]


def test_names_are_escaped():
    names = {"s": HOSTILE[0], "l": HOSTILE[1]}
    data = {"arm": [names[a] for a in LOG["arm"]], "reward": LOG["reward"], HOSTILE[2]: LOG["dollars"]}
    rec = from_log(data, bounds={HOSTILE[2]: 1.0}, known={HOSTILE[3]: Known(0.0, {HOSTILE[2]: 0.0})})
    page = report(rec, title=HOSTILE[4], notes=HOSTILE)
    check_harmless(page)
    assert "<title>{{ 7 * 7 }}" in page


def test_ready_sections_stay_as_they_are(searched):
    assert "<section><b>mine</b></section>" in report(searched, more=["<section><b>mine</b></section>"])


def test_without_a_figure(searched):
    assert "<figure" in report(searched)
    assert "<figure" not in report(searched, figure=False)


def test_infeasible():
    page = report(from_log(LOG, bounds={"dollars": -1.0}))
    assert "no mix keeps all bounds" in page
    assert "too much" in page


def test_a_bound_that_does_not_bind():
    page = report(from_log(LOG, bounds={"dollars": 50.0}), figure=False)
    assert "The limit on dollars does not limit the reward" in page


def test_no_bounds_and_no_trials():
    page = report(from_log(LOG))
    assert "The bounds" not in page
    assert "arms by mean reward" in page
    page = report(SFSR().start(Problem(["a", "b"], {"dollars": 1.0}), budget=20).recommend())
    assert "no answer yet" in page
    assert "not finished" in page
    assert "<figure" not in page


def test_saved(tmp_path, searched):
    path = save_report(searched, tmp_path / "new" / "r.html")
    assert path.read_text(encoding="utf-8") == report(searched)
    with pytest.raises(ValueError, match=r"end in \.html"):
        save_report(searched, tmp_path / "r.pdf")
