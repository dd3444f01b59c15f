import re

import pytest
from tests.answers.kits import answer

from bestmix import Challenger, Problem, from_log
from bestmix.answers.number_text import measured

TABLE = [("steady", 2.0, 0.1), ("other", 1.0, 0.9), ("third", 0.5, 0.3)]
STEPS = (-1.0, -0.4, 0.0, 0.1, 0.5, 0.8)


@pytest.mark.parametrize("safety", [0.95, None])
def test_an_arm_that_is_all_of_the_mix_has_one_interval(safety):
    rows = [(arm, mean + scale * step, 0.5 + 0.1 * scale * step) for arm, mean, scale in TABLE for step in STEPS]
    log = dict(zip(("arm", "quality", "dollars"), map(list, zip(*rows, strict=True)), strict=True))
    rec = from_log(log, reward="quality", bounds={"dollars": 1.0}, safety=safety)
    _, own, other, _, foot = rec.rows()
    assert own[0] == "steady"
    assert own[3] == foot[3]
    assert foot[4].startswith(f"{own[4]} of 1")
    low, high = rec.estimates["other"].reward_interval
    assert other[3] == measured(rec.estimates["other"].reward, (high - low) / 2)
    assert own[3].split(" ± ")[1] in rec.sentence()


def test_a_cost_is_shown_with_its_interval_and_its_chance():
    foot = answer().rows()[-1]
    assert re.fullmatch(r"0\.9\d+ ± 0\.0\d+ of 1, kept 95%", foot[-1])
    assert answer(n=1).rows()[-1][-1] == "1 of 1"


def test_a_terminal_shows_the_table_and_the_prices():
    found = answer(names=("<b>&", 'say "x"'))
    text = str(found)
    for row in found.rows():
        for cell in row:
            assert cell in text
    assert "\nAt the estimates, 1% more of the limit on dollars (1 -> 1.01) would add 0.01 to the reward." in text
    assert "\n1% more of the limit on dollars (1 -> 1.01) would add 0.01 to the reward." in str(answer(safety=None))


def test_a_table_without_trials_has_no_numbers():
    rec = Challenger().start(Problem(["a", "b"], {"c": 1.0}), budget=20).recommend()
    assert rec.rows()[-1] == ["the mix", "", "0", "-", "-"]
    assert "nan" not in str(rec)
