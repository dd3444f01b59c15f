"""Features: trials that are needed with and without them, and how often what is claimed of a fitted answer fails."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.segment_trials import curve, jackknife
from bench.timing import Figure
from bestmix import Challenger, Instance, Problem, Uniform, identify
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.problems.feature_families import random_features
from bestmix.problems.segment_instance import SegmentInstance

TITLE = "Features: trials for 10% wrong answers, and what fails of what is claimed (random combinations of factors)"
LEVELS = {12: (3, 4), 27: (3, 3, 3), 48: (4, 3, 4)}
GOALS = {12: 1.0, 27: 1.0, 48: 1.0}  # arms: times as many trials per arm that arms by themselves should need, at least
MARGIN = 0.03  # by which the best mix is the only one, where trials are counted
RISK = 0.05  # of what is certified, of the bound on the regret, and of stops
BENDS = (0.0, 0.25, 0.5)  # departures from a line, at most, in deviations of a trial
JUDGED = 400  # the first seed of the instances whose answers are judged


def measure(quick: bool) -> list[Figure]:
    few, runs = (4, 20) if quick else (8, 20)
    figures = []
    for arms, levels in LEVELS.items():
        if not quick or arms == 27:
            figures += needed([random_features(levels, 1, seed=seed, margin=MARGIN) for seed in range(few)], arms, runs)
    for arms, costs, events in [(27, 1, False), (27, 2, False), (48, 1, False), (27, 1, True)][: 1 if quick else None]:
        for trials in (3, 10, 40):
            figures += claims(arms, costs, events, trials, 60 if quick else 300)
        figures += claims(arms, costs, events, 0, 40 if quick else 150)
    figures += [figure for bend in BENDS for figure in bent(bend, 20 if quick else 200)]
    return figures + stops(30 if quick else 100)


def needed(instances: Sequence[SegmentInstance], arms: int, runs: int) -> list[Figure]:
    """Trials per arm for 10% wrong answers: with features evenly spread and by Challenger, and by it without."""
    fitted, even = (curve(instances, strategy, runs, False) for strategy in (Challenger(), Uniform()))
    alone = curve([without_features(instance) for instance in instances], Challenger(), runs, False)
    note = f"{fitted} with features, {even} evenly spread, {alone} without"
    figures = []
    for what, other in (("Challenger without features", alone), ("evenly spread with features", even)):
        error = jackknife([other.needed(i) / fitted.needed(i) for i in range(len(instances))])
        ratio = other.needed() / fitted.needed()
        known = f"{error:.2f}" if error < ratio else "unknown, for one instance decides"
        said = f"standard error {known}; trials per arm: {note}"
        figures.append(Figure(f"{arms} arms: {what} / Challenger with them", ratio, target=GOALS[arms], note=said))
    return figures


def without_features(instance: SegmentInstance) -> Any:
    """The same means of arms that nobody knows to have anything in common."""
    asked = {name: value for name, value in instance.problem.to_dict().items() if name != "features"}
    return Instance.from_problem(Problem.from_dict(asked), instance.means, noise=instance.noise)


def claims(arms: int, costs: int, events: bool, trials: int, runs: int) -> list[Figure]:
    """What answers claim, and what is true of them: from so many trials of each arm, or by Challenger's 10 for each."""
    counts = np.zeros(6, dtype=np.int64)
    for run in range(runs):
        instance = random_features(LEVELS[arms], costs, seed=JUDGED + run % 60, events=events)
        rec = answer(instance, trials, np.random.default_rng([run, trials])) if trials else chosen(instance, run)
        mix = np.array([[rec.mixture.get(name, 0.0) for name in instance.arms]])
        true = instance.judge(mix)
        likely = rec.support_probability is not None and rec.support_probability > 0.5
        beyond = bool(true.regret[0] > rec.regret)
        broken = bool(true.violation[0] > 0)
        counts += [1, rec.certified, rec.certified and broken, likely, likely and beyond, "not linear" in rec.note]
    how = f"{trials} trials each" if trials else "Challenger, 10 each"
    what = f"{arms} arms, {costs} limit{'s' if costs > 1 else ''}{', 0/1' if events else ''}, {how}"
    _, certified, broken, likely, beyond, refuted = counts.tolist()
    said = f"{certified} of {runs} certified, {refuted} fits refuted"
    # Where few are certified these are the lucky ones, and what counts is how often anybody is misled.
    of, whom = (certified, "certified") if 2 * certified >= runs else (runs, "all")
    return [
        Figure(f"{what}: broken of {whom}", 100 * broken / of, "%", 100 * RISK, True, f"{broken}; {said}"),
        Figure(
            f"{what}: regret above its bound",
            100 * beyond / max(likely, 1),
            "%",
            100 * RISK,
            True,
            f"of {likely} likely",
        ),
    ]


def answer(instance: SegmentInstance, trials: int, rng: np.random.Generator) -> Recommendation:
    """The recommendation from so many trials of every arm."""
    told = [Moments(instance.means.shape[1]).plus(instance.draw(j, trials, rng)) for j in range(len(instance.arms))]
    return recommend(Evidence(instance.problem, told), np.arange(len(instance.problem.columns)), strategy="uniform")


def chosen(instance: SegmentInstance, seed: int) -> Recommendation:
    """The recommendation from as many trials as ten of each arm, where Challenger chooses them."""
    return identify(instance.problem, instance.sampler(seed), 10 * len(instance.arms))


def bent(bend: float, runs: int) -> list[Figure]:
    """What a curve does that nobody told of: thirty arms along one number, with costs below a line between its ends."""
    t = np.linspace(0.0, 1.0, 30)
    means = np.column_stack([2.0 * t, 2.0 * t - 4.0 * bend * (t - t * t)])
    features = {f"arm{a}": [1.0, float(x)] for a, x in enumerate(t)}
    noticed, certified, broken, beyond = 0, 0, 0, 0
    for run in range(runs):
        rng = np.random.default_rng([run, 30])
        problem = Problem(list(features), {"cost": float(rng.uniform(0.4, 1.6))}, features=features)
        instance = SegmentInstance(problem, means, sigma=1.0)
        rec = answer(instance, 20, rng)
        true = instance.judge(np.array([[rec.mixture.get(name, 0.0) for name in instance.arms]]))
        noticed += "not linear" in rec.note
        certified += rec.certified
        broken += bool(rec.certified and true.violation[0] > 0)
        beyond += bool(true.regret[0] > rec.regret)
    what = f"30 arms bent by {bend:g} deviations, 20 trials each"
    said = f"{certified} of {runs} certified; noticed in {100 * noticed / runs:.0f}%"
    return [
        Figure(f"{what}: broken of certified", 100 * broken / max(certified, 1), "%", note=said),
        Figure(f"{what}: regret above its bound", 100 * beyond / runs, "%"),
    ]


def stops(runs: int) -> list[Figure]:
    """How often a run ends with a wrong answer: the support with a confidence of 95%, or a mix within 0.05."""
    figures = []
    for what, strategy in (("sure", Challenger(0.95)), ("good enough", Challenger(0.95, tolerance=0.05))):
        wrong, trials = 0, []
        for run in range(runs):
            instance = random_features(LEVELS[27], 1, seed=JUDGED + run % 40, margin=MARGIN)
            rec = identify(instance.problem, instance.sampler(run), 50_000, strategy=strategy)
            trials.append(rec.trials)
            if strategy.tolerance is None:
                wrong += set(rec.best_guess) != set(instance.mixture)
                continue
            true = instance.judge(np.array([[rec.mixture.get(name, 0.0) for name in instance.arms]]))
            wrong += bool(true.violation[0] > 0 or true.regret[0] > 0.05)
        note = f"{runs} runs of {np.mean(trials):,.0f} trials"
        figures.append(Figure(f"27 arms, until {what}: wrong", 100 * wrong / runs, "%", 100 * RISK, True, note))
    return figures
