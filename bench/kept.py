"""Results of blocks of runs that are kept as they come: what was interrupted goes on where it was."""

import hashlib
import json
import os
from collections.abc import Callable

from bench.timing import RESULTS

Counts = dict[str, float]


def kept(part: str, key: str, make: Callable[[], Counts]) -> Counts:
    """Counts of a block of runs, from the file of the part or made now."""
    path = RESULTS / f"{part}.jsonl"
    found = stored(path.read_text() if path.exists() else "")
    if key not in found:
        found[key] = make()
        RESULTS.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps([key, found[key]]) + os.linesep)
    return found[key]


def stored(text: str) -> dict[str, Counts]:
    return dict(json.loads(line) for line in text.splitlines() if line.endswith("]"))


def mark(outcome: object) -> str:
    """What tells a rule from another one: its outcomes."""
    return hashlib.sha256(json.dumps(outcome).encode()).hexdigest()[:8]
