"""An experiment's items checked against its trials: each slot has its own, and sums by item are those of results."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from bestmix.experiments.item_slots import described, free_place, item_order, with_results
from bestmix.experiments.revision import Revision
from bestmix.experiments.store import Contents
from bestmix.experiments.tally import Slot, Tally
from bestmix.problems.items import Items

OF_LOG = ("used", "apart")  # what a record says of a log's trials on items


def damage(contents: Contents, tally: Tally, now: Revision) -> Iterator[str]:
    """What is wrong with texts of items, items of trials, and sums by item."""
    items, record = item_order(contents.record), contents.record
    if items is None:
        if any(slot.item is not None for slot in tally.slots.values()):
            yield "items: trials have some, and the experiment has none"
        return
    if record.items is not None and record.items["named"]:
        yield from _texts(contents, items)
    used = (record.items or {}).get("used", {})
    for arm, slots in _handed(tally).items():
        name = str(now.cells[arm])
        for place, (number, slot) in enumerate(slots):
            if slot.item != items.at(free_place(place, used.get(name, ())), name):
                yield f"slot {number}: its item is {slot.item}, in its arm's order it is another"
                return
    if _sums(tally, now) != {key: found.to_list() for key, found in contents.run.by_item.items()}:
        yield "items: the sums by item are not those of the trials"


def _texts(contents: Contents, items: Items) -> Iterator[str]:
    """Whether the items' texts are those from the beginning."""
    try:
        found = described(Items(contents.items, items.shared, items.seed))
    except ValueError as error:
        found = {"fault": str(error)}
    if found != {name: value for name, value in (contents.record.items or {}).items() if name not in OF_LOG}:
        yield "items: their texts are not as they were when it was created"


def _handed(tally: Tally) -> dict[int, list[tuple[int, Slot]]]:
    """Slots that were handed out by the experiment, in order, by arm; those of a log were not."""
    found: dict[int, list[tuple[int, Slot]]] = defaultdict(list)
    for number in sorted(tally.slots):
        if not tally.slots[number].logged:
            found[tally.slots[number].arm].append((number, tally.slots[number]))
    return found


def _sums(tally: Tally, now: Revision) -> dict[tuple[int, int], list[Any]]:
    """Sums of results by item and arm, as the trials have them."""
    keys = [key for key, _ in tally.on_items]
    rows = np.array([values for _, values in tally.on_items]).reshape(len(keys), len(now.problem.metrics))
    return {key: found.to_list() for key, found in with_results({}, keys, now.problem.rows.measure(rows)).items()}


def handed(contents: Contents, tally: Tally) -> list[int]:
    """How many slots of each arm were handed out on items."""
    found = Counter({arm: len(slots) for arm, slots in _handed(tally).items()} if contents.record.items else {})
    return [found[arm] for arm in range(len(contents.handed))]
