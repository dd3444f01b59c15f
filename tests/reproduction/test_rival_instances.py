import json

import numpy as np
import pytest

from bestmix import solve
from bestmix.reproduction import rival_instances


def test_budgets_are_enough_for_every_strategy():
    found = rival_instances.subjects(instances=1)
    assert len({subject.name for subject in found}) == len(found)
    assert all(subject.budget >= 2 * len(subject.instance.arms) for subject in found)


@pytest.mark.parametrize("third", [0.5, 1.3])
def test_the_mix_of_das_and_basu_has_two_bases(third):
    instance = rival_instances.das_basu(third)
    best = solve(instance)
    assert best.slack == pytest.approx([0, 0])
    assert sum(column >= 6 for column in best.basis) == 1  # one of the two slacks, both of which are zero


def test_traffic_is_read_from_prompts(tmp_path):
    arms = {"small": {"reward": 0.4, "cost": 0.001}, "large": {"reward": 0.9, "cost": 0.01}}
    broken = {"small": {"reward": None, "cost": 0.1}, "large": {"reward": 0.9, "cost": 0.01}}
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps({"arms": row}) for row in (arms, arms, broken)))
    instance = rival_instances.read_traffic(path)
    assert instance.arms == ("small", "large")
    np.testing.assert_allclose(instance.means, [[0.4, 0.001], [0.9, 0.01]])
