"""The API's calls that steer an experiment: pause, resume, stop, extend, change, rename, annotate."""

from fastapi import APIRouter, Depends, Request
from starlette.responses import JSONResponse, Response

from bestmix.problems.spend import as_budget
from bestmix.service import schemas
from bestmix.service.access import ADMIN, NOTES, check_whole
from bestmix.service.bodies import GuardedRoute
from bestmix.service.errors import documented
from bestmix.service.routes.experiments import CALL, Current, figures

router = APIRouter(
    route_class=GuardedRoute,
    prefix="/v1/experiments",
    tags=["control"],
    dependencies=[Depends(ADMIN.taking(NOTES))],
)
STEER = documented("not_found", "invalid", "closed")


def _state(experiment: Current) -> Response:
    return JSONResponse(figures(experiment.state, experiment.record.key))


@router.post("/{experiment}/pause", response_model=schemas.State, responses=STEER)
def pause(experiment: Current) -> Response:
    """Hand out nothing until it is resumed; results are still taken."""
    experiment.pause()
    return _state(experiment)


@router.post("/{experiment}/resume", response_model=schemas.State, responses=STEER)
def resume(experiment: Current) -> Response:
    """Go on after a pause or after too many failures."""
    experiment.resume()
    return _state(experiment)


@router.post("/{experiment}/stop", response_model=schemas.State, responses=CALL)
def stop(experiment: Current, body: schemas.Stop) -> Response:
    """End it early, for good."""
    experiment.stop(body.reason)
    return _state(experiment)


@router.post("/{experiment}/extend", response_model=schemas.State, responses=CALL)
def extend(experiment: Current, body: schemas.Extend) -> Response:
    """Raise the budget, where the strategy allows it."""
    experiment.extend(as_budget(body.budget))
    return _state(experiment)


@router.post("/{experiment}/change", response_model=schemas.State, responses=CALL)
def change_problem(experiment: Current, body: schemas.ChangeProblem) -> Response:
    """Change bounds, limits, arms or the budget while it runs; no trial is lost."""
    wish = body.bounds, body.limits, body.arms, as_budget(body.budget), body.prices, body.most, body.features
    experiment.change(*wish)
    return _state(experiment)


@router.patch("/{experiment}", response_model=schemas.State, responses=CALL)
def change(experiment: Current, body: schemas.Change, request: Request) -> Response:
    """Give it another name, which needs a token for all experiments, or replace its notes."""
    if body.name is not None:
        check_whole(request.scope["bestmix.token"])
        experiment.rename(body.name)
    if body.notes is not None:
        experiment.notes = body.notes
    return _state(experiment)
