"""The errors that calls on an experiment end with; ``code`` and ``field`` are what a server says of them."""

from bestmix.checks import Missing


class StorageError(RuntimeError):
    """The storage did not do its work: out of reach, out of space, damaged, of another version."""

    code = "unavailable"
    field: str | None = None


class UnknownTrial(Missing):
    """There is no such trial in this experiment."""


class Conflict(RuntimeError):
    """A trial was told before, with other values."""

    code = "conflict"
    field: str | None = "trial"


class Closed(RuntimeError):
    """The experiment takes no such call any more, or not now."""

    code = "closed"
    field: str | None = None


class OutOfOrder(RuntimeError):
    """A report came before another one of the same edge."""

    code = "conflict"
    field: str | None = "key"
