"""Policies that are fitted again, with the trials of the experiment that chose their arms: how often limits are broken.

The trials before favour the arms that they chose; the fresh ones do not. Each run has a random instance of its own: an
experiment with n trials of every arm, the policy if it is certified, m fresh trials of each of its arms, and the refit.
"""

import numpy as np
from rich.progress import track

from bench.deploy import BROKEN, at_most
from bench.deploy_cases import Case, breaks, covariance, random_case
from bench.timing import Figure, console
from bestmix import from_log
from bestmix.answers.refit import refit
from bestmix.arrays import Floats

TITLE = "Limits broken after a refit with the trials before"
CELLS = (
    ("crowded", 30, 3),
    ("crowded", 100, 3),
    ("crowded", 100, 30),
    ("crowded", 100, 100),
    ("crowded", 400, 3),
    ("linked", 100, 3),
    ("linked", 100, 100),
    ("uniform2", 30, 3),
)
FIRST_SEED = 95_000
RUNS = 500


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    figures = []
    for name, n, fresh in CELLS[:2] if quick else CELLS:
        listed = track(range(runs or (20 if quick else RUNS)), f"{name}, {n}, {fresh}", console=console, transient=True)
        made = [found for k in listed if (found := run(random_case(name, FIRST_SEED + k), n, fresh, k)) is not None]
        figures.append(judge(f"{name}, {n} trials of each arm, then {fresh}", np.array(made)))
    return figures


def judge(what: str, made: Floats) -> Figure:
    """Of the certified refits, those that break a limit."""
    certified, broken = int(made[:, 1].sum()), int(made[:, 2].sum())
    note = f"95% interval up to {100 * at_most(broken, certified):.2g}%; {certified} certified of {len(made)} refits; "
    note += f"the policies before {100 * made[:, 0].mean():.1f}%"
    console.print(f"{what}: {100 * broken / certified:.1f}%; {note}", highlight=False)
    return Figure(f"{what}: broken", 100 * broken / certified, "%", 100 * BROKEN, at_most=True, note=note)


def run(case: Case, n: int, fresh: int, seed: int) -> tuple[bool, bool, bool] | None:
    """Whether the policy breaks a limit, whether its refit is certified, and breaks one; None without a policy."""
    rng, arms = np.random.default_rng([seed, n, fresh]), range(len(case.means))
    before = trials(case, arms, n, rng)
    bounds = {f"cost{l}": float(b) for l, b in enumerate(case.bound)}
    first = from_log(before, bounds=bounds)
    if not first.certified:
        return None
    policy = first.policy()
    again = refit(policy, trials(case, [int(arm) for arm in policy.weights], fresh, rng), before=before)
    old, new = (np.array([mix.get(str(a), 0.0) for a in arms]) for mix in (first.mixture, again.mixture))
    return breaks(case, old), again.certified, again.certified and breaks(case, new)


def trials(case: Case, arms: range | list[int], n: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Gaussian trials of some arms as a log, whose arms are called by their numbers."""
    root = np.linalg.cholesky(covariance(case))
    rows = np.concatenate([case.means[a] + rng.standard_normal((n, case.means.shape[1])) @ root[a].T for a in arms])
    costs = {f"cost{l}": rows[:, 1 + l] for l in range(len(case.bound))}
    return {"arm": np.repeat([str(a) for a in arms], n), "reward": rows[:, 0], **costs}
