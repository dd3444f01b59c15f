"""The one decorator that holds every compile option, and the array types of the kernels."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile to machine code that is cached on disk and runs without Python's global lock."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """As ``compiled``, and put into its callers: a call counts references to every array that is passed.

    For what calls no other kernel only: whatever is below it would be compiled once more in every caller.
    """
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function))


def compiled_here(function: F) -> F:
    """As ``compiled``, but not kept on disk: for a function that is made while the program runs."""
    return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


@compiled
def plain(value: int) -> int:
    """The value as a variable: for a constant argument Numba would compile the callee once more."""
    return int(value)
