"""What many ask for at once is made once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bestmix.service.cache import Cache


def test_many_at_once_cost_one():
    cache, made = Cache(lasts=60.0), []

    def make():
        made.append(threading.current_thread())
        time.sleep(0.05)
        return len(made)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.get("x", lambda: 1, make), range(16)))
    assert found == [1] * 16
    assert len(made) == 1


def test_a_new_version_is_made_anew_unless_the_last_one_is_fresh():
    strict, lenient = Cache(lasts=60.0), Cache(lasts=60.0, fresh=60.0)
    for version in (1, 2):
        strict.get("x", lambda v=version: v, lambda v=version: f"made of {v}")
        lenient.get("x", lambda v=version: v, lambda v=version: f"made of {v}")
    assert strict.get("x", lambda: 2, lambda: "") == "made of 2"
    assert lenient.get("x", lambda: 2, lambda: "") == "made of 1"


def test_what_failed_is_tried_again():
    cache = Cache(lasts=60.0)

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        cache.get("x", lambda: 1, fail)
    assert cache.get("x", lambda: 1, lambda: "made") == "made"


def test_few_are_kept():
    cache = Cache(lasts=60.0, most=2)
    for key in "abc":
        cache.get(key, lambda: 1, lambda k=key: k)
    assert cache.get("a", lambda: 1, lambda: "made again") == "made again"
