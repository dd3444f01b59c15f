"""A compile cache of the tests' own, and Hypothesis without chance."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".cache/numba")  # machine code in it counts as stale after an edit

settings.register_profile(
    "bestmix",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("bestmix")
