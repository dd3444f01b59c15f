"""All figures of ``bestmix reproduce``, from nothing: no machine code, no results."""

import subprocess
import tempfile
import time
from os import environ
from pathlib import Path

from bench.startup import COMMAND
from bench.timing import Figure

TITLE = "Every figure anew"


def measure(quick: bool) -> list[Figure]:
    what = "bestmix reproduce, all figures, nothing cached"
    if subprocess.run([COMMAND, "reproduce", "--help"], capture_output=True).returncode:
        return [Figure(what, None, "s", 120.0, at_most=True, note="no such command")]
    if quick:
        return [Figure(what, None, "s", 120.0, at_most=True, note="left out with --quick")]
    with tempfile.TemporaryDirectory() as folder:
        output, cache = Path(folder) / "figures", Path(folder) / "cache"
        start = time.perf_counter()
        env = environ | {"NUMBA_CACHE_DIR": str(cache)}
        subprocess.run([COMMAND, "reproduce", "--output", output], env=env, capture_output=True, check=True)
        seconds = time.perf_counter() - start
        count = sum(path.is_file() for path in output.rglob("*"))
    return [Figure(what, seconds, "s", 120.0, at_most=True, note=f"{count} files")]
