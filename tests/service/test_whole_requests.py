"""Requests that are there as a whole: which heads are remembered; what becomes of them is in ``test_single_tell``."""

import pytest
from tests.service import test_single_tell as tells

from bestmix.service.whole_requests import LONGEST_KNOWN

exp, reads = tells.exp, tells.reads


@pytest.mark.parametrize(("more", "read"), [("", 1), (f"X-Long: {'x' * LONGEST_KNOWN}\r\n", 3)], ids=["short", "long"])
def test_heads_up_to_a_length_are_remembered(running, exp, reads, more, read):
    (trial,) = exp.ask()
    data = tells.request(exp, tells.result(trial), running.token, more=more)
    with running.raw() as connection:
        del reads[:]
        for outcome in (b"counted", b"repeated", b"repeated"):
            connection.sendall(data)
            assert outcome in connection.recv(65536)
    assert len([piece for piece in reads if piece.startswith(b"POST")]) == read
