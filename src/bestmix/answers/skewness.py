"""A word of caution where costs may be so skewed that normal intervals of their means are too near.

Only sums and products are kept of the trials, no third powers, so that the skewness is not known. It is taken for that
of a log-normal price whose deviation is v times its mean, 3 v + v^3; a normal interval wants about 25 times its square
in trials (Cochran). What very skewed prices do to limits was measured: docs/research/safety.md.
"""

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.arrays import Floats
from bestmix.problems.quantities import Mean

WIDE = 0.8  # deviation over the mean, from which on a positive metric is likely skewed
TRIALS = 25.0  # for each square of the skewness


def skew_note(evidence: Evidence, mixture: Floats) -> str:
    """The note on limits of a mix (K,) of cells; no text where none is called for."""
    wide = [name for place, name in _limited(evidence) if _is_wide(evidence, place, mixture)]
    if not wide:
        return ""
    names = " and ".join(dict.fromkeys(wide))
    return (
        f"Values of {names} differ widely beside their mean: if that is because a few are very large, limits on them "
        "are broken more often than told; make more trials, or ask for a certainty of 0.99."
    )


def _limited(evidence: Evidence) -> list[tuple[int, str]]:
    """Measures whose means have an upper limit: place and name."""
    measures = evidence.problem.rows.measures
    upper = [limit for limit in evidence.problem.limits if limit.relation == "<=" and isinstance(limit.quantity, Mean)]
    return [(measures.index(limit.columns[0]), str(limit.columns[0])) for limit in upper]


def _mean_of(mixture: Floats, means: Floats) -> float:
    """Of the mix, whose weights may be those of segments."""
    used = mixture > 0
    return float(mixture[used] @ means[used] / mixture[used].sum())


def _is_wide(evidence: Evidence, place: int, mixture: Floats) -> bool:
    """Whether a positive metric of an arm of the mix varies more than its trials make good.

    An arm that is next to free is held against the mean of the mix: a little noise is wide beside nothing.
    """
    unknown = len(evidence.counts)
    mean, counts = evidence.measured[:unknown, place], evidence.counts
    used = (mixture[:unknown] > 0) & (counts > 1)
    if not used.any() or evidence.events[:unknown, place].any() or not (mean[counts > 0] > 0).all():
        return False
    variance = evidence.measured_scatters[used, place, place] / (counts[used] - 1)
    v = np.sqrt(variance) / np.maximum(mean[used], _mean_of(mixture, evidence.measured[:, place]))
    return bool(((v > WIDE) & (counts[used] < TRIALS * (3.0 * v + v**3) ** 2)).any())
