"""An experiment checked against its own trials: every figure counted again, every round replayed."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from bestmix.answers.moments import Moments
from bestmix.experiments.experiment import Experiment
from bestmix.experiments.model import Snapshot, Trial, TrialState
from bestmix.strategies import Search

Values = list[tuple[float, ...]]


@dataclass
class Count:
    """What the trials say, read once from first to last."""

    states: Counter[str] = field(default_factory=Counter)
    held: Counter[tuple[int, str]] = field(default_factory=Counter)  # complete or leased, by round and arm
    filled: Counter[int] = field(default_factory=Counter)  # by slot
    told: dict[int, dict[str, Values]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    def add(self, trial: Trial) -> None:
        """Count one more."""
        self.states[trial.state.value] += 1
        if trial.state in (TrialState.complete, TrialState.leased):
            self.held[trial.round, trial.arm] += 1
            self.filled[trial.slot] += 1
        if trial.state == TrialState.complete and trial.reward is not None and trial.costs is not None:
            self.told[trial.round][trial.arm].append((trial.reward, *trial.costs.values()))


def audit(experiment: Experiment) -> list[str]:
    """What is wrong with an experiment that nobody is using meanwhile; an empty list is good news.

    Examples
    --------
    >>> from bestmix import Problem, Uniform, open_experiment
    >>> exp = open_experiment("memory://", "a", Problem(["a", "b"]), 4, Uniform())
    >>> exp.tell(exp.ask()[0], 1.0).value, audit(exp)
    ('counted', [])
    """
    count = Count()
    for trial in experiment.iter_trials():
        count.add(trial)
    now = experiment.snapshot()
    return [*_figures(count, now), *_sums(experiment, count, now), *_replay(experiment, count, now)]


def _figures(count: Count, now: Snapshot) -> Iterator[str]:
    state = now.state
    for what in ("complete", "leased", "surplus"):
        if getattr(state, what) != count.states[what]:
            yield f"{what}: the figure is {getattr(state, what)}, the trials are {count.states[what]}"
    if state.complete + state.leased > state.budget:
        yield f"budget: {state.complete} complete and {state.leased} leased exceed {state.budget}"
    for slot, times in count.filled.items():
        if times > 1:
            yield f"slot {slot}: it is held {times} times"
    for ended in now.rounds:
        for arm, quota in ended.pulls.items():
            if count.held[ended.number, arm] != quota:
                yield f"round {ended.number}: {arm!r} has {count.held[ended.number, arm]} trials of {quota}"


def _sums(experiment: Experiment, count: Count, now: Snapshot) -> Iterator[str]:
    import numpy as np

    for arm, sums in zip(experiment.problem.arms, now.moments, strict=True):
        rows = [values for told in count.told.values() for values in told.get(arm, [])]
        again = Moments(sums.size).plus(np.array(rows).reshape(len(rows), sums.size))
        if again.to_dict() != sums.to_dict():
            yield f"arm {arm!r}: its running sums are not those of its trials"


def _replay(experiment: Experiment, count: Count, now: Snapshot) -> Iterator[str]:
    """Tell a search in this process the same trials, and compare where it gets to."""
    if now.state.budget != experiment.record.first_budget:
        return  # a search has one budget from its beginning
    import numpy as np

    search = Search(experiment.strategy, experiment.problem, now.state.budget)
    try:
        for number in sorted(count.told):
            for arm, rows in count.told[number].items():
                table = np.array(rows)
                search.tell(arm, table[:, 0], table[:, 1:])
    except (ValueError, RuntimeError) as error:
        yield f"replay: a search does not take the trials of round {number} ({error})"
        return
    if search.memory != now.memory or search.history != list(now.rounds):
        yield "replay: a search that is told the same trials gets to another point"
