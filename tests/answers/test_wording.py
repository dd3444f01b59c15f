import re
from dataclasses import replace

import pytest
from tests.answers.kits import answer
from tests.answers.segmented import evidence, problem

from bestmix import from_log
from bestmix.answers.number_text import chance_text, level_text
from bestmix.answers.recommend import recommend

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


def test_a_mix_that_is_nearly_certain_enough_is_told_apart_from_what_is_wanted():
    rec = replace(answer(reward=(3.0, 1.0), cost=(0.99, 0.995), n=4, safety=0.999), certainty=0.9989871)
    assert "with 99.9% certainty yet" in rec.sentence()
    assert ", with 99.898%; in the way" in rec.sentence()


def test_that_limits_are_kept_is_said_only_where_it_was_certified():
    for rec in (answer(safety=None), answer(n=1), answer(cost=(3.0, 2.0)), answer(cost=(0.99, 0.995), n=4)):
        assert not rec.certified
        assert "All limits are kept" not in str(rec)
    assert "cannot be said: no arm has two trials" in answer(n=1).sentence()


def test_what_safety_costs_is_said_beside_it():
    assert "The optimum at the estimates, 50% a with 50% b, earns 2, 0." in str(answer())
    assert "The optimum at the estimates" not in str(answer(safety=None))


def test_what_the_data_do_not_show_is_said():
    shown = " (a difference that these data do not show)"
    rec = answer()
    assert shown not in rec.sentence()
    assert replace(rec, gain_interval=(-0.1, 1.4)).sentence().endswith(f"surely keeps the limits, a{shown}.")


def test_the_optimum_at_the_estimates_has_the_shares_of_the_mix():
    found = evidence(problem())
    rec = recommend(found, found.tried, strategy="log")
    (text,) = [line for line in str(rec).splitlines() if line.startswith("The optimum at the estimates, ")]
    assert text.count(" in ") == len(rec.by_segment)
    assert [part.rpartition(" in ")[2].split(",")[0] for part in text.split("; ")[: len(rec.by_segment)]] == list(
        rec.by_segment
    )


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
    many = replace(rec, further={f"a{k}": float(k) for k in range(100)})
    assert "About 99 more trials of a99 and 98 more trials of a98 and " in many.sentence()
    assert " and 88 more trials of a88 and some of 88 others would do." in many.sentence()
