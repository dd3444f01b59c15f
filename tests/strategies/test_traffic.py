import numpy as np
import pytest
from tests.answers.segmented import evidence, problem

from bestmix import Known, Problem, Traffic, catalog, checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.strategies import program_rounds
from bestmix.strategies.traffic import FIRST, balance, plan_round

ROUTER = Problem(["small", "medium", "large"], {"dollars": 1.0})
MEANS = {"small": (0.5, 0.1), "medium": (0.6, 0.6), "large": (0.9, 2.0)}


def told(asked=ROUTER, trials=300, seed=0, means=MEANS, spread=0.2):
    """What so many trials of each arm tell."""
    rng, counts = np.random.default_rng(seed), np.broadcast_to(trials, len(asked.arms))
    rows = [
        np.array(means[arm]) + spread * rng.standard_normal((n, 2)) for arm, n in zip(asked.arms, counts, strict=True)
    ]
    return Evidence(asked, [Moments(2).plus(table) for table in rows])


def mean_of(plan, means=MEANS):
    return sum(share * np.array(means[arm]) for arm, share in plan.weights[""].items())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"explore": "70%"}, "from 0% to 50%"),
        ({"carry": "yes"}, "carry: expected True or False"),
        ({"explore": "much"}, "a share such as 5%"),
        ({"safety": None}, "a certainty"),
        ({"requests": 0}, "at least 1"),
        ({"seconds": 0}, "30 days"),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, words):
    with pytest.raises(checks.InvalidInput, match=words):
        Traffic(**wrong)


@pytest.mark.parametrize("serve", ["huge", {"small": 0.5}, {"small": 2.0, "large": -1.0}])
def test_what_is_served_first_is_a_mix_of_the_arms(serve):
    with pytest.raises(checks.InvalidInput, match="add up to 1"):
        Traffic(serve=serve).begin(ROUTER, 1)


def test_it_is_restored_from_plain_data():
    from bestmix.strategies.built_in import restore_strategy

    for made in (Traffic(), Traffic(0.1, serve={"small": 1.0}, carry=True)):
        assert restore_strategy(made.to_dict()) == made


def test_there_is_no_search_of_it():
    with pytest.raises(checks.InvalidInput, match="open_experiment"):
        Traffic().start(ROUTER, 10)


def test_before_anything_is_known_all_arms_are_served_alike_or_the_given_one_is():
    nothing = Evidence(ROUTER, [Moments(2)] * 3)
    plan = plan_round(nothing, Traffic(), 1000)
    assert plan.weights == plan.alone == {"": dict.fromkeys(ROUTER.arms, pytest.approx(1 / 3))}
    assert plan.requests == 3 * FIRST
    plan = plan_round(nothing, Traffic(explore="9%", serve="small"), 1000)
    assert plan.weights[""] == pytest.approx({"small": 0.94, "medium": 0.03, "large": 0.03})
    assert plan.alone[""] == {"small": 1.0}
    assert plan.requests == np.ceil(3 * FIRST / 0.09)
    assert not plan.certified
    assert "before every arm" in plan.alarm


def test_arms_that_lack_first_trials_get_them():
    plan = plan_round(told(trials=[500, FIRST, 4]), Traffic(explore="10%", serve="small"), 1000)
    assert plan.weights[""] == pytest.approx({"small": 0.9, "large": 0.1})


def test_the_traffic_keeps_its_limit_while_it_explores():
    traffic = Traffic(explore="10%")
    for seed in range(5):
        plan = plan_round(told(seed=seed), traffic, 2000)
        assert plan.certified
        assert plan.explore == 0.1
        assert not plan.alarm
        assert sum(plan.weights[""].values()) == pytest.approx(1.0)
        assert mean_of(plan)[1] <= 1.0
        assert mean_of(plan)[1] > 0.9  # and uses what it has


def test_exploration_of_what_costs_too_much_shrinks():
    means = MEANS | {"large": (0.9, 150.0)}
    noisy = told(means=means, trials=[300, 300, 20], spread=1.0)
    plan = plan_round(noisy, Traffic(explore="20%"), 2000)
    assert plan.certified
    assert 0.0 < plan.weights[""].get("large", 0.0) < 0.02
    assert mean_of(plan, means)[1] <= 1.0


def test_exploring_costs_no_more_than_a_part_of_what_could_be_gained():
    means = {"small": (0.79, 0.05), "medium": (0.92, 0.8), "large": (0.93, 23.0)}
    plan = plan_round(told(means=means, trials=[5000, 5000, 300]), Traffic(explore="5%"), 1000)
    assert plan.certified
    assert 0.0 < plan.explore < 0.02  # 2% of "large" would leave half of the limit to the others, and gain nothing
    assert mean_of(plan, means)[0] > 0.915


def test_no_exploring_serves_and_watches():
    plan = plan_round(told(), Traffic(explore="0%"), 2000)
    assert plan.explore == 0.0
    assert plan.weights == plan.alone


def test_when_no_mix_keeps_the_limits_the_most_certain_one_is_served_with_an_alarm():
    plan = plan_round(told(Problem(ROUTER.arms, {"dollars": 0.05})), Traffic(), 2000)
    assert not plan.certified
    assert plan.explore == 0.0
    assert "the most certain one" in plan.alarm
    assert plan.weights[""] == {"small": 1.0}


def test_the_plan_leaves_out_what_the_served_share_is_about_to_try():
    instance = catalog.load("A2")
    rng = np.random.default_rng(0)
    found = Evidence(instance.problem, [Moments(2).plus(instance.draw(a, 50, rng)) for a in range(16)])
    room, none = np.array([100]), np.zeros(16)
    plan = program_rounds.plan_ahead(found, none, 100, room)
    favourite = int(np.argmax(plan))
    ahead = program_rounds.plan_ahead(found, np.eye(16)[favourite] * 1e5, 100, room)
    assert plan[favourite] > 0
    assert ahead[favourite] == 0
    assert plan.sum() == ahead.sum() == 100


def test_the_balance_is_what_the_requests_left_of_the_limits():
    table = np.array([[1.0, 0.5], [2.0, 2.5], [3.0, 0.25]])
    asked = Problem(["a", "b"], {"dollars": 1.0}, known={"off": Known(0.0, {"dollars": 0.25})}, limits=["reward >= 1"])
    found = Evidence(asked, [Moments(2).plus(table[:2]), Moments(2).plus(table[2:])])
    left = balance(found, [Moments(2, 4)])
    np.testing.assert_allclose(left, [7 * 1.0 - 3.25 - 4 * 0.25, 6.0 + 0.0 - 7 * 1.0])
    np.testing.assert_allclose(balance(found), [3 * 1.0 - 3.25, 6.0 - 3 * 1.0])


def test_a_debt_is_paid_back_and_what_is_left_is_used_only_on_request():
    small, large = told(trials=[3000, 100, 100]), told(trials=[300, 300, 3000])
    spending = Traffic(explore="0%", carry=True)
    saving = Traffic(explore="0%")
    careful, bold = (mean_of(plan_round(small, rule, 2000))[1] for rule in (saving, spending))
    assert careful < bold <= 1.03
    assert plan_round(small, saving, 2000).carry["dollars"] > 1000
    owing = plan_round(large, saving, 2000)
    assert owing.carry["dollars"] < -1000
    assert mean_of(owing)[1] < 0.9
    assert owing.certified
    start = plan_round(large, saving, 2000, large)
    assert start.carry["dollars"] == 0.0
    assert mean_of(start)[1] > 0.95


def test_a_debt_that_no_mix_can_pay_back_waits():
    owing = told(trials=[300, 300, 300_000])
    plan = plan_round(owing, Traffic(), 100)
    assert plan.certified
    assert plan.carry["dollars"] < -100_000


def test_segments_keep_a_limit_together():
    asked = problem("dollars <= 0.6")
    plan = plan_round(evidence(asked, 300), Traffic(explore="5%"), 5000)
    assert plan.certified
    assert set(plan.weights) == {"free", "paid"}
    for shares in (*plan.weights.values(), *plan.alone.values()):
        assert sum(shares.values()) == pytest.approx(1.0)


def test_a_segment_where_nobody_came_yet_starts_by_itself():
    asked = problem(segments=["free", "paid"])
    full = evidence(asked, 400)
    half = Evidence(asked, [*full.moments[:3], *(Moments(2) for _ in range(3))])
    plan = plan_round(half, Traffic(explore="5%", serve="large"), 1000)
    assert plan.weights["paid"] == pytest.approx({"small": 0.05 / 3, "medium": 0.05 / 3, "large": 0.95 + 0.05 / 3})
    assert max(plan.weights["free"].values()) < 0.95
    assert not plan.certified
