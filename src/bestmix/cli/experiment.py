"""``bestmix experiment``: experiments that are kept in a database, from the shell."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import budgets, common, items, problems, stopping, traffic

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment, Server
    from bestmix.experiments import Experiment, State, Storage

NOTHING_NOW, NOTHING_MORE = 1, 3  # exit codes of ask
PATIENCE = 10.0  # seconds that a command keeps trying: somebody waits for it

app = typer.Typer(no_args_is_help=True, help="Experiments kept in a database, for any number of workers.")

Url = Annotated[
    str,
    typer.Argument(metavar="URL", help="A file, sqlite:///FILE, postgresql://... or http://...", show_default=False),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The experiment's name.", show_default=False)]
TrialId = Annotated[str, typer.Argument(metavar="TRIAL", help="The trial's id, from ask.", show_default=False)]
Reason = Annotated[str, typer.Option(help="Why, for people.", show_default=False)]
TrialState = Annotated[str | None, typer.Option("--state", help="Only trials in this state.", show_default="all")]


def open_named(url: str, name: str, patience: float = PATIENCE) -> "Experiment | RemoteExperiment":
    """The experiment, in a database or behind a server; nothing is created."""
    return open_all(url, patience).open(name)


def open_all(url: str, patience: float = PATIENCE, new: bool = False) -> "Storage | Server":
    """The experiments of a database or a server; a file that is not there is made only if a new one is wanted."""
    if url.startswith(("http://", "https://")):
        from bestmix.client import connect

        return connect(url, patience=patience)
    from bestmix.experiments import open_storage

    if not new:
        check_there(url)
    return open_storage(url, patience=patience)


def check_there(url: str) -> None:
    """Complain about a file that is not there, rather than make an empty one."""
    from bestmix.experiments.sql.database import parse_url

    parsed = parse_url(url)
    if parsed.get_backend_name() == "sqlite" and not Path(parsed.database or "").exists():
        raise ValueError(f"there is no file {parsed.database}; check the URL, or run: bestmix experiment create")


@app.command()
def create(
    url: Url,
    name: Name,
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM", help="Arms, goal and limits (.toml or .json).")],
    budget: budgets.OptionalBudget = None,
    prices: budgets.Prices = None,
    most: budgets.Most = None,
    bound: problems.Bound = None,
    goal: problems.Goal = None,
    limit: problems.Limits = None,
    segments: problems.Segments = None,
    strategy: common.Strategies = common.StrategyName.challenger,
    confidence: stopping.Confidence = None,
    tolerance: stopping.Tolerance = None,
    proven: stopping.Proven = False,
    sigma: stopping.Sigma = None,
    ranges: stopping.Ranges = None,
    margin_share: stopping.MarginShare = None,
    ahead: Annotated[
        int | None,
        typer.Option(
            min=0, help="Slots that a decision does not wait for (Challenger).", show_default="budget/10, at most 32"
        ),
    ] = None,
    lease: Annotated[float, typer.Option(help="Seconds that a worker has for a trial.")] = 60.0,
    failures: Annotated[int, typer.Option(min=1, help="Failed trials that end it.")] = 100,
    notes: Annotated[str, typer.Option(help="Whatever should be remembered.", show_default=False)] = "",
    log: Annotated[Path | None, typer.Option(help="Trials to start from (.csv, .parquet).", show_default=False)] = None,
    arm: Annotated[str, typer.Option(help="Column of the log that names the arm.")] = "arm",
    reward: Annotated[str, typer.Option(help="Column of the log that has the reward.")] = "reward",
    segment: Annotated[
        str | None, typer.Option(help="Column of the log that has the segment.", show_default=False)
    ] = None,
    log_weight: Annotated[float, typer.Option(help="What a result of the log counts, such as 0.5 for an old one.")] = 1,
    log_item: items.LogItem = None,
    item_list: items.ItemList = None,
    shared: items.Shared = True,
    items_seed: items.ItemsSeed = 0,
    explore: traffic.Explore = None,
    serve: traffic.Serve = None,
    round_requests: traffic.RoundRequests = None,
    round_seconds: traffic.RoundSeconds = None,
    carry: traffic.Carry = False,
    as_json: common.Json = False,
) -> None:
    """Create an experiment.

    Bounds and limits are added to those of the problem's file; a goal and segments take the place of its own.

    Example: [bold]bestmix experiment create router.db router problem.toml --budget 2000[/bold]

    Example: [bold]bestmix experiment create router.db router problem.toml --budget '200 dollars' --most 0.5[/bold]

    Example: [bold]bestmix experiment create router.db router problem.toml --budget 2000 --items prompts.txt[/bold]

    Example: [bold]bestmix experiment create router.db live problem.toml --explore 5%[/bold]
    """
    from bestmix.experiments import open_storage

    found = problems.load_problem(problem, bound, limit, goal, segments)
    on = items.load_items(item_list, shared, items_seed)
    terms: dict[str, Any] = {"lease": lease, "failures": failures, "notes": notes, "items": on}
    if log is not None:
        terms |= {"log": log, "arm": arm, "reward": reward, "segment": segment, "log_weight": log_weight}
        terms |= {} if log_item is None else {"item": log_item}
    options = stopping.options(confidence, tolerance, proven, sigma, ranges, margin_share)
    chosen = common.make_strategy(strategy, options if ahead is None else options | {"ahead": ahead})
    live = traffic.settings(explore, serve, round_requests, round_seconds, carry)
    amount = None if budget is None else budgets.parse_budget(budget, prices, most)
    amount, chosen = traffic.in_place_of(live, amount, chosen)
    # What is wrong is said before a file is made.
    with common.missing_values("fill them in, or take these rows out of the log"), open_storage("memory://") as draft:
        draft.create(name, found, amount, chosen, **terms)
    with open_all(url, new=True) as storage:
        report(storage.create(name, found, amount, chosen, **terms), as_json)
    if not as_json and live is None:
        shared = url.startswith(("http", "postgres"))
        where = "any machine" if shared else "this machine, as often as you like"
        trial = "./trial.sh {segment} {arm}" if found.segments else "./trial.sh {arm}"
        trial += "" if on is None else " {item}"
        hint = f"Now run on {where}: bestmix worker {url} {name} --exec '{trial}' -j 4"
        common.messages().print(hint, markup=False, soft_wrap=True)


@app.command("list")
def list_all(url: Url, as_json: common.Json = False) -> None:
    """List the experiments of a database or a server.

    Example: [bold]bestmix experiment list router.db[/bold]
    """
    with open_all(url) as storage:
        states = storage.experiments()
    if as_json:
        typer.echo(json.dumps([state.to_dict() for state in states], indent=1))
        return
    table = Table("name", "status", "round", "trials", "budget", "leased", "created")
    for s in states:
        cells = [s.name, s.status, str(s.round), str(s.complete), _limit(s), str(s.leased), f"{s.created:%F %T}"]
        table.add_row(*map(Text, cells))
    common.output().print(table if states else "There are no experiments yet.")


@app.command()
def show(
    url: Url,
    name: Name,
    figure: common.Figure = None,
    report_file: Annotated[Path | None, typer.Option("--report", help="Save a report (.html).")] = None,
    policy: common.PolicyFile = None,
    safety: common.Safety = "0.95",
    everything: common.Everything = False,
    as_json: common.Json = False,
) -> None:
    """Show where an experiment is, and the best mix as far as it goes.

    Example: [bold]bestmix experiment show router.db router[/bold]
    """
    outputs, wanted = common.Outputs(figure, report_file, policy), common.parse_safety(safety)
    outputs.check()
    experiment = open_named(url, name)
    rec, state = experiment.recommend(wanted, everything), experiment.state
    if as_json:
        outputs.save(rec, name)
        data = {"state": state.to_dict(), "recommendation": rec.to_dict()}
        typer.echo(json.dumps(data, indent=1, allow_nan=False))
        return
    live = experiment.traffic(last=1) if traffic.is_live(experiment) else None
    report(experiment, as_json=False, money=not state.complete)
    if live is not None:
        traffic.show_served(experiment.problem, live)
    if state.complete:
        common.conclude(rec, outputs, name, as_json=False, live=live is not None)


@app.command()
def ask(
    url: Url,
    name: Name,
    n: Annotated[int, typer.Option("-n", min=1, help="The most trials to hand out.")] = 1,
    worker: Annotated[str | None, typer.Option(help="Who asks.", show_default="machine and process")] = None,
    key: Annotated[str | None, typer.Option(help="Asking again with it gets the same trials.")] = None,
    segment: Annotated[
        str | None,
        typer.Option(help="Where users arrive: the segment of the one that the trial is for.", show_default=False),
    ] = None,
    as_json: common.Json = False,
) -> None:
    """Take trials under a lease: a line for each, with id, arm and, where there are any, segment and item, after tabs.

    Exit code 1 means that there is none just now, 3 that there will be no more.

    Example: [bold]bestmix experiment ask router.db router -n 4[/bold]
    """
    given = open_named(url, name).ask(n, worker, key, segment)
    if as_json:
        data = {"trials": [t.to_dict() for t in given], "retry_after": given.retry_after, "why": given.why}
        typer.echo(json.dumps(data, indent=1))
    else:
        from bestmix.checks import visible

        for trial in given:
            places = trial.id, trial.arm, trial.segment, trial.item
            typer.echo("\t".join(visible(str(place), "") for place in places if place is not None))
    if not given:
        if not as_json:
            when = "" if given.retry_after is None else f"; ask again in {given.retry_after:.1f} s"
            common.messages().print(f"No trial: {given.why}{when}.", markup=False)
        raise typer.Exit(NOTHING_MORE if given.retry_after is None else NOTHING_NOW)


@app.command()
def weights(
    url: Url,
    name: Name,
    segment: Annotated[str | None, typer.Option(help="Only those of this segment.", show_default=False)] = None,
    as_json: common.Json = False,
) -> None:
    """Show what the requests of live traffic follow now.

    Example: [bold]bestmix experiment weights router.db live[/bold]
    """
    traffic.show_weights(open_named(url, name), segment, as_json)


@app.command("tell-sums")
def tell_sums(
    url: Url,
    name: Name,
    key: Annotated[str, typer.Option(help="Who reports, and the number of the report: web-1:12.", show_default=False)],
    file: Annotated[str, typer.Option(help="Rows as lines of JSON; - is standard input.")] = "-",
    as_json: common.Json = False,
) -> None:
    """Report requests of live traffic as sums; a report is counted once, however often it is sent.

    A line is {"version": 3, "arm": "small", "n": 2, "sums": {"quality": 1.0}, "products": {"quality*quality": 1.0}},
    with the segment where there are any.

    Example: [bold]bestmix experiment tell-sums router.db live --key web-1:12 --file sums.jsonl[/bold]
    """
    outcome = open_named(url, name).tell_sums(traffic.read_rows(file), key)
    typer.echo(json.dumps(outcome.value) if as_json else outcome.value)


@app.command()
def tell(
    url: Url,
    name: Name,
    trial: Annotated[str | None, typer.Argument(metavar="TRIAL", help="The trial's id.", show_default=False)] = None,
    reward: Annotated[float | None, typer.Option(help="Its reward.", show_default=False)] = None,
    cost: Annotated[list[str] | None, typer.Option(metavar="NAME=NUMBER", help="A cost; repeat it.")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="Or every metric by name; repeat it.", show_default=False),
    ] = None,
    file: Annotated[str | None, typer.Option(help="Or many, as lines of JSON; - is standard input.")] = None,
    as_json: common.Json = False,
) -> None:
    """Report results; when the command ends well they are safely on disk.

    A line of a file is {"trial": "...", "reward": 0.7, "costs": {"dollars": 0.1}}, or
    {"trial": "...", "metrics": {"quality": 0.7, "dollars": 0.1}}; all lines are taken, or none.

    Example: [bold]bestmix experiment tell router.db router 8c1f0a2b3d4e-17 --reward 0.7 --cost dollars=0.1[/bold]

    Example: [bold]bestmix experiment tell router.db router 8c1f0a2b3d4e-17 --metric quality=0.7[/bold]
    """
    if (trial is None) == (file is None) or (trial is not None and (reward is None) == (not metric)):
        raise ValueError(
            "tell: expected a trial with --reward and its --cost, or with --metric, or --file; give one of them"
        )
    if metric and cost:
        raise ValueError("--cost: expected none beside --metric, got one; write --metric for it")
    results = read_lines(file) if file is not None else [(trial, *result_of(reward, cost, metric))]
    outcomes = open_named(url, name).tell_many(results)
    if as_json:
        typer.echo(json.dumps([outcome.value for outcome in outcomes]))
        return
    for outcome in dict.fromkeys(outcomes):
        typer.echo(f"{outcomes.count(outcome)} {outcome.value}")


def result_of(reward: float | None, cost: list[str] | None, metric: list[str] | None) -> tuple[Any, Any]:
    """The reward and the costs, or the metrics, that options give.

    >>> result_of(0.7, ["dollars=0.1"], None), result_of(None, None, ["quality=1"])
    ((0.7, {'dollars': 0.1}), ({'quality': 1.0}, None))
    """
    if metric:
        return common.parse_bounds(metric, "--metric", "quality=1"), None
    return reward, common.parse_bounds(cost or [], "--cost")


def read_lines(file: str) -> list[tuple[Any, Any, Any]]:
    """Results from lines of JSON."""
    from bestmix import checks

    text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    results = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            told = (data["metrics"], None) if "metrics" in data else (data["reward"], data.get("costs", {}))
            results.append((data["trial"], *told))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(
                f"--file: expected JSON with trial, and reward and costs or metrics, in line {number}, "
                f"got {checks.shown(line)}"
            ) from None
    return results


@app.command()
def fail(url: Url, name: Name, trial: TrialId, reason: Reason = "", as_json: common.Json = False) -> None:
    """Report that a trial gave no result, so that it is handed out again.

    Example: [bold]bestmix experiment fail router.db router 8c1f0a2b3d4e-17 --reason 'no network'[/bold]
    """
    experiment = open_named(url, name)
    experiment.tell_failed(trial, reason)
    report(experiment, as_json)


@app.command()
def renew(url: Url, name: Name, trial: TrialId, as_json: common.Json = False) -> None:
    """Start a trial's lease anew.

    Example: [bold]bestmix experiment renew router.db router 8c1f0a2b3d4e-17[/bold]
    """
    renewed = open_named(url, name).renew(trial)[0]
    typer.echo(json.dumps(renewed.to_dict(), indent=1) if as_json else f"leased until {renewed.deadline:%F %T} UTC")


@app.command()
def pause(url: Url, name: Name, as_json: common.Json = False) -> None:
    """Hand out no more trials for now; results are still taken.

    Example: [bold]bestmix experiment pause router.db router[/bold]
    """
    experiment = open_named(url, name)
    experiment.pause()
    report(experiment, as_json)


@app.command()
def resume(url: Url, name: Name, as_json: common.Json = False) -> None:
    """Go on after a pause or after too many failures.

    Example: [bold]bestmix experiment resume router.db router[/bold]
    """
    experiment = open_named(url, name)
    experiment.resume()
    report(experiment, as_json)


@app.command()
def stop(url: Url, name: Name, reason: Reason = "", as_json: common.Json = False) -> None:
    """End an experiment early, for good, with the best answer so far.

    Example: [bold]bestmix experiment stop router.db router --reason 'good enough'[/bold]
    """
    experiment = open_named(url, name)
    rec = experiment.stop(reason)
    if not as_json:
        report(experiment, as_json)
    common.conclude(rec, common.Outputs(), name, as_json, live=traffic.is_live(experiment))


@app.command()
def change(
    url: Url,
    name: Name,
    bound: Annotated[
        list[str] | None, typer.Option("--bound", metavar="COST=B", help="A new bound of a cost.", show_default=False)
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            "--limit", help="A limit from now on, such as 'quality >= 0.9'; they replace all.", show_default=False
        ),
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option("--arm", help="An arm that comes new, or back.", show_default=False)
    ] = None,
    retire: Annotated[
        list[str] | None, typer.Option("--retire", help="An arm that is no longer tried.", show_default=False)
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="TRIALS|AMOUNT",
            help="The new total, larger or smaller, as 4000 or '300 dollars'.",
            show_default=False,
        ),
    ] = None,
    prices: Annotated[
        list[str] | None,
        typer.Option(
            "--price",
            metavar="ARM=AMOUNT",
            help="What a trial of an arm that comes new costs, where the budget is money and prices are known.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option(
            "--most",
            metavar="ARM=AMOUNT",
            help="The most that a trial of an arm that comes new can cost, where that is given by arm.",
            show_default=False,
        ),
    ] = None,
    as_json: common.Json = False,
) -> None:
    """Change what is asked while it runs: bounds, limits, arms or the budget. No trial is lost.

    Example: [bold]bestmix experiment change router.db router --bound dollars=4 --arm tiny --retire large[/bold]

    Example: [bold]bestmix experiment change router.db router --budget '3 dollars' --arm tiny --price tiny=0.001[/bold]
    """
    experiment = open_named(url, name)
    arms = None
    if arm or retire:
        present = experiment.current().arms
        strange = [name for name in retire or [] if name not in present]
        if strange:
            raise ValueError(f"--retire: expected one of {', '.join(present)}, got {strange[0]!r}; check the spelling")
        arms = [*(a for a in present if a not in (retire or [])), *(a for a in arm or [] if a not in present)]
    total = None if budget is None else budgets.parse_total(budget)
    known = common.parse_bounds(prices or [], "--price", "small=0.01") or None
    bounds = common.parse_bounds(bound or []) or None
    open_before = experiment.state.open
    experiment.change(bounds, limit, arms, total, known, budgets.parse_most(most))
    report(experiment, as_json)
    if open_before and experiment.state.status == "done":
        common.messages().print(
            "The experiment is over with that: all trials of the new total are made. A larger one goes on."
        )


@app.command()
def extend(
    url: Url,
    name: Name,
    budget: Annotated[
        str,
        typer.Option(metavar="TRIALS|AMOUNT", help="The new total, as 4000 or '300 dollars'.", show_default=False),
    ],
    as_json: common.Json = False,
) -> None:
    """Raise the budget, where the strategy allows it.

    Example: [bold]bestmix experiment extend router.db router --budget 4000[/bold]
    """
    experiment = open_named(url, name)
    experiment.extend(budgets.parse_total(budget))
    report(experiment, as_json)


@app.command()
def rename(
    url: Url,
    name: Name,
    new: Annotated[str, typer.Argument(help="Its new name.", show_default=False)],
    as_json: common.Json = False,
) -> None:
    """Give an experiment another name.

    Example: [bold]bestmix experiment rename router.db router 'router, May'[/bold]
    """
    experiment = open_named(url, name)
    experiment.rename(new)
    report(experiment, as_json)


@app.command()
def notes(
    url: Url,
    name: Name,
    text: Annotated[str | None, typer.Argument(help="The new notes.", show_default="show them")] = None,
    as_json: common.Json = False,
) -> None:
    """Show or replace an experiment's notes.

    Example: [bold]bestmix experiment notes router.db router 'second week, new prices'[/bold]
    """
    from bestmix.checks import visible

    experiment = open_named(url, name)
    if text is not None:
        experiment.notes = text
    typer.echo(json.dumps(experiment.notes) if as_json else visible(experiment.notes, "\n\t"))


@app.command()
def delete(
    url: Url,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: common.Json = False,
) -> None:
    """Remove an experiment with all of its trials.

    Example: [bold]bestmix experiment delete router.db router --yes[/bold]
    """
    experiment = open_named(url, name)
    count = experiment.state.complete
    if not yes and not typer.confirm(f"Delete {name!r} with its {count} results?", err=True):
        raise typer.Exit(1)
    experiment.delete()
    typer.echo(json.dumps({"deleted": name, "results": count}) if as_json else f"Deleted {name}.")


@app.command()
def export(
    url: Url,
    name: Name,
    path: Annotated[Path, typer.Argument(help="Where to (.csv, .parquet or .json).", show_default=False)],
    state: TrialState = None,
    spreadsheet: Annotated[
        bool, typer.Option("--spreadsheet", help="CSV: keep spreadsheets from taking text for formulas.")
    ] = False,
    as_json: common.Json = False,
) -> None:
    """Write the trials to a .csv or .parquet file, or everything to a .json file.

    Example: [bold]bestmix experiment export router.db router trials.csv --state complete[/bold]
    """
    saved = open_named(url, name).export(path, state, spreadsheet)
    typer.echo(json.dumps({"saved": str(saved)}) if as_json else f"Saved {saved}")


@app.command()
def trials(
    url: Url,
    name: Name,
    state: TrialState = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    after: Annotated[str | None, typer.Option(help="Those after this trial.", show_default=False)] = None,
    as_json: common.Json = False,
) -> None:
    """List trials in the order in which they were handed out.

    Example: [bold]bestmix experiment trials router.db router --state leased[/bold]
    """
    from bestmix.checks import shown

    experiment = open_named(url, name)
    found = experiment.trials(state, after=after, limit=limit)
    if as_json:
        typer.echo(json.dumps([trial.to_dict() for trial in found], indent=1))
        return
    segment = ["segment"] if experiment.problem.segments else []
    item = ["item"] if experiment.record.items is not None else []
    table = Table()
    for head in ["id", "arm", *segment, *item, "round", "state", "worker", *experiment.problem.metrics]:
        table.add_column(Text(head))
    for t in found:
        metrics = [] if t.reward is None else [t.reward, *(t.costs or {}).values()]
        where = [*([t.segment or ""] if segment else []), *(["" if t.item is None else shown(t.item)] if item else [])]
        table.add_row(
            *map(Text, [t.id, t.arm, *where, str(t.round), t.state, t.worker, *(f"{m:.4g}" for m in metrics)])
        )
    common.output().print(table)


def _limit(state: "State") -> str:
    """The budget, where it is a number of trials."""
    return "" if state.unlimited else str(state.budget)


def report(experiment: "Experiment | RemoteExperiment", as_json: bool, money: bool = True) -> None:
    """Where an experiment is, in a line or as JSON; with what is spent, where its budget is one of money."""
    state = experiment.state
    if as_json:
        typer.echo(json.dumps(state.to_dict(), indent=1))
        return
    parts = [f"{state.complete:,} of {state.budget:,} trials", f"{state.leased:,} leased"]
    if state.unlimited:
        made = f"{state.complete:,} {'requests' if traffic.is_live(experiment) else 'trials'}"
        parts = [made, *([f"{state.leased:,} leased"] if state.leased else [])]
    if money and state.unlimited and not traffic.is_live(experiment) and (account := experiment.account) is not None:
        parts.append(str(account))
    beside = (state.extra, "beside the plan"), (state.surplus, "left out"), (state.discounted, "of the log discounted")
    parts += [f"{n:,} {what}" for n, what in ((state.failed, "failed"), *beside) if n]
    where = f"round {state.round}, " if state.open else ""
    reason = f" ({state.reason})" if state.reason else ""
    line = f"{state.name}: {state.status}{reason}, {where}{', '.join(parts)}."
    common.output().print(Text(line, style="bold"), soft_wrap=True)
    for change in state.changes:
        common.output().print(Text(f"Changed in round {change['round']}: {change['text']}."), soft_wrap=True)
    if state.notes:
        common.output().print(Text(state.notes))
