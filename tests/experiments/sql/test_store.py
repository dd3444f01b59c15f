"""The store in a database: what is its own beside the contract, which ``test_store.py`` above checks."""

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import Uniform
from bestmix.experiments import Closed, Conflict, UnknownTrial, calls
from bestmix.experiments.audit import audit
from bestmix.experiments.experiment import joint_tell
from bestmix.experiments.model import Draft, Record
from bestmix.experiments.sql.group_commit import Call, Refusal
from bestmix.strategies.rounds import Recipe, begin, no_trials

KINDS = ["sqlite", "postgres"]


def draft(key, name):
    recipe = Recipe(PROBLEM, Uniform())
    step = begin(recipe, 6)
    record = Record(key, name, PROBLEM.to_dict(), Uniform().to_dict(), 6, 60.0, 100)
    return Draft(record, "", step.memory, step.quota, step.rounds, no_trials(PROBLEM), [])


@pytest.mark.parametrize("kind", KINDS)
def test_creating_again_after_a_lost_answer_is_the_same_experiment(opener, clock, name, kind):
    store = opener(kind, clock).store
    key = f"{abs(hash(name)):012x}"[:12]
    assert store.create(draft(key, name))
    assert store.create(draft(key, name))  # the answer was lost, the call repeated
    assert not store.create(draft("f" * 12, name))
    assert store.record("f" * 12) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_is_used_again_is_not_taken_for_the_deleted_experiment(opener, clock, name, kind):
    first, second = opener(kind, clock), opener(kind, clock)
    experiment = first.create(name, PROBLEM, 6, Uniform())
    experiment.ask()
    second.open(name).delete()
    second.create(name, PROBLEM, 6, Uniform())  # SQLite gives it the number of the deleted one
    with pytest.raises(Closed, match="was deleted"):
        experiment.ask()


def written(experiment, results):
    """What becomes of single results that wait at the same moment: an outcome, or the kind of error."""
    waiting = [Call(work, prefetch) for prefetch, work in (joint_tell(experiment, result) for result in results)]
    found = experiment.storage.store._write(experiment.record.key, waiting)
    return [type(one.error) if isinstance(one, Refusal) else one.value for one in found]


@pytest.mark.parametrize("kind", KINDS)
def test_single_results_of_several_callers_are_taken_in_one_pass(opener, clock, name, kind, monkeypatch):
    experiment = opener(kind, clock).create(name, PROBLEM, 12, Uniform())
    first, *others = experiment.ask(4)
    costs = [0.5] * len(PROBLEM.costs)
    results = [(trial, 0.25, costs) for trial in (first, first, *others)]
    wrong = [(first, 0.5, costs), (f"{experiment.record.key}-999", 0.5, costs)]
    passes, tell_each = [], calls.tell_each
    monkeypatch.setattr(calls, "tell_each", lambda *given: passes.append(1) or tell_each(*given))
    expected = ["counted", "repeated", Conflict, UnknownTrial, "counted", "counted", "counted"]
    assert written(experiment, [*results[:2], *wrong, *results[2:]]) == expected
    assert len(passes) == 1
    assert experiment.state.complete == 4
    told = [event.data["trials"] for event in experiment.events() if event.kind == "told"]
    assert told == [[1], [2], [3], [4]]  # as if they had come one after another
    assert audit(experiment) == []


def test_a_result_that_no_sum_can_take_is_refused_alone(opener, clock, name, monkeypatch):
    experiment = opener("sqlite", clock).create(name, PROBLEM, 12, Uniform())
    count = calls._count

    def counting(transaction, rows, problem):
        count(transaction, rows, problem)
        if any(row.values[0] == 7.0 for row in rows):
            raise ValueError("squares no longer add up")

    monkeypatch.setattr(calls, "_count", counting)
    costs = [0.5] * len(PROBLEM.costs)
    many = [(trial, reward, costs) for trial, reward in zip(experiment.ask(3), (0.25, 7.0, 0.5), strict=True)]
    assert written(experiment, many) == ["counted", ValueError, "counted"]
    assert experiment.state.complete == 2
    assert audit(experiment) == []
