"""Experiments on items: slots keep theirs, sums by item follow, and the answer is that of a log of the same trials."""

from types import SimpleNamespace

import numpy as np
import pytest
from tests.experiments.kits import PROBLEM

import bestmix as bm
from bestmix.experiments.audit import audit
from bestmix.experiments.item_slots import described, item_order

PROMPTS = [f"prompt {i}" for i in range(30)]


def result(trial):
    """A result that depends on the arm and the item alone."""
    place = trial.item if isinstance(trial.item, int) else PROMPTS.index(trial.item)
    shared = np.random.default_rng(place).normal(size=2)
    own = np.random.default_rng([place, ord(trial.arm)]).normal(size=2)
    means = {"a": (1.0, 0.2), "b": (2.0, 1.6), "c": (1.4, 0.7)}[trial.arm]
    return (np.array(means) + shared + 0.3 * own).tolist()


def tell(exp, trials):
    return exp.tell_many([(t, reward, [cost]) for t in trials for reward, cost in [result(t)]])


def finish(exp):
    while trials := exp.ask(7):
        tell(exp, trials[::-1])


def test_a_slot_keeps_its_item_and_no_arm_gets_one_twice(storage, name, clock):
    exp = storage.create(name, PROBLEM, 24, bm.Uniform(), lease=10.0, items=PROMPTS)
    first = exp.ask(9, worker="w1")
    assert len({(t.arm, t.item) for t in first}) == 9
    assert {t.item for t in first if t.arm == "a"} == {t.item for t in first if t.arm == "b"}
    tell(exp, first[:2])
    exp.tell_failed(first[2])
    exp.give_back(first[3])
    clock.pass_time(11.0)
    again = exp.ask(7, worker="w2")
    assert {t.slot: t.item for t in again} == {t.slot: t.item for t in first[2:]}
    late = exp.renew(again[0])[0]
    assert late.item == again[0].item
    tell(exp, first[4:5])  # late: whoever has the slot now has it withdrawn
    tell(exp, [t for t in again if t.slot == first[4].slot])  # counts beside the plan
    finish(exp)
    clock.pass_time(11.0)
    finish(exp)
    filled = [(t.arm, t.item) for t in exp.trials("complete")]
    assert len(set(filled)) == len(filled) == 24
    assert (exp.state.status, exp.state.extra) == ("done", 1)
    assert audit(exp) == []
    assert exp.trial(first[0]).item == first[0].item


@pytest.mark.parametrize("items", [PROMPTS, 30, 5], ids=["named", "numbered", "repeated"])
def test_the_answer_is_that_of_a_log_of_the_exported_trials(storage, name, tmp_path, items):
    exp = storage.create(name, PROBLEM, 60, bm.Uniform(), items=items)
    finish(exp)
    live = exp.recommend()
    for kind in ("csv", "parquet"):
        path = exp.export(tmp_path / f"trials.{kind}")
        log = bm.from_log(path, bounds={"dollars": 1.0}, item="item")
        assert live.items == log.items == min(20, len(exp.items))
        assert live.mixture == pytest.approx(log.mixture, rel=1e-9)
        assert live.z_scores == pytest.approx(log.z_scores, rel=1e-9)
        assert live.support_probability == pytest.approx(log.support_probability, rel=1e-9)
        assert live.limits["dollars"].error == pytest.approx(log.limits["dollars"].error, rel=1e-9)
    plain = bm.from_log(tmp_path / "trials.csv", bounds={"dollars": 1.0})
    assert live.limits["dollars"].error != pytest.approx(plain.limits["dollars"].error, rel=1e-3)
    assert audit(exp) == []


def test_it_is_the_search_of_this_process(storage, name):
    exp = storage.create(name, PROBLEM, 60, bm.Challenger(ahead=0), items=PROMPTS)
    search = bm.Challenger().start(PROBLEM, 60, items=PROMPTS)
    while trials := exp.ask(60):
        for trial in trials:
            reward, cost = result(trial)
            search.tell(trial.arm, reward, [cost], item=trial.item)
        tell(exp, trials)
    assert search.done
    assert exp.recommend().mixture == search.recommend().mixture
    assert exp.recommend().z_scores == search.recommend().z_scores


def test_planning_ahead_changes_and_a_larger_budget_go_on_with_items(storage, name):
    exp = storage.create(name, PROBLEM, 40, bm.Challenger(ahead=4), items=PROMPTS)
    tell(exp, exp.ask(11))
    exp.extend(50)
    tell(exp, exp.ask(11))
    exp.change(arms=["a", "b"])
    finish(exp)
    for arm in "ab":
        items = [t.item for t in exp.trials(arm=arm) if t.slot == t.token]
        assert items == [exp.items.name(exp.items.at(i, arm)) for i in range(len(items))]
    assert exp.recommend().items <= 30
    assert audit(exp) == []


def test_a_log_has_no_items_and_counts(storage, name, tmp_path):
    rows = 4 * [0.5, 1.5, 1.0]
    log = {"arm": 4 * ["a", "b", "c"], "reward": rows, "dollars": rows}
    exp = storage.create(name, PROBLEM, 30, bm.Uniform(), items=4, log=log)
    finish(exp)
    rec = exp.recommend()
    assert (rec.trials, rec.items) == (42, 4)
    assert [t.item for t in exp.trials(limit=12)] == [None] * 12
    assert audit(exp) == []


def test_surplus_results_have_items_where_everything_counts(storage, name, clock):
    exp = storage.create(name, PROBLEM, 12, bm.SFSR("lagrangian"), lease=10.0, items=9)
    first = exp.ask(3)
    clock.pass_time(11.0)
    second = exp.ask(3)
    tell(exp, first)
    tell(exp, second)
    finish(exp)
    assert exp.state.surplus == 3
    assert exp.recommend(everything=True).trials == exp.recommend().trials + 3
    assert audit(exp) == []


def test_opening_again(storage, name):
    made = bm.open_experiment(storage, name, PROBLEM, 60, items=PROMPTS)
    assert bm.open_experiment(storage, name, items=PROMPTS).items == made.items == bm.Items(PROMPTS)
    assert storage.open(name).items == made.items
    assert storage.open(name).record.items == described(bm.Items(PROMPTS))
    assert item_order(storage.open(name).record) == bm.Items(30)
    for other in (PROMPTS[:-1], 30, bm.Items(PROMPTS, seed=1)):
        with pytest.raises(ValueError, match=r"items: the experiment .* has others, or none"):
            bm.open_experiment(storage, name, items=other)


def test_what_items_cannot_be_used_for_is_refused(storage, name):
    with pytest.raises(ValueError, match="stops by the errors of arms that share no items"):
        storage.create(name, PROBLEM, 60, bm.Challenger(confidence=0.9), items=9)
    with pytest.raises(ValueError, match="requests of live traffic bring their own"):
        storage.create(name, PROBLEM, traffic=bm.Traffic(explore="5%"), items=9)
    segments = bm.Problem(["a", "b"], segments={"free": 0.5, "paid": 0.5})
    exp = storage.create(name, segments, 60, bm.Uniform(), items=9)
    with pytest.raises(ValueError, match="brings an item of their own"):
        exp.ask(segment="free")
    assert {(t.segment, t.arm, t.item) for t in exp.ask(8)} == {
        (s, a, exp.items.at(i, a)) for s in ("free", "paid") for a in "ab" for i in range(2)
    }


def test_an_experiment_without_items_keeps_its_digest():
    from bestmix.experiments.model import Record
    from bestmix.experiments.store import digest

    record = Record("0123456789ab", "a", {"arms": ["x"]}, {"kind": "Uniform"}, 9, 60.0, 100)
    assert digest(record) == "76d81835ff916dc1"
    assert Record.from_dict({k: v for k, v in record.to_dict().items() if k != "items"}) == record


@pytest.mark.parametrize("strategy", [bm.Uniform(), bm.SFSR(), bm.Challenger(ahead=6)], ids=lambda s: s.name)
def test_items_of_a_log_are_not_handed_out_again_and_count_as_shared(storage, name, strategy):
    rng, log = np.random.default_rng(4), {"arm": [], "reward": [], "dollars": [], "prompt": []}
    for arm in PROBLEM.arms:
        for place in rng.choice(30, 8, replace=False).tolist():
            reward, cost = result(SimpleNamespace(arm=arm, item=place))
            for column, value in zip(log, (arm, reward, cost, PROMPTS[place]), strict=True):
                log[column].append(value)
    exp = storage.create(name, PROBLEM, 36, strategy, log=log, item="prompt", items=PROMPTS)
    assert audit(exp) == []
    finish(exp)
    assert audit(exp) == []
    fresh = [(t.arm, t.item) for t in exp.trials() if t.worker != "log"]
    assert len(set(fresh)) == len(fresh) > 0
    assert not set(fresh) & set(zip(log["arm"], log["prompt"], strict=True))
    if strategy.name != "SFSR":
        whole = {column: list(values) for column, values in log.items()}
        for t in exp.trials():
            if t.worker != "log":
                for column, value in zip(whole, (t.arm, t.reward, t.costs["dollars"], t.item), strict=True):
                    whole[column].append(value)
        wanted = bm.from_log(whole, bounds={"dollars": 1.0}, item="prompt")
        assert exp.recommend().support_probability == pytest.approx(wanted.support_probability)
    again = storage.open(name)
    assert again.recommend().to_json() == exp.recommend().to_json()


def test_a_log_of_less_weight_has_its_items_passed_over(storage, name):
    log = {"arm": ["a", "a"], "reward": [1.0, 2.0], "dollars": [0.5, 0.6], "item": [3, 7]}
    exp = storage.create(name, PROBLEM, 24, bm.Uniform(), log=log, item="item", log_weight=0.5, items=9)
    trials = exp.ask(24)
    assert [t.item for t in trials if t.arm == "a"] == [i for i in ITEMS_OF_NINE if i not in (3, 7)][:7]
    assert audit(exp) == []
    with pytest.raises(ValueError, match="item: this experiment has no items; leave it out, or give items="):
        storage.create(f"{name} 2", PROBLEM, 24, bm.Uniform(), log=log, item="item")


ITEMS_OF_NINE = [bm.Items(9).at(place, "a") for place in range(9)]
