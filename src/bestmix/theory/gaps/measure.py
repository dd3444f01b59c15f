"""How hard an instance is: the distances to the nearest instances with another answer (the paper's gaps)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Flags, Floats
from bestmix.problems.instance import Instance
from bestmix.problems.segment_instance import by_arrays
from bestmix.problems.solution import solve
from bestmix.problems.uniqueness import check_assumption
from bestmix.theory.gaps.geometry import geometry_of
from bestmix.theory.gaps.rivals import Rival, RivalSearch, all_rivals, is_proven, neighbours

MOST_BASES = 300_000  # whose gaps are computed; more would take minutes
SHARES = (0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.35, 0.2)  # of a squared gap, tried in turn as lower bounds
Basis = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Alternative:
    """The nearest instance in which the answer changes in a certain way.

    Attributes
    ----------
    gap
        Its distance from the instance: the length of all moves of means, each in standard deviations
        of one trial; infinite when no move of unknown arms can do it.
    basis
        The basis that catches up with the optimal one; for the infeasibility of the optimal basis, that basis.
    means
        Mean reward and costs of every arm there (K, 1 + L).
    moved
        Arms whose means differ from the instance's.
    proven
        Whether no nearer one can exist, up to a share of 0.0001 of the squared gap; otherwise it is the nearest found.
    lower
        No alternative is nearer than this, for certain: the gap itself where that is proven; 0 where nothing is known.
    """

    gap: float
    basis: Basis
    means: Floats = field(repr=False)
    moved: Basis
    proven: bool
    lower: float


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps of an instance. Columns are the arms 0..K-1, then the slack of cost l as K + l.

    Attributes
    ----------
    instance
        Whose they are.
    basis
        The optimal basis.
    support
        The nearest instance in which the optimal basis stops being feasible.
    rivals
        For each column outside of the basis: the nearest instance in which some basis with that column catches up.
    margin
        For each column (K + L,) the distance to where its own condition fails: a column of the basis loses its
        weight, another one ties with the basis. The small ones are what makes the instance hard. An arm's gap is
        never above the support's; its margin can be.
    bases
        The gap of each basis, by its columns in ascending order; None where only arm gaps were asked for.
    """

    instance: Instance
    basis: Basis
    support: Alternative
    rivals: Mapping[int, Alternative]
    margin: Floats
    bases: Mapping[Basis, float] | None
    found: Mapping[Basis, Rival] = field(repr=False)
    scale: Floats = field(repr=False)

    @property
    def delta0(self) -> float:
        """The support infeasibility gap (eq. Delta0)."""
        return self.support.gap

    @property
    def arm(self) -> Floats:
        """The gap of each column (eq. Deltaa): zero on the optimal basis (K + L,)."""
        columns = range(len(self.instance.problem.columns))
        return np.array([self.rivals[j].gap if j in self.rivals else 0.0 for j in columns])

    @property
    def proven(self) -> Flags:
        """Whether each column's gap is proven (K + L,)."""
        columns = range(len(self.instance.problem.columns))
        return np.array([j not in self.rivals or self.rivals[j].proven for j in columns])

    @property
    def order(self) -> list[int]:
        """Columns by their gap, the smallest first; among equals the one with the smaller margin."""
        return sorted(range(len(self.arm)), key=lambda j: (self.arm[j], self.margin[j]))

    @property
    def closest(self) -> Alternative | None:
        """The nearest of all instances in which the answer is no longer the only best one; None if there is none."""
        every = [a for a in (*self.rivals.values(), self.support) if math.isfinite(a.gap)]
        return min(every, key=lambda a: a.gap, default=None)

    def alternative(self, basis: Basis) -> Alternative:
        """The nearest instance in which this basis catches up, with the gap and whether it is proven."""
        key = tuple(sorted(basis))
        if key not in self.found:
            known = "only arm gaps were computed" if self.bases is None else f"it needs {len(self.basis)} columns"
            raise checks.InvalidInput(
                "basis", f"there is no gap of {checks.shown(basis)}", f"{known}, and the optimal one has none"
            )
        return _alternative(self.instance, self.found[key], self.scale, self.found[key].lower)

    def hardest(self, count: int = 3) -> list[int]:
        """Columns with the smallest margins, the smallest first."""
        finite = [j for j in np.argsort(self.margin, kind="stable") if math.isfinite(self.margin[j])]
        return [int(j) for j in finite[:count]]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, by the names of the columns; an infinite gap is None."""
        names = self.instance.problem.columns
        order = [j for j in self.order if j in self.rivals]
        return {
            "basis": [names[j] for j in self.basis],
            "delta0": _plain(self.support, names),
            "arms": {names[j]: _plain(self.rivals[j], names) for j in order},
            "margins": {name: _finite(m) for name, m in zip(names, self.margin, strict=True)},
        }

    def __str__(self) -> str:
        names = self.instance.problem.columns
        width = max(len(name) for name in names)
        lines = [f"optimal basis: {', '.join(names[j] for j in self.basis)}"]
        lines.append(f"{'support infeasible':<{width}}  {_shown(self.support)}")
        for j in self.order:
            if j in self.rivals:
                basis = ", ".join(names[k] for k in self.rivals[j].basis)
                lines.append(f"{names[j]:<{width}}  {_shown(self.rivals[j])}  by {basis}")
        return "\n".join(lines)


def gaps(instance: Instance, *, bases: bool = True) -> Gaps:
    """The paper's gaps of an instance, each with the nearest instance that flips the answer.

    Distances are measured in standard deviations of one trial, with every arm's own covariance. Known
    arms and slacks cannot be moved.

    Parameters
    ----------
    instance
        With a unique best mix that has no zero weight in its basis.
    bases
        Whether to keep the gap of every basis. Without it only the arm gaps are computed, which is quicker.

    Examples
    --------
    >>> inst = Instance(reward=[1.7, 2.6, 0.5, 2.1, 1.2], cost=[[0.0, 1.8, 0.8, 1.3, 2.0]], bound=[1.0])
    >>> found = gaps(inst)
    >>> found.basis, round(found.delta0, 3), found.arm.round(3)
    ((0, 1), 1.6, array([0.   , 0.   , 0.595, 0.193, 0.605, 0.605]))
    >>> round(found.bases[0, 3] ** 2, 5)
    0.03711
    """
    if not isinstance(instance, Instance):
        raise checks.InvalidInput("instance", expected="an Instance", got=checks.shown(instance), remedy="build one")
    instance = by_arrays(instance)
    columns, size = len(instance.arms) + len(instance.bound), len(instance.bound) + 1
    if math.comb(columns, size) > MOST_BASES:
        raise checks.InvalidInput(
            "gaps",
            f"{len(instance.arms)} arms and {size - 1} costs have {math.comb(columns, size):.1e} bases, "
            f"and the gaps of at most {MOST_BASES:,} can be computed in minutes",
            "leave out arms that are clearly worse",
        )
    solution = solve(instance)
    check_assumption(instance, solution)
    shape = geometry_of(instance, solution)
    search = RivalSearch(shape)
    rivals = _every(search) if bases else _wanted(search)
    best = _by_column(search, rivals)
    return Gaps(
        instance=instance,
        basis=search.basis,
        support=_alternative(instance, search.infeasible, shape.scale, search.infeasible.lower),
        rivals={j: _alternative(instance, r, shape.scale, lower) for j, (r, lower) in best.items()},
        margin=_margins(search),
        bases={r.basis: math.sqrt(r.value) for r in rivals} | {search.basis: 0.0} if bases else None,
        found={r.basis: r for r in rivals} if bases else {},
        scale=shape.scale,
    )


def _every(search: RivalSearch) -> list[Rival]:
    """All rivals, with the proofs that can be had."""
    result = []
    for chunk in all_rivals(search):
        result += [search.prove(rival) for rival in _values(search, chunk)]
    return result


def _wanted(search: RivalSearch) -> list[Rival]:
    """Rivals that can matter for an arm gap: not those whose lower bound is above what is known of their columns."""
    result = _values(search, neighbours(search))
    best = dict.fromkeys(search.others, math.inf)
    for rival in result:
        _note(best, rival)
    for chunk in all_rivals(search):
        far = [basis for basis in chunk if sum(j in search.basis for j in basis) < len(search.basis) - 1]
        kept = [b for b in far if search.floor(b) < max(best[j] for j in b if j in best)]
        for rival in _values(search, kept):
            result.append(rival)
            _note(best, rival)
    return result


def _note(best: dict[int, float], rival: Rival) -> None:
    for j in rival.basis:
        if j in best:
            best[j] = min(best[j], rival.value)


def _values(search: RivalSearch, bases: list[Basis]) -> list[Rival]:
    exact = {basis: search.exact(basis) for basis in bases}
    missing = iter(search.found([basis for basis in bases if exact[basis] is None]))
    return [exact[basis] or next(missing) for basis in bases]


def _by_column(search: RivalSearch, rivals: list[Rival]) -> dict[int, tuple[Rival, float]]:
    """The nearest rival with each column, and a lower bound of the squared gap over all bases with it."""
    result = {}
    for j in search.others:
        those = [rival for rival in rivals if j in rival.basis]
        best = min(those, key=lambda r: (r.value, len(set(r.basis) - set(search.basis))))
        doubtful = [r for r in those if r.lower < best.value]
        certain = (s for s in SHARES if all(search.at_least(r.basis, s * best.value) for r in doubtful))
        share = (
            1.0 if not doubtful or (search.prove(best).proven and _beaten(search, doubtful, best)) else next(certain, 0)
        )
        result[j] = best, share * best.value if share else min(r.lower for r in those)
    return result


def _beaten(search: RivalSearch, doubtful: list[Rival], best: Rival) -> bool:
    """Whether none of the other rivals can be nearer than the best."""
    return all(r is best or search.prove(r).proven or search.at_least(r.basis, best.value) for r in doubtful)


def _margins(search: RivalSearch) -> Floats:
    """Distance to where each column's own condition fails."""
    squared = np.full(len(search.shape.columns), np.inf)
    for i in search.basis:
        others = tuple(j for j in search.basis if j != i)
        squared[i] = search.faces[others][0] if others else np.inf
    if search.planes:
        for j, plane in search.planes.items():
            squared[j] = plane.value
    else:
        for rival in search.found(neighbours(search)):
            new = next(j for j in rival.basis if j not in search.basis)
            squared[new] = min(squared[new], rival.value)
    margin: Floats = np.sqrt(squared)
    return margin


def _alternative(instance: Instance, rival: Rival, scale: Floats, lower: float) -> Alternative:
    arms = len(instance.arms)
    means = instance.means.copy()
    if math.isfinite(rival.value):
        for j, move in zip(rival.columns, rival.moves, strict=True):
            if j < arms:
                means[j] += move * scale
    means.flags.writeable = False
    moved = tuple(int(a) for a in np.flatnonzero((means != instance.means).any(axis=1)))
    gap, proven = math.sqrt(rival.value), is_proven(rival.value, lower)
    return Alternative(gap, rival.basis, means, moved, proven, gap if proven else math.sqrt(lower))


def _plain(alternative: Alternative, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "gap": _finite(alternative.gap),
        "proven": alternative.proven,
        "basis": [names[j] for j in alternative.basis],
        "means": {names[a]: alternative.means[a].tolist() for a in alternative.moved},
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _shown(alternative: Alternative) -> str:
    return f"{alternative.gap:.4f} {'proven' if alternative.proven else 'best found'}"
