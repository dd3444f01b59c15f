import numpy as np

from bestmix.answers import safety
from bestmix.answers.basis import basis_steps
from bestmix.problems.solution import solve_means


def test_steps_from_a_basis_have_the_deviation_of_what_they_are_about():
    """Means drawn around the estimates: lead of the optimum over a mix, with each reduced cost; 2,000 draws."""
    rng, arms = np.random.default_rng(1), 4
    means, bound = np.array([[1.0, 0.2, 0.5], [3.0, 1.8, 0.3], [1.2, 0.9, 1.9], [1.7, 1.0, 0.9]]), np.ones(2)
    factor = rng.normal(size=(arms, 3, 3))
    covariances, mix, best = factor @ factor.transpose(0, 2, 1), np.full(arms, 0.25), solve_means(means, bound)
    data = safety.Estimates(means, covariances, np.full(arms, 1e8), np.zeros((arms, 3), dtype=np.int8))
    steps = basis_steps(means, bound, best)
    found = steps.errors(data, np.ones(arms), np.arange(arms), best.mixture, mix)
    slack = steps.errors(data, np.ones(arms), np.arange(arms, arms + 2), 0.0 * mix, 0.0 * mix)
    draws = []
    for error in np.stack([rng.multivariate_normal(np.zeros(3), c / 1e8, 2000) for c in covariances], axis=1):
        other = solve_means(means + error, bound)
        assert other.basis == best.basis
        reduced = basis_steps(means + error, bound, other).reduced
        draws.append(np.r_[(other.mixture - mix) @ (means + error)[:, 0] + reduced[:arms], reduced[arms:]])
    np.testing.assert_allclose(np.r_[found, slack], np.std(draws, axis=0), rtol=0.07, atol=1e-12)  # four errors
