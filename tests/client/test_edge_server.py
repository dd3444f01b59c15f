import pytest
from tests.experiments.flows import QUICK, ROUTER

from bestmix.client.edge_choices import EdgeError
from bestmix.client.edge_server import AwayError, EdgeServer, Refused


@pytest.fixture
def server(running):
    running.connect().create("live", ROUTER, traffic=QUICK)
    made = EdgeServer(running.url, "live", running.token)
    yield made
    made.close()


def test_weights_and_reports(server):
    tag, document = server.weights(None, 0.0)
    assert (tag, document["version"]) == ('"1-running"', 1)
    assert server.weights(tag, 0.0) is None
    server.report({"key": "a:1", "rows": []})
    server.report({"key": "a:1", "rows": []})
    with pytest.raises(Refused, match="report 2 of 'a'") as error:
        server.report({"key": "a:3", "rows": []})
    assert (error.value.code, error.value.field) == ("conflict", "key")


def test_a_connection_that_was_closed_is_opened_again(server):
    server.weights(None, 0.0)
    server._connection.sock.close()
    assert server.weights(None, 0.0) is not None


def test_a_server_that_is_not_there_is_away():
    with pytest.raises(AwayError):
        EdgeServer("http://127.0.0.1:9", "live", "").weights(None, 0.0)


def test_a_token_that_is_not_known_is_refused(running, server):
    stranger = EdgeServer(running.url, "live", "bm_0123abcd_secret")
    with pytest.raises(Refused) as error:
        stranger.weights(None, 0.0)
    stranger.close()
    assert error.value.code == "unauthorized"


@pytest.mark.parametrize("url", ["ftp://x", "127.0.0.1", "", None, "http://a..b", "http://a:99999", "http://[::1"])
def test_an_address_is_one(url):
    with pytest.raises(EdgeError, match="http://HOST:PORT"):
        EdgeServer(url, "live", "")


def test_an_answer_of_a_stranger_is_a_refusal():
    assert Refused(404, b"<html>").code == "internal"
    assert Refused(404, b"[" * 200_000).code == "internal"
