"""Machine code that is kept on disk for the next start: stale when any kernel's source has changed, never in the way.

What cannot be read counts as missing and is made anew; where nothing can be written, work goes on without it.
"""

import hashlib
import os
import pickle
import sys
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core import caching

DIGEST = 32  # bytes in front of machine code, which tell whether it is as it was written


def kept_code(function: FunctionType) -> "KeptCode | None":
    """What is kept of a function's machine code; None where there is no folder for it.

    It is kept beside the files, or in the user's cache folder where they cannot be written.
    """
    if not has_folder():
        say_that_nothing_is_kept("nobody's home folder is known")
        return None
    try:
        return KeptCode(function)
    except RuntimeError as error:  # by Numba, where none of its folders can be written
        say_that_nothing_is_kept(str(error))
        return None


def has_folder() -> bool:
    """Whether there is a folder for machine code: beside the source, a named one, or in somebody's home.

    Without a home Numba would make a folder that is called ``~`` where the process happens to be.
    """
    named = any(os.environ.get(name) for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"))
    return named or os.access(Path(__file__).parent, os.W_OK) or os.path.expanduser("~") != "~"


class KeptCode(caching.FunctionCache):
    """Numba's cache of a function's machine code. That holds its callees', and Numba would look at one file only."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        # Python's way in: what kernels call is part of its machine code
        name = f"{self._impl.filename_base}.entry".lower()
        self._cache_file = CheckedFiles(self.cache_path, name, sources())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for these types; None, and nothing is kept any more, if it cannot be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a file that was cut off, or is not ours, may raise anything
            self._forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for these types, if that is possible."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            say_that_nothing_is_kept(str(error))

    def _forget(self) -> None:
        try:
            self.flush()
        except OSError as error:
            say_that_nothing_is_kept(str(error))


class CheckedFiles(caching.IndexDataCacheFile):
    """Files with a digest of the machine code: a processor does whatever damaged code says."""

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        super()._save_data(name, hashlib.sha256(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        whole: bytes = super()._load_data(name)
        if hashlib.sha256(whole[DIGEST:]).digest() != whole[:DIGEST]:
            raise ValueError(f"{name} is damaged")
        return pickle.loads(whole[DIGEST:])


@cache
def say_that_nothing_is_kept(why: str) -> None:
    """Once for each reason."""
    text = f"bestmix: machine code cannot be kept for the next start ({why}); NUMBA_CACHE_DIR names a folder for it."
    print(text, file=sys.stderr, flush=True)


@cache
def sources() -> str:
    """Digest of all kernels' sources."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
