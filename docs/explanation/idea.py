"""The pictures of the first explanation."""

import sys
from pathlib import Path

import bestmix as bm

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

# Five options with known means: the example of the paper's first figure.
five = bm.reproduction.five_arms()
bm.plots.save(bm.plots.scores_figure(five), folder / "idea.png")

# One search on it, from trials.
rec = bm.identify(five.problem, five.sampler(seed=3), budget=2000)
bm.plots.save(bm.plots.recommendation_figure(rec), folder / "idea_trials.png")
print(rec.sentence())
print("Trials of each:", {arm: estimate.trials for arm, estimate in rec.estimates.items()})

# How often the answer is wrong, by budget and strategy.
name = "A2"
strategies = [bm.Challenger(), bm.SFSR(), bm.SFSR(score="lagrangian"), bm.Uniform(), bm.SingleArm()]
table = bm.sweep([name], strategies, budgets=[500, 1000, 2000, 4000, 8000], runs=1000, seed=0)
bm.plots.save(bm.plots.comparison_figure(table, bm.catalog.load(name)), folder / "idea_errors.png")
