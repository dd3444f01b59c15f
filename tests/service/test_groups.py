import threading

import pytest

from bestmix import Problem, Uniform, open_storage
from bestmix.experiments import Conflict, Outcome
from bestmix.service.groups import Entry, Groups, write


@pytest.fixture
def exp(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        yield storage.create("a", Problem(["a", "b"]), 400, Uniform())


def test_a_refused_result_spoils_no_other(exp):
    first, second, third = exp.ask(3)
    exp.tell(first, 1.0)
    entries = [Entry([(first.id, 2.0, {})]), Entry([(second.id, 1.0, {}), (third.id, 1.0, {})]), Entry([])]
    write(exp, entries)
    assert isinstance(entries[0].error, Conflict)
    assert entries[1].outcomes == [Outcome.counted, Outcome.counted]
    assert all(entry.done for entry in entries)
    assert exp.state.complete == 3


def test_many_callers_at_once_are_each_answered(exp):
    groups, answers = Groups(), []

    def work(trials):
        for trial in trials:
            answers.append(groups.tell(exp, [(trial.id, 1.0, {})]))
            answers.append(groups.tell(exp, [(trial.id, 1.0, {})]))

    given = exp.ask(80)
    crew = [threading.Thread(target=work, args=(given[i::8],)) for i in range(8)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    assert sorted(answers) == [[Outcome.counted]] * 80 + [[Outcome.repeated]] * 80
    assert exp.state.complete == 80
