from bestmix import Instance, tradeoff
from bestmix.answers.tradeoff_wording import pair, rows


def test_the_table_marks_the_range_of_today():
    header, *body = rows(tradeoff(Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.5], costs=["dollars"])))
    assert header[0] == "limit on dollars"
    assert [row[0] for row in body] == ["0 to 1", "1 to 2 (now)", "from 2 on"]
    assert body[1][1:] == ["1.75 to 2.00", "0.0025 to 0.005", "arm1, arm2"]


def test_a_limit_that_never_costs_anything():
    texts = tradeoff(Instance([2.0, 1.0], [[1.0, 2.0]], [5.0])).sentences()
    assert any(text.startswith("The limit never costs anything") for text in texts)
    assert sum("would earn the same" in text for text in texts) == 2


def test_small_differences_keep_their_digits():
    assert pair(0.00021, 0.00024) == ("0.000210", "0.000240")
    assert pair(1e-12, 2e-12) == ("1e-12", "2e-12")
