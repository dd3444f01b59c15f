import numpy as np
import pytest

from bestmix import SFSR, Challenger, Problem, Search, Uniform


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
