import json

import numpy as np
from tests.experiments.flows import QUICK, ROUTER, report

from bestmix import Problem, open_experiment
from bestmix.experiments.model import Status
from bestmix.experiments.traffic_model import EdgeRow, Published, TrafficState, Version, measures_of, published


def some():
    live = open_experiment("memory://", "live", ROUTER, traffic=QUICK)
    rng = np.random.default_rng(0)
    for k in range(1, 4):
        live.tell_sums(report(live, 300, rng), f"web:{k}")
    return live


def test_values_survive_json():
    live = some()
    for value in (live.published(), live.traffic().versions[-1], live.traffic().edges[0]):
        data = json.loads(json.dumps(value.to_dict()))
        again = type(value).from_dict(data)
        assert again.to_dict() == value.to_dict()
    state = live.traffic()
    again = TrafficState.from_dict(json.loads(json.dumps(state.to_dict())))
    assert again.to_dict() == state.to_dict()
    assert isinstance(again.versions[0], Version)
    assert isinstance(again.edges[0], EdgeRow)


def test_the_document_changes_its_tag_with_version_and_status():
    version = some().traffic().versions[-1]
    running, paused = (published("k", ROUTER, status, version) for status in (Status.running, Status.paused))
    assert running.tag == f"{version.number}-running"
    assert running.segments == version.weights
    assert paused.segments == version.alone
    assert Published.from_dict(running.to_dict()) == running


def test_measures_say_how_to_count_tails():
    asked = Problem(["a"], goal="minimise dollars", limits=["p(seconds >= 2) <= 5%", "seconds <= 1"])
    assert [m.get("comparison") for m in measures_of(asked)] == [None, None, ">="]
