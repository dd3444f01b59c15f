"""The same random history of calls on every store: identical answers, figures and recommendation."""

import os
import random
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.experiments.kits import PROBLEM, FakeClock, crowd

from bestmix import SFSR, SingleArm, Uniform
from bestmix.experiments.audit import audit
from bestmix.experiments.memory import MemoryStore
from bestmix.experiments.sql.database import Database, parse_url
from bestmix.experiments.sql.store import SqlStore
from bestmix.experiments.storage import Storage
from bestmix.experiments.store import digest

NUMBERS = count()
VALUES = [(0.5, (0.25,)), (1.0, (2.0,)), (-3.0, (1e-3,)), (0.1, (0.7,)), (1e9, (0.0,))]
STRATEGIES = [SFSR("lagrangian"), Uniform(), SingleArm()]
workers = st.sampled_from(["w1", "w2"])
picks = st.integers(0, 10**6)
HELD = ("leased", "complete")
PROMPTS = [f"prompt {i}" for i in range(100)]  # more than any arm gets
KINDS = ["ask", "tell", "tell", "tell", "tell_failed", "renew", "give_back"]


class Histories(RuleBasedStateMachine):
    storages: list[Storage]
    clock: FakeClock

    @initialize(
        strategy=st.sampled_from(STRATEGIES),
        budget=st.integers(4, 12),
        failures=st.integers(2, 6),
        items=st.sampled_from([None, 3, PROMPTS]),
    )
    def create(self, strategy, budget, failures, items):
        self.name = f"history {next(NUMBERS)} of {os.getpid()}"
        self.strategy = strategy
        options = {"strategy": strategy, "lease": 10.0, "failures": failures, "items": items}
        self.experiments = [s.create(self.name, PROBLEM, budget, **options) for s in self.storages]
        self.ids = []  # one id of every trial for each store

    def all(self, call):
        """Make a call on every store; the answers must be the same, whether good or bad."""
        answers = [self.answer(e, lambda e=e, i=i: call(e, i)) for i, e in enumerate(self.experiments)]
        assert answers[1:] == answers[:-1]
        return answers[0]

    def answer(self, experiment, call):
        try:
            result = call()
        except (ValueError, RuntimeError) as error:
            return type(error).__name__, str(error).replace(experiment.record.key, "KEY")
        text = repr(result).replace(digest(experiment.record), "DIGEST")  # which is also of the key
        return text.replace(experiment.record.key, "KEY")

    @rule(n=st.integers(1, 6), worker=workers, key=st.sampled_from([None, None, "k1", "k2"]))
    def ask(self, n, worker, key):
        given = []

        def call(experiment, _):
            given.append(experiment.ask(n, worker, key))
            return list(given[-1]), given[-1].retry_after, given[-1].why

        self.all(call)
        assert len({len(g) for g in given}) <= 1
        self.ids += [ids for ids in zip(*([t.id for t in g] for g in given), strict=True) if ids not in self.ids]

    @precondition(lambda self: self.ids)
    @rule(which=st.lists(st.tuples(picks, st.sampled_from(VALUES)), min_size=1, max_size=4))
    def tell(self, which):
        told = [(self.ids[pick % len(self.ids)], values) for pick, values in which]
        self.all(lambda e, i: e.tell_many([(ids[i], *values) for ids, values in told]))

    @precondition(lambda self: self.ids)
    @rule(value=st.sampled_from(VALUES))
    def tell_everything_that_is_out(self, value):
        """Otherwise few histories would get to the end of a round."""
        self.all(lambda e, i: e.tell_many([(trial, *value) for trial in e.trials("leased")]))

    @precondition(lambda self: self.ids)
    @rule(pick=picks)
    def fail(self, pick):
        self.all(lambda e, i: e.tell_failed(self.ids[pick % len(self.ids)][i], "no luck"))

    @precondition(lambda self: self.ids)
    @rule(pick=picks)
    def renew(self, pick):
        self.all(lambda e, i: e.renew(self.ids[pick % len(self.ids)][i]))

    @precondition(lambda self: self.ids)
    @rule(seconds=st.sampled_from([1.0, 4.0, 11.0, 11.0]), n=st.integers(1, 6), worker=workers)
    def wait_and_ask(self, seconds, n, worker):
        self.clock.pass_time(seconds)
        self.ask(n, worker, None)

    @precondition(lambda self: self.ids)
    @rule(value=st.sampled_from(VALUES))
    def tell_what_was_lost(self, value):
        """Late results, some of them of slots that were filled meanwhile."""
        self.all(lambda e, i: [e.tell(trial, *value) for trial in [*e.trials("expired"), *e.trials("withdrawn")]])

    @rule(plan=st.lists(st.tuples(st.sampled_from(KINDS), picks, st.integers(1, 4)), min_size=2, max_size=6))
    def at_once(self, plan):
        """Calls of several threads, which share a transaction, have the answers of calls one after another."""
        ids, given = list(self.ids), [[] for _ in self.experiments]

        def call(experiment, i, kind, pick, n):
            trial = ids[pick % len(ids)][i] if ids else None
            if kind == "ask" or trial is None:
                found = experiment.ask(n, "w1")
                given[i] += [t.id for t in found]
                return list(found), found.retry_after, found.why
            if kind == "tell":
                return experiment.tell(trial, *VALUES[n])
            return getattr(experiment, kind)(trial)

        def both(experiment, i):
            calls = [lambda step=step: call(experiment, i, *step) for step in plan]
            made = [lambda c=c: self.answer(experiment, c) for c in calls]
            return [c() for c in made] if i == 0 else crowd(experiment, made)

        self.all(both)
        in_order = [sorted(some, key=lambda trial: int(trial.split("-")[1])) for some in given]
        self.ids += list(zip(*in_order, strict=True))

    @rule(jump=st.sampled_from([-3600.0, 3600.0, 315_360_000.0]))
    def move_the_wall_clock(self, jump):
        self.clock.wall += jump

    @rule(what=st.sampled_from(["pause", "resume", "resume"]))
    def steer(self, what):
        self.all(lambda e, i: getattr(e, what)())
        if what == "pause":
            self.ask(1, "w1", None)
            self.all(lambda e, i: e.resume())

    @rule(more=st.integers(-1, 5))
    def extend(self, more):
        self.all(lambda e, i: e.extend(e.state.budget + more))

    @precondition(lambda self: len(self.ids) > 14)
    @rule()
    def stop(self):
        self.all(lambda e, i: e.stop("enough").mixture)

    @rule(part=st.integers(1, 5))
    def read(self, part):
        self.all(lambda e, i: (e.trials(limit=part), e.trials("expired", arm="a"), e.events(after=part, limit=part)))

    @rule()
    def reopen(self):
        self.experiments = [s.open(self.name) for s in self.storages]

    @invariant()
    def figures_are_the_same_and_keep_the_limits(self):
        if hasattr(self, "ids"):
            self.all(lambda e, i: e.state)
            state = self.experiments[0].state
            assert state.complete + state.leased <= state.budget
            slots = {(t.arm, t.item, t.slot) for t in self.experiments[0].trials() if t.state in HELD}
            if (self.experiments[0].record.items or {}).get("named"):
                assert len({(arm, item) for arm, item, _ in slots}) == len(slots)

    def teardown(self):
        if hasattr(self, "ids"):
            self.all(lambda e, i: (e.trials(), e.events(), e.history, e.recommend().to_json()))
            for experiment in self.experiments:
                assert audit(experiment) == []


@pytest.fixture
def machine(tmp_path, request):
    """A history on these kinds of stores at once."""
    clock = FakeClock()
    storages = [
        Storage(MemoryStore(clock), clock),
        Storage(SqlStore(Database(parse_url(tmp_path / "a.db")), clock), clock),
        Storage(SqlStore(Database(parse_url(request.getfixturevalue("postgres_url"))), clock), clock),
    ]
    yield type("Machine", (Histories,), {"storages": storages, "clock": clock})
    for storage in storages:
        storage.close()


def test_every_store_gives_the_same_answers(machine):
    run_state_machine_as_test(machine, settings=settings(max_examples=15, stateful_step_count=20))


@pytest.mark.parametrize("seed", range(6))
def test_long_histories_are_the_same_on_every_store(machine, seed):
    """Long enough that leases run out, slots are filled late, rounds end and strategies finish."""
    rng = random.Random(seed)
    history = machine()
    history.create(strategy=STRATEGIES[seed % 3], budget=30, failures=8, items=[None, PROMPTS][seed % 2])
    for _ in range(50):
        history.ask(rng.randint(1, 4), rng.choice(["w1", "w2"]), rng.choice([None, None, f"k{rng.randint(0, 9)}"]))
        recent = range(max(len(history.ids) - 12, 0), len(history.ids))
        some = rng.sample(recent, min(len(recent), rng.randint(1, 2)))
        history.tell([(pick, VALUES[pick % len(VALUES)]) for pick in some])
        happens = rng.random()
        if happens < 0.3:
            history.clock.pass_time(rng.choice([3.0, 11.0]))
        elif happens < 0.4:
            history.fail(rng.choice(recent))
        elif happens < 0.5:
            history.renew(rng.choice(recent))
        elif happens < 0.55:
            history.reopen()
        elif happens < 0.6:
            history.extend(3)
        elif happens < 0.8:
            history.at_once([(rng.choice(KINDS), rng.randrange(10**6), rng.randint(1, 4)) for _ in range(5)])
        history.figures_are_the_same_and_keep_the_limits()
        if history.experiments[0].state.status == "failed":
            history.steer("resume")
    states = {trial.state.value for trial in history.experiments[0].trials()}
    assert {"complete", "expired"} < states  # else the history was too tame to mean anything
    assert states & {"surplus", "extra"}
    state = history.experiments[0].state
    assert state.round > 1 or state.status == "done"
    history.teardown()
