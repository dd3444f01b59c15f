"""What the noise of transitions does to a policy: limits and goal seen along with what comes after a step.

A policy that is deployed keeps the flow between states whatever the transitions are; only its shares of states, and so
its averages, are not those of the estimates. To first order an average is off by the sum over columns of

    x(s, a) * (error of the mean of  c + discount * v(next state)),

v being what the policy has to expect of c from each state on. So each row but those of the flow has as much of these
added as turns c into c + discount * v(next) - v(s) + a constant: the flow is zero for every policy, which leaves the
row's value as it is, and its noise is then that of the deployed policy.
"""

from collections.abc import Callable

import numpy as np

from bestmix.answers.noisy_program import NoisyProgram
from bestmix.answers.safety import SafeMix
from bestmix.arrays import Floats
from bestmix.problems.markov import within_states
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Visit

MOST_LOOKS = 4  # at what is chosen along what was chosen before
SETTLED = 0.01  # a change of shares that hardly changes the noise


def in_states(program: NoisyProgram, problem: Problem, weights: Floats) -> NoisyProgram:
    """The program of a problem with states, its rows seen along a policy with these weights of columns (n,)."""
    flows, rules = len(problem.flows), program.layout
    mu, rows = program.entries()
    limits = rows.shape[1] - flows
    within = within_states(problem, weights, program.usable)
    usable = np.where(program.usable[:, None], np.column_stack([mu, rows]), 0.0)
    mean = within @ usable  # (S, 1 + R): one step of the policy from each state on
    served = np.asarray(within.any(axis=1))
    # Multiples of the flow (and a level) that make each state's mean of a row the same.
    system = np.where(served[:, None], np.column_stack([mean[:, 1 + limits :], -np.ones(len(mean))]), 0.0)
    multiples = np.linalg.lstsq(system, -mean[:, : 1 + limits], rcond=None)[0][:flows]  # (F, 1 + L)
    transform, constant = rules.transform.copy(), rules.constant.copy()
    transform[0, : 1 + limits] += multiples.T @ transform[0, 1 + limits :]
    added = rules.constant[:, limits:] @ multiples  # (n, 1 + L)
    # One of the states comes next, so that their coefficients have no level of their own: it is zero where steps lead.
    visits = np.array([isinstance(measure, Visit) for measure in problem.rows.measures])
    leads = (
        np.where(program.usable, weights, 0.0) @ np.where(program.usable[:, None], program.data.means, 0.0)[:, visits]
    )
    level = transform[0, : 1 + limits][:, visits] @ (leads / max(leads.sum(), 1e-300))
    transform[0, : 1 + limits] -= level[:, None] * visits
    added += level
    constant[:, :limits] += added[:, 1:]
    layout = rules._replace(transform=transform, constant=constant, offset=rules.offset + added[:, 0])
    return program._replace(layout=layout)


def seen_along(
    program: NoisyProgram, problem: Problem, choose: Callable[[NoisyProgram], SafeMix]
) -> tuple[NoisyProgram, SafeMix]:
    """The mix that is chosen from a program, and the program seen along it, which is another where there are states."""
    found = choose(program)
    for _ in range(MOST_LOOKS if problem.flows else 0):
        before, program = found.mixture, in_states(program, problem, found.mixture)
        found = choose(program)
        if np.abs(found.mixture - before).max() <= SETTLED:
            break
    return program, found


def policy_of(program: NoisyProgram, problem: Problem, weights: Floats, prices: Floats) -> dict[str, dict[str, float]]:
    """The mix of actions in each state; where the weights have none, the action that is best at these prices (R,)."""
    mu, rows = program.entries()
    worth = np.where(program.usable, mu - rows @ np.nan_to_num(prices), -np.inf)
    result: dict[str, dict[str, float]] = {state: {} for state in problem.segments}
    for shares, (state, part) in zip(within_states(problem, weights, program.usable), result.items(), strict=True):
        inside = [j for j, cell in enumerate(problem.cells) if cell.segment == state]
        if not weights[inside].any():
            shares = np.arange(len(worth)) == max(inside, key=lambda j: worth[j])
        part.update({problem.cells[j].arm: float(shares[j]) for j in inside if shares[j] > 0 and program.usable[j]})
    return result
