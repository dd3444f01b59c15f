"""The store in a database: what is its own beside the contract, which ``test_store.py`` above checks."""

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import Uniform
from bestmix.experiments import Closed
from bestmix.experiments.model import Draft, Record
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
