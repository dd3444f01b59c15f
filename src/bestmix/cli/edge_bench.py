"""``bestmix edge-bench``: how many live requests an edge serves, on a real experiment of a server."""

import json
import random
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestmix.cli import common

if TYPE_CHECKING:
    from bestmix.client.edge import Edge

UNITS = 10_000  # users who come again
BATCH = 1000  # requests between two looks at the clock, at most


def edge_bench(
    url: Annotated[str, typer.Argument(metavar="URL", help="The server's address.", show_default=False)],
    name: Annotated[str, typer.Argument(metavar="NAME", help="An experiment on live traffic.", show_default=False)],
    seconds: Annotated[float, typer.Option(min=0.1, help="How long.")] = 5.0,
    threads: Annotated[int, typer.Option(min=1, max=1000, help="Threads that serve requests.")] = 1,
    rate: Annotated[
        float | None, typer.Option(min=0.1, help="Requests a second of each thread.", show_default="as many as can be")
    ] = None,
    units: Annotated[bool, typer.Option("--units", help="Requests of users, who keep their arms.")] = False,
    spool: Annotated[
        Path | None, typer.Option(help="Folder for what waits.", show_default="of temporary files")
    ] = None,
    as_json: common.Json = False,
) -> None:
    """Serve made-up requests through an edge, report them, and say how many a second that were.

    Metrics are drawn from uniform distributions, so use an experiment that was made for it.

    Example: [bold]bestmix edge-bench http://127.0.0.1:8765 live --seconds 5[/bold]
    """
    from bestmix.client.edge import Edge
    from bestmix.client.edge_choices import EdgeError

    try:
        with Edge(url, name, spool=spool) as edge:
            told = measure(edge, seconds, threads, rate, units)
    except EdgeError as error:
        raise ValueError(str(error)) from None
    if as_json:
        typer.echo(json.dumps(told, indent=1))
        return
    line = f"{told['requests']:,} requests in {told['seconds']:.1f} s: {told['per_second']:,.0f} a second"
    line += f", {told['per_cpu_second']:,.0f} in a second of the processor; {told['reported']:,} are confirmed"
    line += f", {told['dropped']:,} were refused." if told["dropped"] else "."
    common.output().print(line, markup=False, soft_wrap=True)


def measure(edge: "Edge", seconds: float, threads: int, rate: float | None, units: bool) -> dict[str, Any]:
    """Requests that were served, in how much time, and how many of them the server has confirmed."""
    rows = [{metric: random.random() for metric in edge.metrics} for _ in range(BATCH)]
    segments = [segment or None for segment in edge.weights]
    counts, end = [0] * threads, time.monotonic() + seconds
    crew = [
        threading.Thread(target=_serve, args=(edge, rows, segments, end, rate, units, counts, place))
        for place in range(threads)
    ]
    began, processor = time.perf_counter(), time.process_time()
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    edge.flush()
    wall, used = time.perf_counter() - began, time.process_time() - processor
    total, told = sum(counts), edge.status()
    figures: dict[str, Any] = {"requests": total, "seconds": wall, "per_second": total / wall, "cpu_seconds": used}
    figures |= {"per_cpu_second": total / used}
    return figures | {name: told[name] for name in ("reported", "dropped", "edge")}


def _serve(
    edge: "Edge",
    rows: list[dict[str, float]],
    segments: list[str | None],
    end: float,
    rate: float | None,
    units: bool,
    counts: list[int],
    place: int,
) -> None:
    """Serve requests until the time is over: in batches, between which the clock is looked at."""
    batch = BATCH if rate is None else min(max(1, int(rate / 20)), BATCH)
    choose, record, done = edge.choose, edge.record, 0
    began = time.monotonic()
    while time.monotonic() < end:
        for segment in segments:
            for k in range(batch):
                record(choose(segment, (done + k) % UNITS if units else None), rows[k])
            done += batch
        if rate is not None:
            time.sleep(max(began + done / rate - time.monotonic(), 0.0))
    counts[place] = done
