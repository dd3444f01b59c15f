"""The log: lines of JSON, of which a flood by strangers leaves only some."""

import asyncio
import io
import json
import logging

from bestmix.service.logs import GatheredLines, JsonLines, Sampled, request_record


def line(token=None, message="request"):
    made = logging.LogRecord("bestmix.service", logging.INFO, "", 0, message, None, None)
    made.data = {"token": token}
    return made


def test_a_flood_by_strangers_is_sampled_and_counted():
    now = 0.0
    sampled = Sampled(most=3, tick=lambda: now)
    assert [sampled.filter(line()) for _ in range(10)] == [True] * 3 + [False] * 7
    assert sampled.filter(line(message="another kind"))
    now = 1.0
    after = line()
    assert sampled.filter(after)
    assert json.loads(JsonLines().format(after))["left_out"] == 7


def test_lines_with_a_valid_token_are_all_kept():
    sampled = Sampled(most=1, tick=lambda: 0.0)
    assert all(sampled.filter(line("bm_01234567")) for _ in range(10))


def test_a_line_cannot_write_to_the_terminal():
    text = JsonLines().format(line(message="\x1b[2J\u202e\n"))
    assert text.isascii()
    assert text.isprintable()


def test_a_request_has_a_record_like_any_other():
    before = logging.LogRecord("bestmix.service", logging.INFO, "", 0, "request", (), None)
    made, other = request_record({"status": 200}), request_record({"status": 404})
    after = logging.LogRecord("bestmix.service", logging.INFO, "", 0, "request", (), None)
    assert (made.data, other.data) == ({"status": 200}, {"status": 404})
    assert before.created <= made.created <= other.created <= after.created
    assert before.relativeCreated - 1.0 <= made.relativeCreated <= after.relativeCreated + 1.0
    assert vars(before).keys() | {"data"} == vars(made).keys()
    changing = {"created", "msecs", "relativeCreated", "thread", "threadName", "process", "processName"}
    assert all(value == vars(made)[name] for name, value in vars(before).items() if name not in changing)
    assert json.loads(JsonLines().format(made))["status"] == 200


def test_lines_of_one_turn_are_written_at_once():
    class Stream(io.StringIO):
        writes = 0

        def write(self, text):
            self.writes += 1
            return super().write(text)

    stream = Stream()
    handler = GatheredLines(stream)
    handler.emit(line(message="alone"))
    assert (stream.writes, stream.getvalue()) == (1, "alone\n")

    async def turn():
        handler.emit(line(message="first"))
        handler.emit(line(message="second"))
        assert stream.writes == 1
        await asyncio.sleep(0)
        assert stream.writes == 2
        handler.emit(line(message="third"))
        handler.emit(logging.LogRecord("bestmix.service", logging.ERROR, "", 0, "trouble", None, None))
        assert stream.getvalue().endswith("third\ntrouble\n")  # an error does not wait

    asyncio.run(turn())
    assert stream.getvalue() == "alone\nfirst\nsecond\nthird\ntrouble\n"

    async def last(message):
        asyncio.get_running_loop().stop()
        handler.emit(line(message=message))

    for message in ("its loop ends", "of another loop"):
        loop = asyncio.new_event_loop()
        task = loop.create_task(last(message))
        loop.run_forever()
        assert task.done()
        loop.close()
    handler.flush()
    assert stream.getvalue().endswith("trouble\nits loop ends\nof another loop\n")
