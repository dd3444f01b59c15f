"""The proven stop for the support: a basis is named first, and later trials alone prove it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bestmix import Challenger, Instance, Problem, Spend, solve
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.kernels import conditions
from bestmix.problems.solution import solve_means
from bestmix.strategies.proven.support import INFEASIBLE, Look, Naming, look
from bestmix.strategies.search import Search

EASY = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=1.0, sigma_cost=1.0)
SURE = Challenger(confidence=0.95, proven=True, sigma=1.0)
ONES = np.ones(2)


def told(problem, counts, means):
    rows = zip(counts, means, strict=True)
    return Evidence(problem, [Moments.from_statistics(int(n), row, n * np.eye(len(row))) for n, row in rows])


def named_after(trials, means=EASY.means):
    return look(told(EASY.problem, [trials] * 3, means), ONES, 0.05, None).naming


def drive(strategy, instance, seed, most=10**9, budget=None):
    search, rng = strategy.start(instance.problem, budget), np.random.default_rng(seed)
    while (owed := search.ask()) and search.trials < most:
        for arm, count in owed.items():
            rows = instance.draw(instance.arms.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    return search


def test_all_namings_together_have_what_the_verdict_infeasible_leaves():
    chances = [np.exp(Naming(k, [], np.empty(0), np.empty((0, 1))).log_allowed(0.2)) for k in range(1, 60)]
    assert sum(chances) == pytest.approx(0.2 * (1 - INFEASIBLE))
    assert chances[0] > 0.8 * 0.2


def test_a_basis_is_named_when_it_is_clear_and_proven_by_later_trials_alone():
    assert named_after(3) is None
    naming = named_after(100)
    assert (naming.number, naming.basis, naming.counts.tolist()) == (1, [0, 1], [100.0] * 3)

    def certain(*counts):
        return look(told(EASY.problem, counts, EASY.means), ONES, 0.05, naming).certain

    assert [certain(100, 100, 100), certain(110, 110, 110), certain(1100, 1100, 1100)] == [False, False, True]
    assert not certain(1100, 1100, 100)  # one arm that was not tried since then leaves everything open


def test_later_trials_that_name_another_basis_prove_nothing():
    naming = replace(named_after(100), counts=np.full(3, 3000.0))
    later = EASY.means[[1, 0, 2]] * [[1.0, -1.0]]  # another program, by a third of all trials
    assert sorted(solve_means(later, EASY.bound).basis) != naming.basis
    together = (3000 * EASY.means + 1000 * later) / 4000
    assert sorted(solve_means(together, EASY.bound).basis) == naming.basis
    found = look(told(EASY.problem, [4000] * 3, together), ONES, 0.05, naming)
    assert not found.certain


def test_another_basis_is_named_after_more_trials_only():
    naming = replace(named_after(100), basis=[0, 2])
    evidence = told(EASY.problem, [120] * 3, EASY.means)
    assert look(evidence, ONES, 0.05, naming).naming is naming
    second = look(told(EASY.problem, [130] * 3, EASY.means), ONES, 0.05, naming).naming
    assert (second.number, second.basis) == (2, [0, 1])


@pytest.mark.parametrize(("scale", "least", "most"), [(1.0, 0, 12), (0.2, 20, 40)])
def test_of_two_equal_arms_none_is_called_the_better_but_by_a_scale_that_is_too_small(scale, least, most):
    problem, rng, wrong = Problem(["a", "b"], {"x": 1.0}), np.random.default_rng(6), 0
    for _ in range(40):
        trials, naming, certain = rng.normal(size=(2, 1000, 2)), None, False
        for n in (5, 10, 20, 40, 80, 160, 320, 1000):
            found = look(told(problem, [n, n], trials[:, :n].mean(axis=1)), np.full(2, scale), 0.3, naming)
            naming, certain = found.naming, certain or found.certain
        wrong += certain
    assert least <= wrong <= most  # the theorem allows 30%, 12 of 40


def test_rounds_are_shorter_near_the_end():
    naming, evidence = named_after(100), told(EASY.problem, [700] * 3, EASY.means)
    proven = look(evidence, ONES, 0.05, naming).evidence.min()
    delta = (
        0.05 * np.exp(-1.05 * proven / 2) / np.exp(naming.log_allowed(0.05))
    )  # 5% more evidence is asked for than there is
    assert look(evidence, ONES, delta, naming).missing == pytest.approx(0.05)
    memory = {"quota": None, "basis": [], "reasons": {}, "naming": naming.to_dict()}
    strategies = [Challenger(delta=chance, proven=True, sigma=1.0) for chance in (delta**1.5, delta)]
    usual, near = (sum(one.close(evidence, 10**6, memory)[0]["quota"]) for one in strategies)
    assert (usual, near) == (52, 31)  # 2.5% of 2,100, and 0.3 of the 5% that are missing


def test_a_saved_run_goes_on_as_if_it_had_not_been_saved(tmp_path):
    search = drive(SURE, EASY, 3, most=60)
    assert search.memory["naming"]["number"] == 1
    search.save(tmp_path / "run.json")
    again = Search.load(tmp_path / "run.json")
    assert Naming.from_dict(json.loads(json.dumps(search.memory["naming"]))).to_dict() == again.memory["naming"]
    for one in (search, again):
        rng = np.random.default_rng(0)
        while owed := one.ask():
            for arm, count in owed.items():
                rows = EASY.draw(EASY.arms.index(arm), count, rng)
                one.tell(arm, rows[:, 0], rows[:, 1:])
    assert again.to_dict() == search.to_dict()
    assert search.recommend().support == tuple(EASY.arms[k] for k in np.flatnonzero(solve(EASY).mixture))


def test_what_was_tried_before_the_naming_does_not_count_for_the_next_trials():
    state = conditions.new_state(2, 2, 0)
    state.counts[:], state.gap[:], state.own[:], state.coefficient[:] = 100, [1.0, 2.0, np.inf], [0.0, 1.0, 0.0], 0.0
    state.basis.column[:] = 0
    Look(False, None, np.array([0.0, 4.0]), np.array([5.0, 0.0])).aim(state)
    assert state.counts.tolist() == [1, 4]
    assert state.gap.tolist() == pytest.approx([1.0, np.sqrt(2.0**2 / 2), np.inf])
    Look(False).aim(state)
    assert state.counts.tolist() == [1, 4]


def test_a_proof_of_another_bound_begins_anew():
    """A bound that was chosen after the trials were seen is no part of what was named."""
    naming = named_after(100)
    later = told(EASY.problem, [20_000] * 3, EASY.means)
    assert look(later, ONES, 0.05, naming).certain
    other = told(replace_bound(EASY.problem, 0.9), [20_000] * 3, EASY.means)
    found = look(other, ONES, 0.05, naming)
    assert not found.certain
    assert (found.naming.number, found.naming.bound) == (2, [0.9])
    again = Naming.from_dict(json.loads(json.dumps(found.naming.to_dict())))
    assert again.to_dict() == found.naming.to_dict()
    kept = without(without(naming.to_dict(), "bound"), "question")
    assert look(later, ONES, 0.05, Naming.from_dict(kept)).certain  # as it was saved before


def test_a_limit_that_is_turned_round_is_another_question():
    """Their bounds are the same number: -0.0 and 0.0."""
    before, after = (Problem(["a", "b"], limits=[f"x {relation} 0"]) for relation in (">=", "<="))
    means = np.array([[1.0, 0.6], [0.0, -0.5]])
    naming = look(told(before, [100] * 2, means), ONES, 0.05, None).naming
    assert naming.bound == after.bound.tolist()
    found = look(told(after, [20_000] * 2, means), ONES, 0.05, naming)
    assert (naming.number, found.naming.number, found.naming.question["limits"]) == (1, 2, ["x <= 0"])


def test_numbers_of_namings_have_no_end():
    naming = replace(named_after(100), number=400)
    assert not look(told(EASY.problem, [200] * 3, EASY.means), ONES, 1e-4, naming).certain
    assert naming.log_allowed(1e-4) == pytest.approx(np.log(0.81e-4) - 399 * np.log(10.0))


def change_and_back(search, **changes):
    """The naming before, in between and after."""
    problem, found = search.problem, [search.memory["naming"]]
    search.change(**changes)
    found.append(search.memory["naming"])
    search.change(bounds=problem.bounds, arms=problem.arms)
    return [*found, search.memory["naming"]]


@pytest.mark.parametrize("money", [False, True])
def test_another_budget_leaves_a_proof_as_it_is(money):
    def budget(amount):
        return Spend(amount, "dollars", prices=dict.fromkeys(EASY.arms, 1.0)) if money else int(amount)

    search = drive(replace(SURE, delta=1e-30, confidence=None), EASY, 3, 400, budget(3000.0))
    naming = search.memory["naming"]
    assert sum(naming["counts"]) < search.trials
    for amount in (2700.0, 2850.0):
        search.change(budget=budget(amount))
        assert search.memory["naming"] == naming
    search.extend(budget(3000.0))
    assert search.memory["naming"] == naming


def test_namings_are_numbered_through_all_that_a_run_is_asked():
    """Each is wrong with a chance of its own, and these add up to the chance of error."""
    search = drive(replace(SURE, delta=1e-9, confidence=None), EASY, 3, 120)
    first, between, after = change_and_back(search, bounds={"cost0": 0.9}, arms=["arm0", "arm1", "new"])
    assert first == between == after  # nothing was named in between: the proof goes on
    search.change(arms=["arm0", "arm1"])
    assert (search.memory["naming"]["number"], search.memory["naming"]["question"]["arms"]) == (2, ["arm0", "arm1"])
    search.change(arms=["arm0", "arm1", "arm2"], bounds={"cost0": 0.8})
    assert search.memory["naming"]["number"] == 3


def test_a_naming_that_was_saved_without_its_question_is_of_the_problem_so_far():
    search = drive(replace(SURE, delta=1e-9, confidence=None), EASY, 3, 120)
    naming = search.memory["naming"]
    saved = {**search.to_dict(), "memory": {**search.memory, "naming": without(naming, "question")}}
    again = Search.from_dict(json.loads(json.dumps(saved)))
    again.change(budget=10**6)
    assert again.memory["naming"] == naming
    other = Naming.from_dict(without(naming, "question")).carried(replace_bound(EASY.problem, 0.9))
    assert not other.is_of(EASY.problem)  # arms may have changed since


def without(data, name):
    return {key: value for key, value in data.items() if key != name}


def replace_bound(problem, bound):
    return Problem(problem.arms, dict.fromkeys(problem.costs, bound))


@pytest.mark.parametrize("price", [0.1, 0.3, 0.7, 1.1, 0.25])
def test_an_exact_cost_at_its_bound_is_a_tie_however_its_sums_are_rounded(price):
    """Of columns at a tie none is the answer: a mean of 0.1 that is rounded to just above it is none either."""
    problem, exact, naming = Problem(["a", "b", "c"], {"x": price}), np.array([0.3, 0.0]), None
    for n in range(7, 400, 9):
        rows = [np.full((n, 2), [reward, times * price]) for reward, times in ((1.0, 1.0), (2.0, 3.0), (0.2, 0.5))]
        evidence = Evidence(problem, [Moments(2).plus(table) for table in rows])
        found = look(evidence, exact, 0.05, naming)
        naming = found.naming
        assert not found.certain
    assert naming.later(evidence, exact)[1][0, 1] == price


def test_runs_end_with_the_right_support_and_need_more_than_the_calibrated_rule():
    calibrated = [drive(Challenger(confidence=0.95), EASY, seed).trials for seed in range(5)]
    searches = [drive(SURE, EASY, seed) for seed in range(5)]
    assert {search.recommend().support for search in searches} == {("arm0", "arm1")}
    assert np.mean(calibrated) < np.mean([search.trials for search in searches]) < 20 * np.mean(calibrated)


def test_that_no_mix_keeps_the_limits_is_proven_too():
    never = Instance([1.0, 2.0], [[1.5, 1.8]], [1.0], sigma_reward=1.0, sigma_cost=1.0)
    search = drive(SURE, never, 0)
    assert not search.recommend().feasible
    assert search.trials < 20_000


def test_known_arms_have_no_noise():
    known = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=1.0, sigma_cost=1.0, known=1)
    assert drive(SURE, known, 1).recommend().support == tuple(
        known.arms[k] for k in np.flatnonzero(solve(known).mixture)
    )


def test_one_arm_alone_is_certain_at_once():
    assert drive(SURE, Instance([1.0], [[0.0]], [5.0], sigma_reward=1.0, sigma_cost=1.0), 0).trials < 1000


def test_it_knows_plain_problems_alone():
    with pytest.raises(ValueError, match="Challenger with proven knows one segment"):
        SURE.start(Problem(["a", "b"], limits=["share(a) <= 40%"]), budget=100)


def test_its_name_and_its_file():
    assert SURE.name == "Challenger[0.95, proven]"
    assert SURE.to_dict() == {**Challenger(confidence=0.95).to_dict(), "proven": True, "sigma": 1.0}


@pytest.mark.parametrize("proven", ["yes", "", 1, None, [True]], ids=str)
def test_proven_is_true_or_false(proven):
    with pytest.raises(ValueError, match="proven: expected True or False, got"):
        Challenger(confidence=0.95, proven=proven, sigma=1.0)


@pytest.mark.parametrize("options", [{}, {"tolerance": 0.1}, {"proven": True, "sigma": 1.0}], ids=str)
@pytest.mark.filterwarnings("error")
def test_a_chance_of_error_is_a_number_whose_parts_are_numbers(options):
    with pytest.raises(ValueError, match="delta: expected a chance of at least 1e-200, got 5e-324; try 0"):
        Challenger(delta=5e-324, **options)
    search = Challenger(delta=1e-200, **options).start(EASY.problem, 1000)
    rng = np.random.default_rng(0)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = EASY.draw(EASY.arms.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    assert search.trials == 1000


ONE = np.array([[0.525, 0.1], [0.75, 0.55], [0.225, 0.3]]), [0.35]
TWO = np.array([[0.525, 0.1, 0.175], [0.75, 0.55, 0.15], [0.225, 0.3, 0.325], [0.9, 0.4, 0.7]]), [0.35, 0.35]
SLACK = ONE[0], [0.9]  # the limit does not bind: its unused part is in the basis
UNITS = [(1.0, 2.0**43, 1.0), (1.0, 2.0**-43, 1.0), (2.0**-43, 1.0, 2.0**43), (2.0**90, 2.0**43, 2.0**-43)]


def ended(means, bound, how, unit):
    """Trials and support of a run on 0 and 1, where the metrics are told in such units."""
    unit = np.array(unit[: 1 + len(bound)])
    problem = Problem(
        [f"arm{k}" for k in range(len(means))], {f"cost{c}": b * unit[1 + c] for c, b in enumerate(bound)}
    )
    given = {name: 0.25 * u if how == "sigma" else (0, u) for name, u in zip(problem.metrics, unit, strict=True)}
    search = Challenger(confidence=0.95, proven=True, **{how: given}).start(problem, 6000)
    draws = [np.random.default_rng([0, arm]) for arm in range(len(means))]
    while owed := search.ask():
        for name, count in owed.items():
            arm = problem.arms.index(name)
            rows = (draws[arm].random((count, len(unit))) < means[arm]) * unit
            search.tell(name, rows[:, 0], rows[:, 1:])
    return search.trials, search.recommend().support


@pytest.mark.parametrize("how", ["sigma", "ranges"])
@pytest.mark.parametrize("case", [ONE, TWO, SLACK], ids=["one cost", "two costs", "a slack"])
def test_a_run_ends_at_the_same_trial_whatever_the_units_are(case, how):
    usual = ended(*case, how, (1.0, 1.0, 1.0))
    assert usual[0] < 6000
    for unit in UNITS:
        assert ended(*case, how, unit) == usual


def test_bytes_and_terabytes_end_alike():
    """A cost of trillions once left its slack no exact point, and the run never ended."""
    found = []
    for most in (8.0, 8e12):
        problem = Problem(["a", "b"], {"bytes": most / 2})
        search = Challenger(confidence=0.95, proven=True, ranges={"reward": (0, 1), "bytes": (0, most)}).start(
            problem, 5000
        )
        rng = np.random.default_rng(0)
        while owed := search.ask():
            for name, count in owed.items():
                reward, cost = {"a": (0.2, 0.1), "b": (0.8, 0.2)}[name]
                rows = rng.random((count, 2)) < [reward, cost]
                search.tell(name, rows[:, 0].astype(float), rows[:, 1:] * most)
        found.append((search.trials, search.recommend().support))
    assert found[0] == found[1]
    assert found[0][0] < 1000


@pytest.mark.parametrize(
    "sigma", [5e-324, 1e-300, {"reward": 0.5, "cost0": 1e-300}, {"reward": 0.0, "cost0": 0.5}], ids=str
)
@pytest.mark.filterwarnings("error")
def test_scales_of_nearly_nothing_serve(sigma):
    noise = 0.0 if sigma == {"reward": 0.0, "cost0": 0.5} else 1e-3  # what varies is refused with a scale of 0
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=noise, sigma_cost=1e-3)
    search = drive(Challenger(confidence=0.95, proven=True, sigma=sigma), instance, 0)
    assert search.recommend().support == ("arm0", "arm1")
    assert search.trials < 100
