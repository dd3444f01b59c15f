import re
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.answers.kits import answer
from tests.answers.segmented import evidence, problem

from bestmix import Challenger, Problem, from_log
from bestmix.answers.recommend import recommend
from bestmix.answers.wording import above, chance_text, level_text, measured, mix_text

TABLE = [("steady", 2.0, 0.1), ("other", 1.0, 0.9), ("third", 0.5, 0.3)]
STEPS = (-1.0, -0.4, 0.0, 0.1, 0.5, 0.8)
TRIED = [("cheap", "x", 0.1), ("dear", "x", 1.0), ("dear", "y", 1.0), ("other", "y", 0.1)]


def test_the_sentence_of_the_optimum_at_the_estimates():
    text = answer(safety=None).sentence()
    assert text.startswith("Mix 50% a with 50% b: estimated reward 2.0")
    assert "dollars at its bound" in text
    assert "chance that this support is right above 99%." in text
    assert text.endswith("Estimated chance that all limits are kept: 44%.")  # on its bound, and chosen
    alone = answer(reward=(3.0, 1.0), safety=None).sentence()
    assert alone.startswith("Use a: estimated reward 3.0")
    assert "dollars 1 below its bound" in alone


def test_the_sentence_says_what_to_do_and_how_sure_it_is():
    pattern = (
        r"Mix 51% a with 49% b\. All limits are kept with 95% certainty; it earns [\d.]+ ± [\d.]+, at most [\d.]+ less "
        r"than the best mix there is, and [\d.]+ ± [\d.]+ more than the best single option that surely keeps "
        r"the limits, a\."
    )
    assert re.fullmatch(pattern, answer().sentence())
    alone = answer(reward=(3.0, 1.0)).sentence()
    assert alone.startswith("Use a. All limits are kept with above 99% certainty; it earns 3.0")
    assert "single option" not in alone


def test_what_is_in_the_way_where_nothing_is_certain_enough():
    rec = answer(reward=(3.0, 1.0), cost=(0.99, 0.995), n=4)
    assert (rec.feasible, rec.certified, rec.short) == (True, False, ("dollars",))
    text = rec.sentence()
    assert text.startswith("No mix keeps all limits with 95% certainty yet. The most certain is ")
    assert f"with {chance_text(rec.certainty)}; in the way: dollars. About " in text
    for arm, more in rec.further.items():
        assert f"{float(f'{more:.1e}'):,.0f} more trials of {arm}" in text


@pytest.mark.parametrize("safety", [0.999, 0.9999999, 1 - 1e-12])
def test_a_wanted_certainty_is_never_rounded_to_all(safety):
    wanted = level_text(safety)
    assert float(wanted.rstrip("%")) == pytest.approx(100 * safety, rel=0, abs=1e-5 * (1 - safety) * 100)
    text = answer(reward=(3.0, 1.0), cost=(0.99, 0.995), n=4, safety=safety).sentence()
    assert text.startswith(f"No mix keeps all limits with {wanted} certainty yet. ")
    assert "100" not in wanted
    assert not re.search(r"\b100(\.0*)?%", text)


@given(st.floats(0.5, 1.0, exclude_max=True), st.integers(1, 12))
def test_a_certainty_is_told_below_one_and_not_above_itself(certainty, digits):
    told = Decimal(level_text(certainty, digits).rstrip("%")) / 100
    assert told < 1
    assert 1 - told >= Decimal(f"{1 - certainty:.12g}")


def test_a_mix_that_is_nearly_certain_enough_is_told_apart_from_what_is_wanted():
    rec = replace(answer(reward=(3.0, 1.0), cost=(0.99, 0.995), n=4, safety=0.999), certainty=0.9989871)
    assert "with 99.9% certainty yet" in rec.sentence()
    assert ", with 99.898%; in the way" in rec.sentence()


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


def test_that_limits_are_kept_is_said_only_where_it_was_certified():
    for rec in (answer(safety=None), answer(n=1), answer(cost=(3.0, 2.0)), answer(cost=(0.99, 0.995), n=4)):
        assert not rec.certified
        assert "All limits are kept" not in str(rec)
    assert "cannot be said: no arm has two trials" in answer(n=1).sentence()


def test_a_cost_is_shown_with_its_interval_and_its_chance():
    foot = answer().rows()[-1]
    assert re.fullmatch(r"0\.9\d+ ± 0\.0\d+ of 1, kept 95%", foot[-1])
    assert answer(n=1).rows()[-1][-1] == "1 of 1"


def test_what_safety_costs_is_said_beside_it():
    assert "The optimum at the estimates, 50% a with 50% b, earns 2, 0." in str(answer())
    assert "The optimum at the estimates" not in str(answer(safety=None))


@pytest.mark.parametrize("chance", [0.0, 1e-9, 0.005, 0.3, 0.9499, 0.95, 0.9949, 0.9999, 1.0])
def test_a_chance_is_never_rounded_up(chance):
    text = chance_text(chance)
    assert text not in ("0%", "100%")
    if text[0].isdigit():
        assert float(text.rstrip("%")) / 100 <= chance + 1e-9


def test_a_small_share_is_not_nothing():
    assert mix_text({"flash": 0.9971, "gemini-pro": 0.0029}) == "99.7% flash with 0.3% gemini-pro"


class Tags(HTMLParser):
    """Tags that are open, and the cells of the table."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.seen = [], 0, set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)
        self.cells += tag in ("td", "th")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_text_and_html_show_the_same_table():
    names = ("<b>&", 'say "x"')
    found = answer(names=names)
    text = str(found)
    for row in found.rows():
        for cell in row:
            assert cell in text
    tags = Tags()
    tags.feed(found._repr_html_())
    assert tags.open == []
    assert "b" not in tags.seen
    assert tags.cells == sum(len(row) for row in found.rows())
    assert "\nAt the estimates, 1% more of the limit on dollars (1 -> 1.01) would add 0.01 to the reward." in text
    assert "\n1% more of the limit on dollars (1 -> 1.01) would add 0.01 to the reward." in str(answer(safety=None))


def test_what_the_data_do_not_show_is_said():
    shown = " (a difference that these data do not show)"
    rec = answer()
    assert shown not in rec.sentence()
    assert replace(rec, gain_interval=(-0.1, 1.4)).sentence().endswith(f"surely keeps the limits, a{shown}.")


def test_a_table_without_trials_has_no_numbers():
    rec = Challenger().start(Problem(["a", "b"], {"c": 1.0}), budget=20).recommend()
    assert rec.rows()[-1] == ["the mix", "", "0", "-", "-"]
    assert "nan" not in str(rec)


def test_the_optimum_at_the_estimates_has_the_shares_of_the_mix():
    found = evidence(problem())
    rec = recommend(found, found.tried, strategy="log")
    (text,) = [line for line in str(rec).splitlines() if line.startswith("The optimum at the estimates, ")]
    assert text.count(" in ") == len(rec.by_segment)
    assert [part.rpartition(" in ")[2].split(",")[0] for part in text.split("; ")[: len(rec.by_segment)]] == list(
        rec.by_segment
    )


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(5e-324, 1.7e308))
def test_a_mean_and_its_interval_are_what_they_say(mean, half):
    shown, _, half_shown = measured(mean, half).partition(" ± ")
    assert float(half_shown) == pytest.approx(half, rel=0.051, abs=1e-323)
    assert abs(float(shown) - mean) <= 0.051 * half + 1e-14 * abs(mean)
    assert len(shown) <= 26


def test_the_smallest_number_that_there_is_is_rounded_up_as_well():
    assert above(5e-324) == "4.9e-324"
    assert above(0.0) == "0"


def test_an_option_that_was_not_tried_in_a_segment_is_not_called_unsafe():
    rows = [(a, s, 1.0 + 0.01 * i, c + 0.01 * i) for a, s, c in TRIED for i in range(8)]
    log = {key: [row[k] for row in rows] for k, key in enumerate(("arm", "who", "reward", "cost"))}
    assert (
        "no single option that was tried in every segment keeps"
        in from_log(log, bounds={"cost": 0.6}, segment="who").sentence()
    )
    log["cost"] = [3.0 * (a == "dear") + 0.01 * i for i, a in enumerate(log["arm"])]
    assert "tried in every segment" not in from_log(log, bounds={"cost": 9.0}, segment="who").sentence()


def test_one_trial_is_not_trials():
    told = {"arm": ["a"] * 4, "reward": [1.0, 1.1, 0.9, 1.0], "d": [0.8, 0.9, 0.85, 0.84]}
    rec = replace(from_log(told, bounds={"d": 0.851}), further={"a": 1.0})
    assert "About 1 more trial of a would do." in rec.sentence()
