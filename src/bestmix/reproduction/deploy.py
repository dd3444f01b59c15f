"""Are limits kept as often as the safe mix says? Beside it the chance that the support is right."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import NamedTuple

import numpy as np

from bestmix import files, plots
from bestmix.answers import certainty, safety
from bestmix.arrays import Flags, Floats
from bestmix.plots.calibration import Claims
from bestmix.problems import catalog
from bestmix.problems.instance import Instance
from bestmix.problems.solution import solve, solve_means
from bestmix.reproduction.calibration import EDGES
from bestmix.reproduction.outcome import KEPT, Drawing, as_markdown
from bestmix.reproduction.parallel import map_in_threads
from bestmix.reproduction.results import ResultFolder
from bestmix.simulation.results import wilson

RUNS = 40
INSTANCES = ("D2P", "D3P", "A2", "H1", "H2")
TRIALS = (10, 30, 100, 400)  # of each arm
CERTAINTIES = (0.5, 0.7, 0.8, 0.9, 0.95)  # that safe mixes are asked for
LIMITS, SUPPORT = "limits kept", "support right"


class Claim(NamedTuple):
    """What was claimed in a run, and whether it was so."""

    what: str
    claimed: float
    true: bool


def judge(name: str, trials: int, runs: int, seed: int) -> list[Claim]:
    """Claims of runs with the same number of trials of every arm.

    >>> sorted({claim.what for claim in judge("A2", 30, runs=2, seed=0)})
    ['limits kept', 'support right']
    """
    instance = catalog.load(name)
    rng = np.random.default_rng([seed, trials, *map(ord, name)])
    return [claim for _ in range(runs) for claim in _run(instance, trials, rng)]


def _run(instance: Instance, trials: int, rng: np.random.Generator) -> list[Claim]:
    rows = np.array([instance.draw(a, trials, rng) for a in range(len(instance.arms))])
    means = rows.mean(axis=1)
    rest = rows - means[:, None]
    scatters, bound = np.einsum("ani,anj->aij", rest, rest), np.array(instance.bound)
    guess = solve_means(means, bound)
    if guess.status == "infeasible":
        return []
    counts = np.full(len(means), float(trials))
    chance = support_chance(means, scatters, counts, bound)
    data = safety.estimates(means, scatters, counts)
    claims = [Claim(SUPPORT, chance, guess.basis == solve(instance).basis)]
    for wanted in CERTAINTIES:
        mix = safety.safe_mix(data, bound, chance, wanted)
        kept = bool((mix.mixture @ instance.means[:, 1:] <= bound).all())
        claims.append(Claim(LIMITS, mix.certainty, kept))
    return claims


def support_chance(
    means: Floats, scatters: Floats, counts: Floats, bound: Floats, binary: Flags | None = None
) -> float:
    """Chance that the support of the optimum at the estimates is right, as recommendations claim it; 0 without one."""
    guess = solve_means(means, bound)
    if guess.status != "optimal":
        return 0.0
    data = safety.estimates(means, scatters, counts, binary, as_possible=True)
    return certainty.support_probability(certainty.basis_z_scores(data, bound, np.array(guess.basis))) or 0.0


def draw_deploy(folder: Path, runs: int | None, seed: int, threads: int | None, progress: bool) -> Drawing:
    """Two reliability curves in one diagram; cells that are already in the folder are not computed again."""
    runs = RUNS if runs is None else runs
    stored = ResultFolder(folder / KEPT / "deploy")

    def one(item: tuple[str, int], _: Event) -> list[Claim]:
        key = f"{item[0]}-{item[1]}-{runs}-{seed}"
        if "claims" not in stored.get(key):
            stored.put(key, {"claims": [list(claim) for claim in judge(*item, runs, seed)]})
        return [Claim(*claim) for claim in stored.get(key)["claims"]]

    items = [(name, n) for name in INSTANCES for n in TRIALS]
    claims = [claim for cell in map_in_threads(one, items, "cells", threads, progress) for claim in cell]
    bins = {what: pool_claims(claims, what) for what in (LIMITS, SUPPORT)}
    rows = _rows(bins)
    texts = {"deploy.csv": files.csv_text(rows)}
    table = as_markdown([{key: str(value) for key, value in row.items()} for row in rows])
    return Drawing({"deploy": plots.reliability_figure(bins)}, texts, _caption(claims, runs, seed), table)


def pool_claims(claims: Sequence[Claim], what: str) -> list[Claims]:
    """Claims of one kind, by the bin that they fall into.

    >>> [b.runs for b in pool_claims([Claim("x", 0.05, True), Claim("x", 0.999, True)], "x") if b.runs]
    [1, 1]
    """
    some = [claim for claim in claims if claim.what == what]
    place = np.digitize([claim.claimed for claim in some], EDGES[1:-1])
    kinds = [[claim for claim, k in zip(some, place, strict=True) if k == b] for b in range(len(EDGES) - 1)]
    return [Claims(len(k), sum(c.claimed for c in k), sum(c.true for c in k)) for k in kinds]


def _rows(bins: Mapping[str, Sequence[Claims]]) -> list[dict[str, object]]:
    result: list[dict[str, object]] = []
    for what, listed in bins.items():
        for low, high, b in zip(EDGES, EDGES[1:], listed, strict=False):
            if b.runs:
                ends = dict(zip(("low", "high"), (round(end, 4) for end in wilson(b.right, b.runs)), strict=True))
                numbers = {"runs": b.runs, "claimed": round(b.mean, 4), "true": round(b.share, 4)}
                result.append({"claim": what, "from": low, "to": high} | numbers | ends)
    return result


def _caption(claims: Sequence[Claim], runs: int, seed: int) -> str:
    sure = [claim for claim in claims if claim.what == LIMITS and claim.claimed >= CERTAINTIES[-1]]
    low, high = wilson(sum(claim.true for claim in sure), len(sure))
    return (
        f"Claimed against true, on {', '.join(INSTANCES)} with {', '.join(map(str, TRIALS))} trials of every arm, "
        f"{runs} runs each: the chance that a safe mix keeps all limits (asked for certainties of "
        f"{', '.join(map(str, CERTAINTIES))}), and the chance that the support is right, with 95% intervals "
        f"(Wilson; mixes of one run are not independent). Of {len(sure):,} mixes that claim {CERTAINTIES[-1]:.0%} or "
        f"more, {low:.1%} to {high:.1%} keep all limits; seed {seed}."
    )
