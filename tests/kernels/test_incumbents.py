import numpy as np
import pytest
from tests import generators, naive
from tests.kernels.test_scores import spare

from bestmix.kernels import bases, incumbents, scores, simplex, triples
from bestmix.problems.solution import scaled

pytestmark = pytest.mark.parametrize("speed", ["plain", "machine"], indirect=True)


class Round:
    """Decides round by round on columns that change in between."""

    def __init__(self):
        self.known = incumbents.new_incumbents()
        self.basis, self.trial = simplex.new_basis(2), simplex.new_basis(2)

    def lose(self, means, bound, chosen):
        """Position of the loser among the chosen columns, or -1; then it is gone. And the scores."""
        program, scale = scaled(means, bound, chosen)
        score = np.empty(len(chosen))
        loser = incumbents.loser(program, self.basis, self.trial, score, self.known)
        self.basis.column[:] = -1
        if loser >= 0:
            incumbents.drop(loser, len(chosen), self.known)
        return loser, scale[0] + scale[1] * score


def exact(means, bound, chosen):
    """Position of the loser from the exact scores of all columns."""
    program, _ = scaled(means, bound, chosen)
    n = len(chosen)
    score, state = np.empty(n), np.empty(n, dtype=np.int64)
    status = scores.intersection_values(program, simplex.new_basis(2), bases.workspace(2, n), n, score, state)
    return scores.loser(program, score) if status == simplex.OPTIMAL else -1


@pytest.mark.parametrize("kind", generators.KINDS)
def test_losers_are_those_of_the_paper_in_every_round(kind):
    """Arms change from one round to the next, a few or all of them: with many ties and degenerate bases."""
    rng = np.random.default_rng([7, generators.KINDS.index(kind)])
    for few in [True, False] * 6:
        arms = int(rng.integers(2, 8))
        means, bound = generators.grid(rng, kind, arms, 2)
        rounds, chosen = Round(), np.arange(arms + 2)
        while len(chosen) > 3:
            expected = naive.iv_scores(means.tolist(), bound.tolist(), chosen.tolist())
            loser, score = rounds.lose(means, bound, chosen)
            if max(expected) == naive.INFEASIBLE:
                assert loser == -1
                break
            assert loser == naive.loser(expected, spare(means, bound, chosen))
            assert score[loser] == pytest.approx(float(expected[loser]), rel=1e-9, abs=1e-9)
            assert (score <= np.array([float(s) for s in expected]) + 1e-9).all()  # the others are lower bounds
            chosen = np.delete(chosen, loser)
            moved = rng.random((arms, 1)) < (0.3 if few else 1.0)
            means = np.where(moved, generators.grid(rng, kind, arms, 2)[0], means)


@pytest.mark.parametrize("arms", [2, 15, triples.SOME - 2])
def test_losers_are_those_of_exact_scores_as_trials_come_in(arms):
    rng = np.random.default_rng(arms)
    for _ in range(2):
        means, bound = rng.normal(size=(arms, 3)), rng.normal(0.3, 0.2, 2)
        rounds, chosen = Round(), np.arange(arms + 2)
        while len(chosen) > max(arms - 20, 3):
            loser, _ = rounds.lose(means, bound, chosen)
            assert loser == exact(means, bound, chosen)
            if loser < 0:
                break
            chosen = np.delete(chosen, loser)
            means = means + rng.normal(0.0, 0.05, means.shape)


def test_triples_of_the_round_before_save_most_evaluations():
    """Of 22 columns that hardly change the first round evaluates some, and a later one at most two."""
    rng, bound = np.random.default_rng(3), np.array([0.3, 0.3])
    means, rounds, chosen = rng.normal(size=(20, 3)), Round(), np.arange(22)
    for k in range(12):
        loser, score = rounds.lose(means, bound, chosen)
        evaluated = np.isinf(rounds.known.work[incumbents.OPEN : incumbents.OPEN + len(chosen)]).sum()
        assert 1 <= evaluated <= (22 if k == 0 else 2)
        chosen = np.delete(chosen, loser)
        means = means + 1e-6 * rng.normal(size=means.shape)
        assert score[loser] == score.min()


def test_after_a_drop_triples_are_of_columns_that_are_left_and_hold_their_own():
    rng, bound = np.random.default_rng(4), np.array([0.2, 0.2])
    for _ in range(20):
        means, rounds, chosen = rng.normal(size=(9, 3)), Round(), np.arange(11)
        program, _ = scaled(means, bound, chosen)
        assert incumbents.loser(program, rounds.basis, rounds.trial, np.empty(11), rounds.known) >= 0
        gone = int(rng.integers(11))  # whichever it is
        incumbents.drop(gone, 11, rounds.known)
        left = rounds.known.triple[:, :10]
        assert left.min() >= 0
        assert left.max() < 10
        assert (left == np.arange(10)).any(axis=0).all()


def test_no_feasible_mix_is_forgotten():
    rounds, chosen = Round(), np.arange(6)
    good = np.array([[1.0, 0.0, 0.1], [0.5, 0.4, 0.2], [0.3, 0.1, 0.3], [0.2, 0.3, 0.0]])
    assert rounds.lose(good, np.array([0.5, 0.5]), chosen)[0] >= 0
    assert rounds.lose(good + 1.0, np.array([0.5, 0.5]), chosen[:5])[0] == -1
    assert rounds.known.triple[0, 0] == -1
    assert rounds.lose(good, np.array([0.5, 0.5]), chosen[:5])[0] == exact(good, np.array([0.5, 0.5]), chosen[:5])
