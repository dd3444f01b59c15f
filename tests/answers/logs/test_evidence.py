import pytest
from tests.answers.logs.test_steps import COLUMNS, INSTANCE, steps

from bestmix import explain, from_log, solve, tradeoff
from bestmix.theory.planning.guesses import read_log

STEPS = {"bounds": INSTANCE.problem.bounds, "discount": 0.9, "start": INSTANCE.problem.start}
PARTS = [(model, prompt) for model in ("s", "m", "l") for prompt in ("short", "long")]
FITTED = {
    "arm": [f"{model}-{prompt}" for model, prompt in PARTS for _ in range(4)],
    "model": [model for model, _ in PARTS for _ in range(4)],
    "prompt": [prompt for _, prompt in PARTS for _ in range(4)],
    "reward": [k // 2 + k % 2 / 2 + step for k in range(6) for step in (-0.1, 0.1, 0.05, -0.05)],
    "dollars": [k // 2 * 2 + k % 2 / 3 + step for k in range(6) for step in (0.1, 0.05, -0.1, -0.05)],
}
FEATURES = {"bounds": {"dollars": 2.5}, "features": ["model", "prompt"]}


def test_the_trade_off_of_a_log_of_steps_is_that_of_its_recommendation():
    found = tradeoff(steps(), **COLUMNS, **STEPS, points=4)
    of_answer = tradeoff(from_log(steps(), **COLUMNS, **STEPS), points=4)
    assert found.pieces == of_answer.pieces
    assert found.safe == of_answer.safe


def test_a_log_of_steps_is_explained_and_planned_by_its_estimates():
    instance, counts = read_log(
        steps(), "action", "reward", False, "state", known=None, goal="maximise reward", limits=(), **STEPS
    )
    guess = from_log(steps(), **COLUMNS, **STEPS, safety=None)
    assert instance.mixture == pytest.approx(guess.mixture)
    assert counts.tolist() == [40.0] * 6
    assert explain(steps(), **COLUMNS, **STEPS).instance.mixture == pytest.approx(guess.mixture)


def test_values_of_0_and_1_stay_such_in_an_instance_of_steps():
    log = steps()
    log["reward"] = [float(value > 0.5) for value in log["reward"]]
    instance, _ = read_log(
        log, "action", "reward", False, "state", known=None, goal="maximise reward", limits=(), **STEPS
    )
    pull = instance.sampler(0)
    told = [pull("action0", "state0") for _ in range(20)]
    assert {trial["reward"] for trial in told} <= {0.0, 1.0}
    assert len({trial["cost0"] for trial in told}) == 20
    assert {trial["next"] for trial in told} <= {"state0", "state1", "state2"}


def test_a_log_of_arms_with_features_becomes_an_instance_that_is_linear_in_them():
    instance, worth = read_log(FITTED, "arm", "reward", known=None, goal="maximise reward", limits=(), **FEATURES)
    means = dict(zip(instance.arms, instance.means.tolist(), strict=True))
    for metric in range(2):
        assert means["l-long"][metric] - means["l-short"][metric] == pytest.approx(
            means["s-long"][metric] - means["s-short"][metric]
        )
    assert instance.problem.features["m-long"] == {"model": "m", "prompt": "long"}
    assert (worth > 4).all()  # an estimate is worth more than the four trials of its arm
    assert explain(FITTED, **FEATURES).instance.mixture == pytest.approx(
        from_log(FITTED, **FEATURES, safety=None).mixture
    )


def test_an_arm_that_was_never_tried_is_planned_with_by_its_features():
    known = {name: {"model": name[0], "prompt": name[2:]} for name in dict.fromkeys(FITTED["arm"])}
    rest = [k for k, name in enumerate(FITTED["arm"]) if name != "m-long"]
    log = {name: [values[k] for k in rest] for name, values in FITTED.items()}
    asked = {"goal": "maximise reward", "limits": (), "known": None, "bounds": {"dollars": 2.5}}
    instance, _ = read_log(log, "arm", "reward", features=known, **asked)
    assert solve(instance).feasible
    assert instance.means[instance.arms.index("m-long"), 0] == pytest.approx(1.5, abs=0.1)
    with pytest.raises(ValueError, match="no trial tells of 'x'"):
        read_log(log, "arm", "reward", features=known | {"x": {"model": "xl", "prompt": "long"}}, **asked)


@pytest.mark.parametrize(
    ("log", "options", "message"),
    [
        (FITTED, {"features": ["model"], "segment": "prompt"}, "segment: arms with features have one mix for all"),
        (FITTED, {"start": "s"}, "start: it is of steps between states"),
        (FITTED, {"discount": 0.9, "segment": "model"}, "discount: expected the start with it"),
        (FITTED, {"features": ["colour"]}, "there is no column 'colour'"),
        (
            FITTED,
            {"discount": 0.9, "segment": "model", "start": "s", "features": ["model"]},
            "features: a log of steps",
        ),
    ],
)
def test_mistakes(log, options, message):
    for ask in (tradeoff, explain):
        with pytest.raises(ValueError, match=message):
            ask(log, bounds={"dollars": 2.0}, **options)


def test_one_segment_alone_goes_without_features():
    with pytest.raises(ValueError, match="segment: one segment alone goes without features and states"):
        explain(FITTED, **FEATURES, segment=("model", "s"))
