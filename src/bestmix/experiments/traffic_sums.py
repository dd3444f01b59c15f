"""Sums that an edge reports, as rows of plain data: checked, and made exact."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bestmix import checks
from bestmix.answers.moments import ExactSum, Moments
from bestmix.experiments.model import check_label
from bestmix.experiments.revision import Revision
from bestmix.problems.problem import Cell, Problem

MOST_ROWS = 100_000  # in one report
MOST_REQUESTS = 2**53  # in one row
ROUNDING = 10**9  # one part in so many of a sum of squares may be missing of what the sums ask for
ENTRIES = {"version", "arm", "n", "sums", "products"}  # of a row, beside its segment
CORRELATED = 1e-6  # a correlation of rounded sums may be beyond 1 by so much
SMALLEST = 1e-290  # what is smaller may have been rounded to zero
UNDERFLOW = -1000  # bits: what is smaller may have been rounded to zero
KEY = re.compile(r"(.+):([1-9][0-9]{0,15})")


class SumsRow(NamedTuple):
    """Sums of the requests of one version that an arm, of a segment, was given; ``arm`` counts ``Revision.served``.

    Of an arm that is known only the number of requests is kept.
    """

    version: int
    arm: int
    moments: Moments


def parse_key(key: Any) -> tuple[str, int]:
    """Who reports, and the number of the report; a key without a number is the only report of its name.

    >>> parse_key("web-1:12"), parse_key("nightly")
    (('web-1', 12), ('nightly', 1))
    """
    text = check_label("key", key)
    found = KEY.fullmatch(text)
    return (text, 1) if found is None else (found[1], int(found[2]))


def parse_rows(now: Revision, rows: Iterable[Any]) -> list[SumsRow]:
    """Rows of a report, those of the same version, segment and arm added up; the arm may be retired meanwhile.

    >>> now = Revision.beginning(Problem(["a", "b"], {"dollars": 1.0}))
    >>> sums = {"reward": 3.0, "dollars": 1.5}
    >>> products = {"reward*reward": 5.0, "reward*dollars": 2.0, "dollars*dollars": 1.5}
    >>> parse_rows(now, [{"version": 1, "arm": "a", "n": 2, "sums": sums, "products": products}])[0].moments.mean()
    array([1.5 , 0.75])
    """
    if isinstance(rows, Mapping | str) or not isinstance(rows, Iterable):
        raise checks.InvalidInput("rows", expected="a list of rows", got=checks.shown(rows), remedy="put it in a list")
    listed = list(rows)
    checks.whole("rows", len(listed), 0, "report in parts", MOST_ROWS)
    names = _Names(now.problem)
    found: dict[tuple[int, int], Moments] = {}
    for number, row in enumerate(listed):
        place = f"rows[{number}]"
        version, arm, moments = _row(now, names, place, row)
        held = found.get((version, arm))
        found[version, arm] = moments if held is None else held.joined(moments)
    return [SumsRow(*place, moments) for place, moments in found.items()]


def place_of(now: Revision, arm: Any, segment: Any) -> int:
    """Position of an arm, which may be known or retired, among all that requests were ever given.

    >>> from bestmix import Known
    >>> place_of(Revision.beginning(Problem(["a", "b"], known={"off": Known(0.0)})), "off", None)
    2
    """
    if isinstance(arm, str) and isinstance(segment, str | None):
        place = now.served_places.get(Cell(arm, segment))
        if place is not None:
            return place
    now.problem.index(arm, segment)  # says what is wrong
    return now.served_places[Cell(arm, segment)]


class _Names:
    """Names of the sums and products of a problem, in the order of ``Moments``."""

    def __init__(self, problem: Problem) -> None:
        self.sums = problem.measures
        pairs = [(i, j) for i in range(len(self.sums)) for j in range(i, len(self.sums))]
        self.named = [(name, name) for name in self.sums]
        self.products = [(f"{self.sums[i]}*{self.sums[j]}", f"{self.sums[j]}*{self.sums[i]}") for i, j in pairs]


def _row(now: Revision, names: _Names, place: str, row: Any) -> tuple[int, int, Moments]:
    entry = checks.mapping(place, row, "with version, arm, n, sums and products")
    unknown, missing = entry.keys() - ENTRIES - {"segment"}, ENTRIES - entry.keys()
    if unknown or missing:
        what = f"the unknown entry {sorted(unknown)[0]!r}" if unknown else f"no entry {sorted(missing)[0]!r}"
        raise checks.InvalidInput(
            place, expected="version, arm, n, sums, products and, where there are any, the segment", got=what
        )
    version = checks.whole(f"{place}.version", entry["version"], 1, "give that of the weights", MOST_REQUESTS)
    arm = place_of(now, entry["arm"], entry.get("segment"))
    count = checks.whole(f"{place}.n", entry["n"], 1, "leave out arms without requests", MOST_REQUESTS)
    sums = _values(f"{place}.sums", entry["sums"], names.named)
    products = _values(f"{place}.products", entry["products"], names.products)
    if now.served[arm] in now.problem.known_cells:
        return version, arm, Moments(len(names.sums), count)
    moments = _plausible(place, names, Moments.from_sums(count, sums, products))
    _check_products(place, names, count, sums, products)
    return version, arm, moments


def _values(place: str, given: Any, names: list[tuple[str, str]]) -> list[float]:
    """Numbers by name, in order; a product may be named in either order."""
    entry, most = checks.mapping(place, given, "of names to numbers"), checks.LARGEST
    plain: list[Any] = [entry.get(name) for name, _ in names]
    if len(entry) == len(names) and all(type(value) is float and -most <= value <= most for value in plain):
        return plain
    result = []
    for name, turned in names:
        value = entry.get(name, entry.get(turned))
        if value is None or len(entry) != len(names):
            checks.same_names(place, entry, [first for first, _ in names], "sum")
        result.append(value if type(value) is float and abs(value) <= checks.LARGEST else _number(place, name, value))
    return result


def _number(place: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise checks.InvalidInput(f"{place}[{name!r}]", expected="a number", got=checks.shown(value))
    return checks.number(f"{place}[{name!r}]", value)


def _check_products(place: str, names: _Names, count: int, sums: list[float], products: list[float]) -> None:
    """Refuse products of two measures that no trials have: they would be correlated by more than 1."""
    size, at = len(sums), [i * len(sums) - i * (i - 1) // 2 for i in range(len(sums))]
    square = [products[at[i]] for i in range(size)]
    spread = [max(square[i] - sums[i] * sums[i] / count, 0.0) for i in range(size)]
    for i in range(size if count == 1 else 0):
        if spread[i] * ROUNDING > square[i]:
            name = names.sums[i]
            fault = f"the sum of {name}*{name} is not the square of {name}, of a single request"
            raise checks.InvalidInput(place, fault, "sum them again")
    for i in range(size):
        for j in range(i + 1, size):
            own = products[at[i] + j - i] - sums[i] * sums[j] / count
            most = math.sqrt(spread[i]) * math.sqrt(spread[j])
            rounding = (math.sqrt(abs(square[i])) * math.sqrt(abs(square[j]))) / ROUNDING
            if abs(own) > most * (1.0 + CORRELATED) + rounding + SMALLEST:
                raise checks.InvalidInput(
                    place,
                    f"the sum of {names.products[at[i] + j - i][0]} would make a correlation beyond 1",
                    "sum them again",
                )


def _plausible(place: str, names: _Names, moments: Moments) -> Moments:
    """The sums, if some trials have them; a square that rounding has made too small is made as small as can be."""
    size, diagonal = moments.size, 0
    for i in range(size):
        total, square = moments.sums[i], moments.products[diagonal]
        diagonal += size - i
        # n * sum of squares >= (sum)^2, in whole numbers
        shift = max(square.shift, 2 * total.shift)
        left = moments.count * square.total << (shift - square.shift)
        right = total.total**2 << (shift - 2 * total.shift)
        if left >= right:
            continue
        if (right - left) * ROUNDING > right and (right - left).bit_length() - shift > UNDERFLOW:
            name = names.sums[i]
            raise checks.InvalidInput(
                place,
                f"the sum of {name}*{name} is less than the sum of {name} and n ask for",
                "give sums of squares, not squares of sums",
            )
        least = -(-right // moments.count)
        moments.products[diagonal - (size - i)] = ExactSum(least, shift)
    return moments
