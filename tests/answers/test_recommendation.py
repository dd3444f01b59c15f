import json
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import stats

from bestmix import SFSR, Known, Problem, Uniform, identify
from bestmix.answers.recommendation import finite


def answer(reward=(1.0, 3.0), cost=(0.0, 2.0), bound=1.0, spread=0.1, n=20, names=("a", "b"), strategy=None):
    """A finished search in which trials alternate around these means."""
    search = (strategy or Uniform()).start(Problem(names, {"dollars": bound}), n * len(names))
    while owed := search.ask():
        for arm, m in owed.items():
            i = names.index(arm)
            noise = spread * np.where(np.arange(m) % 2, 1.0, -1.0)
            search.tell(arm, reward[i] + noise, (cost[i] - noise)[:, None])
    return search.recommend()


def test_the_parts_of_an_answer():
    found = answer()
    assert found.mixture == pytest.approx({"a": 0.5, "b": 0.5})
    assert found.support == ("a", "b")
    assert found.value == pytest.approx(2.0)
    assert found.slack == {"dollars": 0.0}
    assert found.violation == {}
    assert found.shadow_prices == pytest.approx({"dollars": 1.0})
    assert found.basis == ("a", "b")
    assert (found.complete, found.feasible, found.budget, found.trials, found.strategy) == (True, True, 40, 40, "USLP")
    assert found.policy().weights == pytest.approx(found.mixture)
    assert found.policy().bounds == {"dollars": 1.0}


def test_intervals_are_those_of_the_t_distribution():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(7, 2))
    search = Uniform().start(Problem(["a"], {"x": 1.0}, {"k": Known(0.5, {"x": 0.25})}), 7)
    search.tell("a", rows[:, 0], rows[:, 1:])
    estimate = search.recommend().estimates["a"]
    for got, column in ((estimate.reward_interval, 0), (estimate.cost_intervals["x"], 1)):
        x = rows[:, column]
        np.testing.assert_allclose(got, stats.t.interval(0.95, 6, x.mean(), stats.sem(x)))
    known = search.recommend().estimates["k"]
    assert (known.known, known.trials, known.reward_interval) == (True, 0, (0.5, 0.5))


def test_the_sentence_says_what_to_do():
    text = answer().sentence()
    assert text.startswith("Mix 50% a with 50% b: estimated reward 2.0")
    assert "dollars at its bound" in text
    assert text.endswith("chance that this support is right above 99%.")
    assert answer(reward=(3.0, 1.0)).sentence().startswith("Use a: estimated reward 3.0")
    assert "dollars 1 below its bound" in answer(reward=(3.0, 1.0)).sentence()


def test_an_infeasible_answer_has_the_least_violation():
    found = answer(cost=(3.0, 2.0))
    assert not found.feasible
    assert found.mixture == {"b": 1.0}
    assert found.violation == pytest.approx({"dollars": 1.0})
    assert found.shadow_prices == {}
    assert found.support_probability is None
    assert found.sentence().startswith(
        "No mix keeps all bounds. The closest is b: dollars 1 above its bound, estimated"
    )
    assert not found.policy().feasible


@pytest.mark.parametrize("known", [{}, {"k": Known(0.5, {"dollars": 0.2})}])
def test_before_any_trial_only_known_arms_can_be_recommended(known):
    found = SFSR().start(Problem(["a", "b"], {"dollars": 1.0}, known), 20).recommend()
    assert found.mixture == ({"k": 1.0} if known else {})
    assert found.feasible == bool(known)
    assert not found.complete
    assert "The search is not finished." in str(found)
    data = json.loads(found.to_json())
    assert data["value"] == (0.5 if known else None)
    if not known:
        assert found.sentence() == "No arm has been tried yet, so there is no answer."


def test_arms_left_without_a_feasible_mix_are_noted():
    # The last decision leaves one arm and the slack; later the arm's mean moves above the bound.
    problem = Problem(["a", "b", "c"], {"x": 1.0})
    search = SFSR(lambda mu, u, e: np.where(e > 0, mu, 1e9)).start(problem, 30)
    cost = {"a": 0.0, "b": 0.5, "c": 2.0}
    while owed := search.ask():
        for arm, n in owed.items():
            search.tell(arm, np.full(n, cost[arm]), np.full((n, 1), cost[arm]))
    found = search.recommend()
    assert not found.feasible
    assert "although all arms together have one" in found.note


class Tags(HTMLParser):
    """Tags that are open, and the cells of the table."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.seen = [], 0, set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        self.cells += tag in ("td", "th")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_text_and_html_show_the_same_table():
    names = ("<b>&", 'say "x"')
    found = answer(names=names)
    text = str(found)
    for row in found.rows():
        for cell in row:
            assert cell in text
    tags = Tags()
    tags.feed(found._repr_html_())
    assert tags.open == []
    assert "b" not in tags.seen
    assert tags.cells == sum(len(row) for row in found.rows())
    assert "One more unit of a bound would add to the reward: dollars 1." in text


def test_plain_data_hold_no_infinities():
    data = answer(n=1, strategy=Uniform()).to_dict()
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text)["estimates"][0]["reward_interval"] == [None, None]
    assert data["support"] == ["a", "b"]
    assert data["problem"] == Problem(["a", "b"], {"dollars": 1.0}).to_dict()
    assert finite({"a": (float("inf"), [float("nan"), 1.0]), "b": "x"}) == {"a": [None, [None, 1.0]], "b": "x"}


def test_a_search_that_kept_the_wrong_arms_does_not_say_that_there_is_no_mix():
    def pull(arm):
        return 1.0, {"c": 1.0}

    rec = identify(Problem(["a", "b", "c"], {"c": 1.0}), pull, 20, SFSR())
    assert not rec.feasible
    assert not rec.violation
    assert rec.sentence().startswith("The arms that the search kept have no mix within the bounds")
