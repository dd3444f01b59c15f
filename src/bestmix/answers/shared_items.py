"""What arms have in common that meet on the same items: the correlations of their estimated means.

An item that is hard for one arm tends to be hard for all. Arms that were tried on the same items are therefore compared
with less noise than arms that were not, while the level of a mix, which all of them move together, is known less well.
Estimates stay the arms' means; what changes are the variances of what is made of several arms:

    V = sum_a c_a^2 s_a^2 / n_a  +  2 sum_{a<b} c_a c_b C_ab n_ab / (n_a n_b)

with n_ab items that both arms have met. Correlations of single pairs of arms are blended with that of all pairs
together, which itself is blended with none: a few items say next to nothing.
"""

from typing import TYPE_CHECKING

import numpy as np

from bestmix.arrays import Floats

if TYPE_CHECKING:
    from bestmix.answers.blocks import Blocks

PAIRS = 20.0  # of results on one item: what no correlation counts beside all pairs, and these beside one pair of arms


def mean_correlations(items: "Blocks", counts: Floats, transform: Floats) -> Floats:
    """Correlations of the estimated means of different arms (K0, K0, R, R), zero within an arm.

    ``transform`` (R, M) makes rows of measures; ``counts`` are all trials of each arm (K0,), those without an item too.

    >>> from bestmix.answers.blocks import Blocks
    >>> rng = np.random.default_rng(0)
    >>> results = rng.normal(size=(400, 1, 1)) + 0.5 * rng.normal(size=(400, 2, 1))
    >>> same = Blocks(np.ones((400, 2)), results)
    >>> mean_correlations(same, np.full(2, 400.0), np.eye(1))[0, 1].round(2)
    array([[0.81]])
    """
    arms, rows = items.counts.shape[1], len(transform)
    deviations = (items.sums - items.counts[:, :, None] * items.means) @ transform.T
    flat = deviations.reshape(len(deviations), arms * rows)
    size = np.sqrt((flat * flat).sum(axis=0))
    flat = flat / np.where(size > 0, size, 1.0)
    together = (flat.T @ flat).reshape(arms, rows, arms, rows).transpose(0, 2, 1, 3)
    overlap, shared = _overlap(items.counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.clip(np.where(overlap[:, :, None, None] > 0, together / overlap[:, :, None, None], 0.0), -1.0, 1.0)
    trust = shared[:, :, None, None]
    blended = (trust * own + PAIRS * pooled_correlation(own, shared)) / (trust + PAIRS)
    # Trials without an item are shared with nobody.
    part = np.sqrt(items.counts.sum(axis=0) / np.maximum(counts, 1.0))
    result = blended * (overlap * np.outer(part, part))[:, :, None, None]
    result[np.arange(arms), np.arange(arms)] = 0.0
    return possible(np.where((size > 0).reshape(arms, 1, rows, 1) & (size > 0).reshape(1, arms, 1, rows), result, 0.0))


def _overlap(counts: Floats) -> tuple[Floats, Floats]:
    """n_ab / sqrt(n_a n_b) of each two arms (K0, K0), and on how many items they met (K0, K0)."""
    length = np.sqrt((counts * counts).sum(axis=0))
    length[length == 0] = 1.0
    met = (counts > 0).astype(np.float64)
    return (counts / length).T @ (counts / length), met.T @ met


def pooled_correlation(own: Floats, shared: Floats) -> Floats:
    """Correlation of two arms' results on one item (R, R), of all pairs together, blended with none.

    >>> pooled_correlation(np.full((2, 2, 1, 1), 0.5), np.array([[9.0, 20.0], [20.0, 9.0]]))
    array([[0.25]])
    """
    upper = np.triu(shared, 1)
    total = np.einsum("ab,abij->ij", upper, own)
    return np.asarray((total + total.T) / 2.0 / (upper.sum() + PAIRS))


def possible(correlations: Floats) -> Floats:
    """Correlations of arms, made smaller where together with ones within each arm they contradict each other.

    >>> strange = np.zeros((3, 3, 1, 1))
    >>> strange[:, :, 0, 0] = [[0.0, -0.9, -0.9], [-0.9, 0.0, -0.9], [-0.9, -0.9, 0.0]]
    >>> possible(strange)[0, 1].round(3)
    array([[-0.5]])
    """
    rows = range(correlations.shape[2])
    least = min((float(np.linalg.eigvalsh(correlations[:, :, i, i]).min(initial=0.0)) for i in rows), default=0.0)
    return correlations / -least if least < -1.0 else correlations
