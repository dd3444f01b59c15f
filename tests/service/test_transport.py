"""Head and body of an answer are one packet."""

from bestmix.service.transport import MOST_GATHERED, Gathered


class Sent:
    """A transport that keeps what is written to it."""

    def __init__(self):
        self.packets, self.closed = [], False
        self.get_extra_info = self.pause_reading = self.resume_reading = None

    def is_closing(self):
        return self.closed

    def write(self, data):
        self.packets.append(data)

    def close(self):
        self.closed = True

    abort = close


def test_head_and_body_go_out_at_once():
    sent, turns = Sent(), []
    loop = type("Loop", (), {"call_soon": lambda self, call: turns.append(call)})()
    transport = Gathered(sent, loop)
    transport.write(b"head")
    transport.write(b"body")
    assert sent.packets == []
    turns.pop()()
    assert sent.packets == [b"headbody"]
    assert not turns
    transport.write(b"x" * (MOST_GATHERED + 1))  # what is long does not wait, so that its reader can slow it down
    assert len(sent.packets) == 2
    transport.write(b"last words")
    transport.close()
    assert sent.packets[2:] == [b"last words"]
    assert sent.closed
    for turn in turns:
        turn()
    assert len(sent.packets) == 3
