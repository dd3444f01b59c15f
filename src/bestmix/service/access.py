"""Who may do what: every route has a rule, and the rule is checked before anything else."""

import hashlib
import time
from collections import OrderedDict
from dataclasses import dataclass

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from bestmix.experiments import Experiment
from bestmix.service.caches import OpenExperiments
from bestmix.service.errors import Refusal
from bestmix.service.tokens import Scope, Token, Tokens, prefix_of

COOKIE = "bestmix"
MOST_REMEMBERED = 1000
SAFE = ("GET", "HEAD", "OPTIONS")


class Gatekeeper:
    """Knows tokens: those of the database, and the one of this process's own session."""

    def __init__(self, tokens: Tokens, session: Token | None, remember: float) -> None:
        self._tokens = tokens
        self._session = session
        self._remember = remember
        self._seen: OrderedDict[bytes, tuple[Token, float]] = OrderedDict()

    async def admit(self, text: str) -> Token:
        """The token that the text is, or a refusal that does not say what was wrong with an unknown one."""
        name = hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()
        token, until = self._seen.get(name, (None, 0.0))
        if token is None or time.monotonic() >= until:
            token = await self._look(text)
            self._seen[name] = token, time.monotonic() + self._remember
            while len(self._seen) > MOST_REMEMBERED:
                self._seen.popitem(last=False)
        state = token.state(time.time())
        if state != "valid":
            raise Refusal("unauthorized", f"the token {token.prefix} is {state}; ask for a new one")
        return token

    async def _look(self, text: str) -> Token:
        prefix = prefix_of(text)
        if prefix and self._session is not None and self._session.prefix == prefix:
            found: Token | None = self._session
        else:
            found = await run_in_threadpool(self._tokens.find, prefix) if prefix else None
        if found is None or not found.fits(text):
            raise Refusal("unauthorized", "the token is not known here; bestmix token create makes one")
        return found


@dataclass(frozen=True)
class Rule:
    """What a route needs: a scope, or nothing; ``whole`` routes are not for tokens of one experiment."""

    scope: Scope | None
    whole: bool = False

    async def __call__(self, request: Request) -> None:
        """Admit the request or refuse it; routes of an experiment find it in ``request.state``."""
        if self.scope is None:
            return
        text, from_cookie = credentials(request)
        if not text:
            raise Refusal("unauthorized", "a token is needed: send the header Authorization: Bearer TOKEN")
        token = await request.app.state.gatekeeper.admit(text)
        request.scope["bestmix.token"] = token
        if from_cookie and request.method not in SAFE and not same_origin(request):
            raise Refusal("forbidden", "the request comes from another site; use the page of this server")
        if not token.scope.allows(self.scope):
            raise Refusal("forbidden", f"this needs a token of scope {self.scope}; {token.prefix} has {token.scope}")
        if self.whole:
            check_whole(token)
        if "experiment" in request.path_params:
            opened: OpenExperiments = request.app.state.experiments
            name = request.path_params["experiment"]
            request.state.experiment = opened.known(name) or await run_in_threadpool(opened.open, name, token)
            check_own(token, request.state.experiment)


def rules(route: APIRoute) -> list[Rule]:
    """The rules that a route checks."""
    return [part.call for part in route.dependant.dependencies if isinstance(part.call, Rule)]


def check_whole(token: Token) -> None:
    """Refuse a token of one experiment only."""
    if token.experiment is not None:
        raise Refusal("forbidden", f"the token {token.prefix} is for one experiment only")


def check_own(token: Token, experiment: Experiment) -> None:
    """Refuse a token of another experiment."""
    if token.experiment not in (None, experiment.record.key):
        raise Refusal("forbidden", f"the token {token.prefix} is for another experiment")


def credentials(request: Request) -> tuple[str, bool]:
    """The token's text, from the header or from the browser's cookie, and whether it was the cookie."""
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and text.strip():
        return text.strip(), False
    return request.cookies.get(COOKIE, ""), True


def same_origin(request: Request) -> bool:
    """Whether a browser says that its own page on this server sent the request."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site == "same-origin"
    return origin is not None and origin.partition("://")[2] == request.headers.get("host")


PUBLIC = Rule(None)
READ = Rule(Scope.read)
READ_ALL = Rule(Scope.read, whole=True)
WORK = Rule(Scope.work)
ADMIN = Rule(Scope.admin)
ADMIN_ALL = Rule(Scope.admin, whole=True)
