import pytest

from bestmix import Known
from bestmix.problems.known import check_known

BAD = [
    (lambda: Known(float("nan")), "reward: .*nan"),
    (lambda: Known("high"), "reward: .*high"),
    (lambda: Known(1.0, {"x": float("inf")}), r"costs\['x'\]: .*inf"),
    (lambda: Known(1.0, [1.0]), "costs: expected a mapping"),
    (lambda: Known(), "known: expected a mean, or several, got none; leave the arm out"),
    (lambda: Known.from_dict("k", {"costs": {}}), r"known\['k'\]: .*costs"),
    (lambda: Known.from_dict("k", {"reward": 1.0, "price": 2.0}), r"known\['k'\]: expected the entries"),
    (lambda: Known.from_dict("k", 3), r"known\['k'\]: .*3"),
    (lambda: check_known("k", (1.0, 0.0)), r"known\['k'\]: expected Known.*got \(1.0, 0.0\); wrap it in Known"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=lambda x: x if isinstance(x, str) else "")
def test_what_cannot_be_known_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


@pytest.mark.parametrize("known", [Known(0.5), Known(costs={"x": 1.0}), Known(0.5, {"x": 1.0, "y": 2.0})])
def test_plain_data_holds_it(known):
    assert Known.from_dict("k", known.to_dict()) == known
    assert check_known("k", known) is known
