"""The proven stop since the fourth edition: a basis is named first, and later trials alone prove it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestmix import Challenger, Instance, Problem, Spend, solve
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.kernels import conditions
from bestmix.problems.solution import solve_means
from bestmix.strategies import proven_named, proven_support
from bestmix.strategies.proven_named import Look, Naming, look
from bestmix.strategies.proven_support import INFEASIBLE
from bestmix.strategies.search import Search

EASY = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=1.0, sigma_cost=1.0)
SURE = Challenger(confidence=0.95, proven=True, sigma=1.0)
ONES = np.ones(2)


def told(problem, counts, means):
    rows = zip(counts, means, strict=True)
    return Evidence(problem, [Moments.from_statistics(int(n), row, n * np.eye(len(row))) for n, row in rows])


BOTH = pytest.mark.parametrize("edition", [4, 5])


def named_after(trials, means=EASY.means, edition=5):
    return look(told(EASY.problem, [trials] * 3, means), ONES, 0.05, None, edition).naming


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


@BOTH
def test_a_basis_is_named_when_it_is_clear_and_proven_by_later_trials_alone(edition):
    assert named_after(3, edition=edition) is None
    naming = named_after(100, edition=edition)
    assert (naming.number, naming.basis, naming.counts.tolist()) == (1, [0, 1], [100.0] * 3)

    def certain(*counts):
        return look(told(EASY.problem, counts, EASY.means), ONES, 0.05, naming, edition).certain

    assert [certain(100, 100, 100), certain(110, 110, 110), certain(1100, 1100, 1100)] == [False, False, True]
    assert not certain(1100, 1100, 100)  # one arm that was not tried since then leaves everything open


@BOTH
def test_later_trials_that_name_another_basis_prove_nothing(edition):
    naming = replace(named_after(100), counts=np.full(3, 3000.0))
    later = EASY.means[[1, 0, 2]] * [[1.0, -1.0]]  # another program, by a third of all trials
    assert sorted(solve_means(later, EASY.bound).basis) != naming.basis
    together = (3000 * EASY.means + 1000 * later) / 4000
    assert sorted(solve_means(together, EASY.bound).basis) == naming.basis
    found = look(told(EASY.problem, [4000] * 3, together), ONES, 0.05, naming, edition)
    assert edition == 5 or found.evidence.min() > -2 * naming.log_allowed(0.05)  # distances have no sign
    assert not found.certain


def test_another_basis_is_named_after_more_trials_only():
    naming = replace(named_after(100), basis=[0, 2])
    evidence = told(EASY.problem, [120] * 3, EASY.means)
    assert look(evidence, ONES, 0.05, naming, 5).naming is naming
    second = look(told(EASY.problem, [130] * 3, EASY.means), ONES, 0.05, naming, 5).naming
    assert (second.number, second.basis) == (2, [0, 1])


@given(st.integers(0, 2**32 - 1), st.integers(1, 2))
@settings(max_examples=100)
def test_a_truth_with_another_answer_is_no_nearer_than_some_condition(seed, costs):
    rng = np.random.default_rng(seed)
    scale, bound = rng.uniform(0.2, 2.0, 1 + costs), np.zeros(costs)
    truth, counts = rng.normal(size=(5, 1 + costs)), rng.integers(1, 30, 5)
    means = truth + rng.normal(size=truth.shape) * scale / np.sqrt(counts)[:, None]
    solution, right = solve_means(means, bound), solve_means(truth, bound)
    if solution.feasible and (not right.feasible or right.basis != solution.basis):
        naming = Naming(1, list(solution.basis), rng.uniform(1, 30, 5), truth)
        found = proven_named._proven(naming, counts, means, bound, scale)
        away = (counts**2 / (counts + naming.counts)) @ ((means - truth) ** 2 / scale**2).sum(axis=1)
        assert found.min() <= away * (1 + 1e-9)


@BOTH
@pytest.mark.parametrize(("scale", "least", "most"), [(1.0, 0, 12), (0.2, 20, 40)])
def test_of_two_equal_arms_none_is_called_the_better_but_by_a_scale_that_is_too_small(scale, least, most, edition):
    problem, rng, wrong = Problem(["a", "b"], {"x": 1.0}), np.random.default_rng(6), 0
    for _ in range(40):
        trials, naming, certain = rng.normal(size=(2, 1000, 2)), None, False
        for n in (5, 10, 20, 40, 80, 160, 320, 1000):
            found = look(told(problem, [n, n], trials[:, :n].mean(axis=1)), np.full(2, scale), 0.3, naming, edition)
            naming, certain = found.naming, certain or found.certain
        wrong += certain
    assert least <= wrong <= most  # the theorem allows 30%, 12 of 40


def test_with_many_arms_each_edition_is_certain_sooner_than_the_one_before():
    rng = np.random.default_rng(1)
    many = Instance([1.7, 2.6, *rng.uniform(0.0, 1.0, 10)], [[0.0, 1.8, *rng.uniform(0.5, 0.9, 10)]], [1.0])
    naming, first = {4: None, 5: None}, {}
    for n in np.unique(np.geomspace(5, 2000, 60).astype(int)):  # the estimates are the truth
        evidence = told(many.problem, [n] * 12, many.means)
        for edition in naming:
            found = look(evidence, ONES, 1e-4, naming[edition], edition)
            naming[edition] = found.naming
            if found.certain:
                first.setdefault(edition, n)
        if 3 not in first and proven_support.is_certain(evidence, ONES, 1e-4, edition=3):
            first[3] = n
    assert first[5] < first[4] < first[3]


def test_rounds_are_shorter_near_the_end_from_the_fifth_edition_on():
    naming, evidence = named_after(100), told(EASY.problem, [700] * 3, EASY.means)
    proven = look(evidence, ONES, 0.05, naming, 5).evidence.min()
    delta = (
        0.05 * np.exp(-1.05 * proven / 2) / np.exp(naming.log_allowed(0.05))
    )  # 5% more evidence is asked for than there is
    assert look(evidence, ONES, delta, naming, 5).missing == pytest.approx(0.05)
    memory = {"quota": None, "basis": [], "reasons": {}, "naming": naming.to_dict()}
    strategies = [Challenger(delta=delta, proven=True, sigma=1.0, edition=edition) for edition in (4, 5)]
    usual, near = (sum(one.close(evidence, 10**6, memory)[0]["quota"]) for one in strategies)
    assert (usual, near) == (52, 31)  # 2.5% of 2,100, and 0.3 of the 5% that are missing


def test_runs_end_with_the_right_support():
    assert {drive(SURE, EASY, seed).recommend().support for seed in range(3)} == {("arm0", "arm1")}


def test_a_run_of_the_fourth_edition_goes_on_as_it_began():
    # The numbers are those of the code before the fifth edition, on the same trials.
    before = replace(SURE, edition=4)
    assert [drive(before, EASY, seed).trials for seed in range(4)] == [178, 96, 96, 105]
    assert [drive(SURE, EASY, seed).trials for seed in range(4)] != [178, 96, 96, 105]


def test_the_sixth_edition_proves_as_the_fifth():
    fifth, sixth = (drive(replace(SURE, edition=edition), EASY, 3) for edition in (5, 6))
    assert (sixth.memory, sixth.trials) == (fifth.memory, fifth.trials)


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


@BOTH
def test_a_proof_of_another_bound_begins_anew(edition):
    """A bound that was chosen after the trials were seen is no part of what was named."""
    naming = named_after(100, edition=edition)
    later = told(EASY.problem, [20_000] * 3, EASY.means)
    assert look(later, ONES, 0.05, naming, edition).certain
    other = told(replace_bound(EASY.problem, 0.9), [20_000] * 3, EASY.means)
    found = look(other, ONES, 0.05, naming, edition)
    assert not found.certain
    assert (found.naming.number, found.naming.bound) == (2, [0.9])
    again = Naming.from_dict(json.loads(json.dumps(found.naming.to_dict())))
    assert again.to_dict() == found.naming.to_dict()
    kept = without(without(naming.to_dict(), "bound"), "question")
    assert look(later, ONES, 0.05, Naming.from_dict(kept), edition).certain  # as it was saved before


def test_a_limit_that_is_turned_round_is_another_question():
    """Their bounds are the same number: -0.0 and 0.0."""
    before, after = (Problem(["a", "b"], limits=[f"x {relation} 0"]) for relation in (">=", "<="))
    means = np.array([[1.0, 0.6], [0.0, -0.5]])
    naming = look(told(before, [100] * 2, means), ONES, 0.05, None, 5).naming
    assert naming.bound == after.bound.tolist()
    found = look(told(after, [20_000] * 2, means), ONES, 0.05, naming, 5)
    assert (naming.number, found.naming.number, found.naming.question["limits"]) == (1, 2, ["x <= 0"])


def test_numbers_of_namings_have_no_end():
    naming = replace(named_after(100), number=400)
    assert not look(told(EASY.problem, [200] * 3, EASY.means), ONES, 1e-4, naming, 5).certain
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


@BOTH
@pytest.mark.parametrize("price", [0.1, 0.3, 0.7, 1.1, 0.25])
def test_an_exact_cost_at_its_bound_is_a_tie_however_its_sums_are_rounded(price, edition):
    """Of columns at a tie none is the answer: a mean of 0.1 that is rounded to just above it is none either."""
    problem, exact, naming = Problem(["a", "b", "c"], {"x": price}), np.array([0.3, 0.0]), None
    for n in range(7, 400, 9):
        rows = [np.full((n, 2), [reward, times * price]) for reward, times in ((1.0, 1.0), (2.0, 3.0), (0.2, 0.5))]
        evidence = Evidence(problem, [Moments(2).plus(table) for table in rows])
        found = look(evidence, exact, 0.05, naming, edition)
        naming = found.naming
        assert not found.certain
    assert not proven_support.is_certain(evidence, exact, 0.05, edition=3)
    assert naming.later(evidence, exact)[1][0, 1] == price
