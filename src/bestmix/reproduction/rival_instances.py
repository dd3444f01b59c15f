"""Instances that rivals are compared on: the catalog's, random ones, those of their own papers, and real traffic."""

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from bestmix.problems import catalog, families
from bestmix.problems.instance import Instance
from bestmix.strategies.rivals.comparison import middle

SHAPES = ((4, 1), (16, 1), (8, 2))  # arms and costs of the random instances
FIRST_SEED = 31_000
TRIALS_EACH = 250  # of every arm, in the budget of an instance that is not the catalog's
TRAFFIC = "traffic"  # name of the instance of real traffic
CEILING = 0.002  # dollars of a request, for real traffic


@dataclass(frozen=True, eq=False)
class Subject:
    """An instance with the budget that it is compared with, and whether the support is asked for, or the mix alone."""

    name: str
    instance: Instance
    budget: int
    has_support: bool = True


def subjects(instances: int = 2) -> list[Subject]:
    """All of them, with so many random instances of each shape.

    D1I to D3I are left out: they need several times as many trials as the other D instances.

    >>> [subject.name for subject in subjects(instances=1)][9:15]
    ['uniform 4 x 1, 31000', 'uniform 16 x 1, 31000', 'uniform 8 x 2, 31000', 'Das hard', 'Das easy', 'Carlsson']
    """
    names = [name for name in catalog.names() if not name.endswith("I")]
    listed = [Subject(name, catalog.load(name), middle(catalog.budgets(name))) for name in names]
    for arms, costs in SHAPES:
        for seed in range(FIRST_SEED, FIRST_SEED + instances):
            instance = families.uniform_instance(arms, costs, seed)
            listed.append(Subject(f"uniform {arms} x {costs}, {seed}", instance, TRIALS_EACH * arms))
    published = [
        Subject("Das hard", das_basu(0.5), TRIALS_EACH * 6, has_support=False),
        Subject("Das easy", das_basu(1.3), TRIALS_EACH * 6, has_support=False),
        Subject("Carlsson", carlsson(), TRIALS_EACH * 5, has_support=False),
    ]
    real = traffic()
    return [*listed, *published, *([Subject(TRAFFIC, real, 4 * TRIALS_EACH * 3)] if real else [])]


def das_basu(third: float) -> Instance:
    """The environments of Das and Basu's setup 1, with the six arms of their scripts and noise of one.

    The paper prints a seventh reward of 0.1, without its costs.

    The best mix is half of the first and half of the third arm. Both limits are met exactly, so that two bases have it.

    >>> from bestmix import solve
    >>> solve(das_basu(0.5)).mixture
    array([0.5, 0. , 0.5, 0. , 0. , 0. ])
    """
    costs = [[1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0, 0.0]]
    return Instance([1.5, 1.0, third, 0.4, 0.3, 0.2], costs, [0.5, 0.5], sigma_reward=1.0, sigma_cost=1.0)


def carlsson() -> Instance:
    """The experiment of Carlsson and others' repository (ini_large_exp.py): costs are known, here without noise.

    >>> from bestmix import solve
    >>> solve(carlsson()).mixture
    array([0.5, 0. , 0. , 0.5, 0. ])
    """
    costs = [[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0]]
    return Instance([1.0, 0.5, 0.4, 0.95, 0.8], costs, [0.5, 0.5], sigma_reward=1.0, sigma_cost=0.0)


def traffic(ceiling: float = CEILING) -> Instance | None:
    """Answers of three language models to the same prompts, as the package ``paretobandit`` brings them; else None.

    Quality is the reward, and the mean price of a request must not exceed ``ceiling`` dollars. Trials are drawn from
    the prompts with replacement.
    """
    found = find_spec("pareto_bandit")
    if found is None or found.origin is None:
        return None
    return read_traffic(Path(found.origin).parent / "data" / "examples" / "test_holdout.jsonl", ceiling)


def read_traffic(path: Path, ceiling: float = CEILING) -> Instance:
    """The instance of a file of prompts, a JSON object a line with the reward and the cost of every model."""
    rows = [json.loads(line)["arms"] for line in path.read_text().splitlines()]
    whole = [row for row in rows if all(isinstance(arm.get("reward"), float | int) for arm in row.values())]
    models = list(whole[0])
    tables = {name: np.array([[row[name]["reward"], row[name]["cost"]] for row in whole]) for name in models}
    return Instance.from_trials(tables, {"dollars": ceiling})
