import numpy as np
import pytest
from tests import naive
from tests.kernels.segment_states import KINDS, plain_case, random_case
from tests.kernels.states import SIZES, decided, random_instance, told

from bestmix.kernels import allocation, chunks, segment_allocation
from bestmix.kernels.conditions import RESERVE, Settings

pytestmark = pytest.mark.parametrize("speed", ["plain"], indirect=True)  # machine code: `bench segments`

SETTINGS = Settings(0.1, 30, 0.05, 0.0)


def plan_of(case, size, capacity=None, fill=True, arrivals=0.0):
    capacity = np.full(len(case.weight), size) if capacity is None else np.array(capacity)
    counts = case.program().data.counts
    return segment_allocation.plan_round(case.rows, counts, case.tried(arrivals), size, RESERVE.share, capacity, fill)


@pytest.mark.parametrize("size", SIZES)
def test_one_segment_gets_the_trials_of_the_plain_problem(size):
    arms, unknown, costs = size
    for seed in range(6):
        instance = random_instance(*size, seed)
        evidence = told(instance, np.random.default_rng(seed).integers(3, 60, unknown), seed)
        state = decided(evidence)
        arm, reason = np.empty((2, chunks.decisions(unknown)), dtype=np.int64)
        owed = np.empty(unknown, dtype=np.int64)
        used = allocation.allocate(state, 95, RESERVE, arm, reason, owed)
        if costs > 1 and (state.basis.column == len(state.gap) - 1).any():
            continue  # with one elastic column for all costs, where the other program has one for each
        plan = plan_of(plain_case(evidence, instance.bound), 95)
        assert plan.trials.tolist() == [*owed, *[0] * (arms - unknown)]
        assert plan.column[: plan.used[0]].tolist() == arm[:used].tolist()
        same = plan.reason[: plan.used[0]] == reason[:used]
        assert (same | (reason[:used] == len(state.gap) - 1)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_go_where_the_gradient_is_largest(kind):
    for seed in range(3):
        case = random_case(np.random.default_rng([KINDS.index(kind), seed]), (kind, "all segments"), given=0.1)
        state, plan = case.tried().state, plan_of(case, 95)
        assert plan.trials.sum() == 95
        check_chunks(state, plan, 95)


def check_chunks(state, plan, size):
    """Every chunk went to a column with the largest gradient of the chance of a wrong answer."""
    k, fixed = naive.dense_coefficients(state)
    trials, gap = state.counts.copy(), state.conditions.gap
    least, given = None, 0
    doubted = plan.reason[: plan.used[0]] == len(gap)
    for chunk in range(plan.used[0]):
        spread = np.where(state.conditions.harmless, 0.0, (k / trials).sum(axis=1) + fixed)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(spread > 0, gap / np.sqrt(spread), np.inf)
            if not doubted[chunk]:
                least = z.min() if least is None else least
            worth = np.where(spread > 0, np.exp(-(z**2 - (least or 0.0) ** 2) / 2) / ((1 + z) * spread), 0.0)
        if given >= 0.8 * size:
            worth[np.argmin(z)] = 0.0
        gain, a, j = worth @ k / trials**2, plan.column[chunk], plan.reason[chunk]
        if not doubted[chunk]:
            assert gain[a] >= gain.max() * (1 - 1e-6)
            assert gain.max() == 0 or worth[j] * k[j, a] == pytest.approx((worth * k[:, a]).max())
        trials[a] += plan.amount[chunk]
        given += plan.amount[chunk]


def test_plans_stay_within_capacities():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        case, capacity = random_case(rng), rng.integers(0, 30, 3)
        plan = plan_of(case, 60, capacity, fill=False)
        within = np.add.reduceat(plan.trials, [0, 4, 7])
        assert (within <= capacity).all()
        assert plan.trials.sum() <= 60
        chunks = plan.amount[: plan.used[0]]
        assert np.bincount(plan.column[: plan.used[0]], chunks, 11).tolist() == plan.trials.tolist()
        if capacity.sum() >= 60:
            assert plan_of(case, 60, capacity).trials.sum() == 60


def test_columns_without_trials_come_first():
    case = random_case(np.random.default_rng(1))
    case.counts[[2, 8]] = 0.0
    plan = plan_of(case, 50)
    assert plan.column[:2].tolist() == [2, 8]
    assert plan.amount[:2].tolist() == [3, 3]
    assert plan.trials[[2, 8]].tolist() == [3, 3]
    assert plan.trials.sum() == 50


def test_a_user_gets_the_arm_that_is_furthest_behind_the_plan():
    plan, given, counts = np.array([0, 6, 3, 0, 0]), np.zeros(5, dtype=np.int64), np.array([1.0, 2, 3, 4, np.inf])
    got = []
    for _ in range(9):
        j = segment_allocation.next_column(0, 3, plan, given, counts)
        given[j] += 1
        got.append(j)
    assert got.count(1) == 6
    assert got.count(2) == 3
    assert got[0] == 1
    assert segment_allocation.next_column(3, 5, plan, given, counts) == 3  # no plan: the fewest trials
    assert segment_allocation.next_column(4, 5, plan, given, counts) == -1  # known


@pytest.mark.parametrize("size", [0, 1, 7, 60])
def test_capacities_are_parts_of_the_round(size):
    for seed in range(5):
        share = np.random.default_rng(seed).dirichlet(np.ones(4))
        room = segment_allocation.capacities(share, size)
        assert room.sum() == size
        assert (np.abs(room - share * size) < 1.0).all()


def test_a_run_stops_when_the_tails_are_small():
    sure = random_case(np.random.default_rng(4), trials=(10**4, 10**4 + 1)).tried().state
    unsure = random_case(np.random.default_rng(4), trials=(5, 9)).tried().state
    assert segment_allocation.stops(SETTINGS, sure)
    assert not segment_allocation.stops(SETTINGS, unsure)
    assert not segment_allocation.stops(Settings(0.1, 30, 0.0, 0.0), sure)
