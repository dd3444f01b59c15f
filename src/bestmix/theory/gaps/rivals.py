"""The gap of every rival basis: closed forms first, a search from several starts for the rest, proofs where there are.

A rival is proven when its gap meets a lower bound: that of a hyperplane (``planes``), of the support's own
infeasibility, or of thresholds that part the two values (``kernels/balance.holds``).
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import balance, jit, overtaking
from bestmix.theory.gaps.geometry import Geometry, nearest_balance
from bestmix.theory.gaps.hyperplanes import Plane, basis_weights, collapse, entering_plane
from bestmix.theory.gaps.regularity import can_be_basis, can_rest_on
from bestmix.theory.gaps.shared_arms import polish

PROOF = 1e-4  # a proven squared gap is right up to this share
SPLITS = 1500  # of intervals of thresholds, in a proof
FEW_SPLITS = 100  # where the bound is loose, so that more would not help
CHUNK = 512
STEPS = 500  # of an innermost loop for each entry of the cube of a search's variables: its descents, and a proof


@dataclass(frozen=True, eq=False)
class Rival:
    """A basis, its squared gap, the moved columns with their moves, and a lower bound of the squared gap."""

    basis: tuple[int, ...]
    value: float
    columns: tuple[int, ...]
    moves: Floats
    lower: float

    @property
    def proven(self) -> bool:
        """Whether the value is as small as can be."""
        return is_proven(self.value, self.lower)


def is_proven(value: float, lower: float) -> bool:
    """Whether a squared gap meets its lower bound, up to PROOF."""
    return value <= lower * (1 + 2 * PROOF)


class RivalSearch:
    """Gaps of rivals of one geometry, with what they share computed once."""

    def __init__(self, shape: Geometry) -> None:
        self.shape = shape
        self.basis = tuple(int(j) for j in shape.basis)
        self.others = [j for j in range(len(shape.columns)) if j not in self.basis]

    @cached_property
    def _speed(self) -> jit.Speed:
        """A few bases are over in plain Python before a compiler would be."""
        size = len(self.basis)
        return jit.speed_for_runs(math.comb(len(self.shape.columns), size) * STEPS * (2 * size + 1) ** 3)

    @cached_property
    def faces(self) -> dict[tuple[int, ...], tuple[float, Floats, bool]]:
        """For each set of fewer columns of the basis: how far it is from balancing alone."""
        sizes = range(1, len(self.basis))
        sets = itertools.chain.from_iterable(itertools.combinations(self.basis, k) for k in sizes)
        return {face: nearest_balance(self.shape, np.array(face)) for face in sets}

    @cached_property
    def infeasible(self) -> Rival:
        """The nearest instance in which the optimal basis stops being feasible (eq. Delta0)."""
        whole = [face for face in self.faces if len(face) == len(self.basis) - 1]
        if not whole:
            return self._never(self.basis)
        face = min(whole, key=lambda f: self.faces[f][0])
        value, moves, _ = self.faces[face]
        sure = all(proven for f, (_, _, proven) in self.faces.items() if len(f) == len(self.basis) - 1)
        return Rival(self.basis, value, face, moves, value if sure else 0.0)

    @cached_property
    def planes(self) -> dict[int, Plane]:
        """For each other column: the hyperplane on which it ties with the basis; empty where arms' noise differs."""
        if self.shape.white is None:
            return {}
        return {j: entering_plane(self.shape, j) for j in self.others}

    @cached_property
    def collapsed(self) -> float:
        """How far the basis is from being no basis."""
        return collapse(self.shape)

    def floor(self, basis: tuple[int, ...]) -> float:
        """A lower bound of the squared gap.

        In an alternative the rival's lead is the sum of its weights times reduced costs. So some new column ties
        with the optimal basis, or the rival makes do with the columns that both share. Reduced costs change their
        sign nowhere else, unless the columns of the optimal basis become dependent on the way.
        """
        if not can_be_basis(self.shape, basis):
            return np.inf
        if not self.planes:
            return 0.0
        flat = self.degenerate(basis)
        ties = (self.planes[j].value for j in basis if j in self.planes)
        return min(flat.lower, self.collapsed, *ties)

    def exact(self, basis: tuple[int, ...]) -> Rival | None:
        """The gap in closed form, where a hyperplane or the shared columns alone give it."""
        new = [j for j in basis if j not in self.basis]
        if not can_be_basis(self.shape, basis):
            return self._never(basis)
        if len(new) != 1 or not self.planes:
            return None
        plane, flat, floor = self.planes[new[0]], self.degenerate(basis), self.floor(basis)
        gone = next(j for j in self.basis if j not in basis)
        if flat.value <= plane.value:
            return Rival(basis, flat.value, flat.columns, flat.moves, min(flat.value, floor))
        if gone not in plane.leaving:
            return None
        return Rival(basis, plane.value, (*self.basis, new[0]), plane.moves, min(plane.value, floor))

    def degenerate(self, basis: tuple[int, ...]) -> Rival:
        """The gap by way of a mix that needs only columns which the two bases share."""
        common = tuple(j for j in self.basis if j in basis)
        if common not in self.faces or not can_rest_on(self.shape, basis, common):
            return self._never(basis)
        value, moves, proven = self.faces[common]
        return Rival(basis, value, common, moves, value if proven else 0.0)

    def _never(self, basis: tuple[int, ...]) -> Rival:
        """A rival that no move makes one."""
        return Rival(basis, np.inf, (), np.empty((0, 1 + self.shape.costs)), np.inf)

    def found(self, bases: Sequence[tuple[int, ...]]) -> list[Rival]:
        """Gaps by search, not proven."""
        if not bases:
            return []
        shape, rivals = self.shape, np.array(bases, dtype=np.int64)
        shares, held = np.zeros(rivals.shape), np.zeros((len(rivals), 2), dtype=np.bool_)
        held[:, 0], held[:, 1] = self._stuck(shape.basis), [self._stuck(rival) for rival in rivals]
        for r in np.flatnonzero(held[:, 1]):
            weight = basis_weights(shape.columns[rivals[r]], shape.total[rivals[r]])
            shares[r] = -1.0 if weight is None else weight
        value = np.full(len(rivals), np.inf)
        moved = np.zeros((len(rivals), 2 * rivals.shape[1], rivals.shape[1]))
        able = np.flatnonzero((shares >= 0).all(axis=1) & ~held.all(axis=1))
        columns = shape.columns, shape.total, shape.covariance, shape.movable
        some = value[able], moved[able]
        search = self._speed(overtaking.search)
        search(*columns, shape.basis, shape.share, rivals[able], shares[able], held[able], *some)
        value[able], moved[able] = some
        return [self._rival(basis, float(value[r]), moved[r]) for r, basis in enumerate(bases)]

    def _stuck(self, basis: Integers) -> bool:
        """Whether no arm of the basis can be moved."""
        return bool((basis >= self.shape.movable).all())

    def _rival(self, basis: tuple[int, ...], value: float, moved: Floats) -> Rival:
        floor, flat = self.floor(basis), self.degenerate(basis)
        if self._borrows(basis):
            begin = np.zeros_like(self.shape.columns)
            begin[list(basis)], begin[list(self.basis)] = moved[len(basis) :], moved[: len(basis)]
            value, moves = polish(self.shape, basis, begin)
            moved = np.vstack([moves[list(self.basis)], moves[list(basis)]])
        if flat.value <= value:
            return Rival(basis, flat.value, flat.columns, flat.moves, floor)
        if math.isinf(value):  # neither basis can move, or the rival cannot become feasible
            return Rival(basis, np.inf, (), moved[:0], floor if self._borrows(basis) else np.inf)
        new = [i for i, j in enumerate(basis) if j not in self.basis]
        size = len(self.basis)
        columns = (*self.basis, *(basis[i] for i in new))
        return Rival(basis, value, columns, np.vstack([moved[:size], moved[size:][new]]), floor)

    def _borrows(self, basis: tuple[int, ...]) -> bool:
        """Whether what a rival can move is all shared, although it has a known arm (see ``polish``)."""
        movable = [j for j in basis if j < self.shape.movable]
        fixed = [j for j in (*basis, *self.basis) if j >= self.shape.movable and self.shape.total[j] > 0]
        return bool(movable and fixed) and all(j in self.basis for j in movable)

    def at_least(self, basis: tuple[int, ...], value: float) -> bool:
        """Whether it is proven that the squared gap is not below the value, up to PROOF."""
        return value <= self.floor(basis) or self._parted(self.basis, basis, value)

    def _parted(self, best: Sequence[int], basis: Sequence[int], value: float) -> bool:
        shape = self.shape
        if shape.white is None or not math.isfinite(value):
            return False
        z, up = self._white, np.ascontiguousarray(shape.white[:, 0])
        sides = np.array(best, dtype=np.int64), np.array(basis, dtype=np.int64)
        loose = any(j in best and j < shape.movable for j in basis)
        splits, holds = FEW_SPLITS if loose else SPLITS, self._speed(balance.holds)
        return bool(holds(*sides, z, shape.total, shape.movable, up, 0.0, value * (1 - PROOF), splits))

    @cached_property
    def _white(self) -> Floats:
        return self.shape.whitened

    def prove(self, rival: Rival) -> Rival:
        """The rival with the best lower bound that can be had."""
        if rival.proven:
            return rival
        shared = [j for j in rival.basis if j in self.basis and j < self.shape.movable]
        if not shared:
            sure = self.at_least(rival.basis, rival.value)
        elif self.shape.costs == 1 and self.planes:
            sure = self._prove_pair(rival, shared[0])
        else:
            sure = False
        return Rival(rival.basis, rival.value, rival.columns, rival.moves, rival.value) if sure else rival

    def _prove_pair(self, rival: Rival, common: int) -> bool:
        """One cost, one shared arm: unless all three columns are collinear, some basis puts all weight on one.

        That one is not the shared arm, or the two bases have the same mix (the degenerate case).
        """
        ours = [j for j in self.basis if j != common]
        theirs = [j for j in rival.basis if j != common]
        alone = self.faces[(common,)]
        parted = self._parted(ours, rival.basis, rival.value) and self._parted(self.basis, theirs, rival.value)
        return parted and alone[2] and rival.value <= alone[0] * (1 + PROOF)


def all_rivals(search: RivalSearch) -> Iterator[list[tuple[int, ...]]]:
    """Every other basis, in chunks."""
    size, total = len(search.basis), len(search.shape.columns)
    every = (basis for basis in itertools.combinations(range(total), size) if basis != search.basis)
    while chunk := list(itertools.islice(every, CHUNK)):
        yield chunk


def neighbours(search: RivalSearch) -> list[tuple[int, ...]]:
    """Bases that differ from the optimal one in one column."""
    swaps = itertools.product(range(len(search.basis)), search.others)
    return [tuple(sorted((*search.basis[:i], *search.basis[i + 1 :], j))) for i, j in swaps]
