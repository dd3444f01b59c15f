"""Exact running sums of an arm's trials: no order of telling, and no merging, changes a bit of them.

A float is a whole number times a power of two, so a sum of floats is one too. Kept as a Python
integer with its exponent, it never rounds: means and scatter are rounded once, when they are read.
"""

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestmix.arrays import Flags, Floats

SPLIT = float(2**27 + 1)
TINY = 1e-140  # the product of smaller values has a rounding error below the smallest float
DIGIT = 26  # bits that a vectorised sum takes off at a time; a sum of 2**26 of them is still exact
BLOCK = 2**12  # rows that are added together, so that what they need stays in the processor's cache
FEW = 20  # below this many rows a plain loop beats the vectorised sum
LARGE = 1e90  # the third powers of larger values, and sums of these, may be no floats
FLAT = 1e-8  # squared deviation over the mean: third powers that were rounded say nothing of the skewness below
BITS = 1016  # of a sum of squares, at most: it is a float then, and so are sums over a hundred arms


@dataclass
class ExactSum:
    """``total`` / 2**``shift``, exactly."""

    total: int = 0
    shift: int = 0

    @classmethod
    def of(cls, value: float) -> "ExactSum":
        """A float."""
        return cls(*_parts(value))

    def add(self, total: int, shift: int) -> None:
        """Add total / 2**shift."""
        if shift > self.shift:
            self.total <<= shift - self.shift
            self.shift = shift
        self.total += total << (self.shift - shift)

    def plus(self, other: "ExactSum") -> "ExactSum":
        """The sum of both.

        >>> str(ExactSum(1, 1).plus(ExactSum(1, 2)))
        '3/2'
        """
        shift = max(self.shift, other.shift)
        return ExactSum((self.total << (shift - self.shift)) + (other.total << (shift - other.shift)), shift)

    @classmethod
    def together(cls, parts: "Sequence[ExactSum]") -> "ExactSum":
        """The sum of several."""
        shift = max([part.shift for part in parts])
        return cls(sum([part.total << (shift - part.shift) for part in parts]), shift)

    def __str__(self) -> str:
        # Trailing zeros say nothing: equal sums look alike however they came about.
        trailing = min((self.total & -self.total).bit_length() - 1, self.shift) if self.total else self.shift
        return f"{self.total >> trailing:x}/{self.shift - trailing}"

    @classmethod
    def parse(cls, text: str) -> "ExactSum":
        """Inverse of ``str``."""
        total, shift = text.split("/")
        return cls(int(total, 16), int(shift))


def add_columns(rows: Floats, totals: list[ExactSum]) -> None:
    """Add each column of (m, c) to its total, exactly."""
    _, exponent = np.frexp(np.abs(rows).max(axis=0))
    rest = rows
    while rest.any():
        # The leading bits of every entry, as whole numbers of the unit 2**-shift; the rest is exact.
        shift = DIGIT - exponent
        whole = np.rint(_times_power(rest, shift))
        rest = rest - _times_power(whole, -shift)
        for total, digits, bits in zip(totals, whole.sum(axis=0).tolist(), shift.tolist(), strict=True):
            total.add(int(digits) << max(-bits, 0), max(bits, 0))
        exponent = exponent - DIGIT


def _times_power(values: Floats, shift: NDArray[np.int32]) -> Floats:
    """``values`` times 2**shift, exactly; by multiplication where the power is a float itself."""
    if np.abs(shift).max() < 1000:
        return values * np.ldexp(1.0, shift)
    return np.ldexp(values, shift)


def product(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The product and its rounding error, which together are exact (Dekker's product)."""
    result = x * y
    x_high = SPLIT * x - (SPLIT * x - x)
    y_high = SPLIT * y - (SPLIT * y - y)
    x_low, y_low = x - x_high, y - y_high
    return result, ((x_high * y_high - result) + x_high * y_low + x_low * y_high) + x_low * y_low


@dataclass
class Moments:
    """Count, sums and sums of products of (reward, costs) vectors, and of third powers.

    The latter tell how skewed values are. They are None where they are not known: of trials that were told as sums, or
    by a version that did not keep them, and of values whose third powers are no floats.
    """

    size: int
    count: int = 0
    sums: list[ExactSum] = field(default_factory=list)
    products: list[ExactSum] = field(default_factory=list)
    cubes: list[ExactSum] | None = field(default=None, compare=False)
    _scatter: Floats | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.sums = self.sums or [ExactSum() for _ in range(self.size)]
        self.products = self.products or [ExactSum() for _ in range(self.size * (self.size + 1) // 2)]
        if not self.count:
            self.cubes = [ExactSum() for _ in range(self.size)]

    def plus(self, rows: Floats) -> "Moments":
        """These and further trials, one a row of (m, 1 + L)."""
        result = self.copied()
        result.add(rows)
        return result

    def copied(self) -> "Moments":
        """The same sums, to be added to."""
        cubes = None if self.cubes is None else [copy(c) for c in self.cubes]
        return Moments(self.size, self.count, [copy(s) for s in self.sums], [copy(p) for p in self.products], cubes)

    def add(self, rows: Floats) -> None:
        """Add trials in place; ValueError, and sums that are of no use, when squares no longer add up to a float."""
        self._add(rows)
        if any(p.total.bit_length() - p.shift > BITS for p in self.products):
            raise ValueError(
                f"trials: expected values whose squares add up to less than 1e305, got {self.count} trials of up to "
                f"{np.abs(rows).max():.3g}; change the unit of measurement"
            )

    def _add(self, rows: Floats) -> None:
        self.count += len(rows)
        self._scatter = None
        if self.cubes is not None and np.abs(rows).max(initial=0.0) > LARGE:
            self.cubes = None
        for start in range(0, len(rows), BLOCK):
            self._add_block(rows[start : start + BLOCK])

    def _add_block(self, rows: Floats) -> None:
        if len(rows) < FEW or np.abs(rows[rows != 0]).min(initial=1.0) < TINY:
            for row in rows.tolist():
                self._add_row(row)
            return
        first, second = np.triu_indices(self.size)
        parts = product(rows[:, first], rows[:, second])
        columns, totals = [rows, *parts], [*self.sums, *self.products, *self.products]
        if self.cubes is not None:
            columns, totals = [*columns, rows * rows * rows], [*totals, *self.cubes]
        add_columns(np.hstack(columns), totals)

    def _add_row(self, row: list[float]) -> None:
        """Add one trial in whole numbers."""
        parts = []
        for value, total in zip(row, self.sums, strict=True):
            parts.append(_parts(value))
            total.add(*parts[-1])
        for (i, j), total in zip(self._pairs(), self.products, strict=True):
            total.add(parts[i][0] * parts[j][0], parts[i][1] + parts[j][1])
        for value, cube in zip(row, self.cubes or (), strict=False):
            cube.add(*_parts(value * value * value))

    @classmethod
    def from_statistics(cls, count: int, mean: Floats, scatter: Floats) -> "Moments":
        """Sums of trials of which only count, mean and scatter are known; both are read back to the bit."""
        result = cls(len(mean), count)
        parts = [_parts(value) for value in mean.tolist()]
        for (number, shift), total in zip(parts, result.sums, strict=True):
            total.add(count * number, shift)
        for (i, j), total in zip(result._pairs(), result.products, strict=True):
            total.add(count * parts[i][0] * parts[j][0], parts[i][1] + parts[j][1])
            total.add(*_parts(float(scatter[i, j])))
        return result

    @classmethod
    def from_sums(cls, count: int, sums: list[float], products: list[float]) -> "Moments":
        """Count, sums, and sums of products in the order (0, 0), (0, 1), ..., (1, 1), ...

        >>> Moments.from_sums(2, [3.0], [5.0]).mean(), Moments.from_sums(2, [3.0], [5.0]).scatter()
        (array([1.5]), array([[0.5]]))
        """
        return cls(len(sums), count, [ExactSum(*_parts(x)) for x in sums], [ExactSum(*_parts(x)) for x in products])

    def joined(self, other: "Moments") -> "Moments":
        """These trials and those of another, exactly."""
        sums = [a.plus(b) for a, b in zip(self.sums, other.sums, strict=True)]
        products = [a.plus(b) for a, b in zip(self.products, other.products, strict=True)]
        cubes = None
        if self.cubes is not None and other.cubes is not None:
            cubes = [a.plus(b) for a, b in zip(self.cubes, other.cubes, strict=True)]
        return Moments(self.size, self.count + other.count, sums, products, cubes)

    @classmethod
    def together(cls, parts: "Sequence[Moments]") -> "Moments":
        """The trials of several, at least one, exactly.

        >>> Moments.together([Moments(1).plus(np.array([[1.0], [0.5]])), Moments(1).plus(np.array([[3.0]]))]).mean()
        array([1.5])
        """
        sums = [ExactSum.together(every) for every in zip(*(part.sums for part in parts), strict=True)]
        products = [ExactSum.together(every) for every in zip(*(part.products for part in parts), strict=True)]
        known = [part.cubes for part in parts if part.cubes is not None]
        cubes = [ExactSum.together(every) for every in zip(*known, strict=True)] if len(known) == len(parts) else None
        return cls(parts[0].size, sum(part.count for part in parts), sums, products, cubes)

    def without(self, other: "Moments") -> "Moments":
        """These trials less those of another that are among them, exactly.

        >>> both = Moments(1).plus(np.array([[1.0], [0.1], [4.0]]))
        >>> both.without(Moments(1).plus(np.array([[0.1]]))).mean()
        array([2.5])
        """
        result = self.copied()
        result.count -= other.count
        result.cubes = None if other.cubes is None else result.cubes
        every = [*result.sums, *result.products, *(result.cubes or ())]
        less = [*other.sums, *other.products, *((other.cubes or ()) if result.cubes else ())]
        for total, part in zip(every, less, strict=True):
            total.add(-part.total, part.shift)
        return result

    def weighted(self, weight: float) -> "Moments":
        """As if they were fewer trials, of the same mean and covariance: a share of them, rounded down.

        >>> half = Moments(1).plus(np.array([[1.0], [2.0], [3.0], [4.0]])).weighted(0.5)
        >>> half.count, half.mean(), half.covariance().round(3)
        (2, array([2.5]), array([[1.667]]))
        """
        count = int(weight * self.count)
        if count in (0, self.count):
            return self if count else Moments(self.size)
        scatter = self.covariance() * (count - 1)
        result = Moments.from_statistics(count, self.mean(), scatter)
        for (i, j), place in zip(self._pairs(), range(len(self.products)), strict=True):
            if i == j and self.binary()[i]:  # stays of 0 and 1, so that rare events are reckoned with as such
                total = round(count * float(self.mean()[i]))
                result.sums[i], result.products[place] = ExactSum(total), ExactSum(total)
        return result.as_skewed(self.skewness())

    def as_skewed(self, skewness: Floats | None) -> "Moments":
        """These sums with third powers that make them so skewed (1 + L,); without any where that is not known."""
        mean, square = self.mean(), np.diag(self.scatter()) / max(self.count, 1)
        if skewness is not None and self.count:
            third = skewness * square**1.5 + 3.0 * mean * square + mean**3
            self.cubes = [ExactSum.of(self.count * value) for value in third.tolist()]
        return self

    def mean(self) -> Floats:
        """Mean vector, each entry correctly rounded; NaN without trials."""
        if not self.count:
            return np.full(self.size, np.nan)
        return np.array([s.total / (self.count << s.shift) for s in self.sums])

    def scatter(self) -> Floats:
        """Sum of squared deviations from the mean, as a (1 + L, 1 + L) matrix; kept until trials are added."""
        if self._scatter is None:
            self._scatter = self._new_scatter()
        return self._scatter

    def _new_scatter(self) -> Floats:
        result = np.zeros((self.size, self.size))
        for (i, j), p in zip(self._pairs(), self.products, strict=True):
            if self.count:
                si, sj = self.sums[i], self.sums[j]
                shift = max(p.shift, si.shift + sj.shift)
                whole = (self.count * p.total << (shift - p.shift)) - (
                    si.total * sj.total << (shift - si.shift - sj.shift)
                )
                result[i, j] = result[j, i] = whole / (self.count << shift)
        result.flags.writeable = False
        return result

    def covariance(self) -> Floats:
        """Unbiased covariance matrix; NaN with fewer than two trials."""
        if self.count < 2:
            return np.full((self.size, self.size), np.nan)
        return self.scatter() / (self.count - 1)

    def skewness(self) -> Floats | None:
        """Third central moment over that power of the deviation, which is zero without a spread (1 + L,).

        None where sums of third powers are not known.

        >>> Moments(1).plus(np.array([[0.0], [0.0], [0.0], [1.0]])).skewness().round(4)
        array([1.1547])
        >>> Moments.from_sums(2, [3.0], [5.0]).skewness() is None
        True
        """
        if self.cubes is None:
            return None
        result, square, mean = np.zeros(self.size), np.diag(self.scatter()), self.mean()
        for i, squares in enumerate(self._squares()):
            if self.count > 1 and square[i] > FLAT * self.count * mean[i] ** 2 and square[i] > TINY:
                third = _third(self.count, self.sums[i], squares, self.cubes[i])
                result[i] = third / self.count / (square[i] / self.count) ** 1.5
        return result

    def binary(self) -> Flags:
        """Which entries were 0 or 1 in every trial, as far as exact sums tell (1 + L,).

        >>> trials = Moments(2)
        >>> trials.add(np.array([[1.0, 0.5], [0.0, 1.5], [1.0, 1.0]]))
        >>> trials.binary().tolist()
        [True, False]
        """
        pairs = zip(self.sums, self._squares(), strict=True)
        return np.array([self._is_binary(total, square) for total, square in pairs], dtype=np.bool_)

    def _squares(self) -> list[ExactSum]:
        """Sums of squares of each entry."""
        return [p for (i, j), p in zip(self._pairs(), self.products, strict=True) if i == j]

    def _is_binary(self, total: ExactSum, square: ExactSum) -> bool:
        """Whether the sum of squares is the sum, and a whole number that so many trials can reach."""
        same = total.total << square.shift == square.total << total.shift
        whole = total.total % (1 << total.shift) == 0
        return self.count > 0 and same and whole and 0 <= total.total >> total.shift <= self.count

    def matches(self, other: "Moments") -> bool:
        """Whether these are the same sums; third powers are left out where one of both does not know them."""
        one, two = self.to_dict(), other.to_dict()
        if self.cubes is None or other.cubes is None:
            one, two = ({name: value for name, value in data.items() if name != "cubes"} for data in (one, two))
        return one == two

    def to_dict(self) -> dict[str, Any]:
        """Plain data, exact."""
        data: dict[str, Any] = {
            "count": self.count,
            "sums": [str(s) for s in self.sums],
            "products": [str(s) for s in self.products],
        }
        return data if self.cubes is None else data | {"cubes": [str(s) for s in self.cubes]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Moments":
        """Inverse of ``to_dict``."""
        if not set(data) <= {"count", "sums", "products", "cubes"}:
            raise ValueError(f"sums of trials: expected count, sums, products and cubes, got {', '.join(data)}")
        sums, products = ([ExactSum.parse(text) for text in data[name]] for name in ("sums", "products"))
        cubes = [ExactSum.parse(text) for text in data["cubes"]] if "cubes" in data else None
        return cls(len(sums), data["count"], sums, products, cubes)

    def _pairs(self) -> Iterable[tuple[int, int]]:
        return ((i, j) for i in range(self.size) for j in range(i, self.size))


def _third(count: int, total: ExactSum, square: ExactSum, cube: ExactSum) -> float:
    """Sum of third powers of deviations from the mean, S3 - 3 S1 S2 / n + 2 S1^3 / n^2, in whole numbers."""
    shift = max(cube.shift, total.shift + square.shift, 3 * total.shift)
    third = count**2 * cube.total << (shift - cube.shift)
    mixed = 3 * count * total.total * square.total << (shift - total.shift - square.shift)
    return (third - mixed + (2 * total.total**3 << (shift - 3 * total.shift))) / (count**2 << shift)


def _parts(value: float) -> tuple[int, int]:
    """The whole number, and the power of two that divides it."""
    numerator, denominator = value.as_integer_ratio()
    return numerator, denominator.bit_length() - 1
