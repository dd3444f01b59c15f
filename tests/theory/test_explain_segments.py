import json

import pytest
from tests.problems.test_segment_instance import everything

import bestmix as bm
from bestmix import Instance, Problem
from bestmix.theory import SegmentExplanation, explain
from bestmix.theory.explain_segments import explain_segments


def test_every_kind_of_limit_is_explained():
    found = explain(everything())
    assert isinstance(found, SegmentExplanation)
    solution = bm.solve(everything())
    assert found.to_dict()["value"] == pytest.approx(solution.value)
    assert found.mixture == pytest.approx(everything().mixture, abs=1e-6)
    assert found.shadow_prices["quality >= 0.8"] == pytest.approx(solution.dual[0], rel=1e-6)
    lines = found.paragraphs()["The limits"]
    assert len(lines) == 6
    assert lines[0].startswith("quality >= 0.8: 0.8, at its limit; 'quality >= 0.8' looser by 1%")
    json.dumps(found.to_dict(), allow_nan=False)


def test_margins_are_in_deviations_of_one_trial():
    """Two arms in one segment of a share limit: the only question is which of them earns more."""
    asked = Problem(["a", "b", "c"], limits=["share(c) <= 90%"])
    means = {"a": {"reward": 1.0}, "b": {"reward": 1.6}, "c": {"reward": -3.0}}
    found = explain_segments(Instance.from_problem(asked, means, sigma=2.0))
    assert found.margins["a"] == pytest.approx(0.6 / (2.0 * 2**0.5), rel=1e-3)
    assert found.margins["c"] == pytest.approx(4.6 / (2.0 * 2**0.5), rel=1e-3)
    assert found.droppable == ["c"]
    (told,) = found.paragraphs()["What can be dropped at once"]
    assert told.startswith("c: about 3 trials of each arm tell that it has no place in the mix, where the hardest ")


def test_what_segments_are_worth():
    found = explain_segments(bm.catalog.load("S3L1"))
    text = " ".join(found.paragraphs()["The best mix"])
    assert "more than the best mix for all segments alike" in text
    assert found.to_dict()["segments_worth"] > 0
    assert found.margins[next(iter(found.margins))] == min(found.margins.values())


def test_a_contradiction_is_named_with_the_least_relaxation():
    asked = Problem(["a", "b"], limits=["share(a) >= 70%", "share(b) >= 50%"])
    found = explain_segments(Instance.from_problem(asked, {"a": {"reward": 1.0}, "b": {"reward": 2.0}}))
    text = str(found)
    assert "No mix keeps all limits" in text
    assert "'share(a) >= 70%' and 'share(b) >= 50%' contradict each other; looser" in text
    assert "What could change it" not in found.paragraphs()


def test_a_tie_is_told():
    asked = Problem(["a", "b"], limits=["share(a) <= 70%"])
    found = explain_segments(Instance.from_problem(asked, {"a": {"reward": 1.0}, "b": {"reward": 1.0}}))
    assert any("The smallest change can flip the answer" in line for line in found.paragraphs()["What could change it"])
    assert found.droppable == []


def test_a_log_with_segments_is_explained_as_a_whole():
    rows = [
        (s, a, q)
        for s in ("free", "paid")
        for a, qs in (("x", (1, 2)), ("y", (2, 4 if s == "paid" else 0)))
        for q in qs
    ]
    log = {"tier": [r[0] for r in rows], "arm": [r[1] for r in rows], "reward": [float(r[2]) for r in rows]}
    found = explain(log, segment="tier", limits=["share(y) <= 40%"])
    assert found.mixture == pytest.approx({"x in free": 0.5, "x in paid": 0.1, "y in paid": 0.4})
