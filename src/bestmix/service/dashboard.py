"""The dashboard: pages made on the server, kept fresh by one small script."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bestmix.answers.planes import planes
from bestmix.checks import InvalidInput, shown
from bestmix.experiments import Closed, Experiment, State, TrialState
from bestmix.pages import answer_view, experiment_view, rendering
from bestmix.pages.experiment import experiment_report
from bestmix.problems.spend import Spend
from bestmix.service import sessions
from bestmix.service.access import ADMIN, NOTES, PUBLIC, READ, READ_SLOW, check_origin, find_experiment
from bestmix.service.bodies import GuardedRoute, form
from bestmix.service.caches import Cache, OpenExperiments
from bestmix.service.errors import CODES, Refusal
from bestmix.service.routes.experiments import Current
from bestmix.service.routes.streams import Feed, open_stream
from bestmix.service.tokens import Scope, Token
from bestmix.strategies.paid import Paid
from bestmix.strategies.traffic import Traffic

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)
PAGE = 50  # rows of a table
MOST_FOLLOWED = 50  # experiments in one stream
LOGIN = 4096  # bytes of a form with a token
ASSETS = {
    "style.css": ("bestmix.pages", "static/style.css", "text/css"),
    "follow.js": ("bestmix.pages", "static/follow.js", "text/javascript"),
    "page.js": ("bestmix.pages", "static/page.js", "text/javascript"),
    "uPlot.iife.min.js": ("bestmix.pages", "static/uPlot.iife.min.js", "text/javascript"),
    "uPlot.min.css": ("bestmix.pages", "static/uPlot.min.css", "text/css"),
    "icon.svg": ("bestmix.pages", "static/icon.svg", "image/svg+xml"),
}
ACTIONS = {
    "pause": "Hand out no more trials until it is resumed? Results are still taken.",
    "resume": "Go on handing out trials?",
    "stop": "End the experiment for good, with the best answer so far? This cannot be undone.",
}


def render(request: Request, template: str, status: int = 200, **data: Any) -> HTMLResponse:
    """A page for whoever asks."""
    token: Token | None = request.scope.get("bestmix.token")
    admin = token is not None and token.scope is Scope.admin
    return HTMLResponse(rendering.render(template, token=token, admin=admin, **data), status)


def wants_page(request: Request) -> bool:
    """Whether an error should be a page: outside of the API, for a browser."""
    path = request.url.path
    return not path.startswith(("/v1/", "/static/")) and "text/html" in request.headers.get("accept", "")


def error_page(request: Request, refusal: Refusal) -> Response:
    """An error for people; without a valid token, the way in."""
    status, words = CODES[refusal.code]
    if refusal.code == "unauthorized":
        tried = request.url.path == "/login" or sessions.read_cookie(request.scope)  # a token, or a session
        said = str(refusal) if tried else ""
        return render(request, "login.html", status, said=said)
    return render(request, "error.html", status, words=words, said=str(refusal))


@router.get("/static/{name}", dependencies=[Depends(PUBLIC)])
def asset(name: str) -> Response:
    """A style, a script or a picture of the pages."""
    if name not in ASSETS:
        raise Refusal("not_found", "there is no such file")
    content, kind = _asset(name)
    return Response(content, media_type=kind, headers={"Cache-Control": "max-age=3600"})


@cache
def _asset(name: str) -> tuple[bytes, str]:
    package, path, kind = ASSETS[name]
    return resources.files(package).joinpath(path).read_bytes(), kind


@router.get("/login", dependencies=[Depends(PUBLIC)])
async def login(request: Request, token: str = "") -> Response:
    """The way in: a form, or straight on with the token of the address, which then leaves the address."""
    if token:
        check_origin(request)
        return await _enter(request, token)
    return render(request, "login.html", said="")


@router.post("/login", dependencies=[Depends(PUBLIC.taking(LOGIN))])
async def log_in(request: Request) -> Response:
    """Take the token of the form."""
    check_origin(request)
    return await _enter(request, (await form(request)).get("token", ""))


async def _enter(request: Request, text: str) -> Response:
    token = await request.app.state.authenticator.admit(text.strip())
    response = RedirectResponse("/", 303)
    sessions.write_cookie(response, request.scope, sessions.new_session(token))
    return response


@router.post("/logout", dependencies=[Depends(PUBLIC.taking(LOGIN))])
async def logout(request: Request) -> Response:
    """Forget the session in this browser."""
    check_origin(request)
    response = RedirectResponse("/login", 303)
    sessions.write_cookie(response, request.scope, "")
    return response


@router.get("/", dependencies=[Depends(READ_SLOW)])
def home(request: Request, after: str = "") -> Response:
    """All experiments: state, progress, the mixture so far."""
    token: Token = request.scope["bestmix.token"]
    storage, opened = request.app.state.storage, request.app.state.experiments
    only = token.experiment
    entries = storage.store.entries(after.replace("\x00", ""), None if only else PAGE + 1)
    mine = [record for record, _ in entries if only in (None, record.key)]
    states = {record.key: state for record, state in entries}
    shown = [_card(opened, record.key, states[record.key]) for record in mine[:PAGE]]
    more = quote(mine[PAGE - 1].name) if len(mine) > PAGE else ""
    return render(request, "home.html", rows=shown, more=more, first=not after)


def _card(opened: OpenExperiments, key: str, state: State) -> experiment_view.Summary:
    """What the list shows of an experiment; one whose strategy is a function of somebody's own has no answer here."""
    try:
        return experiment_view.read_answer(opened.known(key) or opened.open(key))
    except (ValueError, Closed, Refusal):
        return experiment_view.Summary(key, state)


@router.get("/experiments/{experiment}", dependencies=[Depends(READ_SLOW)])
def show(request: Request, experiment: Current, cost: str | None = None) -> Response:
    """One experiment, live."""
    return render(request, "experiment.html", **_shown(request, experiment, cost))


@router.get("/experiments/{experiment}/live", dependencies=[Depends(READ_SLOW)])
def live(request: Request, experiment: Current, cost: str | None = None) -> Response:
    """The part of the page that changes."""
    return render(request, "live.html", **_shown(request, experiment, cost))


@router.get("/follow", dependencies=[Depends(READ)])
async def follow(request: Request, experiment: Annotated[list[str], Query(max_length=MOST_FOLLOWED)]) -> Response:
    """Figures of several experiments whenever they change: one stream for all tabs of a browser."""
    found = [await find_experiment(request, key) for key in experiment]
    return open_stream(request, [Feed(one, request.app.state.figures) for one in found])


def _shown(request: Request, experiment: Experiment, cost: str | None) -> dict[str, Any]:
    cache: Cache[experiment_view.View] = request.app.state.views
    view = cache.get(experiment.record.key, lambda: experiment.state, lambda: experiment_view.read(experiment))
    drawn = planes(experiment.problem)
    chosen = cost if cost in drawn else next(iter(drawn), None)
    return {"view": view, "cost": chosen, "most_rows": answer_view.MOST_ROWS}


@router.get("/experiments/{experiment}/trials", dependencies=[Depends(READ)])
def trials(
    request: Request,
    experiment: Current,
    state: str = "",
    arm: str = "",
    worker: str = "",
    after: Annotated[str, Query(max_length=40)] = "",
    segment: str = "",
) -> Response:
    """The trials, the newest first, page by page; with segments, those of an arm in one."""
    worker = worker.replace("\x00", "")
    wanted = state or None, arm or None, worker or None, after or None
    page = experiment.trials(*wanted, PAGE, newest_first=True, segment=segment or None)
    chosen = {"state": state, "arm": arm, "worker": worker, "segment": segment}
    link = "&".join(f"{name}={quote(value)}" for name, value in chosen.items() if value)
    return render(
        request,
        "trials.html",
        name=experiment.name,
        key=experiment.record.key,
        problem=experiment.problem,
        trials=page,
        on_items=experiment.record.items is not None,
        chosen=chosen,
        states=[s.value for s in TrialState],
        first=f"?{link}",
        more=f"?{link}&after={page[-1].id}" if len(page) == PAGE else "",
        after=after,
    )


@router.get("/experiments/{experiment}/report", dependencies=[Depends(READ_SLOW)])
def report(request: Request, experiment: Current) -> Response:
    """The report as one file to keep, made once for all who ask for it within a moment."""
    cache: Cache[str] = request.app.state.reports
    page = cache.get(experiment.record.key, lambda: experiment.state, lambda: experiment_report(experiment))
    name = {"Content-Disposition": f'attachment; filename="{experiment.record.key}.html"'}
    return HTMLResponse(page, headers=name)


@router.get("/experiments/{experiment}/confirm/{action}", dependencies=[Depends(ADMIN)])
def confirm(request: Request, experiment: Current, action: str) -> Response:
    """Ask before something is done."""
    words = _check_action(action)
    return render(request, "confirm.html", name=experiment.name, key=experiment.record.key, action=action, words=words)


@router.post("/experiments/{experiment}/do/{action}", dependencies=[Depends(ADMIN.taking(NOTES))])
async def act(request: Request, experiment: Current, action: str) -> Response:
    """Do it, then show the experiment."""
    _check_action(action)
    if action == "stop":
        await run_in_threadpool(experiment.stop, (await form(request)).get("reason", ""))
    else:
        await run_in_threadpool(experiment.pause if action == "pause" else experiment.resume)
    return RedirectResponse(f"/experiments/{experiment.record.key}", 303)


def _check_action(action: str) -> str:
    if action not in ACTIONS:
        raise Refusal("not_found", f"action: expected {', '.join(ACTIONS)}; choose one of them", "action")
    return ACTIONS[action]


@router.get("/experiments/{experiment}/change", dependencies=[Depends(ADMIN)])
def changing(request: Request, experiment: Current) -> Response:
    """Ask what is to change."""
    return _change_form(request, experiment)


@router.post("/experiments/{experiment}/change", dependencies=[Depends(ADMIN.taking(NOTES))])
async def change(request: Request, experiment: Current) -> Response:
    """Change it, then show the experiment; where something is wrong, the form again, with all that was typed."""
    given = await form(request)
    try:
        await run_in_threadpool(experiment.change, *_wish(experiment, given))
    except InvalidInput as error:
        return await run_in_threadpool(_change_form, request, experiment, given, error)
    return RedirectResponse(f"/experiments/{experiment.record.key}", 303)


def _change_form(
    request: Request, experiment: Experiment, given: Mapping[str, str] | None = None, fault: InvalidInput | None = None
) -> Response:
    """The form: as things are, or as it was typed, with what is wrong."""
    problem, state, account = experiment.current(), experiment.state, experiment.account
    told = problem.to_dict()
    typed = {"arms": "\n".join(problem.arms), "limits": "\n".join(told.get("limits", [])), "budget": state.budget}
    typed |= {f"bound {cost}": bound for cost, bound in told["bounds"].items()} | {"prices": "", "most": ""}
    typed |= {"amount": account.spend.amount if account else None} | dict(given or {})
    return render(
        request,
        "change.html",
        status=200 if fault is None else CODES[fault.code][0],
        name=state.name,
        key=experiment.record.key,
        costs=list(told["bounds"]),
        counted=not state.unlimited,
        traffic=isinstance(experiment.strategy, Traffic),
        account=account,
        typed=typed,
        fault=fault,
        wrong=_wrong(fault.field or "", told["bounds"]) if fault else "",
    )


def _wrong(argument: str, costs: Collection[str]) -> str:
    """The field of the form that an argument comes from.

    >>> [_wrong(argument, ["dollars"]) for argument in ("bounds['dollars']", "prices['new']", "limit")]
    ['bound dollars', 'prices', 'limits']
    """
    bounds = {f"bounds[{cost!r}]": f"bound {cost}" for cost in costs}
    name = argument.partition("[")[0]
    return bounds.get(argument) or {"limit": "limits"}.get(name, name)


def _wish(experiment: Experiment, given: Mapping[str, str]) -> tuple[Any, ...]:
    """What the form asks for, in the order of ``Experiment.change``."""
    costs = [field.removeprefix("bound ") for field in given if field.startswith("bound ")]
    bounds = {cost: _number(f"bounds[{cost!r}]", given[f"bound {cost}"]) for cost in costs}
    arms, limits = (_lines(given[field]) if field in given else None for field in ("arms", "limits"))
    budget: int | Spend | None = _whole("budget", given["budget"]) if given.get("budget") else None
    if given.get("amount") and isinstance(experiment.strategy, Paid):
        budget = Spend(_number("budget", given["amount"]), experiment.strategy.spend.unit)
    prices, most = (_amounts(field, given[field]) if given.get(field) else None for field in ("prices", "most"))
    return bounds, limits, arms, budget, prices, most


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _amounts(field: str, text: str) -> dict[str, float] | None:
    """Amounts by arm, each on a line of its own: ``small = 0.01``."""
    pairs = [line.rpartition("=") for line in _lines(text)]
    return {arm.strip(): _number(f"{field}[{arm.strip()!r}]", amount) for arm, _, amount in pairs} or None


def _number(field: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(field, expected="a number", got=shown(text), remedy="correct it") from None


def _whole(field: str, text: str) -> int:
    number = _number(field, text)
    if not number.is_integer():
        raise InvalidInput(field, expected="a whole number", got=shown(text), remedy="correct it")
    return int(number)


@router.post("/experiments/{experiment}/notes", dependencies=[Depends(ADMIN.taking(NOTES))])
async def annotate(request: Request, experiment: Current) -> Response:
    """Replace the notes."""
    text = (await form(request)).get("notes", "").replace("\r\n", "\n")
    await run_in_threadpool(setattr, experiment, "notes", text)
    return RedirectResponse(f"/experiments/{experiment.record.key}", 303)
