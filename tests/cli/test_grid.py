import sys

import pytest

from bestmix import SFSR, Challenger, Instance, Uniform, catalog, files
from bestmix.cli.grid import DOUBLINGS, default_budgets, find_budgets, find_instance, find_strategy, read_grid
from bestmix.strategies.protocol import MOST_TRIALS

TINY = Instance([1.0, 2.0], [[0.5, 1.5]], [1.0])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    TINY.save(tmp_path / "tiny.toml")
    (tmp_path / "own_strategies.py").write_text("from bestmix import Uniform\n\ndef score(mu, u, e):\n    return mu\n")
    return tmp_path


def test_a_grid_is_read_with_its_own_numbers_or_those_given(place):
    data = {"instances": ["tiny.toml", "D1P"], "strategies": ["uniform"], "budgets": [60, 90], "runs": 7, "seed": 2}
    files.write(place / "grid.json", data)
    grid = read_grid(place / "grid.json")
    assert (list(grid.instances), grid.cells, grid.runs, grid.seed, grid.own) == (["tiny", "D1P"], 4, 7, 2, [])
    assert (read_grid(place / "grid.json", runs=9, seed=0).runs, read_grid(place / "grid.json", seed=0).seed) == (9, 0)


def test_users_arrive_where_the_grid_says_so(place):
    data = {"instances": ["S3L1"], "strategies": ["uniform"], "budgets": [60]}
    files.write(place / "grid.json", data)
    files.write(place / "users.json", {**data, "arriving": True})
    assert [read_grid(place / f"{name}.json").arriving for name in ("grid", "users")] == [False, True]
    assert read_grid(place / "grid.json", arriving=True).arriving
    files.write(place / "wrong.json", {**data, "arriving": "yes"})
    with pytest.raises(ValueError, match="arriving: expected true or false, got 'yes'"):
        read_grid(place / "wrong.json")


def test_instances_come_from_the_catalog_or_a_file(place):
    assert find_instance("D1P", place, "x").arms == catalog.load("D1P").arms
    assert (find_instance("tiny.toml", place, "x").means == TINY.means).all()
    with pytest.raises(ValueError, match=r"x: .*none\.toml: there is no such file"):
        find_instance("none.toml", place, "x")


def test_strategies_come_by_name_or_from_a_module(place):
    assert find_strategy("challenger", place, "x") == Challenger()
    assert find_strategy("sfsr-l", place, "x") == SFSR("lagrangian")
    assert find_strategy("own_strategies:Uniform", place, "x") == Uniform()
    assert find_strategy("own_strategies:score", place, "x").name == "SFSR[score]"


@pytest.mark.parametrize("wrong", [0, -3, 2.5, "many", MOST_TRIALS + 1])
def test_budgets_are_whole_and_can_be_counted(wrong):
    with pytest.raises(ValueError, match="budgets: expected a whole number"):
        find_budgets([10, wrong], {"tiny": TINY})


def test_default_budgets_double():
    assert default_budgets("A1", catalog.load("A1")) == list(catalog.budgets("A1"))
    assert default_budgets("tiny", TINY) == [20 * 2**k for k in range(DOUBLINGS)]
    assert default_budgets("own", catalog.load("S3L1"))[0] == 10 * 3 * 6
