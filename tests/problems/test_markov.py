import numpy as np
import pytest

from bestmix import Instance, MarkovProblem, Policy, Problem
from bestmix.problems.layouts import layout_of
from bestmix.problems.segment_instance import SegmentInstance

SHOP = MarkovProblem(["idle", "busy"], ["wait", "serve"], 0.8, {"idle": 0.75, "busy": 0.25}, ["dollars <= 0.3"])
MEANS = {
    "idle": {
        "wait": {"reward": 0.1, "dollars": 0.0, "next": {"idle": 0.5, "busy": 0.5}},
        "serve": {"reward": 0.4, "dollars": 0.3, "next": {"idle": 1.0}},
    },
    "busy": {
        "wait": {"reward": 0.0, "dollars": 0.1, "next": {"busy": 1.0}},
        "serve": {"reward": 1.0, "dollars": 0.9, "next": {"idle": 0.6, "busy": 0.4}},
    },
}


def test_it_is_a_problem_whose_segments_are_states():
    assert SHOP.names == ("wait in idle", "serve in idle", "wait in busy", "serve in busy")
    assert SHOP.metrics == ("reward", "dollars", "next")
    assert SHOP.measures == ("reward", "dollars", "p(next = idle)", "p(next = busy)")
    assert (SHOP.group, SHOP.everybody, SHOP.flows) == ("state", "steps", ("idle",))
    assert not SHOP.plain
    assert SHOP.index("serve", "busy") == 3


def test_files_keep_it(tmp_path):
    for problem in (SHOP, MarkovProblem(["a", "b"], {"a": ["x"], "b": ["y", "x"]}, 0, "b", goal="minimise cost")):
        for name in ("p.toml", "p.json"):
            problem.save(tmp_path / name)
            again = Problem.load(tmp_path / name)
            assert isinstance(again, MarkovProblem)
            assert again == problem
            assert eval(repr(again)) == problem


def test_a_state_comes_next_by_its_name_or_its_number():
    by_name = SHOP.trial_rows({"reward": [1.0, 0.0], "dollars": 0.2, "next": ["busy", "idle"]})
    assert by_name.tolist() == [[1.0, 0.2, 1.0], [0.0, 0.2, 0.0]]
    assert SHOP.trial_rows(1.0, [0.2, 1]).tolist() == [[1.0, 0.2, 1.0]]
    assert SHOP.trial_rows(1.0, {"dollars": 0.2, "next": 0}).tolist() == [[1.0, 0.2, 0.0]]
    assert SHOP.shown_value("next", 1.0) == "busy"
    assert SHOP.trial_rows(1.0, [0.2, "busy"]).tolist() == SHOP.trial_rows(1.0, {"dollars": 0.2, "next": "1"}).tolist()
    assert SHOP.value("next", "busy") == 1.0
    for wrong in ("full", 2, -1, 0.5, None, True):
        with pytest.raises(ValueError, match="next: expected one of"):
            SHOP.value("next", wrong)
        with pytest.raises(ValueError, match=r"next: expected one of \['idle', 'busy'\], or its number from 0 to 1"):
            SHOP.trial_rows(1.0, {"dollars": 0.2, "next": wrong})
        with pytest.raises(ValueError, match="next: expected"):
            SHOP.trial_rows({"reward": 1.0, "dollars": 0.2, "next": wrong})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": ["idle"]}, "states: expected at least two, got .*with one state use Problem"),
        ({"states": ["idle", "idle"]}, "states"),
        ({"discount": 1.0}, "discount: expected a number of at least 0 and below 1, got 1"),
        ({"discount": "x"}, "discount"),
        ({"start": "full"}, "start: expected some of .*, got 'full'"),
        ({"start": {"idle": 0.5}}, "start: expected probabilities of at least 0 that add up to 1"),
        ({"start": {"idle": 1.5, "busy": -0.5}}, "start: expected probabilities"),
        ({"start": 3}, "start: expected a mapping"),
        ({"actions": {"idle": ["wait"]}}, "actions"),
        ({"actions": {"idle": ["wait"], "busy": []}}, "actions: 'busy' has none"),
        ({"limits": ["dollars <= 1 in idle"]}, "is of one state"),
        ({"limits": ["dollars = 1"]}, "or an equality"),
        ({"limits": ["dollars <= 1.1 * dollars(wait)"]}, "relative to an arm"),
        ({"limits": ["next <= 1"]}, "'next' is what the state that comes next is called"),
        ({"goal": "minimise next"}, "goal: 'next' is what the state"),
        ({"tracked": ["next"]}, "tracked: 'next' is what the state"),
    ],
)
def test_what_contradicts_itself_is_refused(change, message):
    given = {"states": ["idle", "busy"], "actions": ["wait", "serve"], "discount": 0.9, "start": "idle"} | change
    with pytest.raises(ValueError, match=message):
        MarkovProblem(**given)


def test_a_file_without_an_entry_or_with_a_strange_one_is_refused():
    data = SHOP.to_dict()
    with pytest.raises(ValueError, match="no entry 'start'"):
        Problem.from_dict({name: entry for name, entry in data.items() if name != "start"})
    with pytest.raises(ValueError, match="unknown entry 'arms'"):
        Problem.from_dict(data | {"arms": ["a"]})


def test_an_action_belongs_to_its_state():
    problem = MarkovProblem(["a", "b"], {"a": ["x"], "b": ["y", "x"]}, 0.5, "a")
    assert problem.names == ("x in a", "y in b", "x in b")
    with pytest.raises(ValueError, match=r"arm: expected an action of 'a': \['x'\], got 'y'"):
        problem.index("y", "a")
    with pytest.raises(ValueError, match="segment"):
        problem.index("y", "c")


def test_rows_of_the_flow_are_zero_for_a_policy():
    instance = Instance.from_problem(SHOP, MEANS, sigma=0.1)
    x = instance.deployed(np.array([[0.3, 0.7, 0.0, 1.0]]))[0]
    assert x.sum() == pytest.approx(1.0)
    flows = layout_of(SHOP).equality
    np.testing.assert_allclose((x @ instance.entries[1])[flows], 0.0, atol=1e-14)
    # the same by following many steps
    share, first = np.zeros(4), np.array([0.75, 0.25])
    policy = np.array([[0.3, 0.7, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    step = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0], [0.6, 0.4]])
    for t in range(400):
        share += 0.2 * 0.8**t * (first @ policy)
        first = first @ policy @ step
    np.testing.assert_allclose(x, share, atol=1e-12)


def test_an_instance_is_kept_in_files_and_plays_trials(tmp_path):
    instance = Instance.from_problem(SHOP, MEANS, sigma={"dollars": 0.1}, events=["reward"])
    instance.save(tmp_path / "i.toml")
    again = Instance.load(tmp_path / "i.toml")
    assert isinstance(again, SegmentInstance)
    assert again.problem == SHOP
    np.testing.assert_allclose(again.means, instance.means)
    pull = instance.sampler(seed=3)
    told = [pull("serve", "busy") for _ in range(2000)]
    assert {t["next"] for t in told} == {"idle", "busy"}
    assert np.mean([t["next"] == "idle" for t in told]) == pytest.approx(0.6, abs=0.05)  # more than four errors
    assert {t["next"] for t in (pull("wait", "busy") for _ in range(50))} == {"busy"}
    with pytest.raises(ValueError, match=r"means\['idle'\]\['wait'\]\['next'\]: expected probabilities of at least 0"):
        Instance.from_problem(SHOP, MEANS | {"idle": MEANS["idle"] | {"wait": {"reward": 0, "next": {"idle": 0.4}}}})
    with pytest.raises(ValueError, match=r"some of .*got 'full'"):
        Instance.from_problem(SHOP, MEANS | {"idle": MEANS["idle"] | {"wait": {"reward": 0, "next": {"full": 1}}}})


def test_a_policy_of_states_is_kept_and_not_fitted_again(tmp_path):
    parts = {"idle": {"wait": 1.0}, "busy": {"wait": 0.25, "serve": 0.75}}
    policy = Policy(None, {"dollars": 0.3}, segments={"idle": 1.0, "busy": 0.0}, by_segment=parts, discount=0.8)
    policy.save(tmp_path / "p.json")
    again = Policy.load(tmp_path / "p.json")
    assert again == policy
    assert again.draw(3, seed=1, segment="idle") == ["wait"] * 3
    with pytest.raises(ValueError, match="shares of states follow from the policy"):
        again.refit({"arm": ["wait"], "reward": [1.0]})
    with pytest.raises(ValueError, match="discount: expected a number of at least 0 and below 1, got 7"):
        Policy({"wait": 1.0}, discount=7)
