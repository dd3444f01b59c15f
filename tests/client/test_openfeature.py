import pytest
from tests.experiments.flows import QUICK, ROUTER

pytest.importorskip("openfeature", reason="the provider needs openfeature-sdk")

from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.flag_evaluation import Reason
from openfeature.track import TrackingEventDetails

from bestmix import Edge
from bestmix.client.openfeature import EdgeProvider


@pytest.fixture
def live(running):
    return running.connect().create("live", ROUTER, traffic=QUICK)


@pytest.fixture
def flags(running, live, tmp_path):
    edge = Edge(running.url, "live", running.token, spool=tmp_path / "spool")
    api.set_provider(EdgeProvider({"model": edge}))
    yield api.get_client()
    api.shutdown()


def test_a_flag_is_an_arm_and_what_is_tracked_is_recorded(flags, live):
    for k in range(50):
        user = EvaluationContext(targeting_key=f"user {k}")
        found = flags.get_string_details("model", "none", user)
        assert found.value == found.variant == flags.get_string_value("model", "none", user)
        assert found.value in ROUTER.arms
        assert found.reason == Reason.SPLIT
        details = TrackingEventDetails(attributes={**found.flag_metadata, "reward": 1.0, "dollars": 0.25})
        flags.track("model", user, details)
    api.shutdown()  # reports what is left
    assert live.state.complete == 50


def test_what_cannot_be_resolved_is_the_default(flags, live):
    assert flags.get_string_value("another", "none") == "none"
    assert flags.get_string_value("model", "none", EvaluationContext(attributes={"segment": "gold"})) == "none"
    assert flags.get_boolean_value("model", True) is True
    assert flags.get_integer_value("model", 3) == 3
    assert flags.get_float_value("model", 0.5) == 0.5
    assert flags.get_object_value("model", {"a": 1}) == {"a": 1}
    flags.track("model")
    flags.track("another", tracking_event_details=TrackingEventDetails(attributes={"choice": "x"}))
    assert live.state.complete == 0
