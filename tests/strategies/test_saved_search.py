import json

import numpy as np
import pytest

from bestmix import SFSR, Challenger, Problem, Search, Uniform


@pytest.mark.parametrize("text", ["{}", "[]", "1", "no", '{"format": "bestmix search 99"}'])
def test_text_that_is_no_search_is_refused(text):
    with pytest.raises(ValueError):
        Search.from_json(text)


@pytest.mark.parametrize("missing", ["problem", "strategy", "budget", "memory", "before", "moments", "history"])
def test_a_search_with_a_part_missing_is_refused(missing):
    data = SFSR().start(Problem(["a", "b"], {"c": 1.0}), 50).to_dict()
    del data[missing]
    with pytest.raises(ValueError, match=missing):
        Search.from_dict(data)


def test_only_json_holds_a_search(tmp_path):
    search = Uniform().start(Problem(["a", "b"]), 50)
    with pytest.raises(ValueError, match=r"json"):
        search.save(tmp_path / "search.toml")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data.update(problem=None),
        lambda data: data["memory"].pop("basis"),
        lambda data: data["moments"][0]["sums"].pop(),
        lambda data: data["memory"]["quota"].pop(),
        lambda data: data["before"].pop(),
        lambda data: data["moments"].pop(),
        lambda data: data["problem"]["arms"].pop(),
    ],
)
def test_an_edited_search_is_refused_when_it_is_read(damage):
    search = Challenger().start(Problem(["a", "b"], {"c": 1.0}), budget=40)
    search.tell("a", [1.0, 1.2], {"c": [0.5, 0.7]})
    data = json.loads(search.to_json())
    damage(data)
    with pytest.raises(ValueError, match=r"damaged|problem"):
        Search.from_dict(data)


class Forgetful:
    """A strategy of a user's own, which remembers other things later than at first."""

    name = "forgetful"

    def start(self, problem, budget):
        return Search(self, problem, budget)

    def begin(self, problem, budget):
        return {"quota": "two each", "first": True}

    def quota(self, problem, budget, memory):
        return np.full(len(problem.cells), 2) if "first" in memory else None

    def close(self, evidence, budget, memory):
        return {"quota": "over"}, {}

    def columns(self, problem, memory):
        return np.arange(len(problem.columns))

    def to_dict(self):
        return {"kind": "Forgetful"}


def test_a_strategy_of_ones_own_may_remember_what_it_likes():
    search = Forgetful().start(Problem(["a", "b"]), 4)
    search.tell("a", [1.0, 1.2])
    search.tell("b", [2.0, 2.2])
    again = Search.from_dict(json.loads(search.to_json()), search.strategy)
    assert again.done
    assert again.recommend().support == ("b",)
