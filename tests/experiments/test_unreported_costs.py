"""A hard budget of money is never exceeded, whatever workers do."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.experiments.kits import FakeClock

from bestmix import SFSR, Challenger, Problem, Spend, Uniform, open_experiment
from bestmix.experiments.audit import audit
from bestmix.experiments.errors import Closed

PROBLEM = Problem(["small", "medium", "large"], {"dollars": 3.0})
PRICES = {"small": 0.5, "medium": 2.0, "large": 5.0}
LATER = {"tiny": 0.2, "huge": 9.0}  # arms that come new
FATES = ("told", "told", "told", "dead", "late", "failed", "given back")
MILD = ("told",) * 20 + ("dead", "late", "late", "failed", "given back")


def run(strategy, spend, seed, url="memory://", changing=False, fates=FATES):
    """Eight workers, of which many die; what they have paid in all, and the experiment."""
    clock, rng, paid, late = FakeClock(), np.random.default_rng(seed), 0.0, []
    exp = open_experiment(url, "router", PROBLEM, spend, strategy, lease=10.0, failures=10_000, clock=clock)
    for _ in range(400):
        if exp.done:
            break
        if changing and rng.random() < 0.2:
            with contextlib.suppress(ValueError):  # nothing is left for a new arm, or more is spent already
                change(exp, rng)
        given = exp.ask(int(rng.integers(1, 9)))
        if not given:
            clock.ticks += 11.0
        for trial in given:
            fate = fates[rng.integers(len(fates))]
            price = (PRICES | LATER)[trial.arm]
            price *= rng.uniform(0.1, 1.0) if spend.prices is None else 1.0
            paid += price
            result = {"reward": rng.normal() + price, "dollars": price}
            if fate == "told":
                exp.tell(trial, result)
            elif fate == "failed":
                exp.tell_failed(trial, "no luck")
            elif fate == "given back":
                exp.give_back(trial)
            elif fate == "late":
                late.append((trial, result))
        assert paid <= exp.account.spend.amount * (1 + 1e-9)
        clock.ticks += 3.0
        if late and rng.random() < 0.3:
            told_late(exp, *late.pop(int(rng.integers(len(late)))))
    return paid, exp


def change(exp, rng):
    """Other arms, a limit of another kind, or another amount."""
    spend, names = exp.account.spend, [*PRICES, *LATER]
    if rng.random() < 0.4:
        exp.change(budget=Spend(spend.amount + float(rng.uniform(-25.0, 20.0)), spend.unit))
    elif rng.random() < 0.2:
        exp.change(limits=[] if exp.problem.to_dict().get("limits") else ["share(small) <= 80%"])
    else:
        arms = rng.permutation(names)[: rng.integers(2, 5)].tolist()
        new = {arm: price for arm, price in LATER.items() if arm in arms}
        by_arm = isinstance(spend.most, dict)
        exp.change(arms=arms, prices=new if spend.prices else None, most=new if by_arm else None)


def told_late(exp, trial, result):
    with contextlib.suppress(Closed):
        exp.tell(trial, result)


@pytest.mark.parametrize(
    "strategy",
    [Challenger(), Challenger(ahead=5), Uniform(), SFSR()],
    ids=["Challenger", "Challenger ahead", "USLP", "SFSR"],
)
@pytest.mark.parametrize("spend", [Spend(60.0, "dollars", most=5.0), Spend(60.0, "tokens", prices=PRICES)])
@given(seed=some.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_a_hard_budget_is_never_exceeded_under_workers_that_die(strategy, spend, seed):
    paid, exp = run(strategy, spend, seed)
    assert exp.done
    assert paid <= 60.0 * (1 + 1e-9)
    assert exp.account.spent <= paid * (1 + 1e-9)
    assert audit(exp) == []


def test_most_of_the_money_is_used_when_nobody_dies():
    clock, rng = FakeClock(), np.random.default_rng(1)
    exp = open_experiment("memory://", "x", PROBLEM, Spend(60.0, "dollars", most=5.0), Uniform(), clock=clock)
    while trials := exp.ask(3):
        for trial in trials:
            exp.tell(trial, {"reward": rng.normal(), "dollars": PRICES[trial.arm]})
    assert 55.0 < exp.account.spent <= 60.0
    assert exp.account.lost == 0.0
    assert exp.recommend().account == exp.account


def test_what_never_told_is_set_aside():
    clock = FakeClock()
    exp = open_experiment("memory://", "x", PROBLEM, Spend(15.0, "dollars", most=5.0), Uniform(), lease=10, clock=clock)
    dead = exp.ask(3)
    assert len(dead) == 3
    clock.ticks += 11.0
    assert not exp.ask(1)
    assert exp.done
    assert exp.account.lost == 15.0
    assert "15 of it set aside for trials that failed or never told" in str(exp.account)
    assert exp.state.handed == 3
    assert exp.tell(dead[0], {"reward": 1.0, "dollars": 2.0}).value == "counted"  # late, and paid for
    assert exp.account.spent == 2.0
    assert audit(exp) == []


def test_a_database_keeps_the_money(tmp_path):
    spend = Spend(40.0, "dollars", most=5.0)
    paid, exp = run(Challenger(), spend, 3, f"sqlite:///{tmp_path}/e.db")
    assert paid <= 40.0
    again = open_experiment(f"sqlite:///{tmp_path}/e.db", "router", PROBLEM, spend)
    assert again.account == exp.account
    with pytest.raises(ValueError, match="budget: the experiment 'router' has 40 dollars, got 41 dollars"):
        open_experiment(f"sqlite:///{tmp_path}/e.db", "router", PROBLEM, Spend(41.0, "dollars", most=5.0))
    with pytest.raises(ValueError, match="budget: the experiment 'router' has 40 dollars, got 100"):
        open_experiment(f"sqlite:///{tmp_path}/e.db", "router", budget=100)
    again.extend(Spend(60.0, "dollars", most=5.0))
    assert again.state.status == "running"
    assert again.account.spend.amount == 60.0
    assert audit(again) == []


def test_a_soft_budget_hands_slots_out_again():
    clock = FakeClock()
    exp = open_experiment("memory://", "x", PROBLEM, Spend(15.0, "dollars"), Uniform(), lease=10, clock=clock)
    dead = exp.ask(9)
    clock.ticks += 11.0
    assert len(exp.ask(9)) == len(dead) == 9
    assert exp.account.lost == 0.0


@pytest.mark.parametrize(
    "strategy",
    [Challenger(rounds=8), Challenger(rounds=8, ahead=5), Uniform()],
    ids=["Challenger", "Challenger ahead", "USLP"],
)
@pytest.mark.parametrize(
    "spend",
    [Spend(150.0, "dollars", most=9.0), Spend(150.0, "dollars", most=PRICES), Spend(150.0, "tokens", prices=PRICES)],
    ids=["most", "most by arm", "prices"],
)
@given(seed=some.integers(0, 10**6))
@settings(max_examples=4, deadline=None)
def test_a_hard_budget_is_never_exceeded_whatever_changes(strategy, spend, seed):
    paid, exp = run(strategy, spend, seed, changing=True, fates=FATES if seed % 4 == 0 else MILD)
    assert exp.state.status == "done"
    assert exp.account.spent <= paid * (1 + 1e-9)
    assert audit(exp) == []


def tokens(exp, n):
    """Make so many trials."""
    for trial in exp.ask(n):
        exp.tell(trial, {"reward": PRICES.get(trial.arm, 1.0), "dollars": 1.0})


def test_arms_come_and_go_and_what_was_spent_stays_spent(storage, name):
    exp = open_experiment(storage, name, PROBLEM, Spend(100.0, "tokens", prices=PRICES), Challenger(rounds=8))
    tokens(exp, 12)
    leased = exp.ask(6)
    before = exp.account.spent
    assert before == pytest.approx(sum(PRICES[t.arm] for t in exp.trials(state="complete")))
    exp.change(arms=["small", "medium", "tiny"], prices={"tiny": 0.2}, budget=Spend(80.0, "tokens"))
    assert exp.account.spent == before
    assert exp.account.spend == Spend(80.0, "tokens", {"small": 0.5, "medium": 2.0, "tiny": 0.2})
    assert exp.state.changes[0]["text"] == (
        "tiny is new; large is retired; a budget of 80 tokens instead of 100 tokens"
    )
    assert audit(exp) == []
    for trial in leased:  # those of the arm that is retired come late, and have cost their price
        exp.tell(trial, {"reward": 1.0, "dollars": 1.0})
    assert exp.account.spent == pytest.approx(before + sum(PRICES[t.arm] for t in leased))
    exp.change(arms=["small", "large", "tiny"])  # the arm comes back with its price
    while not exp.done:
        tokens(exp, 5)
    assert 80.0 - 5.0 < exp.account.spent <= 80.0 * (1 + 1e-9)
    assert exp.recommend().account == exp.account
    assert {t.arm for t in exp.trials(state="complete")} == {*PRICES, "tiny"}
    assert audit(exp) == []


def test_trials_under_way_reserve_their_price_when_the_budget_changes():
    exp = open_experiment("memory://", "x", PROBLEM, Spend(100.0, "tokens", prices=PRICES), Uniform())
    while len({trial.arm for trial in exp.trials(state="complete")}) < 3:
        tokens(exp, 4)
    leased = exp.ask(4)
    reserved, spent = sum(PRICES[t.arm] for t in leased), exp.account.spent
    least = spent + reserved
    with pytest.raises(
        ValueError, match=rf"at least {least:g} tokens \({spent:g} are spent, {reserved:g} reserved for"
    ):
        exp.change(budget=Spend(least - 0.25, "tokens"))
    assert exp.account.spend.amount == 100.0  # nothing was changed
    assert exp.state.leased == 4
    with pytest.raises(ValueError, match=rf"at least {least + 1.0:g} tokens .*1 needed for a first trial of tiny"):
        exp.change(budget=Spend(least, "tokens"), arms=[*PRICES, "tiny"], prices={"tiny": 1.0})
    exp.change(budget=Spend(least + 0.5, "tokens"))
    more = exp.ask(9)
    assert sum(PRICES[t.arm] for t in more) <= 0.5
    exp.tell_many([(t, {"reward": 1.0, "dollars": 1.0}) for t in [*leased, *more]])
    tokens(exp, 9)
    assert exp.done
    assert exp.account.spent <= least + 0.5
    assert audit(exp) == []


@pytest.mark.parametrize("most", [None, 5.0], ids=["soft", "hard"])
def test_the_price_of_a_new_arm_is_learnt_as_at_the_start(most):
    exp = open_experiment("memory://", "x", PROBLEM, Spend(200.0, "dollars", most=most), Challenger(rounds=8))
    tokens(exp, 40)
    exp.change(arms=[*PRICES, "tiny"])
    made = [t.arm for t in exp.ask(50)].count("tiny")
    assert made == 3
    assert audit(exp) == []


def test_a_silent_trial_of_a_dear_arm_does_not_make_later_ones_dear():
    clock = FakeClock()
    spend = Spend(60.0, "tokens", prices=PRICES)
    exp = open_experiment("memory://", "x", PROBLEM, spend, Uniform(), lease=10, clock=clock)
    exp.ask(1)  # never told
    clock.ticks += 11.0
    exp.change(arms=["small", "medium"])
    exp.ask(1)  # never told either
    clock.ticks += 11.0
    tokens(exp, 1)
    while not exp.done:
        tokens(exp, 9)
    assert exp.account.lost == 5.0 + 2.0
    assert exp.account.spent <= 60.0 - exp.account.lost
    assert audit(exp) == []


@pytest.mark.parametrize("entry", ["amount", "retired", "prices"])
def test_money_that_no_events_lead_to_is_found(entry):
    exp = open_experiment("memory://", "x", PROBLEM, Spend(100.0, "tokens", prices=PRICES), Challenger(rounds=8))
    tokens(exp, 30)
    exp.change(arms=["small", "medium", "tiny"], prices={"tiny": 0.2}, budget=Spend(90.0, "tokens"))
    tokens(exp, 30)
    assert audit(exp) == []
    memory = exp.storage.store._stored(exp.record.key).memory["memory"]
    other = {"amount": 95.0, "retired": memory["retired"] - 1.0, "prices": memory["prices"] | {"tiny": 0.1}}
    memory[entry] = other[entry]
    assert audit(exp) == ["replay: the strategy gets to another point with the same trials"]


def test_sentences_of_what_cannot_change():
    exp = open_experiment("memory://", "x", PROBLEM, Spend(100.0, "tokens", prices=PRICES), Challenger())
    for refused, sentence in [
        (
            {"arms": [*PRICES, "tiny"]},
            "prices: tiny is new, and what a trial of it costs is not known; give it: prices=",
        ),
        ({"prices": {"small": 0.7}}, "expected 0.5, as it was so far, got 0.7; an arm under another name"),
        ({"prices": {"giant": 0.7}}, "prices: expected arms that are tried, got 'giant'"),
        ({"most": 3.0}, "most: known prices say what a trial costs at most; leave it out"),
        ({"budget": 500}, "budget: expected one in tokens, as the run has, got 500"),
        ({"budget": Spend(500.0, "dollars")}, "budget: expected one in tokens"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            exp.change(**refused)
    exp = open_experiment("memory://", "y", PROBLEM, Spend(100.0, "dollars", most=PRICES), Challenger())
    with pytest.raises(ValueError, match="most: tiny is new, and the most that a trial of it can cost is not known"):
        exp.change(arms=[*PRICES, "tiny"])
    with pytest.raises(ValueError, match="prices: in this run trials tell their dollars; leave them out"):
        exp.change(arms=[*PRICES, "tiny"], prices={"tiny": 1.0})
    exp = open_experiment("memory://", "z", PROBLEM, 100, Challenger())
    with pytest.raises(ValueError, match="prices: the budget is a number of trials; leave it out"):
        exp.change(arms=[*PRICES, "tiny"], prices={"tiny": 1.0})
    exp = open_experiment("memory://", "s", PROBLEM, Spend(100.0, "tokens", prices=PRICES), SFSR())
    with pytest.raises(ValueError, match="SFSR lays out its rounds beforehand, so that only bounds can change"):
        exp.change(arms=["small", "large"])


def test_a_log_was_paid_for_already():
    log = {"arm": ["small"] * 4, "reward": [1.0, 2.0] * 2, "dollars": [0.4] * 4}
    exp = open_experiment("memory://", "x", PROBLEM, Spend(30.0, "dollars", most=5.0), Challenger(), log=log)
    assert exp.account.spent == pytest.approx(0.0)
    assert exp.state.unlimited
    assert audit(exp) == []
