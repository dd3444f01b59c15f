from bestmix.service.middleware import HEADERS, MOST_CALLERS, Rates


class Tick:
    """A clock that stands still until it is told to go on."""

    now = 0.0

    def __call__(self):
        return self.now


def test_a_burst_then_so_many_a_second():
    tick = Tick()
    rates = Rates(5.0, tick)
    assert [rates.wait("a") for _ in range(5)] == [0.0] * 5
    assert rates.wait("a") == 0.2
    tick.now += 0.2
    assert rates.wait("a") == 0.0
    assert rates.wait("a") > 0.0
    tick.now += 100.0  # what was not used is not saved up beyond a burst
    assert [rates.wait("a") > 0 for _ in range(6)] == [False] * 5 + [True]


def test_callers_do_not_share_an_allowance():
    rates = Rates(1.0, Tick())
    assert rates.wait("a") == rates.wait("b") == 0.0
    assert rates.wait("a") > 0.0


def test_no_more_callers_are_remembered_than_fit():
    rates = Rates(1.0, Tick())
    for caller in range(MOST_CALLERS + 100):
        rates.wait(str(caller))
    assert len(rates._left) == MOST_CALLERS


def test_every_answer_has_safe_headers_and_an_id(running):
    for path in ("/healthz", "/v1/experiments", "/nothing"):
        _, headers, _ = running.send("GET", path)
        assert {name: headers[name] for name in HEADERS} == HEADERS
        assert headers["X-Request-ID"]
