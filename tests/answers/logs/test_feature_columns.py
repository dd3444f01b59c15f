import numpy as np
import pandas as pd
import pytest

from bestmix import from_log
from bestmix.answers.logs.feature_columns import column_features, log_features


def test_features_are_what_columns_say_of_each_arm():
    log = {
        "arm": ["a", "b", "a", "b"],
        "model": ["7", "70", None, "70"],
        "name": ["infinity", "1_000", "infinity", "1_000"],
    }
    log["heat"] = [1, 0.5, "1.0", 0.5]
    expected = {
        "a": {"model": 7.0, "name": "infinity", "heat": 1.0},
        "b": {"model": 70.0, "name": "1_000", "heat": 0.5},
    }
    assert column_features(log, "arm", ["model", "name", "heat"]) == expected
    assert column_features(log, "arm", ["text(model)"]) == {"a": {"model": "7"}, "b": {"model": "70"}}
    with pytest.raises(ValueError, match="no row of the arm says its model"):
        column_features({"arm": ["a", "b"], "model": ["s", None]}, "arm", ["model"])
    with pytest.raises(ValueError, match="expected one model in all rows of the arm, such as 's', got 'l'"):
        column_features({"arm": ["a", "a"], "model": ["s", "l"]}, "arm", ["model"])
    with pytest.raises(ValueError, match="standard input can be read but once"):
        column_features("-", "arm", ["model"])


def test_columns_of_a_log_are_features(tmp_path):
    rows = ["variant,model,heat,quality,cents"]
    rng = np.random.default_rng(11)
    for model, good, dear in (("small", 0.5, 0.2), ("large", 0.8, 1.9)):
        for heat in (0, 0.5, 1):
            rows += [
                f"{model}-{heat},{model},{heat},{good - 0.1 * heat + 0.1 * rng.normal()},{dear + 0.1 * rng.normal()}"
                for _ in range(9)
            ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows))
    answer = from_log(path, "variant", "quality", {"cents": 1.0}, features=["model", "heat"])
    assert answer.problem.features["large-0.5"] == {"model": "large", "heat": 0.5}
    assert "one fit of all trials" in answer.note
    assert set(answer.best_guess) == {"small-0", "large-0"}
    alone = from_log(path, "variant", "quality", {"cents": 1.0})
    widths = [np.diff(a.estimates["small-0.5"].reward_interval)[0] for a in (answer, alone)]
    assert widths[0] < 0.8 * widths[1]
    for beside in ({"uncertainty": "bootstrap"}, {"item": "model"}, {"block": "model"}):
        with pytest.raises(ValueError, match="features"):
            from_log(path, "variant", "quality", {"cents": 1.0}, features=["model"], **beside)
    with pytest.raises(ValueError, match=r"features\['small'\]: expected one heat in all rows of the arm"):
        from_log(path, "model", "quality", {"cents": 1.0}, features=["heat"])
    with pytest.raises(ValueError, match="column"):
        from_log(path, "variant", "quality", features=["size"])


def test_features_by_arm_are_taken_as_they_are():
    given = {"a": {"model": "s"}, "b": {"model": "l"}}
    log = {"arm": ["a", "b"], "model": ["x", "y"]}
    assert log_features(log, "arm", given) is given
    assert log_features(log, "arm", pd.DataFrame.from_dict(given, orient="index")) == given
    for wrong in ("model", [[1.0], [2.0]], np.eye(2)):
        with pytest.raises(ValueError, match="features: expected names of columns, or features by arm"):
            log_features(log, "arm", wrong)
