import numpy as np
from tests.kernels.segment_states import random_case

from bestmix.answers import program_basis
from bestmix.answers.noisy_program import solve
from bestmix.answers.program_basis import program_steps


def test_steps_from_a_basis_have_the_deviation_of_what_they_are_about():
    """Means drawn around the estimates of very many trials, for limits of every kind; 500 draws."""
    compared = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        program = random_case(rng, ("all segments", "relative", "share")).program()
        data = program.data._replace(counts=np.full(len(program.data.counts), 1e10))
        program = program._replace(data=data)
        best = solve(program)
        steps = program_steps(program, best) if best.feasible else None
        if steps is None:
            continue
        n, unit = len(program.segment), np.ones(len(steps.reduced))
        turn = np.repeat(program.layout.transform, program.layout.sizes, axis=0)
        scored = turn[:, 0] - np.einsum("r,nrm->nm", steps.prices, turn[:, 1:])
        found = np.sqrt(steps.variances(data.covariances / 1e10, 0.0 * scored, scored, np.zeros(n), unit))
        draws = []
        for error in np.stack([rng.multivariate_normal(np.zeros(len(c)), c / 1e10, 500) for c in data.covariances], 1):
            other = program._replace(data=data._replace(means=data.means + error))
            again = solve(other)
            assert (again.basis == best.basis).all()
            draws.append(program_steps(other, again).reduced)
        np.testing.assert_allclose(found, np.std(draws, axis=0), rtol=0.14, atol=1e-12)  # four standard errors
        compared += 1
    assert compared >= 6


def test_very_large_programs_have_no_steps(monkeypatch):
    program = random_case(np.random.default_rng(0)).program()
    best = solve(program)
    assert program_steps(program, best) is not None
    monkeypatch.setattr(program_basis, "MOST_ENTRIES", 10)
    assert program_steps(program, best) is None
