"""``connect``: a server's experiments, with the same methods as local ones."""

import os
import secrets
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from bestmix import checks, files
from bestmix.answers.account import Account
from bestmix.answers.recommendation import Recommendation, Round
from bestmix.client.transport import Transport, read_answer
from bestmix.experiments.errors import StorageError
from bestmix.experiments.model import FAILURES, LEASE, Event, Handout, Outcome, Record, Snapshot, State, Trial, one_row
from bestmix.experiments.traffic_model import Published, TrafficState, Weights
from bestmix.problems.items import Items, as_items
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend

if TYPE_CHECKING:
    from bestmix.problems.limits import Limit
    from bestmix.strategies import Strategy
    from bestmix.strategies.traffic import Traffic

PAGE = 1000  # entries read at a time
PATIENCE = 60.0


class Server:
    """The experiments of a server; ``connect`` makes it."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def __repr__(self) -> str:
        return f"Server({self.transport.url!r})"

    def create(
        self,
        name: str,
        problem: Problem,
        budget: int | Spend | None = None,
        strategy: "Strategy | None" = None,
        *,
        traffic: "Traffic | None" = None,
        lease: float = LEASE,
        failures: int = FAILURES,
        notes: str = "",
        log: Any = None,
        arm: str = "arm",
        reward: str = "reward",
        segment: str | None = None,
        log_weight: float = 1.0,
        item: str | None = None,
        items: Any = None,
        shared: bool = True,
    ) -> "RemoteExperiment":
        """Create an experiment; one that is there already with the same terms is opened.

        A log is read here, and its trials are sent, with their items where ``item`` names the column. ``items``, a list
        of texts or how many there are, are what trials are made on; with ``shared=False`` each arm has an order of its
        own.

        With ``traffic`` it is one on live traffic, which has no budget and no other strategy.
        """
        if traffic is not None or budget is None:
            from bestmix.experiments.storage import on_traffic  # loads the arithmetic, which few clients need

            budget, strategy = on_traffic(name, traffic, budget, strategy)
        if not isinstance(problem, Problem):
            raise checks.InvalidInput(
                "problem", expected="a Problem", got=type(problem).__name__, remedy="an Instance has one: .problem"
            )
        if isinstance(budget, Spend):
            budget = budget.named(problem)
            problem = problem.tracking(budget.missing(problem))
        body: dict[str, Any] = {"name": name, "problem": problem.to_dict(), "notes": notes}
        body["budget"] = budget.to_dict() if isinstance(budget, Spend) else budget
        body |= {"lease": checks.number("lease", lease), "failures": failures}
        body |= {} if strategy is None else {"strategy": strategy.to_dict()}
        if log is not None:
            weight = checks.weight("log_weight", log_weight)
            body |= {"log": _columns(problem, log, arm, reward, segment, item), "log_weight": weight}
        if (found := as_items(items, shared)) is not None:
            given = len(found) if found.names is None else list(found.names)
            body |= {"items": given, "shared": found.shared, "items_seed": found.seed}
        return RemoteExperiment(self.transport, self.transport.call("POST", "/v1/experiments", body)[1])

    def open(self, name: str) -> "RemoteExperiment":
        """Open an experiment that exists."""
        found = self.transport.call("GET", "/v1/experiments", name=name)[1]["experiments"]
        if not found:
            others = [state.name for state in self.experiments(limit=5)]
            raise checks.Missing(
                "name",
                f"there is no experiment {checks.shown(name)} (there is {', '.join(map(repr, others)) or 'none'})",
                "check the name, or create it",
            )
        path = f"/v1/experiments/{quote(str(found[0]['id']), safe='')}"
        return RemoteExperiment(self.transport, self.transport.call("GET", path)[1])

    def experiments(self, after: str = "", limit: int | None = None) -> list[State]:
        """Figures of the experiments in the order of their names, those after a name."""
        states: list[State] = []
        while limit is None or len(states) < limit:
            page = PAGE if limit is None else min(PAGE, limit - len(states))
            found = self.transport.call("GET", "/v1/experiments", after=after, limit=page)[1]
            states += map(State.from_dict, found["experiments"])
            if found["next"] is None:
                break
            after = found["next"]
        return states

    def close(self) -> None:
        """Let go of the connection."""
        self.transport.close()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class RemoteExperiment:
    """An experiment behind a server; the methods are those of a local ``Experiment``.

    Safe to use from many threads. A call that is interrupted, by a server that restarts or a network
    that fails, is repeated until it is answered; nothing is counted twice.
    """

    def __init__(self, transport: Transport, data: Mapping[str, Any]) -> None:
        self._transport = transport
        self.record = Record.from_dict(data)
        self.problem = Problem.from_dict(data["problem"])
        self._path = f"/v1/experiments/{quote(self.record.key, safe='')}"

    def __repr__(self) -> str:
        return f"RemoteExperiment({self.record.name!r} at {self._transport.url})"

    @property
    def strategy(self) -> "Strategy":
        """How the budget is spent."""
        from bestmix.strategies.built_in import restore_saved  # loads the arithmetic, which no call here needs

        return restore_saved(self.record.strategy)

    @property
    def items(self) -> Items | None:
        """What trials are made on, and in which order; None where they are made on no items."""
        return None if self.record.items is None else Items.from_dict(self._get("/items"))

    @property
    def name(self) -> str:
        """Its name, as it is now."""
        return self.state.name

    @property
    def state(self) -> State:
        """Figures of this moment."""
        return State.from_dict(self._get(""))

    @property
    def done(self) -> bool:
        """Whether there will be no further trials: it is done, or was stopped."""
        return not self.state.open

    @property
    def notes(self) -> str:
        """What somebody wanted to remember; assign to it to replace it."""
        return self.state.notes

    @notes.setter
    def notes(self, text: str) -> None:
        self._call("PATCH", "", {"notes": text})

    def ask(self, n: int = 1, worker: str | None = None, key: str | None = None, segment: str | None = None) -> Handout:
        """Hand out up to ``n`` trials under a lease; an idempotency key is made up where none is given.

        Where users arrive and only their arm can be chosen, ``segment`` is that of the user whom the trial is for.
        """
        worker = f"{socket.gethostname()}-{os.getpid()}" if worker is None else worker
        body = {"n": n, "worker": worker, "key": key or secrets.token_hex(16)}
        return Handout.from_dict(self._post("ask", body if segment is None else body | {"segment": segment}))

    def tell(self, trial: Trial | str, reward: float | Mapping[str, float], costs: Any = None) -> Outcome:
        """Report a result, a reward with costs or all metrics by name; on return it is safely on the server's disk."""
        return _outcome(self._transport.post(f"{self._path}/tell", self._result(trial, reward, costs)))

    def tell_many(self, results: Iterable[tuple[Any, ...]]) -> list[Outcome]:
        """Report several results, each (trial, reward, costs) or (trial, metrics): all of them or none."""
        given = [self._result(*result) for result in results]
        return list(map(_known, self._post("tell_many", {"results": given})["outcomes"])) if given else []

    def tell_failed(self, trial: Trial | str, reason: str = "") -> None:
        """Report that a trial gave no result; its slot is handed out again."""
        self._post("fail", {"trial": _id(trial), "reason": reason})

    def renew(self, *trials: Trial | str) -> list[Trial]:
        """Start the leases of trials anew, all of them or none; ``Closed`` is raised when one is lost."""
        return list(map(Trial.from_dict, self._post("renew", {"trials": list(map(_id, trials))})["trials"]))

    def give_back(self, *trials: Trial | str) -> None:
        """End the leases of trials that this worker will not finish; no failure is counted."""
        self._post("give_back", {"trials": list(map(_id, trials))})

    def weights(self, segment: str | None = None) -> Weights:
        """What requests of a segment follow now, on live traffic: shares of arms, their version, and until when."""
        self.problem.check_segment(segment)
        now = self.published()
        shares = now.segments[segment or ""]
        return Weights(shares, now.version, now.valid_until, now.explore, now.certified, now.alarm)

    def published(self) -> Published:
        """The weights of all segments, as the document that edges cache."""
        return Published.from_dict(self._get("/weights"))

    def tell_sums(self, rows: Iterable[Mapping[str, Any]], key: str) -> Outcome:
        """Report the requests of live traffic as sums; counted once, and on return safely on the server's disk."""
        return _known(self._post("sums", {"key": key, "rows": [dict(row) for row in rows]})["outcome"])

    def traffic(self, last: int | None = None) -> TrafficState:
        """Versions of the weights, or the last of them, with the requests of each, and who reports them."""
        return TrafficState.from_dict(self._get("/traffic", last=last))

    def recommend(self, safety: float | None = 0.95, everything: bool = False) -> Recommendation:
        """The answer as things stand: the mix that keeps all limits with this certainty; None for no margin.

        With ``everything`` results count as well that the strategy's schedule has no place for.
        """
        query = {"everything": "true"} if everything else {}
        data = self._get("/recommendation", safety=_wanted(safety), **query)
        return Recommendation.from_dict({**data, "history": self._rounds()})

    def snapshot(self, safety: float | None = 0.95) -> Snapshot:
        """Figures, answer and the answers after each round, all of one moment."""
        return Snapshot.from_dict(self._get("/snapshot", safety=_wanted(safety)))

    @property
    def history(self) -> tuple[Round, ...]:
        """The rounds that are over."""
        return tuple(map(Round.from_dict, self._rounds()))

    @property
    def mixtures(self) -> list[tuple[int, Mapping[str, float] | None]]:
        """The answer after each round that is over, with the round's number; None where it was not kept."""
        return [(r["number"], r["mixture"]) for r in self._rounds()]

    def _rounds(self) -> Iterator[dict[str, Any]]:
        after: int | None = 0
        while after is not None:
            page = self._get("/history", after=after, limit=PAGE)
            yield from page["rounds"]
            after = page["next"]

    def trials(
        self,
        state: str | None = None,
        arm: str | None = None,
        worker: str | None = None,
        after: Trial | str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
        segment: str | None = None,
    ) -> list[Trial]:
        """Trials in the order in which they were handed out; at most ``limit`` of those after a trial.

        With segments an arm is one in a ``segment``.
        """
        found: list[Trial] = []
        query = {"state": state, "arm": arm, "worker": worker, "newest_first": str(newest_first).lower()}
        query |= {} if segment is None else {"segment": segment}
        start = None if after is None else _id(after)
        while limit is None or len(found) < limit:
            size = PAGE if limit is None else min(PAGE, limit - len(found))
            page = self._get("/trials", after=start, limit=size, **query)
            found += map(Trial.from_dict, page["trials"])
            start = page["next"]
            if start is None:
                break
        return found

    def iter_trials(self, state: str | None = None) -> Iterator[Trial]:
        """All trials, read page by page."""
        after: Trial | None = None
        while page := self.trials(state, after=after, limit=PAGE):
            yield from page
            after = page[-1]

    def trial(self, trial: Trial | str) -> Trial:
        """One trial as it is now."""
        return Trial.from_dict(self._get(f"/trials/{quote(_id(trial), safe='')}"))

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """What happened, in order: at most ``limit`` events numbered above ``after``."""
        found: list[Event] = []
        while len(found) < limit:
            page = self._get("/events", after=after, limit=min(limit - len(found), PAGE))
            found += map(Event.from_dict, page["events"])
            if page["next"] is None:
                break
            after = page["next"]
        return found

    def pause(self) -> None:
        """Hand out nothing until it is resumed; results are still taken."""
        self._post("pause", None)

    def resume(self) -> None:
        """Go on after a pause or a failure."""
        self._post("resume", None)

    def stop(self, reason: str = "") -> Recommendation:
        """End it early, for good; the best answer so far."""
        self._post("stop", {"reason": reason})
        return self.recommend()

    def extend(self, budget: int | Spend) -> None:
        """Raise the budget to a new total, of trials or of money, where the strategy allows it."""
        self._post("extend", {"budget": budget.to_dict() if isinstance(budget, Spend) else budget})

    @property
    def account(self) -> Account | None:
        """Where the money stands, if the budget is one of money."""
        return self.recommend().account

    def change(
        self,
        bounds: Mapping[str, float] | None = None,
        limits: "Sequence[str | Limit] | None" = None,
        arms: Iterable[str] | None = None,
        budget: int | Spend | None = None,
        prices: Mapping[str, float] | None = None,
        most: float | Mapping[str, float] | None = None,
        features: Mapping[str, Any] | None = None,
    ) -> None:
        """Change what is asked while it runs; no trial is lost, and the history tells when it changed."""
        given = {
            "bounds": None if bounds is None else {n: checks.number(f"bounds[{n!r}]", b) for n, b in bounds.items()},
            "limits": None if limits is None else list(map(str, limits)),
            "arms": None if arms is None else list(arms),
            "budget": budget.to_dict() if isinstance(budget, Spend) else budget,
            "prices": None if prices is None else dict(prices),
            "most": dict(most) if isinstance(most, Mapping) else most,
            "features": None if features is None else dict(features),
        }
        self._post("change", {name: value for name, value in given.items() if value is not None})
        self.current()

    def current(self) -> Problem:
        """What is searched, as it is at this moment."""
        self.problem = Problem.from_dict(self._get("")["problem"])
        return self.problem

    def rename(self, name: str) -> None:
        """Give it another name."""
        self._call("PATCH", "", {"name": name})

    def delete(self) -> None:
        """Remove it with all of its trials."""
        self._call("DELETE", "", None)

    def export(self, path: str | os.PathLike[str], state: str | None = None, spreadsheet: bool = False) -> Path:
        """Write the trials to a .csv or .parquet file, or everything to a .json file, as they are at one moment."""
        path = Path(path)
        kind = path.suffix.lower().removeprefix(".")
        checks.choice("path", kind, ["csv", "parquet", "json"])
        query = {"state": state, "spreadsheet": "true" if spreadsheet else None}
        content = self._transport.fetch(f"{self._path}/export/{kind}", **query)
        with files.replacing(path) as temporary:
            temporary.write_bytes(content)
        return path

    def close(self) -> None:
        """Let go of the connection."""
        self._transport.close()

    def __enter__(self) -> "RemoteExperiment":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _result(self, trial: Trial | str, reward: Any, costs: Any = None) -> dict[str, Any]:
        if isinstance(reward, Mapping) or self.problem.flows:  # a state may have come by its name
            reward, *costs = one_row(self.problem, reward, costs)
        if not isinstance(costs, Mapping):
            names = self.problem.metrics[1:]
            plain_row = type(costs) in (list, tuple) and len(costs) == len(names)
            if not (plain_row and all(type(value) in (float, int) for value in costs)):
                costs = self.problem.cost_rows(costs, 1)[0].tolist()
            costs = dict(zip(names, costs, strict=True))
        if any(type(value) is not float or not abs(value) <= checks.LARGEST for value in (reward, *costs.values())):
            costs = {name: checks.number(f"costs[{name!r}]", value) for name, value in costs.items()}
            reward = checks.number("reward", reward)
        return {"trial": _id(trial), "reward": reward, "costs": dict(costs)}

    def _call(self, method: str, path: str, body: Any, **query: Any) -> Any:
        return self._transport.call(method, f"{self._path}{path}", body, **query)[1]

    def _get(self, path: str, **query: Any) -> Any:
        return self._call("GET", path, None, **query)

    def _post(self, path: str, body: Any) -> Any:
        return self._call("POST", f"/{path}", body)


def _columns(
    problem: Problem, log: Any, arm: str, reward: str, segment: str | None, item: str | None = None
) -> dict[str, list[Any]]:
    """The trials of a log as plain columns, with the names that the server knows."""
    from bestmix.answers.logs.from_log import (  # load the arithmetic, which no other call here needs
        read_metrics,
        read_texts,
    )

    found: dict[str, list[Any]] = {"arm": [], **({"segment": []} if problem.segments else {})}
    if item is None:
        tables = read_metrics(problem, log, arm, reward, segment)
    else:
        tables, texts = read_texts(problem, log, arm, reward, segment, item)
        found["item"] = [text for own in texts for text in own]
    found |= {metric: [value for table in tables for value in table[:, i]] for i, metric in enumerate(problem.metrics)}
    for cell, table in zip(problem.cells, tables, strict=True):
        found["arm"] += [cell.arm] * len(table)
        if cell.segment is not None:
            found["segment"] += [cell.segment] * len(table)
    return {name: list(map(float, column)) if name in problem.metrics else column for name, column in found.items()}


@lru_cache(maxsize=16)
def _outcome(content: bytes) -> Outcome:
    """What became of a result, by the server's answer, of which there are few different ones."""
    return _known(read_answer(content)["outcome"])


def _known(word: Any) -> Outcome:
    """An outcome by the server's word for it, which may be one of another version."""
    if word in [*Outcome]:
        return Outcome(word)
    raise StorageError(
        f"the server's answer: expected one of {', '.join(Outcome)} as an outcome, got {checks.shown(word)}; check "
        "that it is one of bestmix, of this version"
    )


def _id(trial: Trial | str) -> str:
    return trial.id if isinstance(trial, Trial) else str(trial)


def connect(url: str, token: str | None = None, *, patience: float = PATIENCE) -> Server:
    """The experiments of a server that ``bestmix serve`` started.

    Parameters
    ----------
    url
        ``http://host:port``, or ``https://`` behind a proxy.
    token
        What ``bestmix token create`` showed; the variable BESTMIX_TOKEN by default.
    patience
        Seconds that a call keeps trying when the server is out of reach.

    Examples
    --------
    >>> connect("http://127.0.0.1:8765", token="bm_0123abcd_secret")
    Server('http://127.0.0.1:8765')
    """
    if not isinstance(url, str):
        raise checks.InvalidInput(
            "url", expected="text such as 'http://127.0.0.1:8765'", got=checks.shown(url), remedy="give one"
        )
    return Server(Transport(url, token, patience))


def _wanted(safety: float | None) -> float | str:
    """A wanted certainty as an address has it."""
    found = checks.safety(safety)
    return "none" if found is None else found
