import numpy as np
import pytest
from tests.answers.segmented import evidence, problem
from tests.kernels.segment_states import plain_case
from tests.kernels.states import random_instance, told

from bestmix.answers import program_cone
from bestmix.answers.noisy_program import solve
from bestmix.answers.program_safety import ProgramLimits, safe_program_mix
from bestmix.answers.programs import program_of
from bestmix.answers.traffic_mix import TrafficLimits, served_mix

TAIL = np.array([0.02])
PROBLEMS = [
    problem(),
    problem("dollars <= 0.6 in paid"),
    problem("dollars <= 1.5 * dollars(medium)"),
    problem("share(large) <= 30%", segments=["free", "paid"]),
]


def cases():
    for number, asked in enumerate(PROBLEMS):
        yield program_of(evidence(asked, 60, seed=number))


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_rows_and_widths_of_the_traffic_are_those_of_its_own_mix(number):
    program = list(cases())[number]
    rng, plain = np.random.default_rng(1), ProgramLimits(program)
    size, weight = len(program.segment), program.weight[program.segment]
    for explore in (0.0, 0.05, 0.4):
        plan, mix = rng.random((2, size))
        for part in (plan, mix):
            part *= weight / np.bincount(program.segment, part)[program.segment]
        traffic = (1 - explore) * mix + explore * plan
        mixed = TrafficLimits(program, plan, explore, np.zeros(program.limits))
        for ours, theirs in zip(mixed.means(mix), plain.means(traffic), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
        tail = np.full(program.limits, 0.02)
        ours = program_cone.widths(mixed.line, mixed.cones(tail), mix)
        np.testing.assert_allclose(ours, program_cone.widths(plain.line, plain.cones(tail), traffic), atol=1e-12)
        np.testing.assert_allclose(mixed.tails(mix), plain.tails(traffic), atol=1e-5)


def test_without_exploration_and_allowance_it_is_the_safe_mix():
    for program in cases():
        chance = solve(program).chance
        found = served_mix(program, program.weight[program.segment] * 0, 0.0, np.zeros(program.limits), chance, 0.9)
        safe = safe_program_mix(program, chance, 0.9)
        assert (found is not None) == safe.certified
        if found is not None:
            np.testing.assert_allclose(found, safe.mixture, atol=1e-9)


def plain_program(seed, trials=200):
    instance = random_instance(6, 6, 1, seed)
    return plain_case(told(instance, np.full(6, trials), seed), instance.bound).program()


def test_the_served_mix_makes_room_for_what_explores():
    found = 0
    for seed in range(8):
        program = plain_program(seed)
        rows = program.entries()[1][:, 0]
        dear = np.eye(6)[int(np.argmax(rows))]
        mix = served_mix(program, dear, 0.05, np.zeros(1), 0.9, 0.95)
        if mix is None:
            continue
        found += 1
        traffic = 0.95 * mix + 0.05 * dear
        width = program_cone.widths(ProgramLimits(program).line, ProgramLimits(program).cones(TAIL), traffic)
        assert traffic @ rows + 0.5 * width <= program.layout.right + 1e-9
    assert found >= 3


def test_what_is_left_pays_for_the_margin_and_for_nothing_else():
    paid = 0
    for seed in range(8):
        program, none = plain_program(seed), np.zeros(6)
        best = solve(program)
        plain = served_mix(program, none, 0.0, np.zeros(1), 0.9, 0.95)
        mix = served_mix(program, none, 0.0, np.array([1e6]), 0.9, 0.95)
        if not best.feasible or mix is None:
            continue
        mu, rows = program.entries()
        assert mix @ rows[:, 0] <= program.layout.right[0] + 1e-9
        assert mix @ mu == pytest.approx(best.value, abs=2e-3 * np.ptp(mu))
        paid += plain is not None and plain @ mu < mix @ mu - 1e-6
    assert paid >= 2


def test_what_is_lacking_narrows_the_choice():
    for seed in range(8):
        program, none = plain_program(seed), np.zeros(6)
        mu = program.entries()[0]
        values = []
        for allowance in (0.0, -0.02, -0.2, -50.0):
            mix = served_mix(program, none, 0.0, np.array([allowance]), 0.9, 0.95)
            values.append(-np.inf if mix is None else mix @ mu)
        assert all(later <= first + 2e-3 * np.ptp(mu) for first, later in zip(values[:-1], values[1:], strict=True))
        assert values[-1] == -np.inf
