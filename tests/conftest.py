"""A compile cache of the tests' own, Hypothesis without chance, and a PostgreSQL server."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

os.environ["NUMBA_CACHE_DIR"] = str(ROOT / ".cache/numba")  # machine code in it counts as stale after an edit
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # its own list of prices, and no look for a newer one

settings.register_profile(
    "bestmix",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "25")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("bestmix")


@pytest.fixture(scope="session", autouse=True)
def whole_kernels():
    """Machine code that serves every instance, compiled once, also for few runs: plain Python would take longer.

    Commands in processes of their own have the latter, and so have tests that use ``for_the_instance``.
    """
    from bestmix.kernels import columns, jit

    lacking = columns.lacking
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "lacking", lambda costs, size: frozenset())
        patch.setattr(jit, "ENOUGH_WORK_OF_RUNS", 0)
        yield lacking


@pytest.fixture
def for_the_instance(whole_kernels, monkeypatch):
    """Machine code without what the instance lacks, as users have it."""
    monkeypatch.setattr("bestmix.kernels.columns.lacking", whole_kernels)


@pytest.fixture(scope="session")
def postgres_url():
    """A real server: the one that TEST_PG_URL names, or one of this session."""
    given = os.environ.get("TEST_PG_URL")
    if given:
        yield given
        return
    from soak.postgres import Server

    server = Server()
    yield server.url
    server.stop()
