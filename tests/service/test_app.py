import pytest
from fastapi import Depends, FastAPI

from bestmix import open_storage
from bestmix.service.access import PUBLIC
from bestmix.service.app import check_rules, create_app
from bestmix.service.bodies import GuardedRoute


def with_route(guarded, **options):
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    if guarded:
        app.router.route_class = GuardedRoute
    app.get("/forgotten", **options)(lambda: None)
    return app


def test_a_route_without_a_rule_is_refused():
    with pytest.raises(RuntimeError, match="/forgotten has 0 rules of access; give it exactly one"):
        check_rules(with_route(True))


def test_a_route_with_two_rules_is_refused():
    with pytest.raises(RuntimeError, match="has 2 rules"):
        check_rules(with_route(True, dependencies=[Depends(PUBLIC), Depends(PUBLIC)]))


def test_a_route_that_would_read_bodies_before_its_rule_is_refused():
    with pytest.raises(RuntimeError, match="route_class=GuardedRoute"):
        check_rules(with_route(False, dependencies=[Depends(PUBLIC)]))


def test_the_application_passes_its_own_check(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        check_rules(create_app(storage))
