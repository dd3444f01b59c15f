import numpy as np
import pytest
from tests.experiments.flows import QUICK, ROUTER, report

from bestmix import open_experiment
from bestmix.pages import views
from bestmix.pages.experiment import experiment_report
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


def test_the_live_page_shows_an_alarm_while_there_is_one(live):
    view = views.read(live)
    shown = render("live.html", view=view, cost=None, admin=True, most_rows=50)
    assert "Alarm" not in shown
    assert "1,500</b> requests" in shown
    fresh = open_experiment(live.storage, "fresh", ROUTER, traffic=QUICK)
    shown = render("live.html", view=views.read(fresh), cost=None, admin=True, most_rows=50)
    assert "Alarm: nothing is certain before every arm has 10 trials." in shown
    assert "Nobody has reported yet." in shown


def test_only_the_last_versions_are_read(live):
    assert [version.number for version in live.traffic(last=2).versions] == [3, 4]
    assert live.traffic(last=2).requests == live.traffic().requests[-2:]
    view = TrafficView(live.traffic(last=LAST_VERSIONS))
    assert [row.number for row in view.versions] == [4, 3, 2, 1]
    assert view.counted == live.traffic().requests[-1]


def test_an_edge_that_says_nothing_is_quiet(live):
    (edge,) = TrafficView(live.traffic()).edges
    assert not edge.quiet
    assert edge.heard.endswith("s ago")
