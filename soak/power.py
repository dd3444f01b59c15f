"""Power cuts and full disks on SQLite: what was acknowledged outlives them, and nothing is damaged."""

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import event

from bestmix import Problem, Uniform
from bestmix.experiments import StorageError, open_storage
from bestmix.experiments.audit import audit
from bestmix.experiments.sql.database import Database, parse_url
from bestmix.experiments.sql.store import SqlStore
from bestmix.experiments.storage import Storage, SystemClock
from soak.crashes import Load
from soak.history import value
from soak.vfs import Operation, Recorder

PROBLEM = Problem(["a", "b"], {"cost": 1.0})
SECTOR = 512  # bytes that a disk writes whole or not at all
NAME = "power"


@dataclass
class Disk:
    """A disk that promises nothing about what was not synced."""

    durable: dict[str, bytearray] = field(default_factory=dict)
    pending: dict[str, list[Operation]] = field(default_factory=dict)

    def do(self, operation: Operation) -> None:
        """Take an operation of SQLite's."""
        what, name, number, _ = operation
        if what == "sync":
            content = self.durable.setdefault(name, bytearray())
            for waiting in self.pending.pop(name, []):
                apply(content, waiting)
        elif what == "delete" and number:
            self.durable.pop(name, None)
            self.pending.pop(name, None)
        elif what != "mark":
            self.pending.setdefault(name, []).append(operation)

    def after_a_cut(self, rng: random.Random) -> dict[str, bytes]:
        """The files as a power cut may leave them: any part of what was not synced may be missing."""
        files = {name: bytearray(content) for name, content in self.durable.items()}
        keep = rng.choice([0.0, 0.5, 0.9, 1.0])
        for name, waiting in self.pending.items():
            content = files.setdefault(name, bytearray())
            for operation in waiting:
                if operation[0] == "delete" and rng.random() < keep:
                    files.pop(name, None)
                    content = bytearray()
                elif rng.random() < keep:
                    apply(content, torn(operation, rng) if rng.random() < 0.2 else operation)
        return {name: bytes(content) for name, content in files.items()}


def apply(content: bytearray, operation: Operation) -> None:
    """Change a file's content."""
    what, _, number, data = operation
    if what == "truncate":
        del content[number:]
    elif what == "write":
        content.extend(bytes(max(number + len(data) - len(content), 0)))
        content[number : number + len(data)] = data


def torn(operation: Operation, rng: random.Random) -> Operation:
    """A write of which only the first sectors got to the disk."""
    what, name, offset, data = operation
    return what, name, offset, data[: SECTOR * rng.randrange(len(data) // SECTOR + 1)]


def record(path: Path, load: Load, careless: bool = False) -> list[Operation]:
    """Everything that an experiment asks of the disk, with what was acknowledged when."""
    with Recorder() as recorder:
        database = Database(parse_url(path))
        if careless:  # to see that the model of the disk finds losses where there are some
            event.listen(database._engine, "connect", lambda c, _: c.execute("PRAGMA synchronous = OFF"))
        storage = Storage(SqlStore(database, SystemClock()), SystemClock())
        experiment = storage.create(NAME, PROBLEM, load.budget, load.strategy, items=load.items)
        while given := experiment.ask(2):
            told = [(t, value(t.token)[0], [value(t.token)[1]]) for t in given]
            experiment.tell_many(told)
            for trial in given:
                recorder.mark(str(trial.token))
        storage.close()
    return recorder.operations


def cut(operations: Sequence[Operation], path: Path, folder: Path, cuts: int, seed: int = 0) -> dict[str, Any]:
    """Cut the power at so many points, chosen at random, and see what is left each time."""
    rng = random.Random(seed)
    points = sorted(rng.sample(range(1, len(operations)), min(cuts, len(operations) - 1)))
    disk, done, problems = Disk(), 0, list[str]()
    most = 0
    for number, point in enumerate(points):
        for operation in operations[done:point]:
            disk.do(operation)
        done = point
        acknowledged = {int(name) for what, name, *_ in operations[:point] if what == "mark"}
        most = max(most, len(acknowledged))
        place = folder / str(number)
        place.mkdir(parents=True)
        for name, content in disk.after_a_cut(rng).items():
            (place / Path(name).name).write_bytes(content)
        problems += [f"cut at {point}: {problem}" for problem in look(place / path.name, acknowledged)]
    return {"cuts": len(points), "operations": len(operations), "acknowledged": most, "problems": problems}


def look(path: Path, acknowledged: set[int]) -> list[str]:
    """What is wrong with a file after a cut."""
    if not acknowledged and (not path.exists() or not path.stat().st_size):
        return []
    try:
        with open_storage(path) as storage:
            if not acknowledged and NAME not in [state.name for state in storage.experiments()]:
                return []
            experiment = storage.open(NAME)
            there = {t.token: (t.reward, *t.costs.values()) for t in experiment.trials("complete") if t.costs}
            problems = [f"trial {n} is lost" for n in acknowledged if there.get(n) != value(n)]
            problems += audit(experiment)
        with sqlite3.connect(path) as connection:
            found = connection.execute("PRAGMA integrity_check").fetchone()[0]
        connection.close()
        return problems + ([] if found == "ok" else [found])
    except Exception as error:  # a damaged file may break anything
        return [f"{type(error).__name__}: {error}"]


def fill_the_disk(path: Path, attempts: int) -> dict[str, Any]:
    """A disk that is full after ever more writes, then has space again: a clear error, nothing damaged."""
    problems, refused = list[str](), 0
    with Recorder() as recorder, open_storage(path) as storage:
        experiment = storage.create(NAME, PROBLEM, 4 * attempts, Uniform())
        for attempt in range(attempts):
            given = experiment.ask(2)
            told = [(t, value(t.token)[0], [value(t.token)[1]]) for t in given]
            before = experiment.state
            recorder.writes_left = 7 * attempt % 40  # a transaction makes about thirty
            try:
                experiment.tell_many(told)
                acknowledged = True
            except StorageError as error:
                acknowledged = False
                if "the disk is full" not in str(error):
                    problems.append(str(error))
            recorder.writes_left = None
            refused += not acknowledged
            if not acknowledged and experiment.state != before:
                problems.append(f"attempt {attempt}: refused, and yet something was written")
            experiment.tell_many(told)
        problems += audit(experiment)
        with sqlite3.connect(path) as connection:
            if connection.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                problems.append("the file is damaged")
        connection.close()
    return {"attempts": attempts, "refused": refused, "problems": problems}
