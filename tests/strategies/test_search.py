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
        assert finish(strategy.start(problem(2), 40), part=lambda: 3, restore=restore).recommend().to_json() == plain


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


@pytest.mark.parametrize("text", ["{}", "[]", "1", "no", '{"format": "bestmix search 99"}'])
def test_text_that_is_no_search_is_refused(text):
    with pytest.raises(ValueError):
        Search.from_json(text)


@pytest.mark.parametrize("missing", ["problem", "strategy", "budget", "memory", "before", "moments", "history"])
def test_a_search_with_a_part_missing_is_refused(missing):
    data = SFSR().start(problem(), 50).to_dict()
    del data[missing]
    with pytest.raises(ValueError, match=missing):
        Search.from_dict(data)


def test_only_json_holds_a_search(tmp_path):
    search = finish(Uniform().start(problem(), 50))
    with pytest.raises(ValueError, match=r"json"):
        search.save(tmp_path / "search.toml")
    assert list(tmp_path.iterdir()) == []


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


# --- trials from before the run ------------------------------------------------------------------------------


def pilot(sizes, seed=0):
    rng = np.random.default_rng(seed)
    rows = {"arm": [], "reward": [], "dollars": []}
    for arm, count in sizes.items():
        rows["arm"] += [arm] * count
        rows["reward"] += rng.normal(1.0, 0.1, count).tolist()
        rows["dollars"] += rng.normal(0.5, 0.1, count).tolist()
    return rows


@pytest.mark.parametrize("strategy", [Challenger(), Uniform()])
@pytest.mark.parametrize("sizes", [{"a": 40, "b": 40, "c": 40}, {"a": 90, "b": 2}, {"c": 1}])
def test_earlier_trials_count_in_full_and_the_budget_is_for_further_ones(strategy, sizes):
    search = strategy.start(Problem(["a", "b", "c"], {"dollars": 1.0}), 60)
    search.start_from(pilot(sizes))
    earlier, made, rng = sum(sizes.values()), 0, np.random.default_rng(1)
    assert search.trials == earlier
    while owed := search.ask():
        for arm, count in owed.items():
            search.tell(arm, rng.normal(1.0, 0.1, count), rng.normal(0.5, 0.1, (count, 1)))
            made += count
    assert 50 <= made <= 60
    assert search.trials == earlier + made
    assert sum(sum(r.pulls.values()) for r in search.history) == search.trials
    assert Search.from_json(search.to_json()).to_dict() == search.to_dict()


def test_a_search_from_a_pilot_goes_on_after_it_was_saved():
    first = Challenger().start(Problem(["a", "b", "c"], {"dollars": 1.0}), 60)
    first.start_from(pilot({"a": 90, "b": 2}))
    again = Search.from_json(first.to_json())
    assert again.ask() == first.ask()
    assert set(first.ask()) == {"b", "c"}
    for search in (first, again):
        for arm, count in search.ask().items():
            search.tell(arm, np.linspace(0.9, 1.1, count), np.linspace(0.4, 0.6, count)[:, None])
    assert again.to_dict() == first.to_dict()
    assert first.history[0].pulls["a"] == 90


def test_where_earlier_trials_have_no_place_it_is_said():
    problem = Problem(["a", "b", "c"], {"dollars": 1.0})
    with pytest.raises(ValueError, match=r"log_weight: SFSR fills the places of its schedule.*use Challenger"):
        SFSR().start(problem, 60).start_from(pilot({"a": 3}), weight=0.5)
    search = Challenger().start(problem, 60)
    search.tell("a", 1.0, {"dollars": 0.5})
    with pytest.raises(RuntimeError, match="1 trials were told already"):
        search.start_from(pilot({"a": 3}))
    with pytest.raises(ValueError, match="arm: expected one of"):
        Challenger().start(problem, 60).start_from(pilot({"z": 3}))


def test_a_schedule_takes_what_it_has_places_for_and_says_what_is_left_out():
    search = SFSR().start(Problem(["a", "b", "c"], {"dollars": 1.0}), 60)
    search.start_from(pilot({"a": 40, "b": 13}))
    assert (search.trials, search.left_out, search.budget) == (26, 27, 60)
    assert search.ask() == {"c": 13}
    assert "27 results are left out of the estimates: SFSR has a number of places" in search.recommend().note
    assert search.recommend(everything=True).estimates["a"].trials == 40
    assert search.recommend(everything=True).note == ""
    again = Search.from_json(search.to_json())
    assert again.to_dict() == search.to_dict()
    assert again.recommend(everything=True).to_json() == search.recommend(everything=True).to_json()
    further = Uniform().start(search.problem, 60)
    further.start_from(search)
    assert further.evidence.counts.tolist() == [40, 13, 0]  # another strategy has a place for all of them


def test_an_old_log_can_count_less():
    search = Challenger().start(Problem(["a", "b", "c"], {"dollars": 1.0}), 60)
    search.start_from(pilot({"a": 41, "b": 12}), weight=0.5)
    assert (search.evidence.counts.tolist(), search.earlier, search.budget) == ([20, 6, 0], 26, 86)
    rng = np.random.default_rng(3)
    while owed := search.ask():
        for arm, count in owed.items():
            search.tell(arm, rng.normal(1.5, 0.1, count), rng.normal(0.5, 0.1, (count, 1)))
    assert search.history[0].pulls["a"] == 41
    assert "The log and the fresh results of" in search.recommend().note
    again = Search.from_json(search.to_json())
    assert again.recommend().to_json() == search.recommend().to_json()


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


def test_new_arms_without_a_budget_for_them_end_the_run():
    search = Challenger().start(Problem(["a", "b"], {"c": 1.0}), budget=20)
    for arm, n in search.ask().items():
        search.tell(arm, np.linspace(1.0, 1.5, n), {"c": np.linspace(0.5, 0.9, n)})
    search.change(budget=4, arms=["new"])
    assert search.done
    assert search.recommend().sentence() == "No arm has been tried yet, so there is no answer."


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


def test_a_limit_that_a_schedule_found_used_up_need_not_be_so_with_everything():
    """Its places have costs of 1.2, and what is left out brings the mean below the bound."""
    search = SFSR().start(Problem(["a", "b"], {"x": 1.0}), 12)
    rows = [("a", 1.0, 0.1, k) for k in range(30)] + [("b", 2.0, 1.2 if k < 10 else 0.2, k) for k in range(30)]
    columns = zip(*((arm, reward + k % 3 / 9, cost + k % 2 / 9) for arm, reward, cost, k in rows), strict=True)
    search.start_from(dict(zip(("arm", "reward", "x"), map(list, columns), strict=True)))
    assert search.left_out
    assert set(search.recommend(None).mixture) == {"a", "b"}
    everything = search.recommend(None, everything=True)
    assert everything.feasible
    assert everything.mixture == {"b": 1.0}
