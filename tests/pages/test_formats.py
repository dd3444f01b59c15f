import pytest

from bestmix.pages import formats


@pytest.mark.parametrize(
    ("z", "text"), [(-3.0, "99.9%"), (0.0, "50.0%"), (1.645, "5.0%"), (3.09, "0.1%"), (3.1, "below 0.1%")]
)
def test_the_chance_behind_a_z_score(z, text):
    assert formats.tail(z) == text


@pytest.mark.parametrize(
    ("slack", "text"), [(0.0, "at its bound"), (1e-3, "0.001 below"), (-2.0, "2 too much"), (float("nan"), "–")]
)
def test_how_far_a_cost_is_from_its_bound(slack, text):
    assert formats.room(slack) == text


def test_what_is_not_known_is_a_dash_or_said():
    assert formats.number(float("inf")) == formats.number(None) == "–"
    assert formats.score(float("-inf")) == "infeasible"
    assert formats.estimate(float("nan"), (0.0, 1.0)) == "not tried"
