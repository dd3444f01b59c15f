import json

import pytest

from bestmix import Instance, catalog, explain
from bestmix.pages.explanation import explanation_page, save_explanation


def test_the_page_says_it_all():
    explained = explain(catalog.load("D2P"))
    text = str(explained)
    assert "Mix 66.7% arm10 with 33.3% arm20: mean reward 1.007." in text
    assert "cost0: at its bound of 1; 1% more of the limit on cost0 (1 -> 1.01) would add 0.01 to the reward." in text
    assert "cost1: 0.0333 below its bound of 1; a looser bound would add nothing." in text
    assert "The closest rival, arm6 with arm20, is 0.0276" in text
    assert "makes at least 26,006 trials here on average" in text
    assert explained.to_dict()["limit"]["proven"]
    assert explained.binding == ["cost0"]
    assert "arm17" in explained.droppable
    assert "arm6" not in explained.droppable
    json.dumps(explained.to_dict(), allow_nan=False)


def test_a_single_arm_that_can_be_dropped_is_told_as_one():
    instance = Instance([1.0, 2.0, 1.9, -9.0], [[0.0, 2.0, 2.0, 1.0]], [1.0], sigma_reward=0.5, sigma_cost=0.5)
    assert "arm3: about 1 trial of each arm tells that it has no place in the mix" in str(explain(instance))
    assert "trials of each arm tell that they have no place in the mix" in str(explain(catalog.load("D2P")))


def test_a_log_is_explained_by_its_estimates():
    log = {"arm": ["s", "s", "l", "l"], "reward": [1.0, 1.2, 2.0, 2.2], "x": [0.0, 0.2, 1.8, 2.2]}
    explained = explain(log, bounds={"x": 1.0})
    assert explained.solution.mixture == pytest.approx([0.526, 0.474], abs=0.001)
    assert explained.binding == ["x"]


def test_the_reward_of_a_log_is_called_by_its_column():
    log = {"arm": ["a", "b", "c"] * 4, "quality": [0.1, 0.9, 0.4, 0.2, 0.8, 0.5] * 2, "dollars": [0.0, 2.0, 1.5] * 4}
    text = str(explain(log, bounds={"dollars": 1.0}, reward="quality"))
    assert "mean quality 0.5" in text
    assert "to quality" in text
    assert "reward" not in text


def test_shadow_prices_are_what_a_looser_bound_buys():
    instance = catalog.load("A2")
    price = explain(instance).shadow_prices["cost0"]
    looser = Instance(instance.reward, instance.cost, instance.bound + 1e-4)
    gained = explain(looser).solution.value - explain(instance).solution.value
    assert gained == pytest.approx(1e-4 * price, rel=1e-6)


@pytest.mark.parametrize(
    ("instance", "part"),
    [
        (
            Instance([1.0, 1.0], [[0.0, 0.5]], [1.0]),
            "The smallest change can flip the answer: the best mix is not unique",
        ),
        (Instance([1.0, 0.5], [[2.0, 1.5]], [1.0]), "No mix keeps all bounds. The least violation has arm1"),
        (Instance([1.0, 0.5], [[2.0, 1.5]], [1.0]), "makes at least 7 trials here on average"),
        (Instance([1.0, 0.5, 0.0]), "Use arm0: mean reward 1."),
        (Instance([0.0, *range(200)], [[0.5] * 201] * 3, [1.0] * 3), "too many bases"),
        (Instance([1.0, 0.5], [[0.2, 0.4]], [1.0], known=2), "No change of the unknown means can flip the answer"),
    ],
)
def test_every_instance_gets_an_answer(instance, part):
    explained = explain(instance)
    assert part in str(explained)
    json.dumps(explained.to_dict(), allow_nan=False)
    assert "<svg" in explanation_page(explained)


def test_pages(tmp_path):
    explained = explain(Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], arms=["a", "<b>", "c"]))
    page = save_explanation(explained, tmp_path / "p.html").read_text()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert page.count("<h2>") == 3
    with pytest.raises(ValueError, match=r"end in \.html"):
        save_explanation(explained, tmp_path / "p.txt")
    with pytest.raises(ValueError, match="expected a path of a log or -"):
        explain(3)
