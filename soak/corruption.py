"""Damage to an SQLite file, byte by byte and row by row: the doctor finds it, or it does no harm."""

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestmix import SFSR, Challenger, Problem, SingleArm, Uniform
from bestmix.cli.storage import look_at
from bestmix.experiments import Experiment, open_storage
from bestmix.experiments.audit import alike
from bestmix.service.tokens import Tokens

PROBLEM = Problem(["a", "b", "c"], {"dollars": 1.0})
FIGURES = ("clock", "boot", "tick", "earliest", "notes", "ended")  # of the head, which say nothing about the answer
MOST_CALLS = 1000  # that an experiment may take to its end


@dataclass
class StandingClock:
    """Time that moves when it is told to."""

    boot: str = "boot"
    ticks: float = 1000.0

    def tick(self) -> float:
        """Seconds by a clock that nobody sets."""
        return self.ticks

    def now(self) -> float:
        """Seconds since 1970."""
        return 1_700_000_000.0 + self.ticks


def make(path: Path) -> None:
    """A file with experiments in every state that there is."""
    clock = StandingClock()
    with open_storage(path, clock=clock) as storage:
        for scope in ("read", "admin"):
            Tokens(storage).create(scope, label="ann", days=9.0)
        for name, strategy, budget in (("uniform", Uniform(), 30), ("sfsr", SFSR("lagrangian"), 40)):
            exp = storage.create(name, PROBLEM, budget, strategy, lease=10.0, notes="Ask Ann.")
            first = exp.ask(6, worker="w1", key="k1")
            exp.tell_many([(t, 0.1 * t.token, [0.3 * t.token]) for t in first[:2]])
            clock.ticks += 11.0
            second = exp.ask(3, worker="w2")
            exp.tell(first[2], 0.7, [0.1])  # late: whoever has the slot now has it withdrawn
            exp.tell_many([(second[1], 0.5, [0.5]), (first[3], 0.25, [2.0])])  # the second one's slot is filled
            exp.tell_failed(second[2], "out of memory")
            exp.ask(2, worker="w3", key="k2")
        log = {"arm": list("abcabcaab"), "reward": [0.5] * 9, "dollars": [0.25] * 9}
        exp = storage.create("from a log", PROBLEM, 12, Uniform(), log=log)
        exp.give_back(*exp.ask(2, worker="w1"))
        other = storage.create("changed", PROBLEM, 30, Challenger(rounds=4), log=log)
        other.tell_many([(t, 0.1 * t.token, [0.2]) for t in other.ask(4)])
        other.change(bounds={"dollars": 0.8}, arms=["a", "b", "z"])
        other.tell_many([(t, 0.1 * t.token, [0.2]) for t in other.ask(2)])
        done = storage.create("done", PROBLEM, 9, SingleArm())
        while trials := done.ask(4):
            done.tell_many([(t, 0.2 * t.token, [0.5]) for t in trials])
        paired = storage.create("on items", PROBLEM, 12, Uniform(), lease=10.0, items=["sum", "sort", "swap"])
        paired.tell_many([(t, 0.1 * t.token, [0.2]) for t in paired.ask(5)])
        paired.tell_failed(paired.ask(2, worker="w1")[0], "no luck")
        longer = storage.create("extended", PROBLEM, 6, Uniform())
        longer.extend(12)
        longer.tell_many([(t, 1.0, [0.5]) for t in longer.ask(5)])
        longer.rename("extended and paused")
        longer.pause()
        stopped = storage.create("stopped", PROBLEM, 6, Uniform())
        stopped.ask(2)
        stopped.stop("enough")


def essence(experiment: Experiment) -> dict[str, Any]:
    """All of an experiment that its answer and its further course are made of; surplus results are not."""
    found = experiment.storage.store.contents(experiment.record.key, events=True)
    head = {name: value for name, value in vars(found.head).items() if name not in FIGURES}
    rows = list(found.trials)
    results = [None if t.state == "surplus" else t.values for t in rows]
    trials = [(t.number, t.slot, t.arm, t.round, t.state, t.open, t.worker, t.item) for t in rows]
    rounds = [vars(ended) for ended in found.run.rounds]
    return {
        "record": vars(found.record),
        "head": head,
        "memory": found.run.memory,
        "sums": [sums.to_dict() for sums in found.run.moments],
        "rounds": rounds,
        "due": found.due,
        "items": found.items,
        "handed": found.handed,
        "by_item": [(key, sums.to_list()) for key, sums in found.run.by_item.items()],
        "asks": sorted(found.asks),
        "trials": trials,
        "results": results,
        "events": [(event.number, event.kind) for event in found.events],
    }


def essences(path: Path) -> dict[str, Any]:
    """That of every experiment, by key."""
    with open_storage(path) as storage:
        Tokens(storage).list()  # a damaged one keeps no other out
        return {e.record.key: essence(e) for e in (storage.open(s.name) for s in storage.experiments())}


def finish(path: Path) -> list[str]:
    """Drive every experiment to its end, long after; what goes wrong."""
    clock, problems = StandingClock(ticks=1e6), list[str]()
    with open_storage(path, clock=clock) as storage:
        for state in storage.experiments():
            exp = storage.open(state.name)
            if not exp.state.open:
                continue
            exp.resume()
            for _ in range(MOST_CALLS):
                given = exp.ask(50)
                if exp.done:
                    break
                exp.tell_many([(t, 0.5, [0.5]) for t in given])
                clock.ticks += 20.0
            if exp.state.status != "done" or exp.state.complete > exp.state.budget:
                problems.append(f"{state.name}: {exp.state.status} with {exp.state.complete} of {exp.state.budget}")
    return problems


def flip(path: Path, rng: random.Random) -> str:
    """Other bytes, one to eight, somewhere in the file."""
    data = bytearray(path.read_bytes())
    places = [rng.randrange(len(data)) for _ in range(rng.randint(1, 8))]
    for place in places:
        data[place] ^= 1 << rng.randrange(8) if rng.random() < 0.5 else rng.randrange(1, 256)
    path.write_bytes(data)
    return f"bytes {places}"


def edit(path: Path, rng: random.Random) -> str:
    """A row changed, removed or there twice."""
    connection = sqlite3.connect(path)
    try:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        filled = [name for name in names if connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()]
        table = rng.choice(filled)
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        keys = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]]
        row = dict(zip(columns, rng.choice(connection.execute(f"SELECT * FROM {table}").fetchall()), strict=True))
        where = " AND ".join(f'"{key}" IS :{key}' for key in keys)
        if rng.random() < 0.15:
            connection.execute(f"DELETE FROM {table} WHERE {where}", row)
            what = f"{table}: {[row[key] for key in keys]} removed"
        else:
            column = rng.choice(columns)
            value = other(row[column], rng)
            connection.execute(f'UPDATE {table} SET "{column}" = :new_value WHERE {where}', {**row, "new_value": value})
            what = f"{table}: {[row[key] for key in keys]} {column} from {row[column]!r:.60} to {value!r:.60}"
        connection.commit()
    except (sqlite3.IntegrityError, OverflowError) as error:
        what = f"refused by SQLite: {error}"
    finally:
        connection.close()
    return what


def other(value: Any, rng: random.Random) -> Any:
    """Something else in the place of a value."""
    if isinstance(value, (int, float)):
        return rng.choice(
            [value + 1, value - 1, value + 5, -value, 0, 10**12, 1e300, value * 2 + 0.5, "x", None, b"\0"]
        )
    if isinstance(value, str) and value:
        place = rng.randrange(len(value))
        near = chr(max(32, ord(value[place]) ^ 1))
        return rng.choice(
            [
                value[:place],
                value[:place] + near + value[place + 1 :],
                "",
                "{}",
                "[]",
                "null",
                7,
                None,
                "leased",
                b"\xff",
            ]
        )
    return rng.choice([0, 1.5, "x", "{}", "[1.0]", 1e300])


KINDS: dict[str, Callable[[Path, random.Random], str]] = {"flip": flip, "edit": edit}


def judge(path: Path, before: dict[str, Any]) -> tuple[str, str]:
    """``found``, ``harmless`` or ``missed``, with why; errors of any kind are missed."""
    try:
        bad = [(what, text) for what, text, good in look_at(str(path), audit=True) if not good]
    except Exception as error:  # whatever it is, users would see it
        return "missed", f"the doctor fell ill: {type(error).__name__}: {error}"
    if bad:
        return "found", "; ".join(f"{what}: {text}" for what, text in bad)
    try:
        after = essences(path)
        if not alike(after, before):
            changed = [key for key in before if not alike(after.get(key), before[key])]
            parts = [
                p for key in changed for p in before[key] if not alike((after.get(key) or {}).get(p), before[key][p])
            ]
            return "missed", f"not noticed: {parts or 'an experiment is gone'}"
        problems = finish(path)
    except Exception as error:
        return "missed", f"said to be sound, and yet: {type(error).__name__}: {error}"
    return ("missed", "; ".join(problems)) if problems else ("harmless", "")


def campaign(folder: Path, cases: int, seed: int = 0) -> dict[str, Any]:
    """So many kinds of damage, half of them to bytes and half to rows."""
    base = folder / "base.db"
    make(base)
    before, counts, problems = essences(base), Counter[str](), list[str]()
    for number in range(cases):
        rng = random.Random(f"{seed} {number}")
        path = folder / "case.db"
        for left in folder.glob("case.db*"):
            left.unlink()
        shutil.copy(base, path)
        kind = list(KINDS)[number % len(KINDS)]
        what = KINDS[kind](path, rng)
        verdict, why = judge(path, before)
        counts[f"{kind} {verdict}"] += 1
        if verdict == "missed":
            problems.append(f"case {number}, {what}: {why}")
    return {"cases": cases, **dict(counts), "problems": problems}
