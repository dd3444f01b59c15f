import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.service.servers import PROBLEM

from bestmix import Uniform, open_storage
from bestmix.service import caches
from bestmix.service.caches import Cache, OpenExperiments
from bestmix.service.errors import Refusal


@pytest.fixture
def storage():
    with open_storage("memory://") as made:
        made.create("router", PROBLEM, 8, Uniform())
        yield made


def test_an_experiment_is_found_by_name_and_by_id_and_kept_by_id(storage):
    opened = OpenExperiments(storage)
    found = opened.open("router")
    key = found.record.key
    assert opened.known(key) is found
    assert opened.known("router") is None
    assert opened.open(key).record == found.record
    opened.forget(found)
    assert opened.known(key) is None


@pytest.mark.parametrize("name", ["nobody", "0123456789ab", "\x00", "x" * 1000])
def test_what_is_not_there_is_refused(storage, name):
    with pytest.raises(Refusal, match="there is no such experiment") as caught:
        OpenExperiments(storage).open(name)
    assert (caught.value.code, caught.value.field) == ("not_found", "experiment")


def test_only_so_many_are_kept(storage, monkeypatch):
    monkeypatch.setattr(caches, "MOST_OPEN", 2)
    opened = OpenExperiments(storage)
    keys = [opened.keep(storage.create(name, PROBLEM, 8, Uniform())).record.key for name in "abc"]
    assert [opened.known(key) is not None for key in keys] == [False, True, True]


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


def test_a_value_from_before_a_moment_is_made_anew():
    cache = Cache(lasts=60.0, fresh=60.0)
    assert cache.get("x", lambda: 1, lambda: "old") == "old"
    moment = time.monotonic()
    assert cache.get("x", lambda: 1, lambda: "new", since=moment) == "new"
    assert cache.get("x", lambda: 1, lambda: "newer", since=moment) == "new"
