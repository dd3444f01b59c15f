"""Cash for collecting a test result: a field experiment with real people, replayed as a search."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from causaldata import thornton_hiv

import bestmix as bm

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

people = thornton_hiv.load_pandas().data.dropna(subset=["got", "tinc"])
bands = ["none", "up to $1", "$1 to $2", "$2 to $3"]
people["band"] = pd.cut(people["tinc"], [-1, 0, 1, 2, 3], labels=bands).astype(str)
people["dollars"] = people["tinc"] * people["got"]  # paid only to those who came

# Each trial is the next person of a band, in random order, and nobody is met twice.
queues = {band: people[people["band"] == band].sample(frac=1, random_state=1) for band in bands}
met = dict.fromkeys(bands, 0)


def offer(band):
    """Meet one more person of the band."""
    person = queues[band].iloc[met[band]]
    met[band] += 1
    return person["got"], {"dollars": person["dollars"]}


problem = bm.Problem(bands, bounds={"dollars": 0.75})
rec = bm.identify(problem, offer, budget=1000)
print(rec)
print("People met:", met)

everyone = bm.from_log(people, arm="band", reward="got", bounds={"dollars": 0.75}, uncertainty="bootstrap")
print(f"\nAll {len(people)} people: {everyone.sentence()}")

# Whole villages redrawn, because neighbours are alike: the honest size of the doubt.
rng = np.random.default_rng(0)
villages = [group for _, group in people.groupby("villnum")]
answers = []
for _ in range(200):
    drawn = pd.concat([villages[i] for i in rng.integers(len(villages), size=len(villages))])
    answers.append(bm.from_log(drawn, arm="band", reward="got", bounds={"dollars": 0.75}).support)
same = np.mean([set(support) == set(everyone.support) for support in answers])
print(f"Villages redrawn 200 times: the same support in {same:.0%}.")

figure = bm.plots.recommendation_figure(rec)
bm.plots.save(figure, folder / "incentives.png")
