"""One edge process of the soak: ``python -m soak.edge URL NAME SPOOL JOURNAL RATE``; SIGTERM ends it well."""

import signal
import sys
import threading
import time
from pathlib import Path

from bestmix.client.edge import Edge

METRICS = {"small": {"quality": 1.0, "dollars": 0.25}, "large": {"quality": 3.0, "dollars": 1.5}}
BATCH = 20  # requests of which the journal is told at once


def main(url: str, name: str, spool: str, journal: str, rate: float) -> None:
    """Serve requests; before each batch the journal is told how many there will have been after it."""
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    with Edge(url, name, spool=spool, patience=60.0) as edge, Path(journal).open("w", buffering=1) as lines:
        lines.write(f"edge {edge.status()['edge']}\n")
        total, began = 0, time.monotonic()
        while not over.is_set():
            total += BATCH
            lines.write(f"{time.monotonic()} {total}\n")
            for _ in range(BATCH):
                choice = edge.choose()
                edge.record(choice, METRICS[choice.arm])
            over.wait(max(began + total / rate - time.monotonic(), 0.0))
        lines.write(f"end {total}\n")


if __name__ == "__main__":
    main(*sys.argv[1:5], float(sys.argv[5]))
