import pytest

from bestmix.reproduction import deploy, reproduce
from bestmix.reproduction.deploy import LIMITS, SUPPORT, Claim, judge, pool_claims


def test_claims_are_seeded_and_of_both_kinds():
    claims = judge("A2", 30, runs=3, seed=1)
    assert claims == judge("A2", 30, runs=3, seed=1)
    assert sum(c.what == SUPPORT for c in claims) == 3
    assert sum(c.what == LIMITS for c in claims) == 3 * len(deploy.CERTAINTIES)
    assert all(0 <= c.claimed <= 1 for c in claims)


def test_bins_hold_what_falls_into_them():
    bins = pool_claims([Claim("x", 0.96, True), Claim("x", 0.97, False), Claim("y", 0.5, True)], "x")
    assert [(b.runs, b.right) for b in bins if b.runs] == [(2, 1)]
    assert sum(b.claimed for b in bins) == pytest.approx(1.93)


def test_limits_are_kept_as_often_as_claimed():
    # 60 mixes that claim 95%: fewer than 49 that keep the limits have a chance below 1e-4.
    kept = [c.true for c in judge("A2", 100, runs=60, seed=2) if c.what == LIMITS and c.claimed >= 0.95]
    assert sum(kept) >= len(kept) * 49 / 60


def test_the_figure_is_made_and_made_again_from_what_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(deploy, "INSTANCES", ("A2",))
    monkeypatch.setattr(deploy, "TRIALS", (10,))
    made = reproduce("deploy", tmp_path, runs=2)
    assert [path.name for path in made.files] == ["deploy.png", "deploy.svg", "deploy.csv", "deploy.txt"]
    monkeypatch.setattr(deploy, "judge", None)
    assert reproduce("deploy", tmp_path, runs=2).caption == made.caption
