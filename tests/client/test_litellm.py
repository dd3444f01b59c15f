"""The routing strategy in LiteLLM itself; the answers are canned, so no request leaves the process."""

import asyncio
import json
import time
from collections import Counter
from datetime import datetime

import pytest

from bestmix import Edge, Problem, Traffic
from bestmix.client.edge_choices import EdgeError

# LiteLLM's own: its types and how pydantic prints them
pytestmark = pytest.mark.filterwarnings("ignore:Item:UserWarning", "ignore:Pydantic serializer warnings:UserWarning")

MODELS = {"small": "openai/gpt-4o-mini", "large": "openai/gpt-4o"}
TRAFFIC = Traffic(explore="50%", serve="small", requests=10_000)
PLAIN = Problem(["small", "large"], goal="minimise seconds", limits=["dollars <= 1"])
JUDGED = Problem(["small", "large"], goal="maximise quality", limits=["dollars <= 1", "seconds <= 60"])
SEGMENTS = Problem(
    ["small", "large"], goal="maximise quality", limits=["dollars <= 1"], segments={"free": 0.5, "paid": 0.5}
)
HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module", autouse=True)
def _litellm():
    """Imported by the tests alone: it takes seconds, and every worker of pytest collects this file."""
    global litellm, EdgeStrategy
    litellm = pytest.importorskip("litellm", reason="the strategy is for LiteLLM")
    from bestmix.client.litellm import EdgeStrategy


def entry(arm, **more):
    params = {"model": MODELS.get(arm, "openai/gpt-4o"), "api_key": "none", "mock_response": f"I am {arm}"}
    return {"model_name": arm, "litellm_params": params | more}


@pytest.fixture
def set_up(running, tmp_path):
    """A function that makes experiment, edge, router and strategy."""
    made = []

    def make(problem, entries=("small", "large", "other"), retries=0, **options):
        live = running.connect().create("live", problem, traffic=TRAFFIC)
        edge = Edge(running.url, "live", running.token, spool=tmp_path / "spool")
        router = litellm.Router([e if isinstance(e, dict) else entry(e) for e in entries], num_retries=retries)
        strategy = EdgeStrategy(edge, "chat", **options)
        made.append((edge, strategy, router))
        return live, edge, router, strategy.install(router)

    yield make
    for edge, strategy, router in made:
        strategy.remove()
        edge.close()
        router.discard()


def until(found, expected):
    """Wait for callbacks, which LiteLLM runs in a thread of its own."""
    end = time.monotonic() + 30
    while found() != expected and time.monotonic() < end:
        time.sleep(0.02)
    return found()


def answered(response):
    """The arm that answered."""
    return response.choices[0].message.content.removeprefix("I am ")


def test_requests_follow_the_edge_and_are_recorded_with_litellms_own_cost(set_up):
    live, edge, router, _ = set_up(PLAIN)
    responses = [router.completion("chat", HELLO) for _ in range(40)]
    asked = Counter(map(answered, responses))
    assert set(asked) == {"small", "large"}  # 25% of "large": no such request has a chance of 1e-5
    assert until(lambda: edge.status()["recorded"], 40) == 40
    assert edge.flush()
    assert live.state.complete == 40
    cost = {answered(r): r._hidden_params["response_cost"] for r in responses}
    assert cost["large"] > cost["small"] > 0
    estimates = live.recommend().estimates
    assert {arm: estimates[arm].trials for arm in asked} == asked
    assert estimates["large"].costs["dollars"] == pytest.approx(cost["large"])


def test_coroutines_and_streams_are_served_alike_and_a_unit_keeps_its_arm(set_up):
    _, edge, router, _ = set_up(PLAIN)

    async def serve():
        units = [await router.acompletion("chat", HELLO, user="ann") for _ in range(4)]
        units += [await router.acompletion("chat", HELLO, metadata={"unit": "ann"}) for _ in range(4)]
        stream = await router.acompletion("chat", HELLO, stream=True)
        parts = [part async for part in stream]
        for _ in range(500):
            if edge.status()["recorded"] == 9:
                break
            await asyncio.sleep(0.02)
        return units, parts

    units, parts = asyncio.run(serve())
    assert len(set(map(answered, units))) == 1
    assert answered(units[0]) == edge.choose(unit="ann").arm
    assert len(parts) > 1
    assert edge.status()["recorded"] == 9


def test_what_is_known_later_completes_a_request_whichever_side_comes_first(set_up):
    live, edge, router, strategy = set_up(JUDGED)
    first, second, third = (router.completion("chat", HELLO) for _ in range(3))
    strategy.record(first, {"quality": 1.0})
    assert until(lambda: edge.status()["recorded"], 1) == 1
    receipt = json.loads(json.dumps(strategy.receipt(second)))  # as it goes to another process
    assert receipt["metrics"].keys() == {"dollars", "seconds"}
    edge.record(receipt["choice"], receipt["metrics"] | {"quality": 0.5})
    strategy.record(third._hidden_params["litellm_call_id"], {"quality": 0.25})
    assert until(lambda: edge.status()["recorded"], 3) == 3
    assert strategy.waiting == 0
    assert edge.flush()
    assert live.state.complete == 3
    for call in (strategy.record, lambda r, _: strategy.receipt(r)):
        with pytest.raises(EdgeError, match=r"no request .* waits for metrics"):
            call(first, {"quality": 1.0})


def test_a_function_measures_and_segments_come_with_the_request(set_up):
    seen = []

    def measure(call, response):
        seen.append(call["litellm_params"]["metadata"]["segment"])
        return {"quality": len(response.choices[0].message.content) / 10}

    live, edge, router, _ = set_up(SEGMENTS, measure=measure)
    for segment in ("free", "paid", "paid"):
        router.completion("chat", HELLO, metadata={"segment": segment})
    assert until(lambda: edge.status()["recorded"], 3) == 3
    assert sorted(seen) == ["free", "paid", "paid"]
    assert edge.flush()
    assert live.state.complete == 3
    with pytest.raises(EdgeError, match="segment: expected one of"):
        router.completion("chat", HELLO, metadata={"segment": "gold"})


def test_failed_calls_count_where_that_is_wanted_and_retries_are_requests_of_their_own(set_up):
    broken = [entry(arm, mock_response="litellm.InternalServerError") for arm in MODELS]
    _, edge, router, strategy = set_up(JUDGED, broken, retries=1, failed={"quality": 0.0})
    with pytest.raises(litellm.InternalServerError):
        router.completion("chat", HELLO)
    assert until(lambda: edge.status()["recorded"], 2) == 2
    assert strategy.waiting == 0


def attempts(strategy, call="one"):
    """Two attempts of a call that get the same arm, as LiteLLM describes them to callbacks."""
    request, made = {"litellm_call_id": call, "metadata": {"unit": "ann"}}, []
    for _ in range(2):
        strategy.get_available_deployment("chat", HELLO, request_kwargs=request)
        made.append({"litellm_call_id": call, "litellm_params": {"metadata": request["metadata"]}})
    return made


@pytest.mark.parametrize("failed", [None, {"quality": 0.0}])
def test_a_failure_that_is_told_late_leaves_the_retry_its_metrics(set_up, failed):
    live, edge, _, strategy = set_up(JUDGED, failed=failed)
    now = datetime.now()
    first, second = attempts(strategy)
    strategy.log_success_event(second | {"response_cost": 0.5}, None, now, now)
    strategy.log_failure_event(first, None, now, now)
    assert strategy.waiting == 1
    strategy.record("one", {"quality": 1.0})
    assert strategy.waiting == 0
    assert edge.flush()
    assert live.state.complete == (1 if failed is None else 2)
    found = live.recommend().estimates[edge.choose(unit="ann").arm]
    assert found.costs["dollars"] == pytest.approx(0.5 / live.state.complete)


def test_metrics_of_one_attempt_are_not_put_to_those_of_another(set_up):
    live, edge, _, strategy = set_up(JUDGED)
    now = datetime.now()
    first, second = attempts(strategy)
    strategy.record("one", {"quality": 1.0})  # of the answer, which is the second's
    strategy.log_success_event(first | {"response_cost": 8.0}, None, now, now)
    assert strategy.waiting == 1
    strategy.log_success_event(second | {"response_cost": 0.5}, None, now, now)
    assert strategy.waiting == 0
    assert edge.flush()
    assert live.state.complete == 1
    assert live.recommend().estimates[edge.choose(unit="ann").arm].costs["dollars"] == pytest.approx(0.5)


def test_failed_calls_are_left_out_by_default_and_other_groups_are_left_alone(set_up):
    _, edge, router, strategy = set_up(PLAIN)
    with pytest.raises(litellm.InternalServerError):
        router.completion("chat", HELLO, mock_response="litellm.InternalServerError")
    assert until(lambda: strategy.waiting, 0) == 0
    assert answered(router.completion("other", HELLO)) == "other"
    assert edge.status()["recorded"] == 0


def test_a_deployment_that_cools_down_is_litellms_to_avoid(set_up):
    down = entry("small", mock_response="litellm.RateLimitError", model="openai/gpt-4")
    _, edge, router, _ = set_up(PLAIN, [down, entry("small"), entry("large")], retries=3)
    assert {answered(router.completion("chat", HELLO)) for _ in range(30)} == {"small", "large"}
    assert until(lambda: edge.status()["recorded"], 30) == 30


def test_what_does_not_fit_is_refused_when_it_is_installed(set_up, running, tmp_path):
    _, edge, router, _ = set_up(PLAIN)
    with pytest.raises(EdgeError, match="another than those of the arms, got 'small'"):
        EdgeStrategy(edge, "small").install(router)
    lacking = litellm.Router([entry("small")])
    with pytest.raises(EdgeError, match="of each arm, got none of 'large'"):
        EdgeStrategy(edge, "chat").install(lacking)
    lacking.discard()


def test_requests_that_never_get_their_metrics_are_given_up_at_last(set_up, monkeypatch):
    monkeypatch.setattr("bestmix.client.litellm.MOST_WAITING", 2)
    _, _, router, strategy = set_up(JUDGED)
    responses = [router.completion("chat", HELLO) for _ in range(3)]
    assert strategy.waiting == 2
    with pytest.raises(EdgeError, match="no request"):
        strategy.record(responses[0], {"quality": 1.0})
