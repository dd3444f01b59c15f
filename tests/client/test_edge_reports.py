import pytest

from bestmix.client.edge_choices import Measure, Place
from bestmix.client.edge_outbox import Outbox
from bestmix.client.edge_recorder import Recorder
from bestmix.client.edge_reports import Reporter
from bestmix.client.edge_server import AwayError, Refused

PLACE = Place(1, None, "small")
TERMS = ("http://127.0.0.1:9", "live", "")


class Server:
    """Counts as the real one does, or is away, or refuses."""

    def __init__(self):
        self.trouble, self.counted, self.total = None, {}, 0

    def report(self, body):
        if isinstance(self.trouble, Exception):
            raise self.trouble
        edge, _, number = body["key"].rpartition(":")
        if body["rows"][0]["arm"] == "refuse me":
            raise refused("invalid")
        if int(number) > self.counted.get(edge, 0) + 1:
            raise Refused(409, b'{"error": {"code": "conflict", "message": "out of order", "field": "key"}}')
        if int(number) > self.counted.get(edge, 0):
            self.counted[edge] = int(number)
            self.total += sum(row["n"] for row in body["rows"])
        if self.trouble == "answer lost":
            raise AwayError("the answer was lost")


def refused(code):
    return Refused(409, b'{"error": {"code": "%s", "message": "no", "field": null}}' % code.encode())


def made(tmp_path):
    recorder = Recorder(b"secret", [Measure("q", "q")])
    return recorder, Reporter(TERMS, tmp_path, "exp", recorder)


def record(recorder, count):
    recorder.choice(PLACE).rows.extend({"q": 1.0} for _ in range(count))


def test_nothing_is_counted_twice_whatever_is_lost(tmp_path):
    (recorder, reporter), server = made(tmp_path), Server()
    for trouble in (None, AwayError("away"), "answer lost", AwayError("away"), "answer lost", None, None):
        server.trouble = trouble
        record(recorder, 10)
        reporter.report(server)
    reporter.report(server)
    assert server.total == reporter.reported == 70
    assert reporter.pending() == 0
    assert list(tmp_path.glob("*.json")) == []


def test_what_is_refused_for_good_is_dropped_and_what_can_be_put_right_waits(tmp_path):
    (recorder, reporter), server = made(tmp_path), Server()
    server.trouble = refused("unauthorized")
    record(recorder, 3)
    reporter.report(server)
    assert (reporter.pending(), reporter.dropped) == (3, 0)
    server.trouble = refused("closed")
    reporter.report(server)
    assert (reporter.pending(), reporter.dropped) == (0, 3)
    server.trouble = None
    record(recorder, 2)
    reporter.report(server)  # the number of what was dropped is that of the next: else none would be counted again
    assert (server.total, reporter.reported, reporter.dropped) == (2, 2, 3)


def test_a_refusal_from_the_way_waits_and_loses_nothing(tmp_path):
    """A proxy says 404 for a report that was counted, and whose answer was lost."""
    (recorder, reporter), server = made(tmp_path), Server()
    record(recorder, 10)
    for trouble in ("answer lost", Refused(404, b"<html>not found</html>"), None):
        server.trouble = trouble
        reporter.report(server)
    record(recorder, 100)
    reporter.report(server)
    assert (server.total, reporter.reported, reporter.dropped) == (110, 110, 0)


def test_what_comes_after_a_refusal_is_counted_whatever_became_of_the_refused(tmp_path):
    """The server has counted a report and its answer was lost; then it refuses it."""
    (recorder, reporter), server = made(tmp_path), Server()
    for trouble, count in (("answer lost", 10), (refused("invalid"), 0), (None, 100)):
        server.trouble = trouble
        record(recorder, count)
        reporter.report(server)
    assert (server.total, reporter.reported, reporter.dropped) == (110, 100, 10)


def test_an_edge_goes_on_where_the_server_was_restored_from_a_backup(tmp_path):
    (recorder, reporter), server = made(tmp_path), Server()
    for count in (1, 2, 4):
        record(recorder, count)
        reporter.report(server)
        if count == 2:
            server.counted, server.total = {}, 0
    assert (server.total, reporter.pending()) == (0, 4)
    record(recorder, 8)
    reporter.report(server)
    reporter.report(server)
    assert (server.total, reporter.reported, reporter.dropped) == (12, 15, 0)


@pytest.mark.parametrize("restored", [False, True])
def test_of_what_a_killed_edge_left_one_refusal_does_not_lose_the_rest(tmp_path, restored):
    (recorder, dead), server = made(tmp_path), Server()
    record(recorder, 1)
    dead.report(server)
    server.trouble = AwayError("away")
    recorder.choice(Place(1, None, "small" if restored else "refuse me")).rows.append({"q": 1.0})
    dead.report(server)
    record(recorder, 7)
    dead.report(server)
    dead._outbox.leave()
    server.trouble = None
    if restored:
        server.counted, server.total = {}, 0
    left = {path: path.read_text() for path in tmp_path.glob("*.json")}
    _, other = made(tmp_path)
    other.adopt(server)
    assert list(tmp_path.glob("*.json")) == []
    for path, text in left.items():  # as if it had been killed before it removed the file
        path.write_text(text)
    other.adopt(server)
    assert server.total == 8


def test_what_a_killed_edge_left_is_delivered_once(tmp_path):
    (recorder, dead), server = made(tmp_path), Server()
    record(recorder, 5)
    server.trouble = "answer lost"
    dead.report(server)
    record(recorder, 7)
    server.trouble = AwayError("away")
    dead.report(server)
    _, other = made(tmp_path)
    server.trouble = None
    other.adopt(server)
    assert server.total == 5  # its owner is there
    dead._outbox.leave()
    server.trouble = refused("forbidden")
    other.adopt(server)
    server.trouble = None
    other.adopt(server)
    other.adopt(server)
    assert server.total == 12
    assert list(tmp_path.glob("*.json")) == []


def test_what_is_given_up_is_neither_sent_nor_left_for_others(tmp_path):
    (recorder, reporter), server = made(tmp_path), Server()
    server.trouble = AwayError("away")
    record(recorder, 2)
    reporter.report(server)
    record(recorder, 3)
    assert reporter.give_up() == 5
    record(recorder, 4)  # late
    server.trouble = None
    reporter.report(server)
    assert (server.total, reporter.pending()) == (0, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path, caplog, monkeypatch):
    def full(_):
        raise OSError("no space left")

    (recorder, reporter), server = made(tmp_path), Server()
    monkeypatch.setattr(Outbox, "save", full)
    record(recorder, 2)
    reporter.report(server)
    assert server.total == 2
    assert "no space left" in caplog.text


def test_a_child_reports_under_its_own_name(tmp_path):
    _, reporter = made(tmp_path)
    before = reporter.name
    reporter.begin_anew()
    assert reporter.name != before
