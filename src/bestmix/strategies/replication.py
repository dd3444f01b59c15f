"""Simulated runs of a strategy: a kernel of whole runs, bound to an instance."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bestmix.kernels import columns, jit
from bestmix.problems.instance import Instance
from bestmix.problems.noise import CompiledNoise, Gaussian
from bestmix.problems.segment_instance import SegmentInstance

DECISION_STEPS = 100  # of an innermost loop, for each entry of the program, about
PLAIN_STEPS = 7  # the same without segments, with at most two costs and 60 arms (5 to 8 measured; by reduced costs 2)
MOST_COSTS = 2


@dataclass(frozen=True, eq=False)
class Replication:
    """A kernel such as those of ``kernels/replicate.py``, with what it takes before the arrays that it fills."""

    kernel: Callable[..., None]
    arguments: tuple[Any, ...]
    work: float = math.inf  # steps of an innermost loop in a run, about
    without: frozenset[str] = frozenset()  # what the instance lacks, and so need not be compiled
    space: Callable[[], tuple[Any, ...]] = tuple  # makes the arrays that the kernel works on, which it takes next
    group: int = 1  # runs that take turns with the random numbers: it always makes so many of them

    @property
    def compiled(self) -> bool:
        """Whether the runs are machine code, and so leave Python's global lock alone."""
        return jit.is_kernel(self.kernel)

    def __call__(self, rng: np.random.Generator, *arrays: Any) -> None:
        """Run as many times as the arrays have rows."""
        self.call(partial(jit.machine, without=self.without), rng, *arrays)

    def some(self, runs: int, rng: np.random.Generator, *arrays: Any) -> None:
        """Some of so many runs; few are over in plain Python before a compiler would be."""
        whole, now = (math.ceil(count / self.group) * self.group for count in (runs, len(arrays[0])))
        speed = jit.speed_for_runs(self.work * whole, now=self.work * now)
        self.call(partial(jit.machine, without=self.without) if speed is jit.machine else speed, rng, *arrays)

    def call(self, speed: jit.Speed, rng: np.random.Generator, *arrays: Any) -> None:
        """The same as machine code or in plain Python."""
        speed(self.kernel)(rng, *self.arguments, *self.space(), *arrays)


def bind(
    kernel: Callable[..., None], instance: Instance, *options: Any, rounds: int | None = None, steps: int = PLAIN_STEPS
) -> Replication | None:
    """The kernel bound to an instance; None when its noise cannot be drawn by the kernels.

    ``rounds`` are the decisions of a run, where it is worth while to run it in plain Python, and ``steps`` those of an
    innermost loop that a decision takes for each entry of the program.
    """
    if not isinstance(instance.noise, CompiledNoise):
        return None
    model = instance.noise.compiled(instance.means)
    # Rows one after another, whatever the instance was made of: for another order all would be compiled once more.
    known = np.array(instance.means, order="C"), np.array(instance.bound), len(instance.problem.cells)
    lacking = columns.lacking(len(instance.bound), len(instance.means) + len(instance.bound) + 1)
    costs, work = len(instance.bound), math.inf
    sums = isinstance(instance.noise, Gaussian)  # are drawn; those of other noise are added up trial by trial
    if rounds is not None and costs <= MOST_COSTS and sums:
        work = float((rounds + 2) * steps * (len(instance.means) + costs) * (1 + costs))
    return Replication(kernel, (model, *known, *options), work, lacking)


def bind_segments(
    kernel: Callable[..., None], instance: SegmentInstance, rounds: int, *options: Any
) -> Replication | None:
    """A kernel of ``kernels/segment_runs.py`` bound to an instance; None when its noise cannot be drawn by them.

    None where arms have features, too. ``rounds`` are the decisions of a run.
    """
    model = instance.model()
    if model is None or instance.problem.features:
        return None
    program = np.array(instance.columns, order="C"), instance.layout, instance.weight, instance.known_columns
    work = float(rounds * DECISION_STEPS * instance.layout.constant.size + DECISION_STEPS * len(instance.columns))
    return Replication(kernel, (model, *program, *options), work)
