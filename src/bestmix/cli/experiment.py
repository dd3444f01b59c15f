"""``bestmix experiment``: experiments that are kept in a database, from the shell."""

import json
import shlex
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import budgets, common, experiment_trials, items, problems, stopping, traffic
from bestmix.cli.experiment_state import show_state
from bestmix.cli.opening import Name, Reason, Url, open_all, open_named

if TYPE_CHECKING:
    from bestmix.experiments import State


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
        show_state(storage.create(name, found, amount, chosen, **terms), as_json)
    if not as_json and live is None:
        shared = url.startswith(("http", "postgres"))
        where = "any machine" if shared else "this machine, as often as you like"
        trial = "./trial.sh {segment} {arm}" if found.segments else "./trial.sh {arm}"
        trial += "" if on is None else " {item}"
        hint = f"Now run on {where}: bestmix worker {shlex.join([url, name])} --exec '{trial}' -j 4"
        common.messages().print(hint, markup=False, soft_wrap=True)


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
    show_state(experiment, as_json=False, money=not state.complete)
    if live is not None:
        traffic.show_served(experiment.problem, live)
    if state.complete:
        common.conclude(rec, outputs, name, as_json=False, live=live is not None)


def pause(url: Url, name: Name, as_json: common.Json = False) -> None:
    """Hand out no more trials for now; results are still taken.

    Example: [bold]bestmix experiment pause router.db router[/bold]
    """
    experiment = open_named(url, name)
    experiment.pause()
    show_state(experiment, as_json)


def resume(url: Url, name: Name, as_json: common.Json = False) -> None:
    """Go on after a pause or after too many failures.

    Example: [bold]bestmix experiment resume router.db router[/bold]
    """
    experiment = open_named(url, name)
    experiment.resume()
    show_state(experiment, as_json)


def stop(url: Url, name: Name, reason: Reason = "", as_json: common.Json = False) -> None:
    """End an experiment early, for good, with the best answer so far.

    Example: [bold]bestmix experiment stop router.db router --reason 'good enough'[/bold]
    """
    experiment = open_named(url, name)
    rec = experiment.stop(reason)
    if not as_json:
        show_state(experiment, as_json)
    common.conclude(rec, common.Outputs(), name, as_json, live=traffic.is_live(experiment))


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
    feature: Annotated[
        list[str] | None,
        typer.Option(
            "--feature",
            metavar="ARM:NAME=VALUE,...",
            help="What an arm that comes new is made of, where arms have features.",
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
    bounds, current = common.parse_bounds(bound or []), experiment.current() if arm or retire or bound else None
    if current is not None:
        remedy = "check the spelling, and change limits of other kinds by --limit"
        _check_named("--bound", bounds, current.to_dict()["bounds"], remedy)
    arms = None
    if current is not None and (arm or retire):
        present = current.arms
        _check_named("--retire", retire or [], present, "check the spelling")
        arms = [*(a for a in present if a not in (retire or [])), *(a for a in arm or [] if a not in present)]
    total = None if budget is None else budgets.parse_total(budget)
    known = common.parse_bounds(prices or [], "--price", "small=0.01") or None
    open_before = experiment.state.open
    features = problems.parse_features(feature, arm or []) if feature else None
    experiment.change(bounds or None, limit, arms, total, known, budgets.parse_most(most), features)
    show_state(experiment, as_json)
    if open_before and experiment.state.status == "done":
        common.messages().print(
            "The experiment is over with that: all trials of the new total are made. A larger one goes on."
        )


def _check_named(option: str, given: Iterable[str], present: Collection[str], remedy: str) -> None:
    """Refuse what the experiment does not have, in the words of the shell."""
    for name in given:
        if name not in present:
            these = f"one of {', '.join(present)}" if present else "none"
            raise ValueError(f"{option}: expected {these}, got {name!r}; {remedy}")


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
    show_state(experiment, as_json)


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
    show_state(experiment, as_json)


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


def _limit(state: "State") -> str:
    """The budget: a number of trials, else an amount that the experiment itself tells."""
    return "in money, or none" if state.unlimited else str(state.budget)


app = typer.Typer(no_args_is_help=True, help="Experiments kept in a database, for any number of workers.")
app.command("create")(create)
app.command("list")(list_all)
app.command("show")(show)
app.command("ask")(experiment_trials.ask)
app.command("weights")(traffic.weights)
app.command("tell-sums")(traffic.tell_sums)
app.command("tell")(experiment_trials.tell)
app.command("fail")(experiment_trials.fail)
app.command("renew")(experiment_trials.renew)
app.command("pause")(pause)
app.command("resume")(resume)
app.command("stop")(stop)
app.command("change")(change)
app.command("extend")(extend)
app.command("rename")(rename)
app.command("notes")(notes)
app.command("delete")(delete)
app.command("export")(experiment_trials.export)
app.command("trials")(experiment_trials.trials)
