"""What the noise of transitions does to a policy: limits and goal seen along with what comes after a step.

A policy that is deployed keeps the flow between states whatever the transitions are; only its shares of states, and so
its averages, are not those of the estimates. To first order an average is off by the sum over columns of

    x(s, a) * (error of the mean of  c + discount * v(next state)),

v being what the policy has to expect of c from each state on. So each row but those of the flow has as much of these
added as turns c into c + discount * v(next) - v(s) + a constant: the flow is zero for every policy, which leaves the
row's value as it is, and its noise is then that of the deployed policy.
"""

import numpy as np

from bestmix.answers.noisy_program import NoisyProgram
from bestmix.arrays import Flags, Floats
from bestmix.problems.problem import Problem


def in_states(program: NoisyProgram, problem: Problem, weights: Floats) -> NoisyProgram:
    """The program of a problem with states, its rows seen along a policy with these weights of columns (n,)."""
    flows, rules = len(problem.flows), program.layout
    mu, rows = program.entries()
    limits = rows.shape[1] - flows
    within = policy_shares(problem, weights, program.usable)
    usable = np.where(program.usable[:, None], np.column_stack([mu, rows]), 0.0)
    mean = within @ usable  # (S, 1 + R): one step of the policy from each state on
    served = np.asarray(within.any(axis=1))
    # Multiples of the flow (and a level) that make each state's mean of a row the same.
    system = np.where(served[:, None], np.column_stack([mean[:, 1 + limits :], -np.ones(len(mean))]), 0.0)
    multiples = np.linalg.lstsq(system, -mean[:, : 1 + limits], rcond=None)[0][:flows]  # (F, 1 + L)
    transform, constant = rules.transform.copy(), rules.constant.copy()
    transform[0, : 1 + limits] += multiples.T @ transform[0, 1 + limits :]
    constant[:, :limits] += constant[:, limits:] @ multiples[:, 1:]
    layout = rules._replace(
        transform=transform,
        constant=constant,
        offset=rules.offset + rules.constant[:, limits:] @ multiples[:, 0],
        known=np.r_[np.zeros(limits, dtype=np.bool_), rules.known[limits:]],
    )
    return program._replace(layout=layout)


def policy_shares(problem: Problem, weights: Floats, usable: Flags) -> Floats:
    """Share of each column among those of its state (S, n), by its weight; evenly where a state has none.

    A state without a usable column has none at all.
    """
    here = np.array([[cell.segment == state for cell in problem.cells] for state in problem.segments])
    total = np.where(here, weights, 0.0).sum(axis=1, keepdims=True)
    even = (here & usable) / np.maximum((here & usable).sum(axis=1, keepdims=True), 1)
    return np.where(total > 0, np.where(here, weights, 0.0) / np.where(total > 0, total, 1.0), even)


def policy_of(program: NoisyProgram, problem: Problem, weights: Floats, prices: Floats) -> dict[str, dict[str, float]]:
    """The mix of actions in each state; where the weights have none, the action that is best at these prices (R,)."""
    mu, rows = program.entries()
    worth = np.where(program.usable, mu - rows @ np.nan_to_num(prices), -np.inf)
    result: dict[str, dict[str, float]] = {state: {} for state in problem.segments}
    for shares, (state, part) in zip(policy_shares(problem, weights, program.usable), result.items(), strict=True):
        inside = [j for j, cell in enumerate(problem.cells) if cell.segment == state]
        if not weights[inside].any():
            shares = np.arange(len(worth)) == max(inside, key=lambda j: worth[j])
        part.update({problem.cells[j].arm: float(shares[j]) for j in inside if shares[j] > 0 and program.usable[j]})
    return result
