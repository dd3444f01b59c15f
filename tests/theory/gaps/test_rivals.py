import numpy as np
import pytest
from tests.theory.gaps.brute import random_instance

from bestmix import catalog, gaps, solve
from bestmix.kernels import jit
from bestmix.theory.gaps.geometry import geometry_of
from bestmix.theory.gaps.rivals import RivalSearch, all_rivals, is_proven, neighbours


@pytest.mark.parametrize("costs", [1, 2, 3])
def test_closed_forms_against_the_search(costs):
    rng = np.random.default_rng(costs)
    compared = 0
    for _ in range(6):
        instance = random_instance(rng, 6, costs)
        search = RivalSearch(geometry_of(instance, solve(instance)))
        rivals = search.found(neighbours(search))
        for rival in rivals:
            if exact := search.exact(rival.basis):
                assert rival.value == pytest.approx(exact.value, rel=1e-6)
                compared += 1
            assert rival.value >= search.floor(rival.basis) * (1 - 1e-9)
    assert compared > 20


def test_one_cost_is_proven_throughout():
    for name in ("A1", "A2", "H1", "H2"):
        instance = catalog.load(name)
        search = RivalSearch(geometry_of(instance, solve(instance)))
        found = gaps(instance)
        assert found.proven.all()
        assert all(found.alternative(basis).proven for chunk in all_rivals(search) for basis in chunk)


def test_proof_is_a_lower_bound_that_is_met():
    assert is_proven(1.0, 1.0)
    assert is_proven(1.0001, 1.0)
    assert not is_proven(1.001, 1.0)


def test_gaps_of_a_few_bases_are_over_in_plain_python_and_the_same(monkeypatch):
    few, many = random_instance(np.random.default_rng(2), 4, 1), catalog.load("A2")
    compiled = gaps(few).to_dict()
    monkeypatch.setattr(jit, "ENOUGH_WORK_OF_RUNS", 1_500_000)
    monkeypatch.setattr(jit._plain_work, "steps", 0.0)  # of other tests in this process
    speeds = [RivalSearch(geometry_of(instance, solve(instance)))._speed for instance in (few, many)]
    assert speeds == [jit._in_python, jit.machine]
    monkeypatch.setattr(jit, "machine", None)
    assert gaps(few).to_dict() == compiled
