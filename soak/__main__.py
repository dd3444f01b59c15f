"""``python -m soak [PART ...] [--quick]``: load and faults; prints figures, writes soak/results."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from soak import corruption, crashes, edges, hostile, power, refusals, service, throughput, vfs
from soak.crashes import Load
from soak.postgres import Server

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "soak/results"
Part = Callable[[Path, bool], dict[str, Any]]


def load(quick: bool) -> Load:
    return Load(workers=4, trials=1000, kills=8) if quick else Load()


def crashes_sqlite(folder: Path, quick: bool) -> dict[str, Any]:
    """Workers killed, on SQLite."""
    return crashes.run(f"sqlite:///{folder / 'crashes.db'}", folder / "journals", load(quick))


def crashes_postgres(folder: Path, quick: bool) -> dict[str, Any]:
    """Workers killed, on PostgreSQL."""
    server = Server()
    try:
        return crashes.run(server.url, folder / "journals", load(quick))
    finally:
        server.stop()


def items_sqlite(folder: Path, quick: bool) -> dict[str, Any]:
    """Workers killed, on SQLite, with trials on items: no slot changes its item, and no arm has one twice."""
    some = replace(load(quick), items=load(quick).trials)
    return crashes.run(f"sqlite:///{folder / 'items.db'}", folder / "journals", some)


def items_postgres(folder: Path, quick: bool) -> dict[str, Any]:
    """The same on PostgreSQL, whose server is killed as well."""
    server = Server()

    def outage() -> None:
        server.kill()
        time.sleep(0.3)
        server.start()

    some = replace(load(quick), items=load(quick).trials)
    try:
        return crashes.run(server.url, folder / "journals", some, outage, 2 if quick else 20)
    finally:
        server.stop()


def outages(folder: Path, quick: bool) -> dict[str, Any]:
    """The PostgreSQL server killed under load."""
    server = Server()

    def outage() -> None:
        server.kill()
        time.sleep(0.3)
        server.start()

    some = Load(workers=4, trials=1000, kills=0) if quick else Load(kills=0)
    try:
        return crashes.run(server.url, folder / "journals", some, outage, 2 if quick else 20)
    finally:
        server.stop()


def power_cuts(folder: Path, quick: bool) -> dict[str, Any]:
    """Un-synced writes dropped, on SQLite; and that the check finds losses when nothing is synced."""
    if not vfs.available():
        return {"skipped": "this Python's SQLite cannot be reached from outside"}
    path, careless = folder / "sound" / "a.db", folder / "careless" / "a.db"
    for place in (path, careless):
        place.parent.mkdir()
    cuts, some = 20 if quick else 200, Load(trials=40)
    found = power.cut(power.record(path, some), path, folder / "cuts", cuts)
    control = power.cut(power.record(careless, some, careless=True), careless, folder / "control", cuts)
    if not control["problems"]:
        found["problems"].append("without syncs nothing was lost either: the model of the disk is too kind")
    return found | {"losses without syncs": len(control["problems"])}


def power_with_money(folder: Path, quick: bool) -> dict[str, Any]:
    """The same with a budget of money, with Challenger that plans ahead, and with trials on items."""
    if not vfs.available():
        return {"skipped": "this Python's SQLite cannot be reached from outside"}
    result: dict[str, Any] = {"problems": []}
    kinds = {"money": Load(amount=60.0), "ahead": Load(trials=60, ahead=6), "items": Load(trials=40, items=40)}
    for kind, some in kinds.items():
        path = folder / kind / "a.db"
        path.parent.mkdir()
        found = power.cut(power.record(path, some), path, folder / f"{kind} cuts", 20 if quick else 200)
        result["problems"] += [f"{kind}: {problem}" for problem in found.pop("problems")]
        result[kind] = found
    return result


def crashes_money(folder: Path, quick: bool) -> dict[str, Any]:
    """Workers killed under a hard budget of money, on SQLite."""
    some = Load(trials=400, kills=8, amount=400.0) if quick else Load(trials=4000, kills=200, amount=4000.0)
    return crashes.run(f"sqlite:///{folder / 'money.db'}", folder / "journals", some)


def crashes_ahead(folder: Path, quick: bool) -> dict[str, Any]:
    """Workers killed while Challenger plans ahead, on SQLite."""
    some = Load(trials=400, kills=8, ahead=32) if quick else Load(trials=4000, kills=200, ahead=32)
    return crashes.run(f"sqlite:///{folder / 'ahead.db'}", folder / "journals", some)


def full_disk(folder: Path, quick: bool) -> dict[str, Any]:
    """A disk that is full at every point of a transaction, on SQLite."""
    if not vfs.available():
        return {"skipped": "this Python's SQLite cannot be reached from outside"}
    return power.fill_the_disk(folder / "full.db", 12 if quick else 60)


def corruptions(folder: Path, quick: bool) -> dict[str, Any]:
    """Damaged bytes and rows, on SQLite: the doctor finds them, or they do no harm."""
    return corruption.campaign(folder, 100 if quick else 1000)


def throughput_sqlite(folder: Path, quick: bool) -> dict[str, Any]:
    """Results a second on SQLite, empty and with a million trials."""
    return throughput.compare(*throughput.files(folder, ["empty", "full"]), **_sizes(quick))


def throughput_postgres(folder: Path, quick: bool) -> dict[str, Any]:
    """Results a second on PostgreSQL, empty and with a million trials."""
    server = Server()
    try:
        return throughput.compare(*throughput.databases(server, ["empty", "full_one"]), **_sizes(quick))
    finally:
        server.stop()


def kills_sqlite(folder: Path, quick: bool) -> dict[str, Any]:
    """The HTTP server killed 100 times under 8 workers, on SQLite."""
    return service.kill(f"sqlite:///{folder / 'kills.db'}", folder / "journals", 10 if quick else 100)


def kills_postgres(folder: Path, quick: bool) -> dict[str, Any]:
    """The HTTP server killed 100 times under 8 workers, on PostgreSQL."""
    server = Server()
    try:
        return service.kill(server.url, folder / "journals", 10 if quick else 100)
    finally:
        server.stop()


def edges_sqlite(folder: Path, quick: bool) -> dict[str, Any]:
    """Edges and their server killed at random, on SQLite."""
    return edges.run(f"sqlite:///{folder / 'edges.db'}", folder / "journals", *((15.0, 4) if quick else (180.0, 16)))


def edges_postgres(folder: Path, quick: bool) -> dict[str, Any]:
    """Edges and their server killed at random, on PostgreSQL."""
    server = Server()
    try:
        return edges.run(server.url, folder / "journals", *((15.0, 4) if quick else (180.0, 16)))
    finally:
        server.stop()


def http_load(folder: Path, quick: bool) -> dict[str, Any]:
    """Results a second over HTTP on SQLite with 8 clients; pages of a million trials; memory over ten minutes."""
    if quick:
        return service.load(folder, trials=10_000, seconds=5.0, minutes=0.2)
    return service.load(folder, trials=1_000_000, seconds=10.0, minutes=10.0)


def schema(folder: Path, quick: bool) -> dict[str, Any]:
    """Made-up requests from the OpenAPI document, 500 an operation."""
    return service.fuzz(folder, 20 if quick else 500)


def refused_calls(folder: Path, quick: bool) -> dict[str, Any]:
    """Tells a second of eight clients beside others whose every call is refused, on SQLite."""
    return refusals.compare(folder, 1.0, 1) if quick else refusals.compare(folder, 10.0)


def slow_connections(folder: Path, quick: bool) -> dict[str, Any]:
    """9,500 connections whose heads drip, beside workers."""
    return hostile.connections(folder, 1000 if quick else 9500, 15.0 if quick else 60.0)


def stalled_uploads(folder: Path, quick: bool) -> dict[str, Any]:
    """1,000 uploads that stop before their end, beside workers; then SIGTERM."""
    return hostile.uploads(folder, 100 if quick else 1000)


def ten_tabs(folder: Path, quick: bool) -> dict[str, Any]:
    """Ten tabs of one browser."""
    return hostile.tabs(folder, 10, 10.0 if quick else 60.0)


def revoked_tokens(folder: Path, quick: bool) -> dict[str, Any]:
    """Streams whose tokens are revoked."""
    return hostile.revocation(folder, 10 if quick else 100)


def greedy_reader(folder: Path, quick: bool) -> dict[str, Any]:
    """Sixty reports and every stream for one read token, beside workers."""
    return hostile.starvation(folder, 20 if quick else 60)


def index_checks(folder: Path, quick: bool) -> dict[str, Any]:
    """Kernels in machine code that checks every index, on programs of every size of float."""
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-m", "tests.kernels.extremes", "60" if quick else "2000"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    return {"checks": done.stdout.split(), "problems": [done.stderr[-3000:]] if done.returncode else []}


def _sizes(quick: bool) -> dict[str, Any]:
    return {"trials": 10_000, "workers": 4, "seconds": 2.0, "turns": 1} if quick else {"trials": 1_000_000}


PARTS: dict[str, Part] = {
    "crashes-sqlite": crashes_sqlite,
    "crashes-postgres": crashes_postgres,
    "items-sqlite": items_sqlite,
    "items-postgres": items_postgres,
    "outages-postgres": outages,
    "power": power_cuts,
    "power-money": power_with_money,
    "crashes-money": crashes_money,
    "crashes-ahead": crashes_ahead,
    "disk": full_disk,
    "corruption": corruptions,
    "throughput-sqlite": throughput_sqlite,
    "throughput-postgres": throughput_postgres,
    "refusals": refused_calls,
    "kills-sqlite": kills_sqlite,
    "kills-postgres": kills_postgres,
    "edges-sqlite": edges_sqlite,
    "edges-postgres": edges_postgres,
    "http": http_load,
    "schema": schema,
    "connections": slow_connections,
    "uploads": stalled_uploads,
    "tabs": ten_tabs,
    "revocation": revoked_tokens,
    "starvation": greedy_reader,
    "indices": index_checks,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a smoke run: small sizes")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"expected parts of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}")
    bad = False
    RESULTS.mkdir(exist_ok=True)
    for name in options.parts or PARTS:
        print(f"\n{name}: {(PARTS[name].__doc__ or '').strip()}", flush=True)
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            found = PARTS[name](Path(folder), options.quick)
        found["took s"] = round(time.monotonic() - began, 1)
        for what, figure in found.items():
            print(f"  {what}: {figure}", flush=True)
        (RESULTS / f"{name}.json").write_text(json.dumps({"quick": options.quick, **found}, indent=1) + "\n")
        bad |= bool(found.get("problems"))
    sys.exit(bad)


if __name__ == "__main__":
    main()
