"""Two arms that each break a bound, and whose mix keeps both and is best."""

import sys
from pathlib import Path

import bestmix as bm

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

# "north" costs too much of the first kind, "south" of the second; "modest" keeps both bounds on its own.
truth = bm.Instance(
    reward=[1.0, 0.9, 0.6, 0.2],
    cost=[[0.5, 1.6, 0.8, 0.3], [1.6, 0.5, 0.8, 0.3]],
    bound=[1.1, 1.1],
    sigma_reward=0.3,
    sigma_cost=0.2,
    arms=["south", "north", "modest", "idle"],
    costs=["water", "labour"],
)
best = bm.solve(truth)  # with known means it is one linear program
print("Known means:", dict(zip(truth.problem.names, best.mixture.round(3).tolist(), strict=True)))

rec = bm.identify(truth.problem, truth.sampler(seed=0), budget=400)
print(rec.sentence())

# The same trials' worth of a search for the best single arm: it has thrown both winners away.
single = bm.identify(truth.problem, truth.sampler(seed=0), budget=400, strategy=bm.SingleArm())
print(single.sentence())
print(f"The mix earns {rec.value / single.value - 1:.0%} more.")

figure = bm.plots.recommendation_figure(rec)
bm.plots.save(figure, folder / "infeasible_pair.png")
