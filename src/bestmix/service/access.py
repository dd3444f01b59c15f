"""Who may do what: every route has a rule, and the rule is checked before a byte of the body is read."""

import asyncio
import math
import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import anyio.to_thread
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import Scope as Connection

from bestmix.experiments import Experiment
from bestmix.experiments.experiment import MOST_ASKED
from bestmix.experiments.model import LONGEST_NOTE
from bestmix.service import sessions
from bestmix.service.caches import OpenExperiments
from bestmix.service.errors import Refusal
from bestmix.service.tokens import Fingerprint, Scope, Token, Tokens, prefix_of

SAFE = ("GET", "HEAD", "OPTIONS")
SMALL = 16 * 1024  # bytes of a body that holds a few short texts
NOTES = SMALL + 12 * LONGEST_NOTE  # of one with notes, each character of which may take twelve bytes
TRIALS = SMALL + 64 * MOST_ASKED  # of one that names trials
RESULT = 256 * 1024  # of one with a result
PAUSE = 0.1  # seconds between two looks that unknown tokens cause


class Credentials(NamedTuple):
    """What a request shows of itself: a token's text, or a browser's session."""

    text: str
    from_cookie: bool


class Identity(NamedTuple):
    """Whose request it is, or why nobody's."""

    token: Token | None
    from_cookie: bool = False
    error: Exception | None = None


class Authenticator:
    """Knows tokens: those of the database, all read at once, and the one of this process's own session.

    That they are all in memory makes a known token free, and any number of unknown ones cost a few looks a second:
    nobody's wrong ones can use up what others need.
    """

    def __init__(self, tokens: Tokens, session: Token | None, remember: float) -> None:
        self._tokens = tokens
        self._own = {} if session is None else {session.prefix: session}
        self._remember = remember
        self._known: dict[str, Token] = {}
        self._read = -math.inf  # when they were read
        self._turn = asyncio.Lock()
        self._thread = anyio.CapacityLimiter(1)  # of its own, so that nobody's calls keep it waiting

    async def admit(self, text: str) -> Token:
        """The token that the text is, or a refusal that does not say what was wrong with an unknown one."""
        found = await self._find(prefix_of(text))
        if found is None or not found.fits(text):
            raise Refusal("unauthorized", "the token is not known here; bestmix token create makes one")
        return _valid(found)

    async def admit_session(self, session: str) -> Token:
        """The token of a browser's session."""
        found = await self._find(sessions.prefix_of(session))
        if found is None or not sessions.is_of(session, found, time.time()):
            raise Refusal("unauthorized", "the session is over, or not known here; log in again")
        return _valid(found)

    async def identify(self, scope: Connection) -> Identity:
        """Whose request it is, by its head alone."""
        text, from_cookie = credentials(scope)
        if not text:
            refusal = Refusal("unauthorized", "a token is needed: send the header Authorization: Bearer TOKEN")
            return Identity(None, error=refusal)
        try:
            return Identity(await (self.admit_session(text) if from_cookie else self.admit(text)), from_cookie)
        except Exception as error:
            return Identity(None, from_cookie, error)

    def at_hand(self, shown: Fingerprint) -> Token | None:
        """The token that was shown where it is known to be valid without a look at the database."""
        found = self._own.get(shown.prefix)
        if found is None and time.monotonic() - self._remember <= self._read:
            found = self._known.get(shown.prefix)
        return found if found is not None and found.is_of(shown) and found.state(time.time()) == "valid" else None

    async def is_valid(self, token: Token, age: float) -> bool:
        """Whether a token that was admitted can still be used, as of at most ``age`` seconds ago."""
        found = await self._find(token.prefix, age)
        return found is not None and found.state(time.time()) == "valid"

    async def _find(self, prefix: str, age: float | None = None) -> Token | None:
        if not prefix or prefix in self._own:
            return self._own.get(prefix)
        now = time.monotonic()
        await self._refresh(now - (self._remember if age is None else min(age, self._remember)))
        if prefix not in self._known:  # it may have been made a moment ago
            await self._refresh(now, PAUSE)
        return self._known.get(prefix)

    async def _refresh(self, since: float, pause: float = 0.0) -> None:
        """Have read them since then; all who wait are served by one look, and looks have pauses between them."""
        if self._read < since:
            async with self._turn:
                if self._read < since:
                    await asyncio.sleep(self._read + pause - time.monotonic())
                    await self._read_all()

    async def _read_all(self) -> None:
        began = time.monotonic()
        found = await anyio.to_thread.run_sync(self._tokens.list, limiter=self._thread)
        self._known = {token.prefix: token for token in found}
        self._read = began


def _valid(token: Token) -> Token:
    state = token.state(time.time())
    if state != "valid":
        raise Refusal("unauthorized", f"the token {token.prefix} is {state}; ask for a new one")
    return token


@dataclass(frozen=True)
class Rule:
    """What a route needs, and what it may cost.

    Attributes
    ----------
    scope
        Of the token; None when none is needed.
    whole
        Whether it is not for tokens of one experiment.
    body
        The most bytes of a body; None for as many as the server takes.
    slow
        Whether it computes long, so that such calls wait for each other.
    """

    scope: Scope | None
    whole: bool = False
    body: int | None = SMALL
    slow: bool = False

    def taking(self, body: int | None) -> "Rule":
        """The same with another limit of the body."""
        return replace(self, body=body)

    async def __call__(self, request: Request) -> None:
        """Admit the request or refuse it; routes of an experiment find it in ``request.state``."""
        if self.scope is None or request.scope.get("bestmix.rule") is self:  # checked before the body was read
            return
        token, from_cookie, error = request.scope["bestmix.identity"]
        if error is not None:
            raise error
        if from_cookie and request.method not in SAFE and not same_origin(request):
            raise Refusal("forbidden", "the request comes from another site; use the page of this server")
        if not token.scope.allows(self.scope):
            raise Refusal("forbidden", f"this needs a token of scope {self.scope}; {token.prefix} has {token.scope}")
        if self.whole:
            check_whole(token)
        if "experiment" in request.path_params:
            request.state.experiment = await find_experiment(request, request.path_params["experiment"])
        request.scope["bestmix.rule"] = self


async def find_experiment(request: Request, name: str) -> Experiment:
    """The experiment of that id or name, if the request's token is for it."""
    opened: OpenExperiments = request.app.state.experiments
    token: Token = request.scope["bestmix.token"]
    known = opened.known(name)
    found: Experiment = known if known is not None else await run_in_threadpool(opened.open, name, token)
    check_own(token, found)
    return found


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


def credentials(scope: Connection) -> Credentials:
    """The token's text from the header, or else the session of the browser's cookie."""
    given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    kind, _, text = given.decode("latin-1").partition(" ")
    if kind.lower() == "bearer" and text.strip():
        return Credentials(text.strip(), False)
    return Credentials(sessions.read_cookie(scope), True)


def same_origin(request: Request) -> bool:
    """Whether a browser says that its own page on this server sent the request."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site == "same-origin"
    return origin is not None and origin.partition("://")[2] == request.headers.get("host")


def check_origin(request: Request) -> None:
    """Refuse what a browser sends for another site's page; programs that are no browsers say nothing of it."""
    says = {"sec-fetch-site", "origin"} & set(request.headers)
    typed = request.method in SAFE and request.headers.get("sec-fetch-site") == "none"
    if says and not typed and not same_origin(request):
        raise Refusal("forbidden", "the request comes from another site; use the page of this server")


PUBLIC = Rule(None)
READ = Rule(Scope.read)
READ_SLOW = Rule(Scope.read, slow=True)
READ_ALL = Rule(Scope.read, whole=True)
WORK = Rule(Scope.work)
ADMIN = Rule(Scope.admin)
ADMIN_ALL = Rule(Scope.admin, whole=True)
