"""What events and trials say by themselves."""

import pytest

from bestmix.experiments.model import Event, moment
from bestmix.experiments.tally import FIELDS, read_log


def events(*happened):
    return [Event(n, kind, data, moment(0.0)) for n, (kind, data) in enumerate(happened, start=1)]


def test_a_log_tells_figures_status_and_names():
    log = read_log(
        events(
            ("created", {"digest": "d"}),
            ("asked", {"worker": "w", "first": 1, "count": 3}),
            ("trial failed", {"trial": 1, "reason": "r"}),
            ("failed", {"reason": "r"}),
            ("resumed", {}),
            ("trial failed", {"trial": 2, "reason": "r"}),
            ("expired", {"count": 2}),
            ("given back", {"trials": [3]}),
            ("renamed", {"old": "a", "new": "b"}),
            ("renamed", {"old": "b", "new": "c"}),
            ("round", {"number": 1, "rejected": None}),
            ("extended", {"budget": 9}),
            ("paused", {}),
        )
    )
    assert log.problems == []
    assert (log.digest, log.first_name, log.name, log.budget, log.status) == ("d", "a", "c", 9, "paused")
    assert (log.failed, log.strikes, log.expired, log.rounds) == (2, 1, 3, 1)


@pytest.mark.parametrize("kind", [kind for kind, fields in FIELDS.items() if fields])
def test_an_event_without_its_data_is_a_problem(kind):
    assert read_log(events(("created", {}), (kind, {}))).problems


def test_an_experiment_that_was_over_may_go_on_when_it_is_extended():
    log = read_log(events(("created", {}), ("done", {}), ("extended", {"budget": 9})))
    assert (log.status, log.may_be_done) == ("running", True)
