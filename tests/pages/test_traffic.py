from dataclasses import replace

import numpy as np
import pytest
from tests.experiments.flows import QUICK, ROUTER, report

from bestmix import open_experiment
from bestmix.pages import experiment_view
from bestmix.pages.experiment import experiment_report
from bestmix.pages.formats import number
from bestmix.pages.rendering import render
from bestmix.pages.traffic import LAST_VERSIONS, TrafficView


@pytest.fixture
def live(tmp_path):
    with open_experiment(tmp_path / "x.db", "live", ROUTER, traffic=QUICK) as made:
        rng = np.random.default_rng(0)
        for k in range(1, 6):
            made.tell_sums(report(made, 300, rng), f"web <1>:{k}")
        yield made


def test_a_report_shows_versions_and_edges(live):
    page = experiment_report(live, figure=False)
    assert "Live traffic" in page
    assert "web &lt;1&gt;" in page
    assert '<b id="version">4</b>' in page
    assert "9,007" not in page  # no budget
    assert "leases that ran out" not in page
    assert "How the requests went" in page
    assert "requests that count" in page
    assert "1,500 requests" in page
    assert "is not finished" not in page
    assert experiment_view.read_answer(live).progress == "1,500 requests"


def test_the_live_page_shows_an_alarm_while_there_is_one(live):
    view = experiment_view.read(live)
    shown = render("live.html", view=view, cost=None, admin=True, most_rows=50)
    assert "Alarm" not in shown
    assert "1,500</b> requests" in shown
    assert "Scores" not in shown  # there are none
    assert shown.index("Live traffic") < shown.index("The mix")
    assert shown.index("Earlier versions") < shown.index("Edges")
    fresh = open_experiment(live.storage, "fresh", ROUTER, traffic=QUICK)
    shown = render("live.html", view=experiment_view.read(fresh), cost=None, admin=True, most_rows=50)
    assert "Alarm: nothing is certain before every arm has 10 trials." in shown
    assert "Nobody has reported yet." in shown


def test_only_the_last_versions_are_read(live):
    assert [version.number for version in live.traffic(last=2).versions] == [3, 4]
    assert live.traffic(last=2).requests == live.traffic().requests[-2:]
    view = TrafficView(live.traffic(last=LAST_VERSIONS), live.problem)
    assert [row.number for row in view.versions] == [4, 3, 2, 1]
    assert view.counted == live.traffic().requests[-1]


def test_an_edge_that_says_nothing_is_quiet(live):
    (edge,) = TrafficView(live.traffic(), live.problem).edges
    assert not edge.quiet
    assert edge.heard.endswith("s ago")


def test_what_was_spent_stands_beside_its_limit(live):
    state = live.traffic()
    (spent,) = TrafficView(state, live.problem).limits
    assert (spent.quantity, spent.limit, spent.beyond) == ("dollars", "dollars <= 1", False)
    assert float(spent.mean) == pytest.approx(state.means["dollars"], rel=1e-3)
    over = TrafficView(replace(state, means={"dollars": 1.01}), live.problem)
    assert over.limits[0].beyond
    assert [row.means for row in over.versions] == [[number(m.get("dollars"))] for m in state.version_means[::-1]]
    assert over.shares == [("", [f"{100 * w:.1f}%" for w in state.versions[-1].weights[""].values()])]
