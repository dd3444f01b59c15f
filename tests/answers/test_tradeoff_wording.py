import re
from dataclasses import replace

from tests.answers.tradeoffs import at_least, at_most

from bestmix import Instance, Known, Problem, Uniform, tradeoff
from bestmix.answers.tradeoff_curve import SafePoint
from bestmix.answers.tradeoff_wording import pair, rows


def test_the_table_marks_the_range_of_today():
    header, *body = rows(tradeoff(Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.5], costs=["dollars"])))
    assert header[0] == "limit on dollars"
    assert [row[0] for row in body] == ["0 to 1", "1 to 2 (now)", "from 2 on"]
    assert body[1][1:] == ["1.75 to 2.00", "0.0025 to 0.005", "arm1, arm2"]


def test_a_looser_limit_saves_no_more_than_there_is():
    # The last piece is narrower than 1% of the limit: its slope, 2 a thousandth, says nothing beyond it.
    known = {"small": Known(0.1, {"quality": 0.8}), "large": Known(0.5, {"quality": 0.92})}
    known["huge"] = Known(10.5, {"quality": 0.925})
    asked = {"goal": "minimise dollars", "limits": ["quality >= 0.9"], "known": known}
    found = tradeoff(Uniform().start(Problem([], **asked), budget=0).recommend())
    *_, before, last = rows(found)
    assert before[:3] == ["0.8 to 0.92 (now)", "0.10 to 0.50", "0.027 to 0.031"]
    assert last[:3] == ["0.92 to 0.925", "0.50 to 10.50", "0.031 to 10"]


def test_a_tighter_limit_is_one_that_a_mix_keeps():
    found = tradeoff(Instance([1.0, 2.0], [[0.95, 2.0]], [1.0], costs=["dollars"]))
    assert found.changed_bounds == (1.2, 0.95)
    assert found.sentences()[2].startswith(
        "A limit on dollars of 0.95 instead of 1, the smallest that a mix keeps, would earn 0.048 less"
    )
    assert tradeoff(Instance([1.0, 2.0], [[1.0, 2.0]], [1.0])).changed_bounds == (1.2,)


def test_a_value_is_shown_with_the_longer_side_of_its_interval():
    one = tradeoff(Instance([1.0, 2.0], [[0.0, 2.0]], [1.0]))
    safe = (SafePoint(1.0, 1.4, (1.1, 1.5), {"arm0": 1.0}),)
    assert "1.40 ± 0.30 at a limit of 1." in replace(one, safe=safe, safety=0.95).sentences()[1]


def test_a_limit_that_never_costs_anything():
    texts = tradeoff(Instance([2.0, 1.0], [[1.0, 2.0]], [5.0])).sentences()
    assert any(text.startswith("The limit never costs anything") for text in texts)
    assert sum("would earn the same" in text for text in texts) == 2


def test_small_differences_keep_their_digits():
    assert pair(0.00021, 0.00024) == ("0.000210", "0.000240")
    assert pair(1e-12, 2e-12) == ("1e-12", "2e-12")


def test_values_of_a_hundred_digits_are_written_short():
    assert pair(1.0e100, 1.5e100) == ("1e+100", "1.5e+100")


def test_a_bound_that_no_mix_keeps_says_which_one_can_be_kept():
    tight = Instance([1.0, 2.0], [[2.0, 3.0]], [1.0], costs=["dollars"])
    first, *_ = tradeoff(tight).sentences()
    assert first == "No mix keeps a limit on dollars of 1; the smallest that one keeps is 2."


def test_sentences_tell_the_change_in_digits_that_mean_something():
    found = at_most(points=3)
    texts = found.sentences()
    assert texts[2].startswith(
        "Kept with 95% certainty, a limit on dollars that is 20% higher (3.6 instead of 3) would"
    )
    assert " more quality (" in texts[2]
    assert " less quality (" in texts[3]
    assert "Kept with 95% certainty, the best mix has a mean quality of " in texts[1]
    assert "(now)" in str(found)


def test_sentences_in_the_words_of_goal_and_limit():
    texts = at_least(points=3).sentences()
    assert texts[0].startswith("At the estimates, with a limit on quality of at least 0.72 the best mix is ")
    assert "and has a mean dollars of " in texts[0]
    tighter = (
        r"At the estimates, a limit on quality of 0\.79\d+ instead of 0\.72, the largest that a mix keeps, would mean"
    )
    assert "Kept with 95% certainty, the best mix has a mean dollars of " in texts[1]
    assert re.match(tighter, texts[2])
    assert texts[3].startswith("Kept with 95% certainty, a limit on quality")
    assert " less dollars (" in texts[3]
    assert texts[4].startswith("At the estimates, below 0.")
    header, *rows = str(at_least(points=3)).split("\n\n")[1].splitlines()
    assert header.split("  ")[0] == "limit on quality of at least"
    assert rows[1].startswith("up to 0.")
