import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from bestmix import Known, Limit, Policy
from bestmix.answers.number_text import chance_text
from bestmix.answers.recommendation import MeanCost
from bestmix.cli import app
from bestmix.cli.refit import _would_have


def refit(*words):
    return CliRunner().invoke(app, ["refit", *map(str, words)])


def write_log(path, seed, n=40):
    rng = np.random.default_rng(seed)
    rows = [f"l,{2 + 0.1 * rng.normal()},{2 + 0.2 * rng.normal()}\n" for _ in range(n)]
    path.write_text("model,quality,dollars\n" + "".join(rows))
    return path


@pytest.fixture
def place(tmp_path):
    known = {"s": Known(1.0, {"dollars": 0.0})}
    Policy({"s": 0.5, "l": 0.5}, {"dollars": 1.0}, True, 0.95, 0.95, known).save(tmp_path / "policy.json")
    write_log(tmp_path / "fresh.csv", 1)
    return tmp_path


NAMES = ["--arm", "model", "--reward", "quality"]


def test_a_new_policy_is_written_beside_the_old(place):
    before = (place / "policy.json").read_text()
    result = refit(place / "policy.json", place / "fresh.csv", *NAMES, "-o", place / "new.json")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Mix ")
    assert "All limits are kept with 95% certainty" in result.stdout
    assert "new.json" in result.stdout
    assert (place / "policy.json").read_text() == before
    new = Policy.load(place / "new.json")
    assert list(new.weights) == ["s", "l"]
    assert new.certainty >= new.safety == 0.95
    assert "s" in new.known


def test_the_old_one_is_replaced_where_no_other_name_is_given(place):
    old = Policy.load(place / "policy.json")
    assert refit(place / "policy.json", place / "fresh.csv", *NAMES).exit_code == 0
    assert Policy.load(place / "policy.json") != old


def test_a_folder_in_place_of_the_policy_is_told(place):
    (place / "folder").mkdir()
    written, read = "expected the name of a file, got a folder", "it is a folder, a file was expected"
    for words, said in (
        (["folder"], written),
        (["policy.json", "-o", "folder"], written),
        (["folder", "-o", "new.json"], read),
    ):
        result = refit(*(place / word if word[0] != "-" else word for word in words), place / "fresh.csv", *NAMES)
        assert result.exit_code == 2
        assert said in result.stderr
    assert not (place / "new.json").exists()


def test_trials_before_count_too(place):
    write_log(place / "before.csv", 2, n=200)
    words = [place / "policy.json", place / "fresh.csv", *NAMES, "--json", "-o"]
    alone = json.loads(refit(*words, place / "a.json").stdout)
    both = json.loads(refit(*words, place / "b.json", "--before", place / "before.csv").stdout)
    assert (alone["trials"], both["trials"]) == (40, 240)
    assert both["limits"]["dollars"]["error"] < alone["limits"]["dollars"]["error"]


def test_another_certainty_can_be_wanted(place):
    assert refit(place / "policy.json", place / "fresh.csv", *NAMES, "--safety", "none").exit_code == 0
    assert Policy.load(place / "policy.json").safety is None


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--safety", "2"], "--safety: expected a certainty from 0.5 to below 1, or none, got '2'"),
        (["--arm", "nobody"], "no column 'nobody'"),
        (["--before", "nowhere.csv"], "there is no file"),
        (["-o", "policy.txt"], ".json or .toml"),
    ],
)
def test_mistakes_leave_the_policy_as_it_was(place, words, part):
    before = (place / "policy.json").read_text()
    result = refit(place / "policy.json", place / "fresh.csv", *NAMES, *words)
    assert result.exit_code == 2
    assert part in " ".join(result.stderr.split())
    assert (place / "policy.json").read_text() == before


def test_it_says_what_changes_and_what_is_left_out(place):
    with (place / "fresh.csv").open("a") as log:
        log.write("xl,9,9\nxl,8,9\n")
    words = place / "policy.json", place / "fresh.csv", *NAMES, "-o", place / "new.json"
    told = " ".join(refit(*words).stdout.split())
    weights = Policy.load(place / "new.json").weights
    assert f"│ l │ 50.0% │ {weights['l']:.1%} │" in told
    kept = json.loads(refit(*words, "--json").stdout)["deployed"]["dollars"]["mean"] <= 1.0
    verdict = "would have kept" if kept else "would not have kept"
    assert f"At the estimates the old weights {verdict} 'dollars <= 1' on the fresh trials: dollars " in told
    chance = json.loads(refit(*words, "--json").stdout)["deployed"]["dollars"]["chance"]
    assert f"; chance of keeping it: {chance_text(chance)}." in told
    assert "Left out, because the policy has no such arm: 2 of 'xl'" in told
    data = json.loads(refit(*words, "--json").stdout)
    assert data["old_weights"] == {"s": 0.5, "l": 0.5}
    assert data["left_out"] == {"xl": 2}


def test_a_column_of_another_name_can_be_said(place):
    complaint = refit(place / "policy.json", place / "fresh.csv").stderr
    assert "there is no column 'arm'" in complaint
    assert "name it: arm=... (--arm ...)" in complaint


def test_no_verdict_on_an_equality_or_on_a_ratio_without_a_value():
    level, ratio = Limit.parse("load = 0.5"), Limit.parse("x / y <= 1%")
    told = _would_have(MeanCost(0.15, 0.01, (0.13, 0.17), 0.5, math.nan), level)
    assert told == "With the old weights load is 0.150 ± 0.020 on the fresh trials, where 'load = 0.5' was asked for."
    unknown = MeanCost(math.nan, math.nan, (math.nan, math.nan), 0.01, math.nan)
    assert _would_have(unknown, ratio).startswith("'x / y <= 1%' cannot be judged on the fresh trials")


def test_a_certified_policy_is_not_replaced_in_place_by_one_that_is_not(place):
    rows = [f"l,{2 + 0.1 * k},{9.0 * (-1) ** k}\n" for k in range(4)]
    (place / "wild.csv").write_text("model,quality,dollars\n" + "".join(rows))
    known = {"s": Known(1.0, {"dollars": 0.999})}
    old = Policy({"s": 0.5, "l": 0.5}, {"dollars": 0.998}, True, 0.95, 0.95, known)
    old.save(place / "policy.json")
    words = place / "policy.json", place / "wild.csv", *NAMES
    result = refit(*words)
    assert result.exit_code == 1
    assert "the new weights are not: it was left as it is" in " ".join(result.stderr.split())
    assert Policy.load(place / "policy.json") == old
    assert not json.loads(refit(*words, "--json").stdout)["saved"]
    assert refit(*words, "-o", place / "new.json").exit_code == 0
    assert refit(*words, "--force").exit_code == 0
    assert Policy.load(place / "policy.json") != old


def test_a_policy_that_gave_up_an_arm_can_be_fitted_again(place):
    known = {"s": Known(1.0, {"dollars": 0.0})}
    Policy({"s": 0.5, "l": 0.5, "gone": 0.0}, {"dollars": 1.0}, True, 0.95, 0.95, known).save(place / "policy.json")
    for _ in range(2):
        result = refit(place / "policy.json", place / "fresh.csv", *NAMES)
        assert result.exit_code == 0, result.stderr
        assert "Without weight and without trials, so it stays out: gone." in " ".join(result.stdout.split())
        assert Policy.load(place / "policy.json").weights["gone"] == 0.0


def test_arms_that_a_segment_did_not_use_before_are_among_what_changes(place):
    rows = [
        f"{arm},{segment},{reward + step},{dollars + step}"
        for segment in ("free", "paid")
        for arm, reward, dollars in (("s", 1, 1), ("l", 3, 6))
        for step in (-0.1, 0.0, 0.1, 0.05, -0.05)
    ]
    (place / "fresh.csv").write_text("\n".join(["arm,segment,reward,dollars", *rows]))
    parts = {"free": {"s": 1.0}, "paid": {"l": 1.0}}
    Policy(None, {"dollars": 2.0}, segments={"free": 0.5, "paid": 0.5}, by_segment=parts).save(place / "policy.json")
    result = refit(place / "policy.json", place / "fresh.csv")
    assert result.exit_code == 0, result.output
    table = result.stdout.partition("What changes")[2]
    assert all(name in table for name in ("s in free", "l in paid", "s in paid"))
