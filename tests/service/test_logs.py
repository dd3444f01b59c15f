"""The log: lines of JSON, of which a flood by strangers leaves only some."""

import json
import logging

from bestmix.service.logs import JsonLines, Sampled


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
