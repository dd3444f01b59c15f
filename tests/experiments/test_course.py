"""The course of an experiment is derived from its trials and events alone."""

import numpy as np
import pytest
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, Challenger, Uniform, open_experiment
from bestmix.experiments.course import Course
from bestmix.experiments.tally import read_log, read_trials


def course(exp):
    contents = exp.storage.store.contents(exp.record.key, events=True)
    log = read_log(contents.events)
    return Course(contents, log, read_trials(contents, log, 3, 1), exp.revision(None))


@pytest.mark.parametrize("strategy", [Challenger(rounds=5), Uniform(), SFSR("lagrangian")], ids=lambda s: s.name)
@pytest.mark.parametrize("logged", [0, 25])
def test_sums_rounds_and_memory_are_those_of_the_experiment(strategy, logged, clock):
    rng = np.random.default_rng(logged)
    log = {
        "arm": list(rng.choice([*PROBLEM.arms], logged)),
        "reward": rng.random(logged),
        "dollars": rng.random(logged),
    }
    exp = open_experiment("memory://", "a", PROBLEM, 60, strategy, log=log if logged else None, lease=5.0, clock=clock)
    late = []
    while not exp.done:
        trials = exp.ask(7)
        late += trials[:1]
        clock.pass_time(3.0)
        exp.tell_many([(t, rng.random(), [rng.random()]) for t in trials[1:]])
        if len(late) > 3:
            exp.tell(late.pop(0), 0.5, [0.5])
        found, now = course(exp), exp.run_state()
        assert [m.to_dict() for m in found.sums()] == [m.to_dict() for m in now.moments]
        step = found.replay(strategy)
        assert step.memory == now.memory
        assert [r.to_dict() for r in step.rounds] == [r.to_dict() for r in now.rounds]
    assert exp.done
    assert exp.state.extra + exp.state.surplus > 0
