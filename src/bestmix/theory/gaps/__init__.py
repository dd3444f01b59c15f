"""The paper's gaps: distances to the nearest instances with another answer."""

from bestmix.theory.gaps.measure import Alternative, Gaps, gaps

__all__ = ["Alternative", "Gaps", "gaps"]
