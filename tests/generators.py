"""Random problems for the tests: on dyadic grids, where Fractions and floats agree, and Gaussian ones."""

import numpy as np
from hypothesis import strategies as st

KINDS = ("binary", "integers", "eighths", "duplicates", "at the bound", "mixed sizes", "outlier")


def grid(rng, kind, arms, costs):
    """(means, bound) with many ties and degenerate bases, exact as floats."""
    shape = (arms, 1 + costs)
    if kind == "binary":
        return rng.integers(0, 2, shape).astype(float), np.full(costs, 0.5)
    if kind == "integers":
        return rng.integers(0, 4, shape).astype(float), rng.integers(0, 4, costs).astype(float)
    means = rng.integers(-8, 17, shape) / 8
    bound = rng.integers(-2, 12, costs) / 8
    if kind == "duplicates":
        means = means[rng.integers(0, max(arms // 2, 1), arms)]
    elif kind == "at the bound":
        means[:, 1:] = np.where(rng.random((arms, costs)) < 0.4, bound, means[:, 1:])
    elif kind == "mixed sizes":
        means *= 2.0 ** rng.integers(-6, 7, (arms, 1))
    elif kind == "outlier":
        means[rng.integers(arms), 1:] *= 2.0**20  # a placeholder such as a million for "never"
    return means, bound


def subset(rng, columns, least):
    """Some of the columns, ascending."""
    size = rng.integers(min(least, columns), columns + 1)
    return np.sort(rng.choice(columns, size, replace=False))


@st.composite
def sizes(draw, most=7, most_costs=3):
    """(K, K0, L, N) with a budget that SFSR accepts."""
    arms = draw(st.integers(1, most))
    unknown = draw(st.integers(1, arms))
    costs = draw(st.integers(0, most_costs))
    return arms, unknown, costs, draw(st.integers(unknown + 1, 40 * most))


seeds = st.integers(0, 2**32 - 1)
powers = st.integers(-20, 20).map(lambda k: 2.0**k)
