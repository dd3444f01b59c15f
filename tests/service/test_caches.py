import pytest
from tests.service.servers import PROBLEM

from bestmix import Uniform, open_storage
from bestmix.service import caches
from bestmix.service.caches import OpenExperiments, Views
from bestmix.service.errors import Refusal


@pytest.fixture
def storage():
    with open_storage("memory://") as made:
        made.create("router", PROBLEM, 8, Uniform())
        yield made


def test_an_experiment_is_found_by_name_and_by_id_and_kept_by_id(storage):
    opened = OpenExperiments(storage)
    found = opened.open("router")
    key = found.record.key
    assert opened.known(key) is found
    assert opened.known("router") is None
    assert opened.open(key).record == found.record
    opened.forget(found)
    assert opened.known(key) is None


@pytest.mark.parametrize("name", ["nobody", "0123456789ab", "\x00", "x" * 1000])
def test_what_is_not_there_is_refused(storage, name):
    with pytest.raises(Refusal, match="there is no such experiment") as caught:
        OpenExperiments(storage).open(name)
    assert (caught.value.code, caught.value.field) == ("not_found", "experiment")


def test_only_so_many_are_kept(storage, monkeypatch):
    monkeypatch.setattr(caches, "MOST_OPEN", 2)
    opened = OpenExperiments(storage)
    keys = [opened.keep(storage.create(name, PROBLEM, 8, Uniform())).record.key for name in "abc"]
    assert [opened.known(key) is not None for key in keys] == [False, True, True]


def test_a_view_is_shown_again_only_while_the_figures_are_the_same(storage):
    shown, exp = Views(), storage.open("router")
    first = shown.look(exp)
    assert shown.look(exp) is first
    exp.ask()
    assert shown.look(exp) is not first
