"""Named instances: the six D instances, exactly as the paper's table prints them."""

import numpy as np

from bestmix import checks
from bestmix.instance import Instance

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


def names() -> list[str]:
    """Names that ``load`` takes.

    >>> names()
    ['D1P', 'D2P', 'D3P', 'D1I', 'D2I', 'D3I']
    """
    return list(D_REWARDS)


def load(name: str) -> Instance:
    """The instance of that name.

    >>> load("D2P").reward.shape, load("D2P").bound
    ((24,), array([1., 1.]))
    """
    rewards = D_REWARDS[checks.choice("name", name, names())]
    first, second = np.meshgrid(COST_1, COST_2, indexing="ij")
    return Instance(
        reward=np.ravel(rewards),
        cost=[np.ravel(first), np.ravel(second)],
        bound=[1.0, 1.0],
        sigma_reward=1.0,
        sigma_cost=0.5,
    )
