import subprocess
import sys

import numpy as np
import pandas
import pytest

from bestmix import Known, Policy
from bestmix.answers.policy import _at

POLICY = Policy({"small": 0.62, "large": 0.38}, {"dollars": 5.0})
THREE = Policy({"a": 0.5, "b": 0.3, "c": 0.2})


def test_the_same_seed_draws_the_same():
    assert POLICY.draw(50, seed=3) == POLICY.draw(50, seed=3)
    assert POLICY.draw(50, seed=3) != POLICY.draw(50, seed=4)
    assert POLICY.draw(seed=3) == POLICY.draw(1, seed=3)[0]
    assert POLICY.draw(0) == []
    rng = np.random.default_rng(3)
    assert [POLICY.draw(seed=rng) for _ in range(5)] == POLICY.draw(5, seed=3)


@pytest.mark.parametrize("how", ["draw", "assign", "assign with salt"])
def test_shares_match_the_weights(how):
    # 3 shares of 60,000, each within 5 standard errors: false alarms in 2 of 1,000,000 runs; all is fixed.
    n = 60_000
    if how == "draw":
        arms = THREE.draw(n, seed=1)
    else:
        arms = [THREE.assign(i, salt="s" if "salt" in how else "") for i in range(n)]
    for arm, weight in THREE.weights.items():
        assert abs(arms.count(arm) / n - weight) < 5 * np.sqrt(weight * (1 - weight) / n)


GOLDEN = {  # of version 0.1.0: a change would move users to other arms
    ("user 0", ""): "a",
    ("user 1", ""): "b",
    ("user 2", ""): "c",
    ("user 3", ""): "b",
    ("user 0", "spring"): "b",
    ("user 1", "spring"): "a",
    (17, ""): "b",
    ("17", ""): "c",
    ("ü", ""): "b",
    ((1, "x"), ""): "a",
}


@pytest.mark.parametrize(("unit", "salt"), GOLDEN)
def test_assignments_are_the_same_on_every_machine_and_in_every_version(unit, salt):
    assert THREE.assign(unit, salt=salt) == GOLDEN[unit, salt]


def test_assignments_depend_on_the_unit_its_type_and_the_salt_only():
    units = range(200)
    assert [THREE.assign(u) for u in units] == [Policy(THREE.weights, {"x": 1.0}).assign(u) for u in units]
    assert [THREE.assign(u) for u in units] != [THREE.assign(u, salt="b") for u in units]
    assert [THREE.assign(u) for u in units] != [THREE.assign(str(u)) for u in units]


@pytest.mark.parametrize("unit", [None, "", b"", float("nan"), np.float64("nan"), pandas.NA, pandas.NaT], ids=repr)
def test_a_key_that_is_missing_is_no_unit(unit):
    with pytest.raises(ValueError, match=r"unit: expected what tells a user .* use draw\(\) for users without a key"):
        THREE.assign(unit)


def test_units_are_taken_where_warnings_about_bytes_are_errors():
    code = "from bestmix import Policy; print(*map(Policy({'a': 0.5, 'b': 0.3, 'c': 0.2}).assign, ['17', b'17', 17]))"
    run = subprocess.run([sys.executable, "-bb", "-c", code], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("c b b\n", "")


def test_a_small_change_of_weights_moves_few_units():
    other = Policy({"a": 0.51, "b": 0.29, "c": 0.2})
    moved = sum(THREE.assign(u) != other.assign(u) for u in range(10_000))
    assert 50 < moved < 150  # 1% of them


def test_an_arm_without_weight_is_never_chosen():
    policy = Policy({"never": 0.0, "always": 1.0, "nor": 0.0})
    assert set(policy.draw(2000, seed=0)) == {"always"}
    assert {policy.assign(i) for i in range(2000)} == {"always"}
    rounded = {f"arm{a}": 0.1 for a in range(10)} | {"never": 0.0}  # which add up to a little less than one
    assert _at(rounded, 1.0 - 2.0**-53) == "arm9"


@pytest.mark.parametrize("name", ["p.json", "p.toml"])
def test_files_hold_a_policy(tmp_path, name):
    policy = Policy({"a": 1 / 3, "ü": 2 / 3}, {"x": 0.1}, feasible=False)
    policy.save(tmp_path / name)
    again = Policy.load(tmp_path / name)
    assert again == policy
    assert again.draw(20, seed=1) == policy.draw(20, seed=1)


def fresh(seed, shift=0.0):
    """A log with three arms, of which the policy has two."""
    rng = np.random.default_rng(seed)
    arms = np.repeat(["small", "large", "other"], 50)
    means = np.repeat([[1.0, 2.0], [3.0, 8.0], [9.0, 1.0]], 50, axis=0)
    rows = means + rng.normal(size=(150, 2)) + [0.0, shift]
    return {"arm": arms.tolist(), "reward": rows[:, 0].tolist(), "dollars": rows[:, 1].tolist()}


@pytest.mark.parametrize("seed", range(5))
def test_refitting_keeps_the_support_and_the_bounds(seed):
    log = fresh(seed)
    policy = POLICY.refit(log)
    assert list(policy.weights) == ["small", "large"]
    assert policy.bounds == POLICY.bounds
    assert policy.feasible
    costs = {a: np.mean([c for b, c in zip(log["arm"], log["dollars"], strict=True) if a == b]) for a in policy.weights}
    assert sum(w * costs[a] for a, w in policy.weights.items()) == pytest.approx(5.0)


def test_refitting_wants_the_same_certainty():
    log = fresh(0)
    sure = Policy(POLICY.weights, POLICY.bounds, safety=0.95).refit(log)
    assert sure.safety == 0.95
    assert sure.certainty >= 0.95
    assert sure.weights["large"] < POLICY.refit(log).weights["large"]
    more = Policy(POLICY.weights, POLICY.bounds, safety=0.95).refit(log, before=fresh(1))
    assert more.certainty >= 0.95
    assert more.weights["large"] > sure.weights["large"]  # twice the trials, less of a margin


def test_refitting_knows_known_arms():
    known = {"small": Known(1.0, {"dollars": 2.0})}
    log = fresh(0)
    keep = [a != "small" for a in log["arm"]]
    log = {name: [v for v, k in zip(values, keep, strict=True) if k] for name, values in log.items()}
    policy = Policy(POLICY.weights, POLICY.bounds, safety=0.95, known=known).refit(log)
    assert policy.known == known
    assert list(policy.weights) == ["small", "large"]
    assert policy.refit(log) == policy
    assert POLICY.refit(log, known=known).known == known


def test_a_policy_with_all_it_carries_comes_back(tmp_path):
    known = {"small": Known(1.0, {"dollars": 2.0})}
    policy = Policy(POLICY.weights, POLICY.bounds, True, 0.97, 0.95, known)
    for name in ("policy.json", "policy.toml"):
        for saved in (policy, POLICY):
            saved.save(tmp_path / name)
            assert Policy.load(tmp_path / name) == saved


def test_refitting_on_data_that_break_the_bounds_says_so():
    policy = POLICY.refit(fresh(0, shift=10.0))
    assert not policy.feasible
    assert policy.weights == {"small": 1.0, "large": 0.0}


def test_refitting_needs_every_arm():
    log = {"arm": ["small"], "reward": [1.0], "dollars": [1.0]}
    with pytest.raises(ValueError, match=r"trials: expected fresh trials of 'large', got none"):
        POLICY.refit(log)


def test_weights_that_add_up_to_one_but_for_rounding_are_taken():
    assert sum(Policy({"a": 0.1, "b": 0.2, "c": 0.7000001}).weights.values()) == pytest.approx(1.0, abs=1e-15)


PARTS = {"free": {"small": 1.0}, "paid": {"small": 0.25, "large": 0.75}}
SPLIT = Policy(
    None,
    {"dollars": 5.0},
    safety=0.95,
    goal="maximise reward",
    limits=["quality >= 0.1", "share(large) <= 40%"],
    segments={"free": 0.6, "paid": 0.4},
    by_segment=PARTS,
)


def test_a_policy_of_segments_draws_and_assigns_in_each():
    assert SPLIT.weights == {"small": pytest.approx(0.7), "large": pytest.approx(0.3)}
    assert {SPLIT.assign(unit, segment="free") for unit in range(200)} == {"small"}
    paid = Policy(PARTS["paid"])
    assert [SPLIT.assign(u, segment="paid") for u in range(50)] == [paid.assign(u) for u in range(50)]
    assert SPLIT.draw(20, seed=1, segment="paid") == paid.draw(20, seed=1)


@pytest.mark.parametrize("name", ["p.json", "p.toml"])
def test_goal_limits_and_segments_come_back(tmp_path, name):
    SPLIT.save(tmp_path / name)
    again = Policy.load(tmp_path / name)
    assert again == SPLIT
    assert again.wanting(None).safety is None
    assert again.wanting(None).by_segment == SPLIT.by_segment


def test_a_bound_among_the_limits_is_a_bound():
    policy = Policy({"a": 1.0}, limits=["quality >= 0.9", "dollars <= 5"])
    assert (policy.bounds, policy.limits) == ({"dollars": 5.0}, ("quality >= 0.9",))


def test_the_problem_of_a_policy_has_its_own_arms():
    known = {"small": Known(1.0, {"dollars": 2.0}), "large": Known(costs={"dollars": 9.0})}
    policy = Policy({"small": 0.5, "large": 0.5}, {"dollars": 6.0}, known=known, limits=["share(gone) <= 10%"])
    problem = policy.problem
    assert (problem.arms, problem.names) == (("large",), ("large", "small"))
    assert problem.costs == ("dollars",)  # a limit on an arm that is not used is kept whatever happens


BAD_POLICIES = [
    (lambda: POLICY.assign(None), "unit: expected what tells a user or a request from others, got None; use draw()"),
    (lambda: POLICY.assign(""), "unit: .* got ''; use draw"),
    (lambda: POLICY.assign(b""), "unit: .*; use draw"),
    (lambda: POLICY.assign(float("nan"), salt="spring"), "unit: .* got nan; use draw"),
    (lambda: SPLIT.assign("u"), "segment: expected one of 'free', 'paid', got None"),
    (lambda: SPLIT.draw(segment="gold"), "segment: expected one of 'free', 'paid', got 'gold'"),
    (lambda: POLICY.assign("u", segment="free"), "segment: expected none: the policy has no segments"),
    (lambda: Policy(None, segments={"free": 1.0}, by_segment={"paid": {"a": 1.0}}), "segments: "),
    (lambda: Policy(None, segments={"free": 0.5}, by_segment={"free": {"a": 1.0}}), "segments: expected shares"),
    (lambda: Policy({"a": 1.0}, goal="cheapest"), "goal: expected 'maximise' or 'minimise'"),
    (lambda: Policy({"a": 1.0}, limits=["x < 1"]), "limit: expected <=, >= or ="),
    (
        lambda: Policy.from_dict({"weights": {}, "segments": {"free": {"a": 1.0}}}),
        r"segments\['free'\]: expected the en",
    ),
    (
        lambda: Policy.from_dict(SPLIT.to_dict() | {"weights": {"small": 0.3, "large": 0.7}}),
        r"weights\['small'\]: expected 0.7, which the weights in the segments come to, got 0.3",
    ),
    (lambda: Policy({}), "weights: .*{}"),
    (lambda: Policy({"a": 0.5}), "weights: .*0.5"),
    (lambda: Policy({"a": 1.5, "b": -0.5}), "weights: .*-0.5"),
    (lambda: Policy({"a": float("nan")}), r"weights\['a'\]: .*nan"),
    (lambda: Policy({"a": "1"}), r"weights\['a'\]: .*'1'"),
    (lambda: Policy({"": 1.0}), "weights: expected non-empty strings"),
    (lambda: Policy([1.0]), "weights: expected a mapping"),
    (lambda: Policy({"a": 1.0}, {"x": float("inf")}), r"bounds\['x'\]: .*inf"),
    (lambda: Policy({"a": 1.0}, [1.0]), "bounds: expected a mapping"),
    (lambda: Policy({"a": 1.0}, certainty=1.5), "certainty: expected a chance from 0 to 1"),
    (lambda: Policy({"a": 1.0}, safety=95), "safety: expected a certainty from 0.5 to below 1"),
    (lambda: Policy.from_dict({"version": 4, "weights": {"a": 1.0}}), "version: expected the form of a policy's file"),
    (lambda: Policy.from_dict({"weights": {"a": 1.0}, "known": {"a": 1}}), r"known\['a'\]: expected a mapping"),
    (lambda: Policy.from_dict({"weight": {}}), "policy: expected the entry weights, got .*weight"),
    (lambda: POLICY.draw(-1), "size: .*-1"),
    (lambda: POLICY.draw(1.5), "size: .*1.5"),
]


@pytest.mark.parametrize(("make", "message"), BAD_POLICIES, ids=lambda x: x if isinstance(x, str) else "")
def test_a_bad_policy_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


def test_weights_are_read_back_to_the_bit(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(50):
        weights = rng.dirichlet(np.ones(3))
        policy = Policy({f"arm{a}": float(w) for a, w in enumerate(weights)})
        policy.save(tmp_path / "policy.json")
        assert Policy.load(tmp_path / "policy.json") == policy
