"""Challenger's decisions against one linear program of the same size, and its simulated runs against SFSR's.

Runs of SFSR are a moving unit. When it was aimed at four of them (two, with two costs) they took 4.5 and 7.0 times as
long as NumPy takes for their normals alone, and that has become less than half. So the aims are also given in units of
these normals: 18 and 14 times.
"""

import time
from functools import partial

import numpy as np

from bench import lp
from bench.problems import sixteen
from bench.simulation import block, named, normals
from bench.timing import Action, Figure, fastest, shown
from bestmix import SFSR, Challenger, Instance, Problem, Search, catalog
from bestmix.answers.evidence import Evidence
from bestmix.kernels import allocation, chunks, conditions, jit, sifting, simplex
from bestmix.simulation.cells import BLOCK, Cell

TITLE = "Challenger: a decision against one linear program, a simulated run against one of SFSR"
ROUND = 1_000  # trials to give away in a decision


def measure(quick: bool) -> list[Figure]:
    runs = [(sixteen(), 2_000, 4.0, 4.5), (catalog.load("D2P"), 8_000, 2.0, 7.0)]
    return [*decisions(1_000, 5, quick), *(figure for run in runs for figure in simulated(*run, quick))]


def decisions(arms: int, costs: int, quick: bool) -> list[Figure]:
    """The kernels alone, as in simulated runs, and the live search's whole step, which also tells its reasons."""
    search = after_first_round(arms, costs)
    actions = [program(search.evidence), kernels(search.evidence), partial(step, search)]
    one, mine, live = fastest(actions, 3 if quick else 9, 0.05, time.thread_time)
    what, note = f"K = {arms:,}, L = {costs}: {{}} / linear program", f"{{}} against {shown(one)}"
    return [
        Figure(what.format("decision"), mine / one, target=50.0, at_most=True, note=note.format(shown(mine))),
        Figure(what.format("live decision"), live / one, note=f"{note.format(shown(live))}; from exact sums"),
    ]


def after_first_round(arms: int, costs: int) -> Search:
    """A search in which only the first round's last trial is missing."""
    means, bound = lp.program(arms, costs)
    rng = np.random.default_rng(2)
    problem = Problem([f"arm{a}" for a in range(arms)], {f"cost{l}": float(b) for l, b in enumerate(bound)})
    search = Challenger().start(problem, 40 * arms)
    for a, n in enumerate(search.ask().values()):
        trials = means[a] + 0.3 * rng.standard_normal((n - (a == arms - 1), 1 + costs))
        search.tell(f"arm{a}", trials[:, 0], trials[:, 1:])
    return search


def step(search: Search) -> None:
    """What the live search does when a round ends, from sums that it has not looked at before."""
    evidence = Evidence(search.problem, search.evidence.moments)
    memory, _ = search.strategy.close(evidence, search.budget, search.memory)
    assert sum(memory["quota"]) > 0


def program(evidence: Evidence) -> Action:
    """The linear program of the estimates, from loaded columns."""
    state = loaded(evidence)
    solve_all = jit.machine(conditions.solve)
    solve_all(evidence.means, evidence.problem.bound, np.arange(len(evidence.problem.columns)), state)

    def solve() -> None:
        assert sifting.maximise(state.program, state.basis) == simplex.OPTIMAL

    return jit.machine(solve)


def kernels(evidence: Evidence) -> Action:
    """One decision in buffers that are there already."""
    means, bound, everything = evidence.means, evidence.problem.bound, np.arange(len(evidence.problem.columns))
    state = loaded(evidence)
    arm, reason = np.empty((2, chunks.decisions(len(state.counts))), dtype=np.int64)
    owed = np.empty_like(state.counts)

    def decide() -> None:
        simplex.forget(state.basis)
        assert conditions.solve(means, bound, everything, state) == simplex.OPTIMAL
        conditions.pool(state)
        conditions.conditions(state)
        allocation.allocate(state, ROUND, conditions.RESERVE, arm, reason, owed)

    return jit.machine(decide)


def loaded(evidence: Evidence) -> conditions.State:
    """Arrays for a decision, with what is known of the trials."""
    state = conditions.new_state(len(evidence.counts), len(evidence.means), len(evidence.problem.bounds))
    state.counts[:] = evidence.counts
    state.scatter[:] = evidence.scatters
    return state


def simulated(instance: Instance, budget: int, aim: float, once: float, quick: bool) -> list[Figure]:
    """A run in units of a run of SFSR, and of the normals of such a run, of which it took so many ``once``."""
    cells = [Cell(instance, strategy, budget, 0) for strategy in (Challenger(), SFSR())]
    buffer, rng = np.empty(4096), np.random.default_rng(2)
    draw = partial(rng.standard_normal, out=buffer)
    actions = [*(block(cell, BLOCK) for cell in cells), draw]
    mine, other, drawn = fastest(actions, 3 if quick else 15, 0.05, time.thread_time)
    mine, other, noise = mine / BLOCK, other / BLOCK, drawn / len(buffer) * normals(cells[1], 5 if quick else 40)
    what, note = named(cells[0]), f"{shown(mine)} against {{}}"
    return [
        Figure(f"{what}: run / run of SFSR", mine / other, target=aim, at_most=True, note=note.format(shown(other))),
        Figure(f"{what}: run / normals of SFSR", mine / noise, "x", aim * once, True, note.format(shown(noise))),
    ]
