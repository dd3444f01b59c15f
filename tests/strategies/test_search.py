import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import generators

from bestmix import SFSR, Challenger, Instance, Known, Problem, Search, SingleArm, Uniform

STRATEGIES = [SFSR(), SFSR("lagrangian"), Uniform(), SingleArm()]
each_strategy = pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.name)


def problem(costs=1):
    bounds = {f"c{l}": 0.5 + l for l in range(costs)}
    return Problem(["a", "b", "c", "d"], bounds, {"known": Known(0.2, dict.fromkeys(bounds, 0.1))})


def trial(arm, number, costs=1):
    """The number-th trial of an arm, always the same."""
    rng = np.random.default_rng([ord(arm[0]), number])
    return rng.normal(ord(arm[0]) % 3, 1.0), rng.normal(0.5, 1.0, costs)


def finish(search, order=None, part=None, restore=lambda search: search):
    """Tell everything that is owed; in batches of at most ``part``, in an order of arms."""
    told = {arm: m.count for arm, m in zip(search.problem.arms, search.moments, strict=True)}
    costs = len(search.problem.bounds)
    while owed := search.ask():
        for arm in owed if order is None else order(list(owed)):
            n = owed[arm] if part is None else min(owed[arm], part())
            rows = [trial(arm, told[arm] + i, costs) for i in range(n)]
            search.tell(arm, [r for r, _ in rows], np.array([c for _, c in rows]).reshape(n, costs))
            told[arm] += n
            search = restore(search)
    return search


@each_strategy
@given(seed=generators.seeds, costs=st.integers(0, 2))
@settings(max_examples=15)
def test_parts_in_any_order_give_the_same_answer_bit_for_bit(strategy, seed, costs):
    rng = np.random.default_rng(seed)
    plain = finish(strategy.start(problem(costs), 60))
    parts = finish(
        strategy.start(problem(costs), 60),
        order=lambda arms: list(rng.permutation(arms)),
        part=lambda: int(rng.integers(0, 4)),
    )
    assert parts.recommend().to_json() == plain.recommend().to_json()
    assert parts.to_json() == plain.to_json()


@each_strategy
def test_a_batch_told_backwards_gives_the_same_answer_bit_for_bit(strategy):
    one, two = strategy.start(problem(), 60), strategy.start(problem(), 60)
    rng = np.random.default_rng(3)
    while owed := one.ask():
        for arm, n in owed.items():
            rewards, costs = rng.normal(size=n) * 1e6, rng.normal(size=(n, 1)) / 3
            one.tell(arm, rewards, costs)
            for r, c in zip(rewards[::-1], costs[::-1], strict=True):
                two.tell(arm, r, c)
    assert one.recommend().to_json() == two.recommend().to_json()


@each_strategy
def test_a_search_saved_at_every_step_goes_on_as_if_it_had_not_been(strategy, tmp_path):
    plain = finish(strategy.start(problem(2), 40)).recommend().to_json()

    def by_text(search):
        again = Search.from_json(search.to_json())
        assert again.ask() == search.ask()
        assert again.recommend().to_json() == search.recommend().to_json()
        return again

    def by_file(search):
        search.save(tmp_path / "search.json")
        return Search.load(tmp_path / "search.json")

    for restore in (by_text, by_file):
        assert finish(strategy.start(problem(2), 40), part=lambda: 5, restore=restore).recommend().to_json() == plain


@each_strategy
def test_an_infeasible_search_survives_saving(strategy):
    search = strategy.start(Problem(["a", "b", "c"], {"x": -1.0}), 30)
    while owed := search.ask():
        for arm, n in owed.items():
            search.tell(arm, np.ones(n), np.ones((n, 1)))
    assert not search.recommend().feasible
    again = Search.from_json(search.to_json())
    assert again.done
    assert again.recommend().to_json() == search.recommend().to_json()


def test_what_is_saved_is_json_that_any_reader_takes():
    search = SFSR().start(Problem(["a", "b", "c"], {"x": -1.0}), 30)
    for arm, n in search.ask().items():
        search.tell(arm, np.ones(n), np.ones((n, 1)))

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads(search.to_json(), parse_constant=refuse)


@each_strategy
def test_asking_changes_nothing(strategy):
    search = strategy.start(problem(), 50)
    before = search.to_json()
    assert search.ask() == search.ask()
    search.recommend()
    assert search.to_json() == before


@each_strategy
def test_the_budget_is_kept_and_known_arms_are_never_asked_for(strategy):
    for budget in range(5, 80, 7):
        search = finish(strategy.start(problem(2), budget))
        assert search.done
        assert search.trials <= budget
        assert "known" not in {arm for r in search.history for arm in r.pulls}
        assert search.recommend().trials == search.trials


@each_strategy
def test_recommend_works_at_any_time(strategy):
    search = strategy.start(problem(), 50)
    assert not search.recommend().complete
    search.tell("a", *trial("a", 0))
    answer = search.recommend()
    assert not answer.complete
    assert answer.estimates["a"].trials == 1
    assert sum(answer.mixture.values()) == pytest.approx(1.0)
    assert np.isfinite(answer.value)
    json.loads(answer.to_json())


@each_strategy
def test_telling_too_much_is_refused(strategy):
    search = strategy.start(problem(), 50)
    n = search.ask()["a"]
    with pytest.raises(RuntimeError, match=rf"'a' owes {n} trials in this round, got {n + 1}; call ask\(\)"):
        search.tell("a", np.zeros(n + 1), np.zeros((n + 1, 1)))
    assert search.trials == 0
    search = finish(search)
    with pytest.raises(RuntimeError, match=r"the search is over.*recommend\(\)"):
        search.tell("a", 1.0, [1.0])


BAD_TRIALS = [
    (("z", 1.0, [1.0]), "arm: .*'z'"),
    ((3, 1.0, [1.0]), "arm: .*3"),
    (("known", 1.0, [1.0]), "'known' is a known arm and is never tried"),
    (("a", float("nan"), [1.0]), "rewards: expected finite numbers, got nan"),
    (("a", [1.0, float("inf")], [[1.0], [1.0]]), "rewards: expected finite numbers, got inf"),
    (("a", 1e200, [1.0]), "rewards: .*1e.150"),
    (("a", "high", [1.0]), "rewards: .*high"),
    (("a", "1.5", [1.0]), "rewards: .*1.5"),
    (("a", ["1.5"], [1.0]), "rewards: .*1.5"),
    (("a", None, [1.0]), "rewards: "),
    (("a", [[1.0, 2.0]], [1.0]), r"rewards: expected shape \(any\), .* got shape \(1, 2\)"),
    (("a", [[1.0], [1.0, 2.0]], [1.0]), "rewards: expected"),
    (("a", 1.0, None), "costs: expected a value of .*, got none; tell it"),
    (("a", 1.0), "costs: expected a value of"),
    (("a", 1.0, []), "costs: expected shape"),
    (("a", 1.0, [1.0, 2.0]), r"costs: expected shape \(1, 1\)"),
    (("a", [1.0, 2.0], [1.0]), r"costs: expected shape \(2, 1\)"),
    (("a", 1.0, float("nan")), "costs: expected a finite number, got nan"),
    (("a", 1.0, [float("inf")]), "costs: expected finite numbers, got inf"),
    (("a", 1.0, "cheap"), "costs: .*cheap"),
    (("a", 1.0, ["1.5"]), "costs: .*1.5"),
    (("a", 1.0, {}), "costs: .*1 missing .'c0'"),
    (("a", 1.0, {"c0": 1.0, "c1": 1.0}), "costs: .*1 unknown .'c1'"),
    (("a", 1.0, {"c0": "cheap"}), "costs.*cheap"),
    (("a", 1.0, {"c0": "1.5"}), "costs.*1.5"),
    (("a", 1.0, {"c0": float("nan")}), "costs.*nan"),
    (("a", 1.0, {"c0": None}), "costs"),
    (("a", 1.0, {"c0": {}}), "costs"),
    (("a", [1.0, 2.0, 3.0], {"c0": [1.0, 2.0]}), "costs"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_TRIALS, ids=lambda x: str(x)[:40])
def test_a_bad_trial_is_refused_and_nothing_changes(arguments, message):
    search = SFSR().start(problem(), 50)
    search.tell("a", *trial("a", 0))
    before = search.to_json()
    with pytest.raises(ValueError, match=message):
        search.tell(*arguments)
    assert search.to_json() == before


@pytest.mark.parametrize(
    ("rewards", "costs"),
    [
        (2.0, 1.5),
        (2.0, [1.5]),
        (2, {"c0": 1.5}),
        ([2.0], [[1.5]]),
        (np.array([2.0]), np.array([1.5])),
        (np.float32(2.0), np.float32(1.5)),
        (True + 1, {"c0": np.array([1.5])}),
    ],
)
def test_one_trial_can_be_told_in_many_ways(rewards, costs):
    search = Uniform().start(problem(), 40)
    search.tell("a", rewards, costs)
    np.testing.assert_array_equal(search.evidence.means[0], [2.0, 1.5])


def test_several_trials_can_be_told_in_many_ways():
    two = Problem(["a"], {"x": 1.0, "y": 1.0})
    for costs in ([[1, 2], [3, 4]], {"y": [2, 4], "x": [1, 3]}, np.array([[1.0, 2.0], [3.0, 4.0]])):
        search = Uniform().start(two, 2)
        search.tell("a", [1.0, 2.0], costs)
        np.testing.assert_array_equal(search.evidence.means[0], [1.5, 2.0, 3.0])
    search = Uniform().start(two, 2)
    search.tell("a", [1.0, 2.0], {"x": 5.0, "y": [2, 4]})  # one value is the same for all
    np.testing.assert_array_equal(search.evidence.means[0], [1.5, 5.0, 3.0])
    search = Uniform().start(Problem(["a", "b"]), 4)
    search.tell("a", [1.0, 2.0])
    search.tell("b", 1.0, {})
    assert search.ask() == {"b": 1}


def test_telling_no_trials_changes_nothing():
    search = SFSR().start(problem(), 50)
    before = search.to_json()
    search.tell("a", [], np.empty((0, 1)))
    assert search.to_json() == before


@pytest.mark.parametrize("budget", [-1, 2.5, float("nan"), float("inf"), "100", None, True, [100]])
def test_a_budget_that_is_no_whole_number_is_refused(budget):
    with pytest.raises(ValueError, match=r"budget: expected a whole number of at least 0, got"):
        SFSR().start(problem(), budget)


def test_whole_budgets_of_other_types_are_taken():
    assert {SFSR().start(problem(), b).budget for b in (50, 50.0, np.int64(50), np.float64(50))} == {50}


def test_an_instance_in_place_of_a_problem_is_refused():
    with pytest.raises(ValueError, match=r"problem: expected a Problem, got Instance; .*problem"):
        SFSR().start(Instance([1.0]), 10)


# --- restoring -------------------------------------------------------------------------------------


def by_reward(mu, u, e):
    return np.where(e > 0, mu, 1e9)


def test_a_function_must_be_passed_again():
    search = SFSR(by_reward).start(problem(), 50)
    search.tell("a", *trial("a", 0))
    with pytest.raises(ValueError, match=r"strategy: .*by_reward.*pass the strategy"):
        Search.from_json(search.to_json())
    again = Search.from_json(search.to_json(), SFSR(by_reward))
    assert finish(again).recommend().to_json() == finish(search).recommend().to_json()


def test_another_strategy_is_refused():
    text = SFSR().start(problem(), 50).to_json()
    with pytest.raises(ValueError, match=r"strategy: the search was saved with .*intersection.*Uniform"):
        Search.from_json(text, Uniform())


@pytest.mark.parametrize("strategy", [Uniform(), Challenger()], ids=lambda s: s.name)
@pytest.mark.parametrize("told", [0, 3, 40])
def test_a_larger_budget_goes_on_with_what_was_told(strategy, told):
    search = strategy.start(problem(), 40)
    for _ in range(told):
        arm = next(iter(search.ask()))
        search.tell(arm, *trial(arm, search.moments[search.problem.index(arm)].count))
    before = search.trials
    assert before == told
    search.extend(100)
    assert (search.budget, search.trials, search.done) == (100, told, False)
    again = Search.from_json(search.to_json())
    assert finish(search).trials == 100
    assert search.recommend().complete
    assert finish(again).to_json() == search.to_json()
    assert [r.number for r in search.history] == list(range(1, len(search.history) + 1))
    assert all(r.pulls for r in search.history)
    search.extend(100)  # nothing more
    assert search.done
    with pytest.raises(ValueError, match="budget: expected at least the present 100 trials, got 99"):
        search.extend(99)


def test_a_strategy_that_plans_from_the_budget_cannot_be_extended():
    search = SFSR().start(problem(), 40)
    saved = search.to_json()
    with pytest.raises(ValueError, match=r"SFSR lays out its rounds .* from 40 to 50; start anew"):
        search.extend(50)
    assert search.to_json() == saved


# --- changes while it runs -----------------------------------------------------------------------------------


def play(search, seed=0):
    """Make all trials that are owed; the values of an arm do not depend on when they are made."""
    made = 0
    while owed := search.ask():
        for arm, count in owed.items():
            rng = np.random.default_rng([seed, ord(arm), len(search.history)])
            search.tell(arm, rng.normal(1.0, 0.5, count), rng.normal(0.8, 0.5, (count, 1)))
            made += count
    return made


@pytest.mark.parametrize("strategy", [Challenger(rounds=5), Uniform(), SFSR()], ids=lambda s: s.name)
def test_a_bound_that_is_changed_back_is_as_if_nothing_had_happened(strategy):
    plain, search = (strategy.start(Problem(["a", "b", "c"], {"dollars": 1.0}), 60) for _ in range(2))
    for one in (plain, search):
        one.tell("a", [1.0, 2.0], [[0.5], [0.7]])
    search.change(bounds={"dollars": 0.3})
    search.change(bounds={"dollars": 1.0})
    play(plain)
    play(search)
    assert search.recommend().to_json() == plain.recommend().to_json()
    assert len(search.changes) == 2


@pytest.mark.parametrize(
    "strategy", [Challenger(rounds=5), Challenger(confidence=0.8), Uniform()], ids=lambda s: s.name
)
def test_arms_and_budget_change_and_no_trial_is_lost(strategy):
    search = strategy.start(Problem(["a", "b", "c"], {"dollars": 1.0}), 60)
    search.tell("a", [1.0, 2.0, 1.5], [[0.5], [0.7], [0.2]])
    search.change(arms=["b", "c", "d"], budget=90)
    assert set(search.ask()) == {"b", "c", "d"}
    search = Search.from_json(search.to_json())
    made = play(search)
    assert made <= 87
    if strategy == Challenger(rounds=5):
        assert made == 87
    search.change(arms=["a", "b"], bounds={"dollars": 0.7}, budget=120)
    assert search.evidence.counts[0] == 3
    play(search)
    assert sum(m.count for m in search.moments) + sum(m.count for m in search._retired.values()) <= 120
    assert Search.from_json(search.to_json()).recommend().to_json() == search.recommend().to_json()
    assert sum(sum(r.pulls.values()) for r in search.history) <= 120


def test_what_a_schedule_cannot_change_is_refused():
    search = SFSR().start(Problem(["a", "b", "c"], {"dollars": 1.0}), 60)
    with pytest.raises(ValueError, match="SFSR lays out its rounds beforehand, so that only bounds can change"):
        search.change(arms=["a", "b"])
    search.change(bounds={"dollars": 2.0})
    search.change()
    assert [c["text"] for c in search.changes] == ["dollars <= 2 instead of dollars <= 1"]


def test_new_arms_without_a_budget_for_them_end_the_run():
    search = Challenger().start(Problem(["a", "b"], {"c": 1.0}), budget=20)
    for arm, n in search.ask().items():
        search.tell(arm, np.linspace(1.0, 1.5, n), {"c": np.linspace(0.5, 0.9, n)})
    search.change(budget=4, arms=["new"])
    assert search.done
    assert search.recommend().sentence() == "No arm has been tried yet, so there is no answer."
