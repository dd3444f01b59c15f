import json
import sqlite3

import numpy as np
import pytest

from bestmix import SFSR, Challenger, Problem, Search, Uniform, open_experiment


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


@pytest.mark.parametrize("edition", [3, 7])
def test_editions_are_numbered_as_they_are_since_0_2(edition, tmp_path):
    """Searches and databases of revisions before it go on; the same strategy may be passed again."""
    strategy = Challenger(0.9)
    saved = strategy.start(Problem(["a", "b"], {"x": 1.0})).to_dict()
    saved["strategy"]["edition"] = edition
    assert Search.from_dict(saved).strategy == Search.from_dict(saved, strategy).strategy == strategy
    with open_experiment(tmp_path / "a.db", "a", Problem(["a", "b"]), 100, strategy):
        pass
    with sqlite3.connect(tmp_path / "a.db") as tables:
        tables.execute(
            "UPDATE experiments SET strategy = replace(strategy, ?, ?)", ('"edition": 2', f'"edition": {edition}')
        )
        tables.execute(
            "UPDATE experiments SET strategy = replace(strategy, ?, ?)", ('"edition":2', f'"edition":{edition}')
        )
        assert str(edition) in tables.execute("SELECT strategy FROM experiments").fetchone()[0]
    for given in ({}, {"strategy": strategy}):
        with open_experiment(tmp_path / "a.db", "a", **given) as again:
            assert again.strategy == strategy
