"""One worker process of the soak: ``python -m soak.worker URL NAME WORKER FOLDER [BATCH]``."""

import random
import sys
import time
from pathlib import Path
from typing import Any

from bestmix.client import connect
from bestmix.experiments import open_storage
from soak.history import Journal, value


def opened(url: str) -> Any:
    """Experiments in a database, or behind a server whose token is in the variable BESTMIX_TOKEN."""
    return connect(url, patience=120.0) if url.startswith("http") else open_storage(url, patience=120.0)


def main(url: str, name: str, worker: str, folder: str, batch: int = 4) -> None:
    """Ask, take a moment, tell, and write down every answer, until the experiment is done."""
    journal = Journal(Path(folder), worker)
    rng = random.Random(worker)
    with opened(url) as storage:
        experiment = storage.open(name)
        journal.write("ready", worker=worker)
        while not experiment.done:
            given = experiment.ask(rng.randint(1, batch), worker=worker)
            if not given:
                time.sleep(min(given.retry_after or 0.05, 0.05))
                continue
            items = {"items": [t.item for t in given]} if experiment.record.items is not None else {}
            journal.write("asked", worker=worker, trials=[t.token for t in given], **items)
            if rng.random() < 0.02:
                experiment.tell_failed(given.pop(), "a failure now and then")
            told = [(t, value(t.token)[0], [value(t.token)[1]]) for t in given]
            rng.shuffle(told)
            if rng.random() < 0.02:
                time.sleep(3.0 * rng.random())  # some dawdle beyond their lease
            outcomes = [experiment.tell(*told[0])] if len(told) == 1 else experiment.tell_many(told)
            journal.write("told", trials=[t.token for t, *_ in told], outcomes=outcomes)


if __name__ == "__main__":
    main(*sys.argv[1:5], *map(int, sys.argv[5:]))
