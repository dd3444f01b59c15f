"""``Edge``: choose arms for live requests by the weights of an experiment, and report what came of them.

It needs nothing but the standard library. ``choose`` and ``record`` wait for nobody: threads of its own keep the
weights up to date, and report sums about once a second. When the server is away it goes on with the last weights, keeps
the sums in a file, and reports when the server is back.
"""

import atexit
import hashlib
import json
import logging
import os
import random
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bestmix.client.address import TOKEN_REMEDY, VARIABLE
from bestmix.client.edge_choices import Choice, EdgeError, Measure, Place, Table
from bestmix.client.edge_recorder import Recorder
from bestmix.client.edge_reports import Reporter
from bestmix.client.edge_server import AwayError, EdgeServer, Refused

BATCH = 2048  # requests of one choice that are added up together
DRAWS = 1024  # choices that are drawn ahead
LONGEST_WAIT = 25.0  # seconds that a server is asked to wait for new weights
LONGEST_PAUSE = 10.0  # seconds until a thread that made a mistake goes on
LOOK_EVERY = 2.0  # seconds between two attempts to get weights of a server that is away, at most
ADOPT_EVERY = 10.0  # seconds between two looks for files of edges that were killed

log = logging.getLogger("bestmix.edge")
_edges: "weakref.WeakSet[Edge]" = weakref.WeakSet()


class Edge:
    """Serves the requests of an experiment on live traffic.

    Safe to use from many threads, and from coroutines: no call waits for the network. In a forked child it goes on
    under a name of its own.

    Parameters
    ----------
    url, experiment
        The server's address, and the experiment's name or id there.
    token
        Of scope ``work``; the variable BESTMIX_TOKEN by default.
    spool
        Folder for sums that wait for the server, and for the last weights; in the system's folder for temporary files
        by default. Edges of one machine share it: whoever finds the file of one that was killed delivers it.
    interval
        Seconds between two reports.
    patience
        Seconds that it looks for the server at first; if it is away, the last weights of the folder are served.
    """

    def __init__(
        self,
        url: str,
        experiment: str,
        token: str | None = None,
        *,
        spool: str | os.PathLike[str] | None = None,
        interval: float = 1.0,
        patience: float = 5.0,
    ) -> None:
        token = os.environ.get(VARIABLE, "") if token is None else token
        self._terms = url, experiment, token
        self._name, self._interval = experiment, interval
        self._digest = hashlib.sha256(f"{url}\x1f{experiment}".encode()).hexdigest()[:16]
        self._folder = _home() if spool is None else Path(spool)
        self._kept = self._folder / f"{self._digest}.weights"
        self._random = random.Random()
        self._drawn: dict[str | None, list[Choice]] = {}
        self._tables: dict[str | None, Table] = {}
        self._document: Mapping[str, Any] = MappingProxyType({})
        self._tag: str | None = None
        self._lock = threading.Lock()
        self._closed, self._stopping = False, threading.Event()
        self._threads: list[threading.Thread] = []
        self._secret = hashlib.sha256(f"bestmix edge\x1f{token}\x1f{experiment}".encode()).digest()
        self._follow(*self._first_weights(patience))
        self._awake()
        _edges.add(self)

    # --- what servers of requests call ---------------------------------------------------------------------------

    def choose(self, segment: str | None = None, unit: Hashable = None) -> Choice:
        """The arm for a request: ``choice.arm``; the same unit keeps its arm as long as the version is the same.

        Without a unit, or with an empty text for one, it is drawn.
        """
        if unit is None or unit == "":
            try:
                return self._drawn[segment].pop()
            except (IndexError, KeyError):
                return self._draw(segment)
        return self._table(segment).at(unit)

    def record(self, choice: Choice | str, metrics: Mapping[str, float]) -> None:
        """What came of a request, by its choice or the choice's id: all metrics by name.

        Values that are no numbers are left out, counted in ``status()["rejected"]`` and logged.
        """
        try:
            rows = choice.rows  # type: ignore[union-attr]
            rows.append(metrics)
        except AttributeError:  # an id, or a choice that was put away
            self._awake()
            choice = self._recorder.find(choice)
            rows = choice.rows
            rows.append(metrics)
        if len(rows) >= BATCH:
            self._recorder.add_up(choice)  # type: ignore[arg-type]

    @property
    def version(self) -> int:
        """That of the weights in use."""
        return int(self._document["version"])

    @property
    def weights(self) -> Mapping[str, Mapping[str, float]]:
        """Shares of arms in each segment; without segments, in one of no name."""
        return MappingProxyType(self._document["segments"])

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that every record has."""
        return tuple(dict.fromkeys(entry["metric"] for entry in self._document["measures"]))

    def status(self) -> dict[str, Any]:
        """How it is: its name, the version, and numbers of requests.

        Those ``recorded`` are ``reported`` (the server has counted them), ``pending`` (it has not yet), ``rejected``
        (a metric is missing or no finite number) or ``dropped`` (refused by the server, as after a stop).
        They count from 0 again when the experiment was deleted and another one has its name.
        """
        recorder, reporter = self._recorder, self._reporter
        pending = reporter.pending()
        return {
            "edge": reporter.name,
            "version": self.version,
            "recorded": recorder.recorded,
            "reported": reporter.reported,
            "pending": pending,
            "rejected": recorder.rejected,
            "dropped": reporter.dropped,
            "seconds_since_report": None if reporter.last is None else time.monotonic() - reporter.last,
        }

    def flush(self, patience: float = 10.0) -> bool:
        """Report now; whether the server has confirmed all that was recorded before."""
        end = time.monotonic() + patience
        while True:
            self._reporter.report()
            if not self._reporter.pending():
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)

    def close(self, patience: float = 2.0) -> None:
        """Report what is left, or leave it in the folder for the next edge; what is recorded later is lost."""
        if self._closed:
            return
        self._closed = True
        self._stopping.set()
        self.flush(patience)
        self._reporter.close()
        _edges.discard(self)

    def __enter__(self) -> "Edge":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # --- weights --------------------------------------------------------------------------------------------------

    def _first_weights(self, patience: float) -> tuple[str | None, Mapping[str, Any]]:
        """Those of the server, or else the last ones that are in the folder."""
        server, end = EdgeServer(*self._terms), time.monotonic() + patience
        while True:
            try:
                found = server.weights(None, 0.0)
                assert found is not None
                return found
            except Refused as error:
                if error.code == "unauthorized" and not self._terms[2]:
                    raise EdgeError(f"token: {self._terms[0]} wants one; {TOKEN_REMEDY}") from None
                raise EdgeError(f"the server refuses: {error}") from None
            except AwayError as error:
                if time.monotonic() >= end:
                    return None, self._kept_weights(error)
                time.sleep(0.1)
            finally:
                server.close()

    def _kept_weights(self, error: Exception) -> Mapping[str, Any]:
        try:
            kept: Mapping[str, Any] = json.loads(self._kept.read_text())
        except (OSError, ValueError):
            raise EdgeError(
                f"{self._terms[0]}: the server cannot be reached ({error}), and no weights are kept in {self._folder}; "
                "check the address and that it runs"
            ) from None
        log.warning("the server is away (%s): serving the last weights", error)
        return kept

    def _follow(self, tag: str | None, document: Mapping[str, Any]) -> None:
        """Serve the requests of an experiment from now on."""
        url, _, token = self._terms
        terms = url, document["experiment"], token  # its id stays when somebody gives it another name
        self._recorder = Recorder(self._secret, [_measure(entry) for entry in document["measures"]])
        self._reporter = Reporter(terms, self._folder, self._digest, self._recorder)
        self._terms = terms  # last: what was recorded for another experiment is never sent to this one
        self._install(tag, document)

    def _renew(self, server: EdgeServer) -> None:
        """Wait for new weights, and follow them."""
        try:
            found = server.weights(self._tag, LONGEST_WAIT)
        except Refused as error:
            if error.code != "not_found":
                raise
            self._follow_name()
        else:
            if found is not None and not self._stopping.is_set():
                self._install(*found)

    def _follow_name(self) -> None:
        """Serve the experiment that has the name now, in place of one that was deleted."""
        url, key, token = self._terms
        server = EdgeServer(url, self._name, token)
        try:
            found = server.weights(None, 0.0)
        finally:
            server.close()
        if found is not None and found[1]["experiment"] != key and not self._stopping.is_set():
            lost = self._reporter.give_up()
            log.warning("the experiment was deleted, with %d requests: following %r as it is now", lost, self._name)
            self._follow(*found)

    def _install(self, tag: str | None, document: Mapping[str, Any]) -> None:
        """Follow new weights from now on."""
        version, tables = int(document["version"]), {}
        for name, shares in document["segments"].items():
            segment = name or None
            choices = [self._recorder.choice(Place(version, segment, arm)) for arm in shares]
            salt = f"{document['experiment']}\x1f{version}\x1f{name}\x1f"
            tables[segment] = Table(choices, list(shares.values()), salt)
        with self._lock:
            self._tables, self._drawn = tables, {segment: [] for segment in tables}
            self._document, self._tag = dict(document), tag
        self._recorder.put_away()
        if tag is not None:
            self._keep(document)

    def _keep(self, document: Mapping[str, Any]) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._kept.with_suffix(f".{os.getpid()}.new")
            temporary.write_text(json.dumps(document))
            os.replace(temporary, self._kept)
        except OSError as error:
            log.warning("the weights cannot be kept in %s: %s", self._folder, error)

    def _table(self, segment: str | None) -> Table:
        try:
            return self._tables[segment]
        except KeyError:
            known = [name for name in self._tables if name is not None]
            wanted = f"one of {known}" if known else "none: the experiment has no segments"
            raise EdgeError(f"segment: expected {wanted}, got {segment!r:.80}; check the spelling") from None

    def _draw(self, segment: str | None) -> Choice:
        """Draw ahead, so that most requests need only take one."""
        self._awake()
        table = self._table(segment)
        drawn = table.draw(self._random, DRAWS)
        last = drawn.pop()
        with self._lock:
            if self._tables.get(segment) is table:
                self._drawn[segment] = drawn
        return last

    # --- threads --------------------------------------------------------------------------------------------------

    def _awake(self) -> None:
        """Have the threads run; a forked child has none."""
        if self._threads or self._closed:
            return
        with self._lock:
            if not self._threads:
                loops: tuple[Callable[..., float], ...] = (self._watch, self._deliver, self._keep_sums)
                made = [threading.Thread(target=_run, args=(weakref.WeakMethod(loop),), daemon=True) for loop in loops]
                self._threads = made
                for thread in made:
                    thread.start()

    def _watch(self, state: dict[str, Any], server: EdgeServer) -> float:
        """Look for new weights; the server answers when there are some. Seconds until the next time."""
        try:
            self._renew(server)
            state["pause"] = 0.0
        except (AwayError, Refused, ValueError, KeyError, TypeError) as error:
            log.info("no new weights: %s", error)
            state["pause"] = min(max(2 * state.get("pause", 0.0), 0.5), LOOK_EVERY) * self._random.uniform(0.75, 1.0)
        return float(state["pause"])

    def _deliver(self, state: dict[str, Any], server: EdgeServer) -> float:
        """Report, and deliver what others have left now and then. Seconds until the next time."""
        self._reporter.report(server)
        if state.get("adopt", 0.0) <= time.monotonic():
            state["adopt"] = time.monotonic() + ADOPT_EVERY
            try:
                self._reporter.adopt(server)
            except (AwayError, OSError):
                state["adopt"] = time.monotonic() + self._interval
        return self._interval

    def _keep_sums(self, state: dict[str, Any], server: EdgeServer) -> float:
        """Put sums into the file, as a report may take longer. Seconds until the next time."""
        self._reporter.keep()
        return self._interval

    def _after_fork(self) -> None:
        """Begin anew in a child."""
        self._lock, self._random = threading.Lock(), random.Random()
        self._stopping, self._threads = threading.Event(), []
        self._recorder.begin_anew()
        self._reporter.begin_anew()
        self._install(None, self._document)


def _run(method: "weakref.WeakMethod[Any]") -> None:
    """Do something of an edge again and again, as long as it is there."""
    state: dict[str, Any] = {}
    server: EdgeServer | None = None
    terms: tuple[str, str, str] | None = None
    while (step := method()) is not None and not step.__self__._stopping.is_set():
        edge: Edge = step.__self__
        if server is None or terms != edge._terms:  # at first, and when it follows another experiment
            if server is not None:
                server.close()
            terms = edge._terms
            server = EdgeServer(*terms)
        stopping = edge._stopping
        try:
            pause = step(state, server)
        except Exception:  # a thread that ends would lose everything to come
            log.exception("an edge's thread made a mistake")
            pause = LONGEST_PAUSE
        del step, edge
        if stopping.wait(pause):
            break
    if server is not None:
        server.close()


def _measure(entry: Mapping[str, Any]) -> Measure:
    return Measure(entry["name"], entry["metric"], entry.get("comparison"), entry.get("threshold", 0.0))


def _home() -> Path:
    """A folder of this user among the temporary files."""
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return Path(tempfile.gettempdir()) / f"bestmix-edge-{user}"


def _close_all() -> None:
    for edge in list(_edges):
        edge.close()


def _fork_all() -> None:
    for edge in list(_edges):
        edge._after_fork()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fork_all)
