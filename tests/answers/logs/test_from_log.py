import json

import numpy as np
import pytest

from bestmix import Known, Uniform, from_log
from bestmix.problems.problem import Problem


def log(n=30, seed=0, means=((1.0, 0.0), (3.0, 2.0), (0.5, 1.0)), spread=0.3):
    rng = np.random.default_rng(seed)
    rows = np.repeat(means, n, axis=0) + spread * rng.normal(size=(n * len(means), 2))
    order = rng.permutation(len(rows))
    arms = np.repeat([f"a{i}" for i in range(len(means))], n)[order]
    return {"model": arms.tolist(), "quality": rows[order, 0].tolist(), "dollars": rows[order, 1].tolist()}


NAMES = {"arm": "model", "reward": "quality", "bounds": {"dollars": 1.0}}


def test_the_answer_is_that_of_uniform_sampling():
    table = log()
    found = from_log(table, **NAMES)
    arms = list(dict.fromkeys(table["model"]))
    search = Uniform().start(Problem(arms, {"dollars": 1.0}), 90)
    for arm, q, d in zip(*table.values(), strict=True):
        search.tell(arm, q, d)
    expected = search.recommend()
    assert found.mixture == expected.mixture
    assert found.z_scores == expected.z_scores
    assert found.support_probability == expected.support_probability
    assert (found.strategy, found.budget, found.complete, found.trials) == ("log", None, True, 90)
    assert set(found.support) == {"a0", "a1"}
    json.loads(found.to_json())


def test_the_order_of_rows_changes_no_number():
    table = log()
    turned = {name: values[::-1] for name, values in table.items()}
    one, two = from_log(table, **NAMES), from_log(turned, **NAMES)
    assert one.value == pytest.approx(two.value, rel=1e-12)
    assert one.mixture == pytest.approx(two.mixture, rel=1e-12)
    assert one.estimates == two.estimates


def test_known_arms_join_and_the_log_need_not_hold_them():
    found = from_log(log(), **NAMES, known={"off": Known(2.9, {"dollars": 0.5})})
    assert "off" in found.support
    assert found.estimates["off"].known
    with pytest.raises(ValueError, match=r"known: 'a0' is listed under arms too"):
        from_log(log(), **NAMES, known={"a0": Known(1.0, {"dollars": 0.0})})


@pytest.mark.parametrize("uncertainty", ["delta", "bootstrap"])
def test_a_column_that_hardly_names_arms_is_asked_about(uncertainty):
    rng = np.random.default_rng(0)
    rows = {"model": ["a", "b"] * 60, "cents": np.arange(120) // 2, "reward": rng.normal(size=120)}
    note = from_log(rows, arm="cents", uncertainty=uncertainty, resamples=10).note
    assert "There are 60 arms, most with one or two trials: is 'cents' the column of arms?" in note
    note = from_log(rows, arm="model", segment="cents").note
    assert "There are 60 segments, in most of which an arm has one or two trials: is 'cents' the column of seg" in note
    assert "one or two" not in from_log(rows, arm="model").note
    assert "one or two" not in from_log(rows | {"cents": np.arange(120) // 3}, arm="cents").note


def test_one_trial_arms_have_no_interval_and_a_note():
    table = {"arm": ["a", "b", "b"], "reward": [1.0, 2.0, 2.2]}
    found = from_log(table)
    assert found.note == "One trial only, so no interval of its own: a."
    assert found.estimates["a"].reward_interval == (-np.inf, np.inf)
    assert found.support == ("b",)
    alone = from_log({"arm": ["a"], "reward": [1.0]})
    assert alone.support_probability is None
    assert from_log({"arm": ["a"], "reward": [1.0]}, uncertainty="bootstrap").support_probability == 1.0


def test_an_infeasible_log_is_an_answer_too():
    for uncertainty in ("delta", "bootstrap"):
        found = from_log(log(), "model", "quality", {"dollars": -5.0}, uncertainty=uncertainty)
        assert not found.feasible
        assert found.support_probability is None
        assert found.violation


def test_the_bootstrap_is_seeded_and_a_probability():
    table = log(n=8, spread=3.0)
    shares = [
        from_log(table, **NAMES, uncertainty="bootstrap", resamples=200, seed=s).support_probability for s in (0, 0, 1)
    ]
    assert shares[0] == shares[1] != shares[2]
    assert all(0 < share < 1 for share in shares)
    sure = from_log(log(n=200, spread=0.05), **NAMES, uncertainty="bootstrap", resamples=100)
    assert sure.support_probability == 1.0
    assert from_log(table, **NAMES, uncertainty="bootstrap", resamples=100).mixture == from_log(table, **NAMES).mixture


def test_missing_values_are_dropped_when_asked():
    table = log()
    table["quality"][3] = None
    with pytest.raises(ValueError, match=r"drop_missing"):
        from_log(table, **NAMES)
    assert from_log(table, **NAMES, drop_missing=True).trials == 89


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"uncertainty": "exact"}, "uncertainty: .*'exact'"),
        ({"uncertainty": "bootstrap", "resamples": 0}, "resamples: .*0"),
        ({"bounds": {"euros": 1.0}}, "log: there is no column 'euros'"),
        ({"bounds": {"dollars": float("nan")}}, r"bounds\['dollars'\]: .*nan"),
        ({"bounds": [1.0]}, "bounds: expected a mapping"),
        ({"arm": {"dollars": 1.0}}, "log: expected the name of a column, got {'dollars': 1.0}; bounds and limits"),
        ({"arm": "quality"}, "log: the column 'quality' is named twice"),
        ({"reward": "model"}, "log: the column 'model' is named twice"),
        ({"known": {"k": Known(1.0)}}, r"known\['k'\].costs"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        from_log(log(), **(NAMES | options))


def test_sums_that_are_taken_for_trials_are_noticed():
    sums = {"arm": ["s", "l"], "n": [20, 20], "quality": [9.0, 15.0], "quality*quality": [9.0, 15.0]}
    with pytest.raises(
        ValueError, match=r"its rows are sums of trials: they have the columns 'n' and .*; use from_sums"
    ):
        from_log(sums, reward="quality")
    del sums["n"]
    assert from_log(sums, reward="quality").trials == 2
