"""Rewards of 0 and 1, an arm that needs no trials, and a problem that no mix can solve."""

import sys
from pathlib import Path

import numpy as np

import bestmix as bm

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
rng = np.random.default_rng(7)

# Three e-mail campaigns: a customer answers or not (0 or 1), and may complain (0 or 1).
ANSWERS = {"plain": 0.20, "personal": 0.45, "pushy": 0.70}
COMPLAINTS = {"plain": 0.02, "personal": 0.08, "pushy": 0.35}


def send(campaign):
    """One e-mail."""
    return float(rng.random() < ANSWERS[campaign]), {"complaint": float(rng.random() < COMPLAINTS[campaign])}


# Sending nothing is an arm too. Its means are known, so no trial is spent on it.
nothing = {"nothing": bm.Known(reward=0.0, costs={"complaint": 0.0})}
problem = bm.Problem(list(ANSWERS), bounds={"complaint": 0.10}, known=nothing)
rec = bm.identify(problem, send, budget=3000)
print(rec.sentence())

# A bound that nothing keeps is an answer, not an exception: the mix with the least violation.
strict = bm.Problem(list(ANSWERS), bounds={"complaint": 0.001})
hopeless = bm.identify(strict, send, budget=600)
print(hopeless.sentence())
print("Feasible:", hopeless.feasible, "| over the bound by", {c: round(v, 3) for c, v in hopeless.violation.items()})

# What to do: relax the bound to what the best mix needs, or add an arm that costs less.
least = min(estimate.costs["complaint"] for estimate in hopeless.estimates.values())
print(f"The least mean cost of any arm is about {least:.3f}: a bound below that needs another arm.")

figure = bm.plots.recommendation_figure(rec)
bm.plots.save(figure, folder / "special_cases.png")
