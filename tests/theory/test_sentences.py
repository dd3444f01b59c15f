import pytest

from bestmix import Instance, catalog, gaps
from bestmix.theory.sentences import reasons, rival_sentence, trials_to_tell

FIVE = Instance([1.7, 2.6, 0.5, 2.1, 1.2], [[0.0, 1.8, 0.8, 1.3, 2.0]], [1.0], sigma_reward=1.0, sigma_cost=0.5)


def test_the_closest_rival_is_named_with_the_means_it_would_take():
    said = rival_sentence(gaps(FIVE))
    assert said.startswith("The closest rival, arm0 with arm3, is 0.193 standard deviations of one trial away.")
    assert "arm3: reward" in said
    assert "rather than 2.1" in said


def test_reasons_are_the_hardest_columns_first():
    found = gaps(catalog.load("D2P"), bases=False)
    assert len(reasons(found)) == 3
    margins = [float(reason.rsplit("margin ", 1)[1].rstrip(").")) for reason in reasons(found, 5)]
    assert margins == sorted(margins)


def test_slacks_are_told_in_words():
    assert any("bound on cost" in reason for reason in reasons(gaps(catalog.load("D1P"), bases=False), 30))


def test_nothing_to_move_is_said():
    assert "No change" in rival_sentence(gaps(Instance([1.0, 0.5], [[0.2, 0.4]], [1.0], known=2)))


@pytest.mark.parametrize("margin", [2.0, 0.5, 0.1])
def test_four_times_the_trials_for_half_the_margin(margin):
    assert trials_to_tell(margin / 2) == pytest.approx(4 * trials_to_tell(margin), abs=4)
