"""The API's calls on experiments: create, list, read, ask, tell, and what came of it."""

import os
import pathlib
import tempfile
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, JSONResponse, Response

from bestmix import checks
from bestmix.experiments import Experiment, State, TrialState, open_experiment
from bestmix.experiments.export import export
from bestmix.problems.items import Items
from bestmix.problems.problem import Problem
from bestmix.problems.spend import as_budget
from bestmix.service import schemas
from bestmix.service.access import ADMIN, ADMIN_ALL, NOTES, READ, READ_SLOW, RESULT, TRIALS, WORK
from bestmix.service.bodies import GuardedRoute
from bestmix.service.errors import Refusal, documented
from bestmix.service.tokens import Token
from bestmix.strategies.built_in import restore_strategy
from bestmix.strategies.challenger import NEWEST

PAGE = 1000  # entries of the longest page
KINDS = {"csv": "text/csv; charset=utf-8", "json": "application/json", "parquet": "application/vnd.apache.parquet"}

router = APIRouter(route_class=GuardedRoute, prefix="/v1/experiments", tags=["experiments"])
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]
After = Annotated[int, Query(ge=0, le=2**62)]
Limit = Annotated[int, Query(ge=1, le=PAGE)]
Safety = Annotated[
    str, Query(max_length=20, description="How certain the mix must keep all limits, 0.5 to below 1; or none.")
]


async def current(
    request: Request, experiment: Annotated[str, Path(description="The experiment's id, or its name.")]
) -> Experiment:
    """The experiment that the rule found and allowed; its place in the path is for the document."""
    found: Experiment = request.state.experiment
    return found


Current = Annotated[Experiment, Depends(current)]
ONE = documented("not_found", "invalid")
CALL = documented("not_found", "invalid", "conflict", "too_large")


def figures(state: State, key: str) -> dict[str, Any]:
    """Figures with the id that stays when the name changes."""
    return {"id": key, **state.to_dict()}


def described(experiment: Experiment) -> dict[str, Any]:
    """All that is known without the trials."""
    state = experiment.state
    now = replace(experiment.record, name=state.name, problem=experiment.current().to_dict())
    return figures(state, experiment.record.key) | now.to_dict()


@router.post(
    "",
    status_code=201,
    response_model=schemas.Experiment,
    responses=documented("invalid", "conflict", "too_large")
    | {200: {"model": schemas.Experiment, "description": "It was there already, just as described."}},
    dependencies=[Depends(ADMIN_ALL.taking(None))],
)
def create(body: schemas.Create, request: Request) -> Response:
    """Create an experiment; one that is there already with the same terms is left as it is (200)."""
    storage, opened = request.app.state.storage, request.app.state.experiments
    problem = _parse("problem", lambda: Problem.from_dict(body.problem))
    told = body.strategy
    strategy = None if told is None else _parse("strategy", lambda: restore_strategy(told, edition=NEWEST))
    budget = _parse("budget", lambda: as_budget(body.budget))
    items = None if body.items is None else _parse("items", lambda: Items(body.items, body.shared, body.items_seed))
    before = storage.store.find(body.name)
    try:
        terms: dict[str, Any] = {"lease": body.lease, "failures": body.failures, "notes": body.notes, "items": items}
        if body.log is not None:
            terms |= {"log": body.log, "log_weight": body.log_weight, "segment": _column(problem)}
            terms |= {"item": "item"} if "item" in body.log and "item" not in problem.metrics else {}
        made = open_experiment(storage, body.name, problem, budget, strategy, **terms)
    except checks.AlreadyExists as error:
        raise Refusal("conflict", f"name: there is an experiment of that name already: {error}", "name") from None
    found = opened.keep(made)
    status = 201 if before is None or before.key != made.record.key else 200
    return JSONResponse(described(found), status, {"Location": f"/v1/experiments/{made.record.key}"})


def _column(problem: Problem) -> str | None:
    """The log's column of segments."""
    return "segment" if problem.segments else None


def _parse(field: str, make: Any) -> Any:
    """A value made from plain data of a user, whatever is wrong with it."""
    try:
        return make()
    except ValueError as error:
        raise Refusal("invalid", str(error), field) from None
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        reason = checks.shown(str(error))
        message = f"{field}: expected the data that to_dict() makes ({reason}); check it"
        raise Refusal("invalid", message, field) from None


@router.get("", response_model=schemas.Experiments, responses=documented("invalid"), dependencies=[Depends(READ)])
def list_all(
    request: Request, after: str = "", limit: Limit = 100, name: Annotated[str | None, Query()] = None
) -> Response:
    """Experiments in the order of their names; or the one of a name, if there is it."""
    token: Token = request.scope["bestmix.token"]
    store = request.app.state.storage.store
    if name is not None:
        record = None if "\x00" in name else store.find(name)
        entries = [] if record is None else [(record, store.state(record.key))]
    else:
        entries = store.entries(after.replace("\x00", ""), None if token.experiment else limit)
    shown = [figures(state, record.key) for record, state in entries if token.experiment in (None, record.key)]
    more = shown[-1]["name"] if name is None and len(entries) == limit and shown else None
    return JSONResponse({"experiments": shown[:limit], "next": more})


@router.get("/{experiment}", response_model=schemas.Experiment, responses=ONE, dependencies=[Depends(READ)])
def read(experiment: Current) -> Response:
    """Figures, problem and strategy."""
    return JSONResponse(described(experiment))


@router.get("/{experiment}/items", response_model=schemas.Items, responses=ONE, dependencies=[Depends(READ)])
def items(experiment: Current) -> Response:
    """What trials are made on, in the order in which it was given; all is null where they are made on no items."""
    found = experiment.items
    return JSONResponse({"given": None, "shared": None, "seed": None} if found is None else found.to_dict())


@router.post("/{experiment}/ask", response_model=schemas.Handout, responses=CALL, dependencies=[Depends(WORK)])
def ask(experiment: Current, body: schemas.Ask, key: Key = None) -> Response:
    """Hand out up to n trials under a lease; with an idempotency key the same ones when asked again."""
    given = experiment.ask(body.n, body.worker, body.key or key, body.segment)
    return JSONResponse(given.to_dict())


@router.post(
    "/{experiment}/tell", response_model=schemas.OneOutcome, responses=CALL, dependencies=[Depends(WORK.taking(RESULT))]
)
def tell(experiment: Current, body: schemas.Tell) -> Response:
    """Report a result; the answer means that it is safely on disk. The same again changes nothing."""
    return JSONResponse({"outcome": experiment.tell(*body.result())})


@router.post(
    "/{experiment}/tell_many",
    response_model=schemas.Outcomes,
    responses=CALL,
    dependencies=[Depends(WORK.taking(None))],
)
def tell_many(experiment: Current, body: schemas.TellMany) -> Response:
    """Report several results, all of them or none."""
    outcomes = experiment.tell_many([r.result(f"results.{place}.") for place, r in enumerate(body.results)])
    return JSONResponse({"outcomes": outcomes})


@router.post(
    "/{experiment}/fail", response_model=schemas.State, responses=CALL, dependencies=[Depends(WORK.taking(NOTES))]
)
def fail(experiment: Current, body: schemas.Fail) -> Response:
    """Report that a trial gave no result, so that it is handed out again."""
    experiment.tell_failed(body.trial, body.reason)
    return JSONResponse(figures(experiment.state, experiment.record.key))


@router.post(
    "/{experiment}/renew", response_model=schemas.TrialPage, responses=CALL, dependencies=[Depends(WORK.taking(TRIALS))]
)
def renew(experiment: Current, body: schemas.Trials) -> Response:
    """Start leases anew, all of them or none."""
    renewed = experiment.renew(*body.trials)
    return JSONResponse({"trials": [trial.to_dict() for trial in renewed], "next": None})


@router.post(
    "/{experiment}/give_back", response_model=schemas.State, responses=CALL, dependencies=[Depends(WORK.taking(TRIALS))]
)
def give_back(experiment: Current, body: schemas.Trials) -> Response:
    """End leases at once, without counting a failure."""
    experiment.give_back(*body.trials)
    return JSONResponse(figures(experiment.state, experiment.record.key))


@router.get(
    "/{experiment}/recommendation",
    response_model=schemas.Recommendation,
    responses=ONE,
    dependencies=[Depends(READ_SLOW)],
)
def recommendation(experiment: Current, safety: Safety = "0.95", everything: bool = False) -> Response:
    """The best mix as far as the trials tell, with the wanted certainty that it keeps all limits.

    With ``everything`` results count as well that the strategy's schedule has no place for.
    """
    data = experiment.recommend(checks.safety(safety), everything).to_dict()
    del data["history"]
    return JSONResponse(data)


@router.get("/{experiment}/snapshot", response_model=schemas.Snapshot, responses=ONE, dependencies=[Depends(READ_SLOW)])
def snapshot(experiment: Current, safety: Safety = "0.95") -> Response:
    """Figures, answer and rounds of one moment: what a report is made of."""
    now = experiment.snapshot(checks.safety(safety))
    return JSONResponse({**now.to_dict(), "state": figures(now.state, experiment.record.key)})


@router.get(
    "/{experiment}/policy",
    response_model=schemas.Policy,
    responses=documented("not_found", "invalid", "closed"),
    dependencies=[Depends(READ_SLOW)],
)
def policy(experiment: Current, safety: Safety = "0.95") -> Response:
    """The weights to deploy, with the wanted certainty that they keep all limits."""
    found = experiment.recommend(checks.safety(safety))
    if not found.mixture:
        raise Refusal("closed", "policy: no arm has been tried yet, so there are no weights; tell some results first")
    return JSONResponse(found.policy().to_dict())


@router.get("/{experiment}/history", response_model=schemas.Rounds, responses=ONE, dependencies=[Depends(READ_SLOW)])
def history(experiment: Current, after: After = 0, limit: Limit = 100) -> Response:
    """The rounds that are over: trials, scores, who was rejected, and the mixture after each."""
    run = experiment.run_state()
    pairs = zip(run.rounds, run.mixtures, strict=True)
    wanted = [r.to_dict() | {"mixture": mixture} for r, mixture in pairs if r.number > after]
    more = wanted[limit - 1]["number"] if len(wanted) > limit else None
    return JSONResponse({"rounds": wanted[:limit], "next": more})


@router.get("/{experiment}/trials", response_model=schemas.TrialPage, responses=ONE, dependencies=[Depends(READ)])
def trials(
    experiment: Current,
    state: TrialState | None = None,
    arm: str | None = None,
    worker: str | None = None,
    after: str | None = None,
    limit: Limit = 100,
    newest_first: bool = False,
    segment: str | None = None,
) -> Response:
    """A page of trials in the order in which they were handed out, or the newest first; an arm is one of a segment."""
    worker = None if worker is None else worker.replace("\x00", "")
    page = experiment.trials(state, arm, worker, after, limit, newest_first, segment)
    more = page[-1].id if len(page) == limit else None
    return JSONResponse({"trials": [trial.to_dict() for trial in page], "next": more})


@router.get("/{experiment}/trials/{trial}", response_model=schemas.Trial, responses=ONE, dependencies=[Depends(READ)])
def trial(experiment: Current, trial: str) -> Response:
    """One trial as it is now."""
    return JSONResponse(experiment.trial(trial).to_dict())


@router.get("/{experiment}/events", response_model=schemas.Events, responses=ONE, dependencies=[Depends(READ)])
def events(experiment: Current, after: After = 0, limit: Limit = 100) -> Response:
    """What happened, in order."""
    page = experiment.events(after, limit)
    more = page[-1].number if len(page) == limit else None
    return JSONResponse({"events": [event.to_dict() for event in page], "next": more})


@router.get(
    "/{experiment}/export/{kind}",
    response_class=Response,
    responses=ONE | {200: {"description": "The file.", "content": {kind: {} for kind in KINDS.values()}}},
    dependencies=[Depends(READ_SLOW)],
)
def exported(experiment: Current, kind: str, state: TrialState | None = None, spreadsheet: bool = False) -> Response:
    """The trials as csv or parquet, or everything as json; a csv for spreadsheets has no text that is a formula."""
    if kind not in KINDS:
        raise Refusal("not_found", f"kind: expected {', '.join(KINDS)}; choose one of them", "kind")
    handle, name = tempfile.mkstemp(suffix=f".{kind}", prefix="bestmix-")
    os.close(handle)
    try:
        export(experiment, pathlib.Path(name), state, spreadsheet)
    except BaseException:
        os.unlink(name)
        raise
    saved = f"{experiment.record.key}.{kind}"
    return FileResponse(name, media_type=KINDS[kind], filename=saved, background=BackgroundTask(os.unlink, name))


@router.delete("/{experiment}", status_code=204, responses=ONE, dependencies=[Depends(ADMIN)])
def delete(experiment: Current, request: Request) -> None:
    """Remove an experiment with all of its trials."""
    experiment.delete()
    request.app.state.experiments.forget(experiment)
