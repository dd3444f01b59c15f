import asyncio
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from bestmix import Edge, Problem, Traffic
from bestmix.client.asgi import EdgeMiddleware


@pytest.fixture
def live(running):
    problem = Problem(["small", "large"], goal="maximise quality", limits=["seconds <= 2"])
    return running.connect().create("live", problem, traffic=Traffic(serve="small"))


@pytest.fixture
def edge(running, live, tmp_path):
    with Edge(running.url, "live", running.token, spool=tmp_path / "spool") as made:
        yield made


async def answer(request):
    if "quality" in request.query_params:
        request.scope["bestmix.metrics"]["quality"] = float(request.query_params["quality"])
    choice = request.scope["bestmix.choice"]
    return PlainTextResponse(f"{choice.arm} {choice.id}")


def client(edge, **options):
    """A function that sends a request to the application, and gives the text of its answer."""
    app = EdgeMiddleware(Starlette(routes=[Route("/", answer)]), edge, **options)

    def get(headers=(), **query):
        sent = []

        async def send(message):
            sent.append(message)

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        head = {"type": "http", "method": "GET", "path": "/", "headers": list(headers), "root_path": ""}
        asyncio.run(app(head | {"query_string": urlencode(query).encode()}, receive, send))
        return b"".join(message.get("body", b"") for message in sent).decode()

    return get


def test_requests_of_an_application_are_recorded_with_their_time(edge, live, running):
    get = client(edge)
    arms = [get(quality=0.5).split()[0] for _ in range(20)]
    assert edge.flush()
    assert live.state.complete == 20
    sums = running.storage.store.traffic(live.record.key).sums
    assert sum(found.count for found in sums.values()) == len(arms)
    means = [found.mean() for found in sums.values()]
    assert all(mean[0] == 0.5 and 0.0 < mean[1] < 2.0 for mean in means)


def test_a_request_without_all_metrics_is_recorded_later_by_its_id(edge, live):
    _, identifier = client(edge)().split()
    assert edge.flush()
    assert live.state.complete == 0
    edge.record(identifier, {"quality": 1.0, "seconds": 0.1})
    assert edge.flush()
    assert live.state.complete == 1


def test_a_user_keeps_an_arm(edge):
    get = client(edge, unit=lambda scope: dict(scope["headers"]).get(b"user"))
    first, second = ([get([(b"user", b"u%d" % k)]).split()[0] for k in range(30)] for _ in range(2))
    assert first == second


def test_what_is_no_request_passes(edge):
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["type"])

    asyncio.run(EdgeMiddleware(app, edge)({"type": "lifespan"}, None, None))
    assert seen == ["lifespan"]
