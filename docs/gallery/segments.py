"""The cheapest way to be right often enough: handwritten digits, by how hard they look."""

import pickle
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import NearestCentroid
from sklearn.tree import DecisionTreeClassifier

import bestmix as bm

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

images, digits = load_digits(return_X_y=True)
train_x, test_x, train_y, test_y = train_test_split(images, digits, test_size=0.6, random_state=0)
models = {
    "bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(random_state=0),
    "grove": RandomForestClassifier(8, random_state=0),
    "forest": RandomForestClassifier(80, random_state=0),
}
for model in models.values():
    model.fit(train_x, train_y)
kilobytes = {name: len(pickle.dumps(model)) / 1000 for name, model in models.items()}
right = {name: model.predict(test_x) == test_y for name, model in models.items()}

# How hard an image looks, before any model is asked: how much closer its nearest class is than the second nearest.
centres = NearestCentroid().fit(train_x, train_y).centroids_
distance = np.sort(np.linalg.norm(test_x[:, None] - centres, axis=2), axis=1)
margin = distance[:, 1] - distance[:, 0]
classes = np.digitize(margin, np.quantile(margin, [0.2, 0.6]))
members = {name: np.flatnonzero(classes == k) for k, name in enumerate(["hard", "usual", "easy"])}
shares = {name: len(rows) / len(test_x) for name, rows in members.items()}
rng = np.random.default_rng(0)


def ask(model, segment):
    """One request: a random image of the segment, whether the answer was right, the memory of who gave it."""
    return {"right": float(right[model][rng.choice(members[segment])]), "kB": kilobytes[model]}


problem = bm.Problem(list(models), goal="minimise kB", limits=["right >= 0.88"], segments=shares)
rec = bm.identify(problem, ask, budget=6000)
print(rec.sentence())
print()
for segment, mix in rec.by_segment.items():
    print(f"{segment:6s}", ", ".join(f"{share:.0%} {arm}" for arm, share in mix.items()))

bm.plots.save(bm.plots.segments_figure(rec), folder / "segments.png")
