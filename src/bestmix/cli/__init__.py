"""The bestmix command. A new command is a file next to this one, and a line below."""

import sys
from typing import Annotated

import typer

from bestmix import __version__
from bestmix.cli import (
    common,
    compare,
    demo,
    edge_bench,
    experiment,
    explain,
    export,
    gaps,
    instances,
    limit,
    plan,
    refit,
    report,
    reproduce,
    run,
    serve,
    solve,
    sql,
    storage,
    sweep,
    token,
    tradeoff,
    worker,
)

app = typer.Typer(
    cls=common.Commands,
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.command("solve")(solve.solve)
app.command("sql")(sql.sql)
app.command("run")(run.run)
app.command("export")(export.export)
app.command("refit")(refit.refit)
app.command("plan")(plan.plan)
app.command("tradeoff")(tradeoff.tradeoff)
app.command("explain")(explain.explain)
app.command("gaps")(gaps.gaps)
app.command("limit")(limit.limit)
app.command("instances")(instances.instances)
app.command("compare")(compare.compare)
app.command("sweep")(sweep.sweep)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(experiment.app, name="experiment")
app.command("worker")(worker.worker)
app.command("serve")(serve.serve)
app.command("edge-bench")(edge_bench.edge_bench)
app.add_typer(token.app, name="token")
app.command("report")(report.report)
app.add_typer(storage.app, name="storage")
app.command("doctor")(storage.doctor)


@app.callback()
def bestmix(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Find the best mix of options under average-cost limits, within a fixed number of trials.

    Start with [bold]bestmix demo[/bold].
    """
    if version:
        typer.echo(f"bestmix {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line; once it is interrupted nobody waits for simulated runs that are at work."""
    try:
        app(prog_name="bestmix")
    except SystemExit as end:
        if end.code == common.INTERRUPTED and (executors := sys.modules.get("bestmix.simulation.executors")):
            executors.end_if_at_work(common.INTERRUPTED)
        raise
