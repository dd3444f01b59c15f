"""Starting from a log: the trials fill what the strategy owes, as if the experiment had made them."""

import numpy as np
import pytest
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, open_experiment
from bestmix.experiments.audit import audit


def log(rows, seed=0):
    rng = np.random.default_rng(seed)
    arms = rng.choice(["a", "b", "c"], rows)
    return {"arm": list(arms), "reward": rng.normal(size=rows), "dollars": rng.random(rows)}


@pytest.mark.parametrize("rows", [1, 10, 40, 200])
def test_an_experiment_starts_from_a_log_as_if_it_had_made_the_trials(storage, name, rows):
    data = log(rows)
    exp = storage.create(name, PROBLEM, 60, SFSR("lagrangian"), log=data)
    search = SFSR("lagrangian").start(PROBLEM, 60)
    left = {arm: [i for i, a in enumerate(data["arm"]) if a == arm] for arm in PROBLEM.arms}
    while any((owed := search.ask()) and left[arm] for arm in search.ask()):
        for arm, n in owed.items():
            for i in left[arm][:n]:
                search.tell(arm, data["reward"][i], [data["dollars"][i]])
            left[arm] = left[arm][n:]
    assert exp.state.complete == search.trials
    assert exp.state.complete + exp.state.surplus == rows
    assert exp.recommend().to_json() == search.recommend().to_json()
    assert audit(exp) == []
    while trials := exp.ask(5):
        exp.tell_many([(t, 1.0, [0.5]) for t in trials])
    assert exp.state.status == "done"
    assert audit(exp) == []


def test_a_log_of_unknown_arms_is_refused():
    with pytest.raises(ValueError, match="arm: expected one of"):
        open_experiment("memory://", "a", PROBLEM, 60, log={"arm": ["z"], "reward": [1.0], "dollars": [1.0]})
