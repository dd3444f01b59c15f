"""Whatever users pass: a clear error, and the state unchanged."""

import json
import math

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, Challenger, Problem, Uniform
from bestmix.experiments import UnknownTrial, open_experiment, open_storage
from bestmix.experiments.audit import audit
from bestmix.problems.families import random_markov

LONG = "x" * 10_000
INJECTION = "x'; DROP TABLE trials; --"


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request, opener, clock):
    """What is checked before a store is reached is the same for all of them."""
    return opener(request.param, clock)


@pytest.fixture
def exp(storage, name):
    return storage.create(name, PROBLEM, 6, Uniform())


@pytest.mark.parametrize(
    ("reward", "costs", "message"),
    [
        (math.nan, [0.5], "reward: expected a finite number, got nan"),
        (math.inf, [0.5], "reward: expected a finite number, got inf"),
        (1e308, [0.5], r"reward: 1e\+308 is too large to be squared"),
        ("1", [0.5], "reward: expected a finite number, got '1'"),
        (None, [0.5], "reward: expected a number, got None"),
        (1.0, [math.nan], "costs: expected finite numbers"),
        (1.0, [-math.inf], "costs: expected finite numbers"),
        (1.0, [1e308], "costs: values beyond 1e\\+150"),
        (1.0, [0.5, 0.5], "costs: expected shape"),
        (1.0, [], "costs: expected shape"),
        (1.0, None, "costs: expected a value of"),
        (1.0, {"euros": 1.0}, "costs: expected one value for each cost"),
        (1.0, {"dollars": "1"}, "expected a finite number"),
    ],
)
def test_bad_results_are_refused_before_anything_is_written(exp, reward, costs, message):
    trial = exp.ask()[0]
    before = exp.state, exp.trials(), exp.events()
    with pytest.raises(ValueError, match=message):
        exp.tell(trial, reward, costs)
    with pytest.raises(ValueError, match=message):
        exp.tell_many([(trial, 1.0, [0.5]), (trial, reward, costs)])
    assert (exp.state, exp.trials(), exp.events()) == before


@pytest.mark.parametrize("trial", ["nonsense", "", INJECTION, 7, None, LONG, "0123456789ab-0", "0123456789ab-x"])
def test_what_is_no_trial_is_refused(exp, trial):
    for call in (lambda: exp.tell(trial, 1.0, [0.5]), lambda: exp.renew(trial), lambda: exp.tell_failed(trial)):
        with pytest.raises(UnknownTrial, match="expected the id of a trial that ask"):
            call()


def test_unknown_trials_and_those_of_another_experiment_are_refused(storage, exp, name):
    other = storage.create(f"{name} other", PROBLEM, 6, Uniform())
    theirs, unknown = other.ask()[0], f"{exp.record.key}-99"
    for call in (lambda t: exp.tell(t, 1.0, [0.5]), exp.renew, exp.tell_failed):
        with pytest.raises(UnknownTrial, match="belongs to another experiment"):
            call(theirs)
        with pytest.raises(UnknownTrial, match=r"there is no trial 99"):
            call(unknown)
    with pytest.raises(UnknownTrial, match="there is no trial 99"):
        exp.trial(unknown)
    assert exp.state.complete == other.state.complete == 0


@pytest.mark.parametrize("bad", [LONG, "", "  ", "a\x00b", "\ud800", None, 7])
def test_bad_names_are_refused(storage, exp, bad):
    before = exp.state
    calls = [lambda: storage.create(bad, PROBLEM, 6), lambda: exp.rename(bad), lambda: storage.open(bad)]
    for call in calls:
        with pytest.raises(ValueError, match="name: "):
            call()
    if bad is not None:
        with pytest.raises(ValueError, match="worker: "):
            exp.ask(worker=bad)
        with pytest.raises(ValueError, match="key: "):
            exp.ask(key=bad)
    assert exp.state == before


def test_sql_and_markup_in_texts_are_only_texts(storage, name):
    odd = f"{name} {INJECTION} <b>ü😀%s :x"
    problem = Problem([INJECTION, "ü😀"], {"%(x)s": 1.0})
    exp = storage.create(odd, problem, 4, Uniform(), notes=INJECTION)
    trial = exp.ask(worker=INJECTION, key=INJECTION)[0]
    exp.tell_failed(trial, INJECTION)
    assert exp.ask(worker=INJECTION, key=INJECTION)[0].note == INJECTION
    again = storage.open(odd)
    assert again.problem == problem
    assert again.trials(worker=INJECTION)[0].worker == INJECTION
    assert odd in [s.name for s in storage.experiments()]


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", None, 10**9, True])
def test_bad_numbers_of_trials_are_refused(exp, n):
    with pytest.raises(ValueError, match="n: expected a whole number"):
        exp.ask(n)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": -1}, "budget: expected a whole number of at least 0"),
        ({"budget": 2.5}, "budget"),
        ({"lease": 0}, "lease: expected seconds between 0 and a year"),
        ({"lease": math.nan}, "lease: expected a finite number"),
        ({"lease": 1e9}, "lease: expected seconds between"),
        ({"failures": 0}, "failures: expected a whole number of at least 1"),
        ({"strategy": SFSR}, "strategy: expected a strategy such as SFSR"),
        ({"strategy": "sfsr"}, "strategy: expected a strategy such as SFSR"),
        ({"problem": {"arms": ["a"]}}, "problem: expected a Problem, got dict"),
        ({"notes": "x" * 100_001}, "notes: expected at most 100,000 characters"),
    ],
)
def test_bad_terms_are_refused_and_nothing_is_created(storage, name, options, message):
    with pytest.raises(ValueError, match=message):
        storage.create(name, **({"problem": PROBLEM, "budget": 6} | options))
    assert name not in [s.name for s in storage.experiments()]


def test_what_is_no_query_is_refused(exp):
    with pytest.raises(ValueError, match="state: expected one of 'leased'"):
        exp.trials(state="lost")
    with pytest.raises(ValueError, match="arm: expected one of"):
        exp.trials(arm="z")
    with pytest.raises(ValueError, match="limit: expected a whole number of at least 1"):
        exp.trials(limit=0)
    with pytest.raises(ValueError, match="after: expected a whole number of at least 0"):
        exp.events(after=-1)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://host/db", "url: expected sqlite:///FILE"),
        ("sqlite://", "expected the name of a file after sqlite:///"),
        ("sqlite:///:memory:", "use memory://"),
        ("sqlite:////nowhere/at/all.db", "there is no folder /nowhere/at"),
        ("", "url: expected text"),
        (7, "url: expected text"),
        ("://x", "url: expected sqlite:///FILE"),
    ],
)
def test_bad_urls_are_refused(url, message):
    with pytest.raises(ValueError, match=message):
        open_experiment(url, "x", PROBLEM, 6)


@pytest.mark.parametrize("letter", ["\u200b", "\u202e", "\u2066", "\u00ad", "\u3164"], ids=ascii)
def test_new_names_that_look_like_others_are_refused(letter):
    storage = open_storage("memory://")
    twin = f"sma{letter}ll"
    with pytest.raises(ValueError, match=r"name: .* nobody sees"):
        storage.create(twin, Problem(["a", "b"]), 4, Uniform())
    for problem in (Problem(["small", twin]), Problem(["small", "b"], {twin: 1.0})):
        with pytest.raises(ValueError, match=r"(arms|bounds): .* nobody sees"):
            storage.create("x", problem, 4, Uniform())
    assert storage.experiments() == []
    exp = storage.create("x", Problem(["a", "b"]), 4, Uniform())
    with pytest.raises(ValueError, match=r"worker: .* nobody sees"):
        exp.ask(1, worker=twin)
    with pytest.raises(ValueError, match=r"name: .* nobody sees"):
        exp.rename(twin)


def test_names_have_a_longest_length():
    storage = open_storage("memory://")
    with pytest.raises(ValueError, match="arms: expected at most 1,000 characters, got 1,001"):
        storage.create("x", Problem(["a", "b" * 1001]), 4, Uniform())


def test_steps_between_states_are_kept_planned_and_audited(storage, name, tmp_path):
    """The durable run of a policy: the answer is that of the live search, after every trial was told by name."""
    instance = random_markov(3, 2, 1, seed=2)
    exp = open_experiment(storage, name, instance.problem, 150, Challenger(rounds=5, ahead=0))
    pull = instance.sampler(seed=1)
    while given := exp.ask(20):
        exp.tell_many([(trial.id, pull(trial.arm, trial.segment)) for trial in given])
    assert exp.done
    again = open_experiment(storage, name)
    assert again.problem == instance.problem
    search = Challenger(rounds=5, ahead=0).start(instance.problem, 150)
    for trial in exp.trials():
        search.tell(trial.arm, {"reward": trial.reward, **trial.costs}, segment=trial.segment)
    assert exp.recommend().mixture == search.recommend().mixture
    assert audit(exp) == []
    exp.export(tmp_path / "t.json")
    exported = json.loads((tmp_path / "t.json").read_text())["trials"]
    assert {trial["costs"]["next"] for trial in exported} <= set(instance.problem.states)
    with pytest.raises(ValueError, match="steps are made from states of choice"):
        exp.ask(segment="state0")
    with pytest.raises(ValueError, match="arms: with states the actions stay as they are"):
        exp.change(arms=["action0"])
    exp.change(bounds={"cost0": 2.0})
    assert exp.problem.bounds == {"cost0": 2.0}
    assert "cost0" not in exp.recommend().short
