"""The items of an experiment: which one a slot is made on, and what came of each.

The i-th slot of an arm that is handed out has item i of the list, in the order that the seed gives, and keeps it
however often it is handed out: a lease that ran out takes no item from anybody.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestmix.answers.item_sums import ItemSum
from bestmix.arrays import Floats
from bestmix.experiments.model import Record, Row
from bestmix.experiments.revision import Setup
from bestmix.experiments.store import Transaction, fingerprint
from bestmix.problems.items import Items
from bestmix.problems.problem import Problem


def item_order(record: Record) -> Items | None:
    """The items of an experiment by their numbers, in the order that they are handed out; None where it has none.

    >>> record = Record("0123456789ab", "a", {"arms": ["x"]}, {"kind": "Uniform"}, 9, 60.0, 100)
    >>> item_order(record) is None
    True
    """
    found = record.items
    return None if found is None else Items(found["number"], found["shared"], found["seed"])


def described(items: Items | None) -> dict[str, Any] | None:
    """What a record says of items: their texts stand in a table of their own.

    >>> described(Items(500))
    {'number': 500, 'shared': True, 'seed': 0, 'named': False}
    """
    if items is None:
        return None
    fixed = {"number": len(items), "shared": items.shared, "seed": items.seed, "named": items.names is not None}
    return fixed if items.names is None else fixed | {"digest": fingerprint(json.dumps(items.names))}


def hand_out(transaction: Transaction, setup: Setup, arms: Sequence[int]) -> list[int | None]:
    """The items of slots that are handed out for the first time, given by their arms in order."""
    items = item_order(transaction.record)
    if items is None or not arms:
        return [None] * len(arms)
    place, found, cells = transaction.hand_out(Counter(arms)), list[int | None](), setup.revision.cells
    used = (transaction.record.items or {}).get("used", {})
    for arm in arms:
        name = str(cells[arm])
        found.append(items.at(free_place(place[arm], used.get(name, ())), name))
        place[arm] += 1
    return found


def free_place(number: int, used: Sequence[int]) -> int:
    """The place of an arm's slot of that number, counted from 0, where a log's trials have had some (in order).

    >>> [free_place(number, [0, 2]) for number in range(3)]
    [1, 3, 4]
    """
    place = number
    for taken in used:
        if taken > place:
            break
        place += 1
    return place


def add_results(transaction: Transaction, rows: Sequence[Row], problem: Problem) -> None:
    """Add results to the sums of their items and arms."""
    told = [row for row in rows if row.item is not None and row.values is not None]
    if told:
        measured = problem.rows.measure(np.array([row.values for row in told]))
        keys = [(row.item, row.arm) for row in told if row.item is not None]
        transaction.write_item_sums(with_results(transaction.item_sums(keys), keys, measured))


def with_results(
    known: Mapping[tuple[int, int], ItemSum], keys: Sequence[tuple[int, int]], measured: Floats
) -> dict[tuple[int, int], ItemSum]:
    """Sums by item and arm with further results (m, M).

    >>> with_results({}, [(3, 0), (3, 0)], np.array([[1.0], [2.0]]))[3, 0].values
    [3.0]
    """
    found = dict(known)
    for key, row in zip(keys, measured.tolist(), strict=True):
        new = ItemSum.of(row)
        found[key] = found[key].plus(new) if key in found else new
    return found
