"""Exact running sums of an arm's trials: no order of telling, and no merging, changes a bit of them.

A float is a whole number times a power of two, so a sum of floats is one too. Kept as a Python
integer with its exponent, it never rounds: means and scatter are rounded once, when they are read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPLIT = float(2**27 + 1)
FEW = 16  # below this many values a plain loop beats the vectorised sum


@dataclass
class ExactSum:
    """``total`` / 2**``shift``, exactly."""

    total: int = 0
    shift: int = 0

    def add(self, total: int, shift: int) -> None:
        """Add total / 2**shift."""
        if shift > self.shift:
            self.total <<= shift - self.shift
            self.shift = shift
        self.total += total << (self.shift - shift)

    def add_floats(self, values: NDArray[np.float64]) -> None:
        """Add every value."""
        if len(values) < FEW:
            for value in values.tolist():
                numerator, denominator = value.as_integer_ratio()
                self.add(numerator, denominator.bit_length() - 1)
            return
        fraction, exponent = np.frexp(values)
        whole = np.ldexp(fraction, 53).astype(np.int64)
        order = np.argsort(exponent, kind="stable")
        exponent, whole = exponent[order], whole[order]
        starts = np.flatnonzero(np.r_[True, exponent[1:] != exponent[:-1]])
        # Halves of 27 bits: their int64 sums cannot overflow below 2**36 values.
        high = np.add.reduceat(whole >> 27, starts)
        low = np.add.reduceat(whole & (2**27 - 1), starts)
        for h, l, e in zip(high.tolist(), low.tolist(), exponent[starts].tolist(), strict=True):
            shift = 53 - e
            total = (h << 27) + l
            self.add(total if shift >= 0 else total << -shift, max(shift, 0))

    def __str__(self) -> str:
        trailing = min((self.total & -self.total).bit_length() - 1, self.shift) if self.total else self.shift
        return f"{self.total >> trailing:x}/{self.shift - trailing}"

    @classmethod
    def parse(cls, text: str) -> "ExactSum":
        """Inverse of ``str``."""
        total, shift = text.split("/")
        return cls(int(total, 16), int(shift))


def product(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The product and its rounding error, which together are exact (Dekker's product)."""
    result = x * y
    x_high = SPLIT * x - (SPLIT * x - x)
    y_high = SPLIT * y - (SPLIT * y - y)
    x_low, y_low = x - x_high, y - y_high
    return result, ((x_high * y_high - result) + x_high * y_low + x_low * y_high) + x_low * y_low


@dataclass
class Moments:
    """Count, sums and sums of products of (reward, costs) vectors."""

    size: int
    count: int = 0
    sums: list[ExactSum] = field(default_factory=list)
    products: list[ExactSum] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sums = self.sums or [ExactSum() for _ in range(self.size)]
        self.products = self.products or [ExactSum() for _ in range(self.size * (self.size + 1) // 2)]

    def add(self, rows: NDArray[np.float64]) -> None:
        """Add trials, one a row of (m, 1 + L)."""
        self.count += len(rows)
        for i, total in enumerate(self.sums):
            total.add_floats(rows[:, i])
        for (i, j), total in zip(self._pairs(), self.products, strict=True):
            for part in product(rows[:, i], rows[:, j]):
                total.add_floats(part)

    def mean(self) -> NDArray[np.float64]:
        """Mean vector, each entry correctly rounded; NaN without trials."""
        if not self.count:
            return np.full(self.size, np.nan)
        return np.array([s.total / (self.count << s.shift) for s in self.sums])

    def scatter(self) -> NDArray[np.float64]:
        """Sum of squared deviations from the mean, as a (1 + L, 1 + L) matrix."""
        result = np.zeros((self.size, self.size))
        for (i, j), p in zip(self._pairs(), self.products, strict=True):
            if self.count:
                si, sj = self.sums[i], self.sums[j]
                shift = max(p.shift, si.shift + sj.shift)
                whole = (self.count * p.total << (shift - p.shift)) - (
                    si.total * sj.total << (shift - si.shift - sj.shift)
                )
                result[i, j] = result[j, i] = whole / (self.count << shift)
        return result

    def covariance(self) -> NDArray[np.float64]:
        """Unbiased covariance matrix; NaN with fewer than two trials."""
        if self.count < 2:
            return np.full((self.size, self.size), np.nan)
        return self.scatter() / (self.count - 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, exact."""
        return {
            "count": self.count,
            "sums": [str(s) for s in self.sums],
            "products": [str(s) for s in self.products],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Moments":
        """Inverse of ``to_dict``."""
        sums = [ExactSum.parse(text) for text in data["sums"]]
        return cls(len(sums), data["count"], sums, [ExactSum.parse(text) for text in data["products"]])

    def _pairs(self) -> Iterable[tuple[int, int]]:
        return ((i, j) for i in range(self.size) for j in range(i, self.size))
