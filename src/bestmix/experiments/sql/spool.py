"""Many values kept aside: a long read is over soon, and what it found is worked on afterwards.

A transaction that reads keeps the writers of an SQLite file with a rollback journal from committing, so it
must not last as long as the work on what it reads.
"""

import pickle
import weakref
from collections.abc import Iterable, Iterator
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import TypeVar

T = TypeVar("T")

PAGE = 1000  # values in one piece
MOST_BYTES = 32_000_000  # kept in memory; more goes to a temporary file


class Spool(Iterator[T]):
    """Takes all values when it is made, and gives them back one by one later.

    >>> source = iter([1, 2, 3])
    >>> later = Spool(source)
    >>> list(source), list(later)
    ([], [1, 2, 3])
    """

    def __init__(self, values: Iterable[T]) -> None:
        source = iter(values)
        self._file = SpooledTemporaryFile(MOST_BYTES)  # noqa: SIM115 (closed with the spool)
        weakref.finalize(self, self._file.close)
        while page := list(islice(source, PAGE)):
            pickle.dump(page, self._file, pickle.HIGHEST_PROTOCOL)
        self._file.seek(0)
        self._page: Iterator[T] = iter(())

    def __next__(self) -> T:
        """The next value, of this piece or of the next one."""
        for value in self._page:
            return value
        try:
            self._page = iter(pickle.load(self._file))
        except EOFError:
            raise StopIteration from None
        return next(self._page)
