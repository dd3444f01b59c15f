"""Correlations of the estimated means of different arms: in variances of what is made of several of them.

They come from items that arms share (``shared_items.py``), where they are estimated, or from one fit of all arms
(``linear_fit.py``), where they are known.
"""

import numpy as np

from bestmix.arrays import Floats

LEAST = 1e-3  # of the variance that independent arms would have: no correlation is believed beyond it
ROUNDING = 1e-12  # of the same: below it a difference is none


def of_row(correlations: Floats | None, rows: slice) -> Floats | None:
    """Correlation matrices of all arms for some rows (rows, K, K), with ones within an arm; None for none at all.

    >>> of_row(np.full((2, 2, 2, 2), 0.5) * (1 - np.eye(2))[:, :, None, None], slice(1, None))
    array([[[1. , 0.5],
            [0.5, 1. ]]])
    """
    if correlations is None:
        return None
    some = np.diagonal(correlations, axis1=2, axis2=3)[:, :, rows].transpose(2, 0, 1)
    return np.asarray(some + np.eye(some.shape[1]))


def mean_covariances(correlations: Floats, errors: Floats) -> Floats:
    """Covariances of the means of different arms (K, K, R, R) from their standard errors (K, R)."""
    return np.asarray(correlations * errors[:, None, :, None] * errors[None, :, None, :])


def floored(variance: Floats, apart: Floats, known: bool = False) -> Floats:
    """Variances with what arms have in common, at least a share of those of independent arms.

    Correlations that are ``known``, and not estimated, are believed: what is left by rounding is nothing.
    """
    if known:
        return np.where(variance > ROUNDING * apart, variance, 0.0)
    return np.maximum(variance, LEAST * apart)
