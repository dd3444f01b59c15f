"""A run on items: what is owed, in which order, what comes of any order of telling, and what is refused."""

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bestmix as bm
from bestmix.problems.items import Items
from bestmix.problems.problem import Cell
from bestmix.strategies.search_items import ItemTrials, Told

PROBLEM = bm.Problem(["a", "b", "c"], {"cost": 1.0})
PROMPTS = [f"prompt {i}" for i in range(40)]
MEANS = {"a": (1.0, 0.2), "b": (2.0, 1.6), "c": (1.4, 0.7)}


def result(arm, item):
    """A result that depends on the arm and the item alone."""
    rng = np.random.default_rng([PROMPTS.index(item), ord(arm)])
    shared = np.random.default_rng(PROMPTS.index(item)).normal(size=2)
    return (np.array(MEANS[arm]) + shared + 0.3 * rng.normal(size=2)).tolist()


def finish(search, rng=None):
    """Make all trials, in the order of the items or in any; what was tried on what."""
    tried = []
    while owed := search.ask():
        for arm in owed:
            items = search.items(arm)
            assert len(items) == owed[arm]
            if rng is not None:
                rng.shuffle(items)
            for item in items:
                reward, cost = result(arm, item)
                search.tell(arm, reward, [cost], item=item if rng is not None else None)
                tried.append((arm, item, reward, cost))
    return tried


def frame(tried):
    return dict(zip(("arm", "prompt", "reward", "cost"), map(list, zip(*tried, strict=True)), strict=True))


@given(st.lists(st.integers(0, 30), unique=True, max_size=20), st.integers(0, 8))
def test_what_is_owed_are_the_first_trials_that_were_not_told(told, owed):
    trials, cell = ItemTrials(Items(7)), Cell("a", None)
    for place in told:
        trials.tell(cell, [place], np.array([[1.0]]))
    expected = [place for place in range(60) if place not in told][:owed]
    assert trials.owed(cell, owed) == expected
    assert ItemTrials.from_dict(json.loads(json.dumps(trials.to_dict()))).owed(cell, owed) == expected
    assert sum(s.count for s in trials._of(cell).sums.values()) == len(told)
    assert all(Told.from_dict(trials._of(cell).to_dict()).has(place) for place in told)


@settings(max_examples=12, deadline=None)
@given(st.randoms(use_true_random=False))
def test_order_of_tells_changes_nothing_and_no_item_comes_twice(rng):
    plain, shuffled = (bm.Uniform().start(PROBLEM, 90, items=PROMPTS) for _ in range(2))
    first, second = finish(plain), finish(shuffled, rng)
    assert len({(arm, item) for arm, item, *_ in second}) == len(second) == 90
    assert sorted(first) == sorted(second)
    assert plain.recommend().to_json() == shuffled.recommend().to_json()


@pytest.mark.parametrize("strategy", [bm.Challenger(), bm.Uniform(), bm.SFSR()], ids=lambda s: s.name)
def test_the_answer_is_that_of_a_log_of_the_same_trials(strategy):
    search = strategy.start(PROBLEM, 60, items=PROMPTS)
    tried = finish(search)
    live, log = search.recommend(), bm.from_log(frame(tried), bounds={"cost": 1.0}, item="prompt")
    assert live.items == log.items <= 40
    if strategy.name != "SFSR":  # whose answer is made of the arms that it has left
        assert live.mixture == pytest.approx(log.mixture, rel=1e-9)
        assert live.z_scores == pytest.approx(log.z_scores, rel=1e-9)
        assert live.support_probability == pytest.approx(log.support_probability, rel=1e-9)
        assert live.regret == pytest.approx(log.regret, rel=1e-9)
    assert live.limits["cost"].error != bm.from_log(frame(tried), bounds={"cost": 1.0}).limits["cost"].error


def test_a_search_that_was_saved_goes_on_with_its_items(tmp_path):
    whole = bm.Uniform().start(PROBLEM, 60, items=PROMPTS)
    finish(whole)
    half = bm.Uniform().start(PROBLEM, 60, items=PROMPTS)
    for item in half.items("b")[3:9]:
        reward, cost = result("b", item)
        half.tell("b", reward, [cost], item=item)
    half.save(tmp_path / "half.json")
    loaded = bm.Search.load(tmp_path / "half.json")
    assert loaded.items("b") == half.items("b")
    assert loaded.item_list == Items(PROMPTS)
    finish(loaded)
    assert loaded.recommend().to_json() == whole.recommend().to_json()


def test_a_search_without_items_is_saved_as_before():
    assert "items" not in bm.Uniform().start(PROBLEM, 60).to_dict()


def test_an_arm_that_has_had_all_items_begins_again_and_its_errors_are_those_of_items():
    search = bm.Uniform().start(PROBLEM, 360, items=PROMPTS)
    tried = finish(search)
    assert [item for arm, item, *_ in tried if arm == "a"] == 3 * [search.item_list.name(i) for i in order(search)]
    once = bm.Uniform().start(PROBLEM, 120, items=PROMPTS)
    finish(once)
    log = bm.from_log(frame(tried), bounds={"cost": 1.0}, item="prompt")
    assert search.recommend().value == pytest.approx(log.value)
    assert search.recommend().limits["cost"].error == pytest.approx(log.limits["cost"].error)
    assert search.recommend().limits["cost"].error > 0.9 * once.recommend().limits["cost"].error


def order(search):
    return [search.item_list.at(place, "a") for place in range(len(PROMPTS))]


def test_arms_with_orders_of_their_own_meet_by_chance():
    search = bm.Uniform().start(PROBLEM, 30, items=PROMPTS, shared=False)
    assert search.items("a") != search.items("b")
    finish(search)
    assert search.recommend().items > 10


def test_a_changed_run_goes_on_where_each_arm_was():
    search = bm.Uniform().start(PROBLEM, 30, items=PROMPTS)
    first = search.items("a")
    search.tell("a", [1.0, 2.0], [[0.5], [0.5]])
    search.change(arms=["a", "z"])
    assert search.items("a")[:3] == first[2:5]
    assert search.items("z")[:3] == first[:3]


def test_trials_of_a_log_have_no_items():
    search = bm.Uniform().start(PROBLEM, 30, items=PROMPTS)
    first = search.items("a")
    rows = 4 * [1.0, 1.5, 2.0]
    search.start_from({"arm": 4 * ["a", "b", "c"], "reward": rows, "cost": rows})
    assert search.items("a") == first
    finish(search)
    assert search.recommend().trials == 42


def test_one_list_serves_every_segment():
    problem = bm.Problem(["a", "b"], segments={"free": 0.7, "paid": 0.3})
    search = bm.Uniform().start(problem, 12, items=PROMPTS)
    assert search.items("a", "free") == search.items("b", "paid")
    called = []

    def pull(arm, segment, item):
        called.append((arm, segment, item))
        return len(called) % 3

    rec = bm.identify(problem, pull, 12, bm.Uniform(), items=PROMPTS)
    assert len(set(called)) == 12
    assert rec.items == 3


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_identify_passes_the_item_and_resumes(tmp_path, n_jobs):
    called, rng = [], random.Random(0)

    def pull(arm, item):
        called.append((arm, item))
        if len(called) == 20 and rng is not None:
            raise KeyError("broken")
        reward, cost = result(arm, item)
        return reward, {"cost": cost}

    options = {"strategy": bm.Uniform(), "items": PROMPTS, "checkpoint": tmp_path / "c.json", "n_jobs": n_jobs}
    with pytest.raises(KeyError) as caught:
        bm.identify(PROBLEM, pull, 60, **options)
    assert caught.value.search.trials >= 18
    rec = bm.identify(PROBLEM, pull, 60, **options)
    whole = bm.Uniform().start(PROBLEM, 60, items=PROMPTS)
    finish(whole)
    assert rec.to_json() == whole.recommend().to_json()
    assert 61 <= len(called) <= 61 + n_jobs
    assert len(set(called)) == 60
    with pytest.raises(ValueError, match="holds a search on other items"):
        bm.identify(PROBLEM, pull, 60, **options | {"items": PROMPTS[:-1]})


def test_what_items_cannot_be_used_for_is_refused():
    with pytest.raises(ValueError, match=r"items: Challenger\[0.9\] stops by the errors of arms that share no items"):
        bm.Challenger(confidence=0.9).start(PROBLEM, 60, items=9)
    assert bm.Challenger(confidence=0.9).start(PROBLEM, 60, items=9, shared=False).items("a")
    with pytest.raises(ValueError, match="bring items of their own"):
        bm.Challenger().start(bm.Problem(["a", "b"], segments=["free", "paid"]), 60, items=9)
    segments = bm.Problem(["a", "b"], segments={"free": 0.5, "paid": 0.5})
    with pytest.raises(ValueError, match="brings an item of their own"):
        bm.Uniform().start(segments, 60, items=9).ask(segment="free")
    plain = bm.Uniform().start(PROBLEM, 60)
    with pytest.raises(RuntimeError, match="start it with items="):
        plain.items("a")
    with pytest.raises(ValueError, match="item: this search has none"):
        plain.tell("a", 1.0, [0.5], item="x")
    plain.tell("a", 1.0, [0.5])
    with pytest.raises(RuntimeError, match="1 trials were told without any"):
        plain.try_on(9)


def test_an_item_that_is_not_owed_is_refused_and_changes_nothing():
    search = bm.Uniform().start(PROBLEM, 9, items=PROMPTS)
    before = search.to_json()
    late = search.item_list.name(search.item_list.at(7, "a"))
    with pytest.raises(ValueError, match=r"no trial of 'a' on .* is owed now"):
        search.tell("a", 1.0, [0.5], item=late)
    with pytest.raises(ValueError, match="expected the items of 2 trials"):
        search.tell("a", [1.0, 2.0], [[0.5], [0.5]], item=[late])
    assert search.to_json() == before


def pilot(rng, trials=12):
    """A log of trials on items that were picked at random, no arm on one twice."""
    found = {"arm": [], "reward": [], "cost": [], "item": []}
    for arm in PROBLEM.arms:
        for item in rng.sample(PROMPTS, trials):
            for name, value in zip(found, (arm, *result(arm, item), item), strict=True):
                found[name].append(value)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_no_arm_gets_an_item_of_the_pilot_again_and_the_answer_is_that_of_all_trials(seed, tmp_path):
    rng = random.Random(seed)
    log = pilot(rng)
    search = bm.Uniform().start(PROBLEM, 60, items=PROMPTS)
    search.start_from(log, item="item")
    search.save(tmp_path / "s.json")
    search = bm.Search.load(tmp_path / "s.json")
    tried = [*zip(log["arm"], log["item"], log["reward"], log["cost"], strict=True), *finish(search, rng)]
    assert len(tried) == 96
    assert len({(arm, item) for arm, item, *_ in tried}) == 96  # of 40 prompts for each of 3 arms
    frame = {name: [row[i] for row in tried] for i, name in enumerate(["arm", "item", "reward", "cost"])}
    whole = bm.from_log(frame, bounds={"cost": 1.0}, item="item")
    rec = search.recommend()
    assert rec.mixture == pytest.approx(whole.mixture)
    assert rec.support_probability == pytest.approx(whole.support_probability)
    apart = bm.Uniform().start(PROBLEM, 60, items=PROMPTS)
    apart.start_from(log)
    assert apart.items("a")[0] == bm.Items(PROMPTS).name(bm.Items(PROMPTS).at(0, "a"))


def test_items_of_a_pilot_that_counts_less_are_passed_over_and_strange_ones_have_none():
    log = {"arm": ["a", "a", "b"], "reward": [1.0, 2.0, 3.0], "cost": [0.5] * 3, "item": [3, 99, None]}
    for options in ({}, {"weight": 0.5}):
        search = bm.Uniform().start(PROBLEM, 9, items=5)
        search.start_from(log, item="item", **options)
        order = [bm.Items(5).at(place, "a") for place in range(5)]
        assert search.items("a", most=4) == [i for i in order if i != 3][: len(search.items("a"))]
        assert 3 in search.items("b", most=5)
    with pytest.raises(ValueError, match=r"item: expected some of the 3 items in column 'item' of the log, got '3'"):
        bm.Uniform().start(PROBLEM, 9, items=["x", "y", "z"]).start_from(log, item="item")
    with pytest.raises(ValueError, match="item: this run has no items"):
        bm.Uniform().start(PROBLEM, 9).start_from(log, item="item")


def test_identify_takes_the_items_of_its_start():
    log, made = pilot(random.Random(1), trials=5), []

    def pull(arm, item):
        made.append((arm, item))
        reward, cost = result(arm, item)
        return reward, {"cost": cost}

    rec = bm.identify(PROBLEM, pull, 60, start=log, items=PROMPTS)
    assert rec.trials == 75
    assert not set(made) & set(zip(log["arm"], log["item"], strict=True))
