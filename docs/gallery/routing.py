"""Which classifier should answer? Right answers against latency and memory, on real digits."""

import pickle
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import bestmix as bm

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

images, digits = load_digits(return_X_y=True)
train_x, test_x, train_y, test_y = train_test_split(images, digits, test_size=0.5, random_state=0)
models = {
    "bayes": GaussianNB(),
    "stump": DecisionTreeClassifier(max_depth=4, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "grove": RandomForestClassifier(5, random_state=0),
    "forest": RandomForestClassifier(60, random_state=0),
}
for model in models.values():
    model.fit(train_x, train_y)
kilobytes = {name: len(pickle.dumps(model)) / 1000 for name, model in models.items()}
rng = np.random.default_rng(0)


def ask(name):
    """One request: a random test image, the time its answer took, the memory of the model that gave it."""
    i = rng.integers(len(test_x))
    start = time.perf_counter()
    answer = models[name].predict(test_x[i : i + 1])[0]
    return float(answer == test_y[i]), {"ms": 1000 * (time.perf_counter() - start), "kB": kilobytes[name]}


# Limits from a pilot, so that they mean the same on a slow machine and on a quick one.
pilot = {name: np.mean([ask(name)[1]["ms"] for _ in range(30)]) for name in models}
quick, best = min(pilot.values()), pilot["forest"]
bounds = {"ms": float(f"{(quick + best) / 2:.2g}"), "kB": float(f"{0.5 * kilobytes['forest']:.2g}")}
print("Limits:", bounds)

rec = bm.identify(bm.Problem(list(models), bounds), ask, budget=1500)
print(rec)

within = [e for e in rec.estimates.values() if all(e.costs[c] <= b for c, b in bounds.items())]
if within:
    single = max(within, key=lambda e: e.reward)
    print(
        f"\nThe best single model within the limits, {single.arm}: {single.reward:.1%} right; the mix: {rec.value:.1%}."
    )

policy = rec.policy()
print("\n" + policy.export("nginx", key="$request_id"))

figure = bm.plots.recommendation_figure(rec)
bm.plots.save(figure, folder / "routing.png")
