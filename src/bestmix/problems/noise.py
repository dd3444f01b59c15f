"""Noise models: how a trial scatters around its arm's true means.

A model is stated once, for all arms, and knows nothing of the means: they come from the Instance.
``draw`` gives single trials, ``covariance`` the true second moments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from bestmix import checks
from bestmix.arrays import Flags, Floats, Integers

ADD_UP = 1e-9  # by which probabilities may exceed a total of 1
# The model that kernels/sampling.py takes: kind, factor, table, offset, extra.
Model = tuple[int, Floats, Floats | None, Integers, Floats]


class Noise(Protocol):
    """What an Instance needs of a noise model.

    A model that is also a ``CompiledNoise`` is simulated by the kernels; any other is simulated trial
    by trial with ``draw``.
    """

    kind: ClassVar[str]

    def check(self, means: Floats) -> None:
        """Raise ValueError when the model cannot have these means (K, 1 + L)."""

    def draw(self, rng: np.random.Generator, means: Floats, arm: int, size: int) -> Floats:
        """``size`` trials of an arm: (size, 1 + L), reward first."""

    def covariance(self, means: Floats) -> Floats:
        """Covariance of one trial of each arm: (K, 1 + L, 1 + L)."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file, with the model's ``kind``."""


@runtime_checkable
class SubGaussian(Protocol):
    """Noise whose sums have tails no heavier than normal ones, which is what proven bounds need."""

    def proxy(self, means: Floats) -> Floats:
        """For each arm a matrix S with E exp(v.noise) <= exp(v'S v / 2) for every v (K, 1 + L, 1 + L)."""


@runtime_checkable
class CompiledNoise(Protocol):
    """A noise model that the kernels can draw from."""

    def compiled(self, means: Floats) -> Model:
        """The model as ``kernels/sampling.py`` takes it, for arms with these means."""


@dataclass(frozen=True, init=False, eq=False)
class Gaussian:
    """Normal noise with scalar, per-arm or fully correlated deviations.

    Parameters
    ----------
    sigma_reward
        Standard deviation of the reward: a number, or one for each arm (K,).
    sigma_cost
        Of the costs: a number, one for each cost (L,) or for each cost and arm (L, K).
    covariance
        Instead of both: (1 + L, 1 + L) for every arm alike or (K, 1 + L, 1 + L), reward first.
    """

    kind: ClassVar[str] = "gaussian"
    sigma_reward: Floats | None
    sigma_cost: Floats | None
    matrix: Floats | None

    def __init__(self, sigma_reward: Any = 1.0, sigma_cost: Any = 0.5, covariance: Any = None) -> None:
        reward = cost = matrix = None
        if covariance is None:
            reward = _deviation("sigma_reward", sigma_reward, 1)
            cost = _deviation("sigma_cost", sigma_cost, 2)
        else:
            matrix = np.array(_numbers("covariance", covariance))
            if matrix.ndim not in (2, 3) or matrix.shape[-1] != matrix.shape[-2]:
                raise checks.InvalidInput(
                    "covariance",
                    expected="shape (1 + L, 1 + L) or (K, 1 + L, 1 + L)",
                    got=matrix.shape,
                    remedy="reshape it",
                )
            checks.array("covariance", matrix, matrix.shape, "one matrix, or one for each arm")
            low = np.linalg.eigvalsh(matrix).min()
            if not np.allclose(matrix, np.swapaxes(matrix, -1, -2)) or low < -1e-12 * max(np.abs(matrix).max(), 1e-300):
                raise checks.InvalidInput(
                    "covariance",
                    expected="symmetric matrices without negative eigenvalues",
                    got=f"one with {low:g}",
                    remedy="check its entries",
                )
        object.__setattr__(self, "sigma_reward", reward)
        object.__setattr__(self, "sigma_cost", cost)
        object.__setattr__(self, "matrix", matrix)

    def check(self, means: Floats) -> None:
        """Refuse deviations whose shape does not fit."""
        self.covariance(means)

    def covariance(self, means: Floats) -> Floats:
        """Covariance of one trial of each arm."""
        arms, size = means.shape
        if self.matrix is not None:
            if self.matrix.shape not in ((size, size), (arms, size, size)):
                raise checks.InvalidInput(
                    "covariance",
                    expected=f"shape {(size, size)} or {(arms, size, size)}",
                    got=self.matrix.shape,
                    remedy="give one row and column for the reward and for each cost",
                )
            return np.broadcast_to(self.matrix, (arms, size, size)).copy()
        assert self.sigma_reward is not None
        assert self.sigma_cost is not None
        return _independent(self.sigma_reward, self.sigma_cost, arms, size)

    def proxy(self, means: Floats) -> Floats:
        """The covariance itself."""
        return self.covariance(means)

    def draw(self, rng: np.random.Generator, means: Floats, arm: int, size: int) -> Floats:
        """Trials of one arm."""
        covariance = self.covariance(means)[arm]
        factor = np.sqrt(covariance) if self.matrix is None else root(covariance)
        result: Floats = means[arm] + rng.standard_normal((size, means.shape[1])) @ factor.T
        return result

    def compiled(self, means: Floats) -> Model:
        """For the kernels."""
        covariance = self.covariance(means)
        if self.matrix is None:
            return _model("INDEPENDENT", means, factor=np.sqrt(covariance))
        return _model("GAUSSIAN", means, factor=np.array([root(c) for c in covariance]))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        if self.matrix is not None:
            return {"kind": self.kind, "covariance": self.matrix.tolist()}
        assert self.sigma_reward is not None
        assert self.sigma_cost is not None
        return {
            "kind": self.kind,
            "sigma_reward": self.sigma_reward.tolist(),
            "sigma_cost": self.sigma_cost.tolist(),
        }


@dataclass(frozen=True, init=False, eq=False)
class StudentT:
    """Heavy tails: Student's t for every reward and cost, independently.

    Parameters
    ----------
    degrees
        Degrees of freedom, above 2 so that there is a variance; the fewer, the heavier the tails. With 4 or
        fewer the fourth moment is infinite, so that estimated variances settle slowly.
    sigma_reward, sigma_cost
        Standard deviations of a trial, in the shapes of ``Gaussian``: noise is scaled to have exactly these.

    Examples
    --------
    >>> model = StudentT(degrees=4, sigma_reward=1.0, sigma_cost=0.5)
    >>> model.covariance(np.zeros((1, 2)))[0]
    array([[1.  , 0.  ],
           [0.  , 0.25]])
    """

    kind: ClassVar[str] = "student_t"
    degrees: float
    sigma_reward: Floats
    sigma_cost: Floats

    def __init__(self, degrees: float = 4.0, sigma_reward: Any = 1.0, sigma_cost: Any = 0.5) -> None:
        if checks.number("degrees", degrees) <= 2:
            raise checks.InvalidInput(
                "degrees", expected="a number above 2", got=f"{degrees:g}", remedy="only then is there a variance"
            )
        object.__setattr__(self, "degrees", float(degrees))
        object.__setattr__(self, "sigma_reward", _deviation("sigma_reward", sigma_reward, 1))
        object.__setattr__(self, "sigma_cost", _deviation("sigma_cost", sigma_cost, 2))

    def check(self, means: Floats) -> None:
        """Refuse deviations whose shape does not fit."""
        self.covariance(means)

    def covariance(self, means: Floats) -> Floats:
        """Covariance of one trial of each arm."""
        return _independent(self.sigma_reward, self.sigma_cost, *means.shape)

    def _factor(self, means: Floats) -> Floats:
        """What standard t draws, whose variance is degrees / (degrees - 2), are multiplied with."""
        factor: Floats = np.sqrt(self.covariance(means) * ((self.degrees - 2) / self.degrees))
        return factor

    def draw(self, rng: np.random.Generator, means: Floats, arm: int, size: int) -> Floats:
        """Trials of one arm."""
        noise = rng.standard_t(self.degrees, (size, means.shape[1]))
        result: Floats = means[arm] + noise @ self._factor(means)[arm]
        return result

    def compiled(self, means: Floats) -> Model:
        """For the kernels."""
        return _model("STUDENT_T", means, factor=self._factor(means), extra=[self.degrees])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {
            "kind": self.kind,
            "degrees": self.degrees,
            "sigma_reward": self.sigma_reward.tolist(),
            "sigma_cost": self.sigma_cost.tolist(),
        }


@dataclass(frozen=True)
class Bernoulli:
    """Rewards and costs are 0 or 1, independently; the means are their probabilities.

    With ``sigma_cost`` only the reward is 0 or 1, and the costs are Gaussian.
    """

    kind: ClassVar[str] = "bernoulli"
    sigma_cost: float | None = None

    def __post_init__(self) -> None:
        if self.sigma_cost is not None:
            _deviation("sigma_cost", self.sigma_cost, 0)

    def check(self, means: Floats) -> None:
        """Refuse means that are not probabilities."""
        binary = means if self.sigma_cost is None else means[:, :1]
        if binary.min() < 0 or binary.max() > 1:
            raise checks.InvalidInput(
                "Bernoulli noise",
                expected="means from 0 to 1",
                got=f"{binary.min():g} to {binary.max():g}",
                remedy="rescale them or choose Gaussian noise",
            )

    def covariance(self, means: Floats) -> Floats:
        """Covariance of one trial of each arm."""
        variance = means * (1 - means)
        if self.sigma_cost is not None:
            variance[:, 1:] = self.sigma_cost**2
        return _diagonal(variance)

    def proxy(self, means: Floats) -> Floats:
        """Half the range, squared (Hoeffding's lemma); of Gaussian costs their variance."""
        scale = np.full(means.shape, 0.5)
        if self.sigma_cost is not None:
            scale[:, 1:] = self.sigma_cost
        return _diagonal(np.square(scale))

    def draw(self, rng: np.random.Generator, means: Floats, arm: int, size: int) -> Floats:
        """Trials of one arm."""
        shape = (size, means.shape[1])
        if self.sigma_cost is None:
            return np.less(rng.random(shape), means[arm]).astype(np.float64)  # type: ignore[no-any-return]
        result: Floats = means[arm] + self.sigma_cost * rng.standard_normal(shape)
        result[:, 0] = rng.random(size) < means[arm, 0]
        return result

    def compiled(self, means: Floats) -> Model:
        """For the kernels."""
        if self.sigma_cost is None:
            return _model("BERNOULLI", means)
        return _model("BERNOULLI_REWARD", means, extra=[self.sigma_cost])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        extra = {} if self.sigma_cost is None else {"sigma_cost": self.sigma_cost}
        return {"kind": self.kind, **extra}


@dataclass(frozen=True, init=False, eq=False)
class Mixed:
    """Some metrics are 0 or 1, whose means are their probabilities, and the others normal; independent of each other.

    Parameters
    ----------
    sigma
        Standard deviation of each metric of a trial (1 + L,), whatever the arm; that of a 0/1 metric is not used.
    binary
        Which metrics are 0 or 1 (1 + L,).
    exclusive
        Which of these are not independent, but at most one of them is 1, as the states that may come next are; none by
        default.

    Examples
    --------
    >>> Mixed(sigma=[0.0, 0.5], binary=[True, False]).covariance(np.array([[0.9, 2.0]]))[0]
    array([[0.09, 0.  ],
           [0.  , 0.25]])
    """

    kind: ClassVar[str] = "mixed"
    sigma: Floats
    binary: Flags
    exclusive: Flags

    def __init__(self, sigma: Any, binary: Any, exclusive: Any = None) -> None:
        deviation = np.atleast_1d(_deviation("sigma", sigma, 1))
        given = {"binary": binary, "exclusive": np.zeros(len(deviation), np.bool_) if exclusive is None else exclusive}
        for name, value in given.items():
            flags = np.atleast_1d(np.asarray(value))
            if flags.dtype != np.bool_ or flags.shape != deviation.shape:
                expected = f"true or false for each of {len(deviation)} metrics"
                raise checks.InvalidInput(name, expected=expected, got=checks.shown(value))
            object.__setattr__(self, name, flags)
        if (self.exclusive & ~self.binary).any():
            raise checks.InvalidInput("exclusive", expected="some of the binary metrics", got=checks.shown(exclusive))
        object.__setattr__(self, "sigma", deviation)

    def check(self, means: Floats) -> None:
        """Refuse means that are not probabilities where trials are 0 or 1."""
        if means.shape[1] != len(self.sigma):
            raise checks.InvalidInput("Mixed noise", expected=f"{len(self.sigma)} metrics", got=means.shape[1])
        events = means[:, self.binary]
        if events.size and not 0 <= events.min() <= events.max() <= 1:
            raise checks.InvalidInput(
                "Mixed noise",
                expected="means from 0 to 1 of what is 0 or 1 in a trial",
                got=f"{events.min():g} to {events.max():g}",
                remedy="rescale them, or make these metrics normal",
            )
        if means[:, self.exclusive].sum(axis=1).max(initial=0.0) > 1.0 + ADD_UP:
            most = means[:, self.exclusive].sum(axis=1).max()
            raise checks.InvalidInput(
                "Mixed noise", expected="exclusive metrics whose means add up to 1 at most", got=f"{most:g}"
            )

    def covariance(self, means: Floats) -> Floats:
        """Covariance of one trial of each arm."""
        result = _diagonal(np.where(self.binary, means * (1 - means), np.square(self.sigma)))
        pairs = self.exclusive[:, None] & self.exclusive & ~np.eye(len(self.sigma), dtype=np.bool_)
        return np.where(pairs, -means[:, :, None] * means[:, None, :], result)

    def proxy(self, means: Floats) -> Floats:
        """Half the range of what is 0 or 1, squared (Hoeffding's lemma); of the others their variance.

        Of exclusive metrics v.noise stays within an interval from the least of v and 0 to the largest, whose length
        squared is at most 2 v.v.
        """
        scale = np.where(self.exclusive, 0.5, np.where(self.binary, 0.25, np.square(self.sigma)))
        return _diagonal(np.broadcast_to(scale, means.shape))

    def draw(self, rng: np.random.Generator, means: Floats, arm: int, size: int) -> Floats:
        """Trials of one arm."""
        shape = (size, means.shape[1])
        normal = means[arm] + self.sigma * rng.standard_normal(shape)
        result = np.where(self.binary, rng.random(shape) < means[arm], normal)
        if self.exclusive.any():
            ends = np.cumsum(means[arm, self.exclusive])
            chosen = np.searchsorted(ends, rng.random(size), side="right")
            result[:, self.exclusive] = chosen[:, None] == np.arange(len(ends))
        return np.asarray(result, dtype=np.float64)

    def compiled(self, means: Floats) -> Model:
        """For the kernels."""
        return _model("MIXED", means, extra=np.where(self.exclusive, -2.0, np.where(self.binary, -1.0, self.sigma)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        data = {"kind": self.kind, "sigma": self.sigma.tolist(), "binary": self.binary.tolist()}
        return data | ({"exclusive": self.exclusive.tolist()} if self.exclusive.any() else {})


@dataclass(frozen=True)
class Bounded:
    """Beta noise on an interval: rewards and costs never leave [low, high].

    A larger ``concentration`` means less noise: the variance is (mean - low)(high - mean) / (1 + concentration).
    """

    kind: ClassVar[str] = "bounded"
    low: float = 0.0
    high: float = 1.0
    concentration: float = 4.0

    def __post_init__(self) -> None:
        low, high = checks.number("low", self.low), checks.number("high", self.high)
        if not low < high:
            raise checks.InvalidInput(
                "Bounded noise", expected="low < high", got=f"{low:g} and {high:g}", remedy="swap them"
            )
        if checks.number("concentration", self.concentration) <= 0:
            raise checks.InvalidInput(
                "concentration", expected="a positive number", got=f"{self.concentration:g}", remedy="try 4"
            )

    def check(self, means: Floats) -> None:
        """Refuse means outside of the interval."""
        if means.min() < self.low or means.max() > self.high:
            raise checks.InvalidInput(
                "Bounded noise",
                expected=f"means from {self.low:g} to {self.high:g}",
                got=f"{means.min():g} to {means.max():g}",
                remedy="widen the interval",
            )

    def covariance(self, means: Floats) -> Floats:
        """Covariance of one trial of each arm."""
        variance = (means - self.low) * (self.high - means) / (1 + self.concentration)
        return _diagonal(variance)

    def proxy(self, means: Floats) -> Floats:
        """Half the range, squared (Hoeffding's lemma)."""
        return _diagonal(np.full(means.shape, ((self.high - self.low) / 2) ** 2))

    def draw(self, rng: np.random.Generator, means: Floats, arm: int, size: int) -> Floats:
        """Trials of one arm."""
        width = self.high - self.low
        share = (means[arm] - self.low) / width
        result = np.broadcast_to(share, (size, len(share))).copy()
        inner = (share > 0) & (share < 1)  # at an end of the interval there is no noise
        first, second = self.concentration * share[inner], self.concentration * (1 - share[inner])
        result[:, inner] = rng.beta(first, second, (size, int(inner.sum())))
        return self.low + width * result

    def compiled(self, means: Floats) -> Model:
        """For the kernels."""
        return _model("BOUNDED", means, extra=[self.low, self.high, self.concentration])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"kind": self.kind, "low": self.low, "high": self.high, "concentration": self.concentration}


@dataclass(frozen=True, init=False, eq=False)
class Empirical:
    """Draws with replacement from tables of observed trials, one (trials, 1 + L) table for each arm."""

    kind: ClassVar[str] = "empirical"
    tables: tuple[Floats, ...]

    def __init__(self, tables: Sequence[Any]) -> None:
        parsed = tuple(
            checks.array(f"tables[{a}]", t, (None, None), "(trials, 1 + costs)") for a, t in enumerate(tables)
        )
        for a, table in enumerate(parsed):
            if not len(table) or table.shape[1] != parsed[0].shape[1]:
                raise checks.InvalidInput(
                    f"tables[{a}]",
                    expected=f"trials with {parsed[0].shape[1]} entries",
                    got=f"shape {table.shape}",
                    remedy="give every arm at least one trial of (reward, costs)",
                )
        object.__setattr__(self, "tables", parsed)

    @property
    def means(self) -> Floats:
        """Means of the tables: (K, 1 + L)."""
        return np.array([table.mean(axis=0) for table in self.tables])

    def check(self, means: Floats) -> None:
        """Refuse means that are not those of the tables."""
        if self.means.shape != means.shape or not np.allclose(self.means, means, rtol=1e-9, atol=1e-12):
            raise checks.InvalidInput(
                "Empirical noise", "the instance's means differ from the tables'", "use Instance.from_trials"
            )

    def covariance(self, means: Floats) -> Floats:
        """Covariance of one trial of each arm."""
        return np.array([np.cov(t.T, bias=True).reshape(t.shape[1], t.shape[1]) for t in self.tables])

    def proxy(self, means: Floats) -> Floats:
        """Half the range of each entry, squared, times the number of entries, which may go together in any way.

        v.noise stays within an interval of length sum_i |v_i| range_i, whose square is at most
        (1 + L) sum_i (v_i range_i)^2.
        """
        half = np.array([np.ptp(table, axis=0) / 2 for table in self.tables])
        return _diagonal(means.shape[1] * np.square(half))

    def draw(self, rng: np.random.Generator, means: Floats, arm: int, size: int) -> Floats:
        """Trials of one arm."""
        table = self.tables[arm]
        return table[rng.integers(len(table), size=size)]

    def compiled(self, means: Floats) -> Model:
        """For the kernels."""
        offset = np.cumsum([0, *map(len, self.tables)])
        return _model("EMPIRICAL", means, table=np.vstack(self.tables), offset=offset)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a file."""
        return {"kind": self.kind, "tables": [table.tolist() for table in self.tables]}


def _diagonal(variance: Floats) -> Floats:
    """For each arm the matrix of independent entries with these variances (K, 1 + L)."""
    result: Floats = np.eye(variance.shape[1]) * variance[:, None, :]
    return result


def _model(kind: str, means: Floats, **parts: Any) -> Model:
    """A model for the kernels; the parts that a kind does not use are left empty."""
    from bestmix.kernels import sampling

    size = means.shape[1]
    return (
        int(getattr(sampling, kind)),
        np.ascontiguousarray(parts.get("factor", np.empty((0, size, size)))),
        None if kind in ("GAUSSIAN", "INDEPENDENT") else np.ascontiguousarray(parts.get("table", np.empty((0, size)))),
        np.asarray(parts.get("offset", np.zeros(1)), dtype=np.int64),
        np.asarray(parts.get("extra", np.empty(0)), dtype=np.float64),
    )


MODELS: dict[str, type[Noise]] = {
    model.kind: model for model in (Gaussian, StudentT, Bernoulli, Mixed, Bounded, Empirical)
}


def from_dict(data: Mapping[str, Any]) -> Noise:
    """The model that ``to_dict`` described."""
    data = checks.mapping("noise", data, "with a kind and its parameters")
    kind = checks.choice("noise.kind", data.get("kind"), list(MODELS))
    try:
        return MODELS[kind](**{key: value for key, value in data.items() if key != "kind"})
    except TypeError as error:
        raise checks.InvalidInput("noise", f"{kind} noise does not take these parameters: {error}") from None


def root(covariance: Floats) -> Floats:
    """A factor F with F F' = covariance, also where it is singular."""
    values, vectors = np.linalg.eigh(covariance)
    factor: Floats = vectors * np.sqrt(np.maximum(values, 0.0))
    return factor


def _numbers(name: str, value: Any) -> Floats:
    try:
        axes = np.ndim(value)
    except ValueError:
        axes = 1  # ragged: the check below says so by name
    return checks.array(name, value, (None,) * axes, "a number or an array")


def _deviation(name: str, value: Any, most: int) -> Floats:
    result = _numbers(name, value)
    if result.ndim > most:
        raise checks.InvalidInput(
            name, expected=f"at most {most} axes", got=f"shape {result.shape}", remedy="see the parameter's shapes"
        )
    result = checks.array(name, result, result.shape, "a number or an array")
    if result.size and result.min() < 0:
        raise checks.InvalidInput(
            name, expected="standard deviations of at least 0", got=f"{result.min():g}", remedy="give its size"
        )
    return result


def _independent(sigma_reward: Floats, sigma_cost: Floats, arms: int, size: int) -> Floats:
    """Diagonal covariances (arms, size, size) of these standard deviations."""
    deviation = np.empty((arms, size))
    deviation[:, 0] = _spread("sigma_reward", sigma_reward, (arms,), "(arms,)")
    if sigma_cost.ndim == 1:
        sigma_cost = _spread("sigma_cost", sigma_cost, (size - 1,), "(costs,)")[:, None]
    deviation[:, 1:] = _spread("sigma_cost", sigma_cost, (size - 1, arms), "(costs, arms)").T
    return np.eye(size) * deviation[:, None, :] ** 2


def _spread(name: str, value: Floats, shape: tuple[int, ...], axes: str) -> Floats:
    try:
        return np.broadcast_to(value, shape)
    except ValueError:
        raise checks.InvalidInput(
            name, expected=f"a number or shape {shape}, which is {axes}", got=value.shape
        ) from None
