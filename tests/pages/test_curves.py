from bestmix.answers.recommendation import Round
from bestmix.pages.curves import MOST_LINES, MOST_ROUNDS, curve_charts, lines_chart, make_curves, series, thin


def rounds(count, columns=("a", "b")):
    return [Round(k, {"a": 1}, {c: float(k + i) for i, c in enumerate(columns)}) for k in range(1, count + 1)]


def test_only_the_lines_that_matter_and_few_points():
    names = [f"c{k}" for k in range(20)]
    curves = make_curves(rounds(1000, names), [{"a": 1.0}] * 1000)
    assert len(curves["scores"]) == MOST_LINES
    assert curves["scores"][0]["name"] == "c19"
    assert len(curves["rounds"]) == MOST_ROUNDS
    assert (curves["rounds"][0], curves["rounds"][-1]) == (1, 1000)


def test_mixtures_that_were_not_kept_are_not_drawn():
    curves = make_curves(rounds(2), [None, None])
    assert curves["mixture"] == []
    assert [chart.label for chart in curve_charts(curves, "score")] == ["score"]
    assert make_curves(rounds(2), [])["mixture"] == []


def test_a_name_has_one_look_in_all_charts():
    names = [f"c{k}" for k in range(10)]
    curves = make_curves(rounds(3, names), [{"c3": 0.4, "c9": 0.6}] * 3)
    looks = {line["name"]: line["look"] for line in curves["mixture"]}
    assert looks == {"c9": 0, "c3": 1}
    assert all(line["look"] == looks.get(line["name"], line["look"]) for line in curves["scores"])
    assert len({line["look"] for line in curves["scores"]}) == len(curves["scores"]) == MOST_LINES


def test_changes_of_the_problem_are_marked():
    curves = make_curves(rounds(5), [{"a": 1.0}] * 5, changes=[3, 3, 9])
    assert curves["changes"] == [3]
    chart = curve_charts(curves, "score")[0]
    assert list(chart.changes) == [chart.across.at(3)]


def test_scores_of_infeasible_rounds_are_gaps():
    found = series([{"a": float("-inf")}, {"a": 1.0}], missing=None)
    assert found == [{"name": "a", "values": [None, 1.0]}]


def test_names_stand_apart_and_inside():
    lines = [{"name": f"arm {k}", "values": [0.0, 0.001 * k]} for k in range(8)]
    chart = lines_chart("share", [1, 2], lines, percent=True)
    heights = sorted(line.name.y for line in chart.lines)
    assert all(after - before >= 13 for before, after in zip(heights, heights[1:], strict=False))
    assert heights[0] > 0
    assert heights[-1] < chart.height


def test_one_round_and_no_rounds():
    assert lines_chart("score", [1], [{"name": "a", "values": [0.5]}], percent=False).lines[0].points
    assert curve_charts(make_curves([], []), "score") == []
    assert thin([], 5) == []
