"""Compiled arithmetic: arrays in, arrays out; no classes, no input or output."""

import hashlib
from pathlib import Path


def _forget_stale_machine_code() -> None:
    """Empty Numba's cache beside these files when any of them has changed.

    A cached function holds its callees' machine code, and Numba looks only at the file of the
    function itself: after an edit elsewhere it would run old code without a word.
    """
    folder = Path(__file__).parent
    cache = folder / "__pycache__"
    stamp = cache / "sources.sha256"
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(folder.glob("*.py")))).hexdigest()
    try:
        if stamp.exists() and stamp.read_text() == digest:
            return
        for file in cache.glob("*.nb[ic]"):
            file.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        stamp.write_text(digest)
    except OSError:
        return  # a read-only installation: its files do not change either


_forget_stale_machine_code()
