"""Reports of many edges are read together; few do not wait for each other."""

import pytest

from bestmix.service.held_reports import MOST_OF_CONNECTION, HeldReports

REPORT = b"POST /v1/experiments/x/sums HTTP/1.1\r\n\r\n"


class Loop:
    def __init__(self):
        self.later = []

    def call_later(self, seconds, call):
        self.later.append(call)


class Edge:
    """A connection that keeps what was read of it."""

    def __init__(self, loop):
        self.loop, self.found, self.closing = loop, [], False
        self.transport = self

    def is_closing(self):
        return self.closing

    def read(self, data):
        self.found.append(data)


@pytest.fixture
def loop():
    return Loop()


def test_few_are_not_held(loop):
    reports = HeldReports(many=3, tick=lambda: 0.0)
    assert [reports.holds(Edge(loop), REPORT) for _ in range(4)] == [False, False, True, True]
    assert len(loop.later) == 1
    assert not reports.holds(Edge(loop), b"GET / HTTP/1.1\r\n\r\n")


def test_what_follows_a_report_is_read_after_it_and_all_at_once(loop):
    reports, first, gone = HeldReports(many=1, tick=lambda: 0.0), Edge(loop), Edge(loop)
    assert reports.holds(first, REPORT)
    assert reports.holds(first, b"more")
    assert reports.holds(gone, REPORT)
    reports.drop(gone)
    assert (reports.has(first), reports.has(gone), first.found) == (True, False, [])
    loop.later.pop()()
    assert (first.found, gone.found) == ([REPORT + b"more"], [])


def test_one_that_sends_much_does_not_wait(loop):
    reports, edge = HeldReports(many=1, tick=lambda: 0.0), Edge(loop)
    assert reports.holds(edge, REPORT + b" " * MOST_OF_CONNECTION)
    assert edge.found
    assert not reports.has(edge)
