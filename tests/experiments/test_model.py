"""Values of experiments as plain data, and text that a storage takes."""

import json
from datetime import UTC, datetime

import pytest

from bestmix.experiments import Event, Handout, State, Status, Trial, TrialState
from bestmix.experiments.model import LONGEST_NAME, Record, check_name, check_text

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)
LEASED = Trial("0123456789ab-1", "a", 1, 1, 1, TrialState.leased, "w", NOW, NOW)
TOLD = Trial("0123456789ab-2", "b", 2, 2, 1, TrialState.complete, "w", NOW, NOW, NOW, 1.5, {"x": 0.1}, "late")
VALUES = [
    LEASED,
    TOLD,
    State("r", Status.failed, "why", "notes", 9, 1, 2, 3, 4, 5, 6, 7, NOW, None, 8),
    State("r", Status.done, "", "", 9, 1, 2, 3, 4, 5, 6, 7, NOW, NOW, 8),
    Event(3, "asked", {"worker": "w", "first": 1}, NOW),
    Record("0123456789ab", "r", {"arms": ["a"]}, {"kind": "Uniform"}, 9, 60.0, 100),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back_from_plain_data_and_leave_other_entries_alone(value):
    data = json.loads(json.dumps(value.to_dict()))
    again = type(value).from_dict(data | {"newer": 1})
    assert again == value
    assert type(again.to_dict()) is dict
    assert json.dumps(again.to_dict()) == json.dumps(data)


@pytest.mark.parametrize("given", [Handout([LEASED, TOLD]), Handout([], 2.5, "all is out on lease"), Handout()])
def test_a_handout_comes_back_with_its_reason(given):
    again = Handout.from_dict(json.loads(json.dumps(given.to_dict())))
    assert (again, again.retry_after, again.why) == (given, given.retry_after, given.why)


@pytest.mark.parametrize("text", [5, None, "", " ", "a\x00", "a\x1b[2J", "\ud800", "x" * (LONGEST_NAME + 1)])
def test_text_that_no_storage_takes_is_refused_by_its_field(text):
    with pytest.raises(ValueError, match=r"^worker: ") as caught:
        check_text("worker", text)
    assert caught.value.field == "worker"


@pytest.mark.parametrize("name", ["a/b", "/", ".", ".."])
def test_a_name_is_one_part_of_an_address(name):
    with pytest.raises(ValueError, match=r"cannot stand in an address, where a slash divides parts; choose a name"):
        check_name(name)


def test_a_name_must_not_look_like_an_id():
    with pytest.raises(ValueError, match="looks like an experiment's id"):
        check_name("0123456789ab")
