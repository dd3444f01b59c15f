"""Items that trials are made on, such as prompts: one list, shuffled once, which all arms go through in its order.

Arm a's i-th trial is made on item i of the shuffled list, so that arms meet on the same items. An arm that has had all
of them begins with the first again; its trials on one item are then no further evidence but for what differs in them.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Integers

MOST_ITEMS = 10_000_000
MOST_SEED = 2**62
LONGEST_ITEM = 100_000  # characters
ORDERS = 64  # that are kept at hand


@dataclass(frozen=True)
class Items:
    """Items that trials are made on, and in which order.

    Parameters
    ----------
    given
        The items, as texts that differ from each other; or how many there are, which are then called 0, 1, 2 and so on:
        for items that are no texts, such as the rows of a table.
    shared
        Whether all arms go through them in one order, so that they meet on the same items; else each arm has an order
        of its own.
    seed
        Of the shuffle.

    Examples
    --------
    >>> items = Items(["sum", "sort", "search"], seed=1)
    >>> [items.name(items.at(place, "small")) for place in range(4)]
    ['sum', 'search', 'sort', 'sum']
    >>> len(Items(500)), Items(500).name(3)
    (500, 3)
    """

    given: Any
    shared: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        seed = checks.whole("seed", self.seed, 0, "give a whole number", MOST_SEED)
        if not isinstance(self.shared, bool):
            raise checks.InvalidInput("shared", expected="True or False", got=checks.shown(self.shared))
        object.__setattr__(self, "seed", seed)
        object.__setattr__(self, "given", _given(self.given))

    def __len__(self) -> int:
        return self.given if isinstance(self.given, int) else len(self.given)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The items' texts; None where they are numbered."""
        return None if isinstance(self.given, int) else self.given

    def name(self, index: int) -> str | int:
        """An item as users know it, by its place in the list that was given."""
        return index if isinstance(self.given, int) else self.given[index]

    def index(self, item: Any) -> int:
        """The place of an item in the list that was given.

        >>> Items(["sum", "sort"]).index("sort"), Items(9).index(4)
        (1, 4)
        """
        found = self._places.get(item) if isinstance(item, str) else None
        if isinstance(self.given, int) and not isinstance(item, str):
            found = checks.whole("item", item, 0, "give one of items()", len(self) - 1)
        if found is None:
            kind = "a number" if isinstance(self.given, int) else "a text"
            raise checks.InvalidInput(
                "item", expected=f"one of the {len(self)} items, {kind}", got=checks.shown(item), remedy="see items()"
            )
        return found

    def find(self, text: str) -> int | None:
        """The place of an item that a log names; None where it is none of these.

        >>> Items(["sum", "sort"]).find("sort"), Items(9).find("4.0"), Items(9).find("sort")
        (1, 4, None)
        """
        if not isinstance(self.given, int):
            return self._places.get(text)
        try:
            number = float(text)
        except ValueError:
            return None
        return int(number) if number.is_integer() and 0 <= number < self.given else None

    def places_of(self, indices: Iterable[int | None], arm: str) -> list[int | None]:
        """Numbers of an arm's trials on items that it has had in no order: on one again in a later pass through all.

        >>> Items(3, seed=1).places_of([0, 2, 0, None], "small")
        [0, 1, 3, None]
        """
        had, found = Counter[int](), list[int | None]()
        for index in indices:
            found.append(None if index is None else self.place(index, arm) + had[index] * len(self))
            had.update([] if index is None else [index])
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        return {} if isinstance(self.given, int) else {name: i for i, name in enumerate(self.given)}

    def at(self, place: int, arm: str) -> int:
        """The item of an arm's trial number ``place``, counted from 0."""
        return int(self._order(arm)[0][place % len(self)])

    def place(self, index: int, arm: str) -> int:
        """The number of the first trial of an arm that is made on an item."""
        return int(self._order(arm)[1][index])

    def _order(self, arm: str) -> tuple[Integers, Integers]:
        return _order(len(self), self.seed, None if self.shared else arm)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        given = self.given if isinstance(self.given, int) else list(self.given)
        return {"given": given, "shared": self.shared, "seed": self.seed}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Items":
        """Inverse of ``to_dict``."""
        return cls(data["given"], data["shared"], data["seed"])


def as_items(items: Any, shared: bool = True) -> Items | None:
    """Items as users give them: a list, how many there are, or ``Items``; None for none.

    >>> as_items(["sum", "sort"], shared=False)
    Items(given=('sum', 'sort'), shared=False, seed=0)
    """
    if items is None:
        return None
    if isinstance(items, Items):
        return items if shared else replace(items, shared=False)
    return Items(items, shared)


def check_chosen_trials(segments: Mapping[str, float | None]) -> None:
    """Refuse items where users arrive: they bring their own.

    >>> check_chosen_trials({"free": 0.7, "paid": 0.3})
    """
    if None in segments.values():
        raise checks.InvalidInput(
            "items",
            "the shares of the segments are learnt from users who arrive, and these bring items of their own",
            "give the shares, segments={'free': 0.7, ...}, or leave out the items",
        )


def _given(given: Any) -> int | tuple[str, ...]:
    """A number of items, or distinct texts."""
    wanted = "a list of texts, or how many items there are"
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return checks.whole("items", given, 1, "give the number of items", MOST_ITEMS)
    if isinstance(given, (str, bytes, Mapping, bool)) or not isinstance(given, Iterable):
        raise checks.InvalidInput("items", expected=wanted, got=checks.shown(given), remedy="give one of them")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_ITEM:
            what = f"texts of up to {LONGEST_ITEM:,} characters"
            remedy = "give how many items there are, len(...); an item is then a number"
            raise checks.InvalidInput("items", expected=what, got=checks.shown(name), remedy=remedy)
        if "\x00" in name or checks.unencodable(name):
            fault = f"{checks.shown(name)} has a character that cannot be stored"
            raise checks.InvalidInput("items", fault, "remove it")
    if not names or len(names) > MOST_ITEMS:
        raise checks.InvalidInput("items", expected=wanted, got=f"{len(names):,} items", remedy="give at least one")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise checks.InvalidInput("items", f"{checks.shown(name)} stands twice", "leave out one of them")
        seen.add(name)
    return tuple(map(str, names))


@lru_cache(maxsize=ORDERS)
def _order(number: int, seed: int, arm: str | None) -> tuple[Integers, Integers]:
    """The shuffled order of an arm, and the place of each item in it.

    Sorted by the numbers of Python's generator, whose sequence stays the same in all of its versions: an experiment
    goes on years later with the items that its arms have not had.
    """
    draw = random.Random(seed if arm is None else f"{seed} {arm}").random
    order = np.argsort(np.array([draw() for _ in range(number)]), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(number)
    return order, place
