import numpy as np
import pytest
from tests.plots.figures import FIVE
from tests.plots.test_scores import first_scores

from bestmix import SFSR, plots


def test_distances_to_the_frontier_are_lagrangian_scores():
    scores = first_scores(SFSR(score="lagrangian")).scores
    line = plots.frontier(FIVE.means, 1.0)
    np.testing.assert_allclose(FIVE.reward - line.height(FIVE.cost[0]), [scores[a] for a in FIVE.arms], atol=1e-12)
    with pytest.raises(ValueError, match="within the bound, got none"):
        plots.frontier(FIVE.means + np.array([0.0, 5.0]), 1.0)
