"""Named instances: the paper's six D instances, and an A and an H series designed for this package.

D1P ... D3I are exactly those of the paper's table. The paper shows its A and H instances only as
pictures, without numbers: A1-A3 and H1-H3 here are new designs that show the same behaviour, not the
paper's own. All have 16 arms, one cost with the bound 1, and noise deviations of 1 and 0.5, as there.

A1, A2, A3 are average: some arms are clearly worse, others close to the best. SFSR and SFSR-L are
hardly to be told apart, and far better than uniform sampling (USLP). The best mixture is one arm in
A1 and two arms in A2 and A3.

H1, H2, H3 are hard for one flavour of SFSR, or for both:

- H1: SFSR does no better than USLP, SFSR-L needs 2 to 3 times fewer trials. Most arms cost far too
  much; a pinch of one of them spoils a mix little, so their intersection values stay high, and SFSR
  rejects cheaper, truly close rivals before them.
- H2: SFSR-L does far worse than USLP, SFSR better. The support is a poor arm that costs nothing and a
  good one slightly above the bound; the other 14 are alike, just within the bound. When one of these
  looks too good, the poor arm has the lowest reduced cost and goes.
- H3: SFSR-L does about as badly as USLP, SFSR needs half the trials. The geometry of H2, softened.

They were found by a seeded random search: A among arms scattered below a concave curve, H1 and H3 among
random variants of the geometries above, ranked by the simulated trials that each strategy needs; H2
was laid out by hand. Means are rounded to two decimals.

S3L1, S3L2, S8L1 and S8L2 are random problems of 3 or 8 segments with 6 arms that share 1 or 2 limits, by
``families.random_segments``; S3L1-7 is the one with seed 7, and any other size is named likewise.
"""

import re

import numpy as np

from bestmix import checks
from bestmix.problems.instance import Instance
from bestmix.problems.segment_families import random_segments

COST_1 = (0.4, 0.6, 0.8, 1.0, 1.2, 1.4)
COST_2 = (0.7, 0.9, 1.1, 1.3)

# Mean rewards: a row for each cost 1, a column for each cost 2 (paper, table "tab:D").
D_REWARDS = {
    "D1P": (
        (0.88, 0.80, 0.82, 0.66),
        (0.72, 1.02, 0.70, 0.54),
        (0.92, 0.74, 0.94, 0.84),
        (0.76, 0.60, 0.56, 0.86),
        (0.98, 0.64, 0.68, 0.78),
        (0.62, 0.96, 0.90, 0.58),
    ),
    "D2P": (
        (0.08, 0.28, -0.02, 0.22),
        (0.20, 0.46, 0.54, 0.40),
        (0.42, 0.52, 0.80, 0.34),
        (0.92, 0.78, 0.96, 0.70),
        (0.94, 0.76, 1.10, 0.86),
        (1.42, 1.16, 1.04, 1.24),
    ),
    "D3P": (
        (1.04, 1.22, 1.28, 1.26),
        (0.98, 1.22, 1.60, 1.54),
        (1.26, 1.40, 1.88, 1.84),
        (1.72, 1.76, 1.64, 1.92),
        (1.78, 1.70, 1.96, 2.08),
        (1.94, 2.30, 2.32, 2.50),
    ),
    "D1I": (
        (0.84, 1.02, 0.74, 0.76),
        (0.84, 0.88, 0.96, 0.90),
        (0.90, 0.98, 0.92, 0.80),
        (0.98, 0.98, 0.90, 0.74),
        (0.94, 0.90, 0.88, 0.72),
        (0.78, 0.82, 0.88, 0.84),
    ),
    "D2I": (
        (0.40, 0.18, 0.28, 0.14),
        (0.44, 0.54, 0.40, 0.32),
        (0.56, 0.52, 0.68, 0.64),
        (0.84, 0.80, 0.82, 0.74),
        (0.94, 1.18, 1.02, 1.12),
        (1.42, 1.16, 1.24, 1.24),
    ),
    "D3I": (
        (0.92, 1.12, 1.32, 1.42),
        (1.14, 1.42, 1.62, 1.68),
        (1.30, 1.70, 1.68, 2.06),
        (1.46, 1.82, 2.02, 2.04),
        (1.84, 2.02, 2.12, 2.24),
        (2.06, 2.28, 2.32, 2.58),
    ),
}

# Mean costs, then mean rewards, of arms 0 to 15.
SINGLE_COST = {
    "A1": (
        (0.66, 0.25, 1.06, 1.16, 0.37, 1.09, 1.30, 1.83, 1.81, 1.75, 1.19, 0.53, 0.10, 0.35, 0.86, 1.89),
        (1.15, 1.11, 0.91, 0.13, 1.30, 0.37, 0.57, -0.77, -0.15, -0.14, 0.98, 1.21, 0.88, 0.44, 0.69, -0.16),
    ),
    "A2": (
        (0.35, 0.85, 0.56, 1.66, 0.45, 1.29, 0.88, 0.33, 1.83, 1.37, 1.76, 0.42, 1.32, 1.29, 1.94, 1.29),
        (1.31, 1.17, 0.25, 1.09, 0.71, 1.34, 0.72, 0.61, 1.39, 1.53, 0.31, 1.42, 0.54, 1.26, 0.85, 1.33),
    ),
    "A3": (
        (2.00, 0.55, 1.90, 1.87, 1.23, 0.14, 1.63, 1.26, 1.40, 0.91, 0.59, 0.57, 1.57, 1.63, 0.16, 1.43),
        (0.57, 0.23, 0.81, 0.78, 0.65, -0.10, 0.80, 0.52, 0.77, 0.41, 0.18, 0.72, 0.13, 0.92, 0.26, 0.33),
    ),
    "H1": (
        (0.72, 1.15, 0.97, 0.74, 0.89, 1.21, 1.01, 2.85, 1.81, 2.96, 1.83, 2.08, 2.33, 2.67, 1.73, 1.96),
        (0.78, 0.99, 0.54, 0.61, 0.51, 0.71, 0.79, 1.20, 0.49, 1.03, 0.57, 0.42, 0.69, 0.71, 0.18, 0.39),
    ),
    "H2": (
        (0.00, 1.20, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90, 0.90),
        (0.20, 1.30, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82, 0.82),
    ),
    "H3": (
        (0.19, 1.21, 0.76, 0.93, 0.83, 0.92, 0.87, 0.81, 0.87, 0.87, 0.68, 0.25, 1.83, 0.03, 0.33, 0.22),
        (0.38, 1.35, 0.77, 0.91, 0.84, 0.94, 0.87, 0.77, 0.85, 0.89, 0.73, -0.35, 1.25, -0.01, 0.34, 0.00),
    ),
}

SEGMENT_NAME = re.compile(r"S([1-9]\d?)L(\d)(?:-(\d{1,9}))?")  # segments, limits, seed
SEGMENT_ARMS = 6

# Budgets from mostly wrong answers to about one wrong answer in a hundred.
DOUBLING = (1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000)
SHORT = (250, 500, 1000, 2000, 4000, 6000, 8000, 12000)
PER_COLUMN = (10, 20, 40, 80, 160, 320, 640)  # trials of each arm in each segment
BUDGETS = {"D1I": (*DOUBLING, 256000), "D3I": (*DOUBLING, 256000), "H2": (*SHORT, 16000), "H3": (*SHORT, 16000)}


def names() -> list[str]:
    """Names of the instances with one segment, for ``load``; ``segment_names`` has those with more.

    >>> names()
    ['D1P', 'D2P', 'D3P', 'D1I', 'D2I', 'D3I', 'A1', 'A2', 'A3', 'H1', 'H2', 'H3']
    """
    return [*D_REWARDS, *SINGLE_COST]


def segment_names() -> list[str]:
    """Names of random problems with segments, for ``load``; it takes other sizes and seeds too, as in S5L1-7.

    >>> segment_names()
    ['S3L1', 'S3L2', 'S8L1', 'S8L2']
    """
    return [f"S{segments}L{limits}" for segments in (3, 8) for limits in (1, 2)]


def has(name: str) -> bool:
    """Whether ``load`` takes that name.

    >>> has("D2P"), has("S5L1-7"), has("router.toml")
    (True, True, False)
    """
    return name in names() or SEGMENT_NAME.fullmatch(name) is not None


def load(name: str) -> Instance:
    """The instance of that name: D as the paper prints it; A and H as designed for this package; S with segments.

    >>> load("D2P").reward.shape, load("D2P").bound
    ((24,), array([1., 1.]))
    >>> load("H2").means[:3]
    array([[0.2 , 0.  ],
           [1.3 , 1.2 ],
           [0.82, 0.9 ]])
    """
    if isinstance(name, str) and (found := SEGMENT_NAME.fullmatch(name)):
        segments, limits, seed = (int(text or 0) for text in found.groups())
        return random_segments(segments, SEGMENT_ARMS, limits, seed)
    if checks.choice("name", name, [*names(), *segment_names()]) in D_REWARDS:
        cost = np.array(np.meshgrid(COST_1, COST_2, indexing="ij")).reshape(2, -1)
        reward = np.ravel(D_REWARDS[name])
    else:
        cost, reward = np.array(SINGLE_COST[name][:1]), np.array(SINGLE_COST[name][1])
    return Instance(reward, cost, np.ones(len(cost)), sigma_reward=1.0, sigma_cost=0.5)


def budgets(name: str) -> list[int]:
    """Budgets that show an instance's whole error curve for SFSR, SFSR-L and USLP; of segments from 10 trials a column.

    >>> budgets("A1")
    [250, 500, 1000, 2000, 4000, 6000, 8000, 12000]
    """
    if isinstance(name, str) and (found := SEGMENT_NAME.fullmatch(name)):
        return [trials * SEGMENT_ARMS * int(found[1]) for trials in PER_COLUMN]
    name = checks.choice("name", name, [*names(), *segment_names()])
    return list(BUDGETS.get(name, DOUBLING if name in D_REWARDS else SHORT))
