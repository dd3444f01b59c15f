"""A compile cache that belongs to these very kernels, and Hypothesis without chance."""

import hashlib
import os
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

# Numba's cache does not notice an edit in another file: a cache for each state of the kernels.
_kernels = b"".join(path.read_bytes() for path in sorted((ROOT / "src/bestmix/kernels").glob("*.py")))
os.environ["NUMBA_CACHE_DIR"] = str(ROOT / f".cache/numba-{hashlib.sha256(_kernels).hexdigest()[:16]}")

settings.register_profile(
    "bestmix",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("bestmix")
