"""Sums of simulated trials, drawn inside compiled code from a NumPy Generator.

A model is a tuple of kind, factor, table, offset and extra: ``factor`` (K, d, d) maps standard normals,
or standard t draws, to a trial's noise, ``table`` (rows, d) holds observed trials with those of arm a in rows
offset[a]..offset[a + 1], and ``extra`` holds the other numbers. Where the sum of several trials has a
simple law it is one draw. INDEPENDENT is GAUSSIAN with diagonal factors, which are not multiplied out. In MIXED
noise ``extra`` (d,) has the deviation of each normal coordinate, -1 for those that are 0 or 1, and -2 for those of
which at most one is 1.

Gaussian noise has no table, not even an empty one: for a table that is None the compiler leaves out all that draws
other noise, which takes seconds to compile.
"""

import math

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.columns import ONE_COST, fixed_rows
from bestmix.kernels.jit import borrowing, compiled, inlined
from bestmix.kernels.lanes import any_lane, either

Model = tuple[int, Floats, Floats | None, Integers, Floats]

GAUSSIAN, INDEPENDENT, BERNOULLI, BERNOULLI_REWARD, BOUNDED, EMPIRICAL, STUDENT_T, MIXED = 0, 1, 2, 3, 4, 5, 6, 7
SUPPLY = 4096  # normals drawn at a time
SQUEEZE = 0.1986  # times x^4 / 9 d: below one less that much a draw is taken, and no logarithm is needed to see it
ONE_EVENT = 1.0  # scatter that a single event among values of 0 and 1 has, at most
ROUNDED = 1e-9  # of a trial: by which the scatter of values of 0 and 1 may differ from what their mean says
ALIKE = 1e-6  # of the least scatter, up to which trials count as all alike: within a thousandth of the range


@compiled
def supply(unknown: int, size: int) -> Floats:
    """An empty supply of normals for rounds of up to ``unknown`` arms; its last entry says how many are used up."""
    normals = np.empty(max(SUPPLY, unknown * size) + 1)
    normals[-1] = normals.shape[0] - 1
    return normals


@borrowing
def line_up(model: Model, means: Floats, center: Floats, spread: Floats, sums: Floats) -> None:
    """Entries of the unknown arms before the first trial: means, deviations of INDEPENDENT noise, sums."""
    kind, factor, d = model[0], model[1], fixed_rows(means.shape[1])
    for a in range(sums.shape[0] // d):
        for i in range(d):
            center[a * d + i], sums[a * d + i] = means[a, i], 0.0
            spread[a * d + i] = factor[a, i, i] if kind == INDEPENDENT else 0.0


@borrowing
def add_trials(
    rng: np.random.Generator,
    model: Model,
    arms: Integers,
    count: int,
    center: Floats,
    spread: Floats,
    sums: Floats,
    normals: Floats,
) -> int:
    """Add the sum of ``count`` trials of each of ``arms`` to ``sums``; returns the number of trials.

    The entries of arm arms[j] in ``center``, ``spread`` and ``sums`` are the j-th 1 + L: those of the
    arms still in the running lie side by side. ``normals`` is a supply that lasts for many calls.
    """
    kind, factor, table = model[0], model[1], model[2]
    d = fixed_rows(factor.shape[1])
    size = arms.shape[0] * d
    if kind <= INDEPENDENT:
        if normals[-1] + size >= normals.shape[0]:
            refill(rng, normals)
        at, root = int(normals[-1]), math.sqrt(count)
        if kind == INDEPENDENT:
            some = normals[at : at + size]
            for i in range(size):
                sums[i] += count * center[i] + root * spread[i] * some[i]
        else:
            for j in range(arms.shape[0]):
                k = j * d
                add_correlated(factor[arms[j]], center[k : k + d], count, normals[at + k : at + k + d], sums[k : k + d])
        normals[-1] = at + size
    else:
        add_by_kind(rng, model, table, arms, count, center, sums)
    return int(arms.shape[0] * count)


@compiled
def add_by_kind(
    rng: np.random.Generator,
    model: Model,
    table: Floats | None,
    arms: Integers,
    count: int,
    center: Floats,
    sums: Floats,
) -> None:
    """``add_trials`` where the noise is not Gaussian; nothing is compiled where it always is."""
    if table is None:
        return
    kind, factor, _, offset, extra = model
    d = factor.shape[1]
    for j in range(arms.shape[0]):
        k = j * d
        if kind == EMPIRICAL:
            add_empirical(rng, table, offset, arms[j], count, sums[k : k + d])
        elif kind == STUDENT_T:
            add_student(rng, extra[0], factor[arms[j]], count, sums[k : k + d])
            for i in range(k, k + d):
                sums[i] += count * center[i]
        else:
            add_other(rng, kind, extra, center[k : k + d], count, sums[k : k + d])


@borrowing
def refill(rng: np.random.Generator, normals: Floats) -> None:
    """Draw a fresh supply: a long loop of nothing but draws is the fastest way to have them."""
    for i in range(normals.shape[0] - 1):
        normals[i] = rng.standard_normal()
    normals[-1] = 0.0


@borrowing
def add_correlated(factor: Floats, center: Floats, count: int, normals: Floats, total: Floats) -> None:
    """A sum of normal vectors is one normal vector."""
    for i in range(total.shape[0]):
        noise = 0.0
        for k in range(total.shape[0]):
            noise += factor[i, k] * normals[k]
        total[i] += count * center[i] + math.sqrt(count) * noise


@compiled
def add_empirical(rng: np.random.Generator, table: Floats, offset: Integers, a: int, count: int, total: Floats) -> None:
    """Rows of the arm's table, with replacement."""
    rows = offset[a + 1] - offset[a]
    for _ in range(count):
        row = offset[a] + rng.integers(0, rows)
        for i in range(total.shape[0]):
            total[i] += table[row, i]


@compiled
def add_student(rng: np.random.Generator, degrees: float, factor: Floats, count: int, total: Floats) -> None:
    """Noise alone of trials with independent t coordinates, one by one: their sum has no simple law."""
    for _ in range(count):
        for i in range(total.shape[0]):
            total[i] += factor[i, i] * rng.standard_t(degrees)


@compiled
def add_other(rng: np.random.Generator, kind: int, extra: Floats, center: Floats, count: int, total: Floats) -> None:
    """Binomial sums for 0/1 coordinates, of exclusive ones out of what is left; Beta trials one by one."""
    left, rest = count, 1.0
    for i in range(total.shape[0]):
        if kind == MIXED and extra[i] < -1.0:
            some = rng.binomial(left, min(max(center[i] / rest, 0.0), 1.0) if rest > 0.0 else 0.0)
            total[i] += some
            left, rest = left - some, rest - center[i]
        elif kind == BERNOULLI or (kind == BERNOULLI_REWARD and i == 0) or (kind == MIXED and extra[i] < 0.0):
            total[i] += rng.binomial(count, center[i])
        elif kind == MIXED:
            total[i] += count * center[i] + math.sqrt(count) * extra[i] * rng.standard_normal()
        elif kind == BERNOULLI_REWARD:
            total[i] += count * center[i] + math.sqrt(count) * extra[0] * rng.standard_normal()
        else:
            low, width, concentration = extra[0], extra[1] - extra[0], extra[2]
            share = (center[i] - low) / width
            for _ in range(count):
                inner = share
                if 0.0 < share < 1.0:
                    inner = rng.beta(concentration * share, concentration * (1.0 - share))
                total[i] += low + width * inner


@compiled
def origin(model: Model, means: Floats, unknown: int) -> Floats:
    """Where the sums of ``add_moments`` count from (unknown, 1 + L).

    Gaussian and t coordinates count from their means, which keeps all digits of the scatter; the others
    from zero, which keeps sums of whole numbers exact.
    """
    centered = model[0] <= INDEPENDENT or model[0] == STUDENT_T
    result = np.zeros((unknown, means.shape[1]))
    for a in range(unknown):
        for i in range(means.shape[1]):
            if centered or (model[0] == BERNOULLI_REWARD and i > 0) or (model[0] == MIXED and model[4][i] >= 0.0):
                result[a, i] = means[a, i]
    return result


@borrowing
def add_owed(
    rng: np.random.Generator,
    model: Model,
    means: Floats,
    owed: Integers,
    sums: Floats,
    squares: Floats,
    space: Floats,
) -> int:
    """Add the trials that are owed of each arm (K,), as ``add_moments`` does for one; returns how many they are."""
    made = 0
    for a in range(owed.shape[0]):
        if owed[a] > 0:
            add_arm(rng, model, means, a, owed[a], sums, squares, space)
            made += owed[a]
    return int(made)


@inlined
def add_arm(
    rng: np.random.Generator,
    model: Model,
    means: Floats,
    a: int,
    count: int,
    sums: Floats,
    squares: Floats,
    space: Floats,
) -> None:
    """``add_owed`` for one arm: with Gaussian noise without a slice of an array, which takes longer than the draws."""
    kind, factor, table = model[0], model[1], model[2]
    if kind > INDEPENDENT:
        add_arm_by_kind(rng, model, table, means, a, count, sums, squares, space)
    elif ONE_COST and sums.shape[1] == 2 and kind == INDEPENDENT:
        add_pairs(rng, factor[a, 0, 0], factor[a, 1, 1], count, sums, squares, a)
    else:
        add_wishart(rng, kind, factor, a, count, sums, squares, a, space)


@compiled
def add_arm_by_kind(
    rng: np.random.Generator,
    model: Model,
    table: Floats | None,
    means: Floats,
    a: int,
    count: int,
    sums: Floats,
    squares: Floats,
    space: Floats,
) -> None:
    """``add_arm`` where the noise is not Gaussian; nothing is compiled where it always is."""
    if table is not None:
        add_moments(rng, model, means[a], a, count, sums, squares, a, space)


@inlined
def chi_square(rng: np.random.Generator, freedom: int) -> float:
    """The draw of ``rng.chisquare``, by Marsaglia and Tsang's method, in half of the time that Numba's takes."""
    if freedom <= 2:  # by other methods
        return float(rng.chisquare(freedom))
    d = 0.5 * freedom - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = rng.standard_normal()
        v = 1.0 + c * x
        if v > 0.0:
            v, u = v * v * v, rng.random()
            if u < 1.0 - SQUEEZE * (c * c) * (x * x) * (x * x) or np.log(u) < 0.5 * x * x + d * (1.0 - v + np.log(v)):
                return 2.0 * d * v


@inlined
def add_pairs(
    rng: np.random.Generator, first: float, second: float, count: int, sums: Floats, squares: Floats, a: int
) -> None:
    """``add_wishart`` for independent rewards and costs with these deviations: the same draws, without loops."""
    own, across, rest, root = 0.0, 0.0, 0.0, math.sqrt(count)
    reward = rng.standard_normal() * first
    if count > 1:
        own = math.sqrt(chi_square(rng, count - 1)) * first
    cost = rng.standard_normal() * second
    if count > 1:
        across = rng.standard_normal() * second
    if count > 2:
        rest = chi_square(rng, count - 2) * (second * second)
    sums[a, 0] += root * reward
    sums[a, 1] += root * cost
    squares[a, 0, 0] += reward * reward + own * own
    squares[a, 1, 0] += cost * reward + across * own
    squares[a, 0, 1] = squares[a, 1, 0]
    squares[a, 1, 1] += cost * cost + across * across + rest


@borrowing
def summarise(
    start: Floats,
    owed: Integers | Floats,
    counts: Integers | Floats,
    sums: Floats,
    squares: Floats,
    mean: Floats,
    scatter: Floats,
) -> None:
    """Means and scatter of the arms' trials from their sums, for those of which trials were owed."""
    d = fixed_rows(sums.shape[1])
    for a in range(owed.shape[0]):
        if any_lane(owed[a] > 0):
            for i in range(d):
                middle = sums[a, i] / counts[a]
                mean[a, i] = start[a, i] + middle
                for k in range(i + 1):
                    scatter[a, i, k] = squares[a, i, k] - middle * sums[a, k]
                    scatter[a, k, i] = scatter[a, i, k]


@borrowing
def raise_scatter(least: Floats | None, scatter: Floats) -> None:
    """Give trials that were all alike the scatter ``least`` (M,): each arm of ``scatter`` (arms, M, M) for itself.

    Without such numbers nothing of it is compiled.
    """
    if least is None:
        return
    for a in range(scatter.shape[0]):
        for i in range(least.shape[0]):
            scatter[a, i, i] = either(scatter[a, i, i] <= ALIKE * least[i], least[i], scatter[a, i, i])


@borrowing
def raise_events(counts: Integers, means: Floats, bound: Floats, scatter: Floats) -> None:
    """Give values of 0 and 1 that were all alike the scatter of an event: the next trial may bring one.

    Of the entries of a trial (1 + L,), those count whose scatter is that of values of 0 and 1, or 0 and -1, in all
    arms. A cost that is exactly at its bound keeps its scatter: it may be a price.
    """
    for i in range(scatter.shape[1]):
        events = True
        for a in range(scatter.shape[0]):
            if counts[a] == 0:
                continue
            share = counts[a] * abs(means[a, i]) * (1.0 - abs(means[a, i]))
            raised = scatter[a, i, i] == ONE_EVENT and abs(share) <= ROUNDED * counts[a]
            events = events and (raised or abs(scatter[a, i, i] - share) <= ROUNDED * counts[a])
        for a in range(scatter.shape[0]):
            price = i > 0 and bound[i - 1] != 0.0 and abs(means[a, i] - bound[i - 1]) <= ROUNDED
            if events and not price and counts[a] > 0 and scatter[a, i, i] <= ROUNDED * counts[a]:
                scatter[a, i, i] = ONE_EVENT


@compiled
def add_moments(
    rng: np.random.Generator,
    model: Model,
    center: Floats,
    a: int,
    count: int,
    sums: Floats,
    squares: Floats,
    row: int,
    space: Floats,
) -> None:
    """Add ``count`` trials of arm ``a``, whose means are ``center`` (d,), as deviations from ``origin``.

    A row of ``sums`` (d,) receives the sum of the deviations, and one of ``squares`` (d, d) that of their outer
    products. ``space`` is (4, d, d).
    """
    kind, factor, extra, d = model[0], model[1], model[4], center.shape[0]
    if kind <= INDEPENDENT:
        add_wishart(rng, kind, factor, a, count, sums, squares, row, space)
    elif kind == BERNOULLI_REWARD:
        # The trials with reward 1 and those with reward 0 are two groups with Gaussian costs.
        wins = rng.binomial(count, center[0])
        group, at = space[2], space[1, 0]
        group[:] = 0.0
        for i in range(1, d):
            group[i, i] = extra[0]
        for size, reward in ((wins, 1.0), (count - wins, 0.0)):
            if size > 0:
                at[:] = 0.0
                add_wishart(rng, INDEPENDENT, space, 2, size, space[1], squares[row : row + 1], 0, space)
                for i in range(1, d):
                    sums[row, i] += at[i]
                    squares[row, 0, i] += reward * at[i]
                    squares[row, i, 0] += reward * at[i]
                sums[row, 0] += size * reward
                squares[row, 0, 0] += size * reward
    else:
        trial = space[0, 0]
        for _ in range(count):
            draw_trial(rng, model, center, a, trial)
            for i in range(d):
                sums[row, i] += trial[i]
                for k in range(i + 1):
                    squares[row, i, k] += trial[i] * trial[k]
        for i in range(d):
            for k in range(i):
                squares[row, k, i] = squares[row, i, k]


@inlined
def add_wishart(
    rng: np.random.Generator,
    kind: int,
    factor: Floats,
    a: int,
    count: int,
    sums: Floats,
    squares: Floats,
    row: int,
    space: Floats,
) -> None:
    """Gaussian trials: their mean is one normal draw, their scatter an independent Wishart draw (Bartlett).

    ``factor`` is that of all arms, ``sums`` and ``squares`` have a row for each; the first and the last matrix of
    ``space`` are overwritten.
    """
    d, root = fixed_rows(sums.shape[1]), math.sqrt(count)
    for i in range(d):
        space[3, 0, i] = rng.standard_normal()
        for k in range(d):
            space[0, i, k] = 0.0
            if k < i and k < count - 1:
                space[0, i, k] = rng.standard_normal()
            elif k == i and k < count - 1:
                space[0, i, k] = math.sqrt(chi_square(rng, count - 1 - k))
    if kind == INDEPENDENT:
        for i in range(d):
            space[3, 0, i] *= factor[a, i, i]
            for k in range(i + 1):
                space[0, i, k] *= factor[a, i, i]
    else:
        correlate(factor[a], space[3, 0], space[0])
    for i in range(d):
        sums[row, i] += root * space[3, 0, i]
        for k in range(i + 1):
            total = space[3, 0, i] * space[3, 0, k]
            for j in range(d if kind == GAUSSIAN else k + 1):
                total += space[0, i, j] * space[0, k, j]
            squares[row, i, k] += total
            if k < i:
                squares[row, k, i] = squares[row, i, k]


@compiled
def correlate(factor: Floats, mean: Floats, bartlett: Floats) -> None:
    """Multiply a vector and a lower triangular matrix by ``factor``, in place."""
    d = mean.shape[0]
    column = np.empty(d)
    for k in range(d + 1):
        for i in range(d):
            column[i] = 0.0
            for j in range(d):
                column[i] += factor[i, j] * (bartlett[j, k] if k < d else mean[j])
        for i in range(d):
            if k < d:
                bartlett[i, k] = column[i]
            else:
                mean[i] = column[i]


@compiled
def draw_row(rng: np.random.Generator, table: Floats | None, offset: Integers, a: int, trial: Floats) -> None:
    """One row of the arm's table."""
    if table is not None:
        row = offset[a] + rng.integers(0, offset[a + 1] - offset[a])
        for i in range(trial.shape[0]):
            trial[i] = table[row, i]


@compiled
def draw_trial(rng: np.random.Generator, model: Model, center: Floats, a: int, trial: Floats) -> None:
    """One trial of an arm whose noise is not Gaussian, as a deviation from its ``origin``."""
    kind, factor, table, offset, extra = model
    if kind == EMPIRICAL:
        draw_row(rng, table, offset, a, trial)
    elif kind == BERNOULLI:
        for i in range(center.shape[0]):
            trial[i] = 1.0 if rng.random() < center[i] else 0.0
    elif kind == MIXED:
        drawn, end = -1.0, 0.0
        for i in range(center.shape[0]):
            if extra[i] < -1.0:
                drawn = rng.random() if drawn < 0.0 else drawn
                trial[i] = 1.0 if end <= drawn < end + center[i] else 0.0
                end += center[i]
            elif extra[i] < 0.0:
                trial[i] = 1.0 if rng.random() < center[i] else 0.0
            else:
                trial[i] = extra[i] * rng.standard_normal()
    else:
        trial[:] = 0.0
        if kind == STUDENT_T:
            add_student(rng, extra[0], factor[a], 1, trial)
        else:
            add_other(rng, kind, extra, center, 1, trial)
