"""Answers that a client may count on: requests to a server whose clock stands still and whose ids are known.

``python -m tests.service.recordings VERSION`` writes the answers of the code at hand to a file beside this one; do that
before a release, never to make a test pass.
"""

import json
import secrets
import sys
import tempfile
from itertools import count
from pathlib import Path
from unittest.mock import patch

from tests.experiments.kits import FakeClock

FOLDER = Path(__file__).parent / "recorded"
BASE = "/v1/experiments"
ID = "{:012x}"
ARMS = {"arms": ["small", "medium", "large"], "bounds": {"dollars": 1.0, "seconds": 2.5}}
KNOWN = {"arms": ["a", "b"], "bounds": {"cost": 1.0}, "known": {"off": {"reward": 0.25, "costs": {"cost": 0.0}}}}


def result(trial, costs, shift=0.0):
    """A result that differs from trial to trial, made of fractions that floats hold exactly."""
    number = int(trial.rpartition("-")[2])
    values = {cost: ((number * (3 + place)) % 8) / 4 for place, cost in enumerate(costs)}
    return {"trial": trial, "reward": number % 5 + shift, "costs": values}


def create(name, problem, budget, strategy, **terms):
    return "POST", BASE, {"name": name, "problem": problem, "budget": budget, "strategy": strategy, **terms}


def trials(key, many, costs):
    """Ask for trials and tell of them, one by one."""
    for number in range(1, many + 1):
        yield "POST", f"{BASE}/{key}/ask", {"n": 1, "worker": "w"}
        yield "POST", f"{BASE}/{key}/tell_many", {"results": [result(f"{key}-{number}", costs)]}


def reads(key):
    """Everything that can be read of an experiment."""
    places = ("", "/recommendation", "/policy", "/history", "/history?limit=1", "/events?limit=3", "/trials?limit=2")
    places += (
        "/trials?newest_first=true&limit=2&state=complete",
        f"/trials/{key}-1",
        "/trials?arm=none",
        "/export/csv",
    )
    for place in (*places, "/export/json", "/stream?seconds=0.01&after=1"):
        yield "GET", f"{BASE}/{key}{place}", None


def working():
    """Create, ask, tell and read, with every strategy that leaves its own marks in the history."""
    sfsr, sure, plain = (ID.format(number) for number in (1, 2, 3))
    for _ in range(2):
        yield create("sfsr", ARMS, 24, {"kind": "SFSR", "score": "intersection"}, notes="two\nlines")
    yield from reads(sfsr)
    yield from trials(sfsr, 24, ["dollars", "seconds"])
    yield from reads(sfsr)
    yield create("challenger", KNOWN, 20, {"kind": "Challenger"})
    yield from trials(sure, 20, ["cost"])
    yield from reads(sure)
    yield create("uniform", KNOWN | {"bounds": {"cost": -1.0}}, 8, {"kind": "Uniform"}, lease=30.0, failures=3)
    yield "POST", f"{BASE}/uniform/ask", {"n": 2, "worker": "w", "key": "k"}
    yield "POST", f"{BASE}/uniform/ask", {"n": 2, "worker": "w", "key": "k"}
    yield "POST", f"{BASE}/uniform/tell", result(f"{plain}-1", ["cost"])
    yield "POST", f"{BASE}/uniform/tell", result(f"{plain}-1", ["cost"])
    yield "POST", f"{BASE}/uniform/renew", {"trials": [f"{plain}-2"]}
    yield "POST", f"{BASE}/uniform/fail", {"trial": f"{plain}-2", "reason": "no luck"}
    yield "POST", f"{BASE}/uniform/ask", {"n": 9}
    yield "POST", f"{BASE}/uniform/ask", {"n": 9}
    yield "POST", f"{BASE}/uniform/give_back", {"trials": [f"{plain}-3"]}
    yield from reads(plain)


def steering():
    """The calls of an administrator."""
    for place, body in [("pause", None), ("ask", {}), ("resume", None), ("extend", {"budget": 12}), ("pause", None)]:
        yield "POST", f"{BASE}/uniform/{place}", body
    yield "PATCH", f"{BASE}/uniform", {"notes": "remember"}
    yield "PATCH", f"{BASE}/uniform", {"name": "renamed"}
    yield "GET", f"{BASE}?limit=2", None
    yield "GET", f"{BASE}?after=renamed", None
    yield "GET", f"{BASE}?name=renamed", None
    yield "GET", f"{BASE}?name=nobody", None


def mistakes():
    """Requests that are refused, each for a reason of its own."""
    key, done = ID.format(3), ID.format(1)
    yield create("sfsr", ARMS, 25, {"kind": "SFSR", "score": "intersection"})
    yield create("sfsr", KNOWN, 24, {"kind": "SFSR", "score": "intersection"})
    yield create(key, ARMS, 60, {"kind": "Uniform"})
    yield create(" ", ARMS, 60, {"kind": "Uniform"})
    yield create("x\x1b", ARMS, 60, {"kind": "Uniform"})
    yield create("new", {"arms": []}, 60, {"kind": "Uniform"})
    yield create("new", {"arms": "abc"}, 60, {"kind": "Uniform"})
    yield create("new", {"arms": ["a", "a"]}, 60, {"kind": "Uniform"})
    yield create("new", {"arms": ["a"], "bounds": {"c": "x"}}, 60, {"kind": "Uniform"})
    yield create("new", {"arms": ["a"], "bounds": 5}, 60, {"kind": "Uniform"})
    yield create("new", {"arms": ["a"], "odd": 5}, 60, {"kind": "Uniform"})
    yield create("new", {"arms": ["a"], "known": {"a": {"reward": 1.0}}}, 60, {"kind": "Uniform"})
    yield create("new", {"arms": ["a"], "known": {"b": {"reward": 1.0, "costs": {"c": 1.0}}}}, 60, {"kind": "Uniform"})
    yield create("new", {"arms": ["a"], "known": {"b": {}}}, 60, {"kind": "Uniform"})
    yield create("new", ARMS, 60, {"kind": "Challenger", "confidence": 2.0})
    yield create("new", ARMS, 60, {"kind": "SFSR", "score": "function mine"})
    yield create("new", ARMS, 60, {"kind": "SFSR", "score": "odd"})
    yield create("new", ARMS, 2, {"kind": "SFSR", "score": "intersection"})
    many = {"arms": [f"a{k}" for k in range(300)], "bounds": {f"c{k}": 1.0 for k in range(9)}}
    yield create("new", many, 10_000, {"kind": "SFSR", "score": "intersection"})
    yield create("new", ARMS, 60, {"kind": "Uniform"}, lease=1e9)
    yield create("new", ARMS, -1, {"kind": "Uniform"})
    yield create("new", ARMS, 60, {"kind": "Uniform"}, failures=0)
    yield "POST", BASE, {"name": "new"}
    yield "POST", BASE, "no object"
    yield "POST", f"{BASE}/{key}/tell", result(f"{key}-1", ["cost"], 1.0)
    yield "POST", f"{BASE}/{key}/tell", result(f"{key}-99", ["cost"])
    yield "POST", f"{BASE}/{key}/tell", result(f"{done}-1", ["cost"])
    yield "POST", f"{BASE}/{key}/tell", {"trial": "odd", "reward": 1.0}
    yield "POST", f"{BASE}/{key}/tell", {"trial": f"{key}-4", "reward": 1.0}
    yield "POST", f"{BASE}/{key}/tell", {"trial": f"{key}-4", "reward": 1.0, "costs": {"odd": 1.0}}
    yield "POST", f"{BASE}/{key}/tell", {"trial": f"{key}-4", "reward": 1e200, "costs": {"cost": 1.0}}
    yield "POST", f"{BASE}/{key}/tell", {"trial": f"{key}-4", "reward": 1.0, "costs": {"cost": 1e200}}
    yield "POST", f"{BASE}/{key}/tell", {"trial": f"{key}-4", "reward": "1", "costs": {"cost": 1.0}}
    yield "POST", f"{BASE}/{key}/tell_many", {"results": [result(f"{key}-4", ["cost"]), result(f"{key}-77", ["cost"])]}
    yield "POST", f"{BASE}/{key}/fail", {"trial": f"{key}-1"}
    yield "POST", f"{BASE}/{key}/renew", {"trials": [f"{key}-1"]}
    yield "POST", f"{BASE}/{key}/renew", {"trials": [f"{key}-2"]}
    yield "POST", f"{BASE}/{key}/ask", {"n": 0}
    yield "POST", f"{BASE}/{key}/ask", {"worker": " "}
    yield "POST", f"{BASE}/{key}/ask", {"worker": "x\x1b"}
    yield "POST", f"{BASE}/{key}/ask", {"worker": "w" * 201}
    yield "POST", f"{BASE}/{key}/extend", {"budget": 5}
    yield "POST", f"{BASE}/{done}/extend", {"budget": 100}
    yield "POST", f"{BASE}/{done}/stop", {"reason": "late"}
    yield "POST", f"{BASE}/{done}/pause", None
    yield "POST", f"{BASE}/{done}/resume", None
    yield "PATCH", f"{BASE}/{key}", {"name": "sfsr"}
    yield "PATCH", f"{BASE}/{key}", {"name": done}
    for place in (
        "/trials?limit=0",
        "/trials?state=odd",
        "/trials?after=odd",
        f"/trials?after={done}-1",
        "/trials/odd",
    ):
        yield "GET", f"{BASE}/{key}{place}", None
    for place in (f"/trials/{key}-99", "/events?after=-1", "/export/xls", "/nonsense", "/stream?seconds=0"):
        yield "GET", f"{BASE}/{key}{place}", None
    yield "PUT", f"{BASE}/{key}", None
    yield "GET", f"{BASE}/nobody", None
    yield "GET", f"{BASE}/{'f' * 12}", None


def ending():
    """The end of an experiment."""
    key = ID.format(3)
    yield "POST", f"{BASE}/{key}/stop", {"reason": "enough"}
    yield "POST", f"{BASE}/{key}/stop", {"reason": "enough"}
    yield "POST", f"{BASE}/{key}/tell", result(f"{key}-4", ["cost"])
    yield "POST", f"{BASE}/{key}/renew", {"trials": [f"{key}-4"]}
    yield "POST", f"{BASE}/{key}/ask", {}
    yield "POST", f"{BASE}/{key}/extend", {"budget": 100}
    yield from reads(key)
    yield "DELETE", f"{BASE}/{key}", None
    yield "DELETE", f"{BASE}/{key}", None


def requests():
    """All of them, in the order in which they are sent."""
    for part in (working, steering, mistakes, ending):
        yield from part()


def answers(sent):
    """Status, type, place and text of the answer to each of the requests."""
    from tests.service.servers import Running

    from bestmix import open_storage

    numbers, real = count(1), secrets.token_hex

    def known(size=None):
        return ID.format(next(numbers)) if size == 6 else real(size)

    with (
        tempfile.TemporaryDirectory() as folder,
        patch("secrets.token_hex", known),
        open_storage(f"{folder}/x.db", clock=FakeClock()) as storage,
    ):
        running = Running(storage)
        try:
            for method, path, body in sent:
                status, headers, content = running.send(method, path, body)
                yield [status, headers["content-type"], headers["location"], content.decode()]
        finally:
            running.stop()


if __name__ == "__main__":
    sent = [list(request) for request in requests()]
    pairs = zip(sent, answers(sent), strict=True)
    lines = ",\n".join(json.dumps({"request": request, "answer": answer}) for request, answer in pairs)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{sys.argv[1]}.json").write_text(f"[\n{lines}\n]\n")
