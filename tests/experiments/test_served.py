"""What live traffic has really cost, against the requests themselves."""

import numpy as np
import pytest
from tests.experiments.flows import QUICK, ROUTER, drawn, row

from bestmix import Known, Problem, Traffic, open_experiment
from bestmix.answers.moments import Moments
from bestmix.experiments.revision import Revision
from bestmix.experiments.served import served_means


@pytest.mark.parametrize("url", ["memory://", "sqlite"])
def test_means_over_all_requests_and_over_those_of_a_version_without_the_log(url, tmp_path):
    log = {"arm": ["small", "large"] * 20, "reward": [1.0, 2.0] * 20, "dollars": [90.0, 99.0] * 20}
    where = url if url == "memory://" else tmp_path / "x.db"
    rng, told = np.random.default_rng(0), []
    with open_experiment(where, "live", ROUTER, traffic=QUICK, log=log) as exp:
        for k in (1, 2, 3):
            version, tables = exp.weights().version, {arm: drawn(arm, 200 * k, rng) for arm in ROUTER.arms}
            exp.tell_sums([row(version, arm, table) for arm, table in tables.items()], f"web:{k}")
            told.append((version, np.concatenate(list(tables.values()))[:, 1]))
        all_, last = exp.traffic(), exp.traffic(last=1)
    assert all_.means == last.means == {"dollars": pytest.approx(np.concatenate([d for _, d in told]).mean())}
    for version, dollars in told:
        assert all_.version_means[version - 1] == {"dollars": pytest.approx(dollars.mean())}
    assert last.version_means == all_.version_means[-1:]


def test_an_arm_that_was_retired_has_cost_what_it_has_cost():
    rng = np.random.default_rng(0)
    with open_experiment(
        "memory://", "live", Problem(["small", "large", "tiny"], {"dollars": 1.0}), traffic=QUICK
    ) as e:
        tables = {arm: drawn(arm, 50, rng) for arm in ("small", "large")}
        tables["tiny"] = np.full((50, 2), 0.25)
        e.tell_sums([row(1, arm, table) for arm, table in tables.items()], "web:1")
        before = e.traffic().means
        e.change(arms=["small", "tiny"])
        assert (
            e.traffic().means == before == {"dollars": pytest.approx(np.concatenate([*tables.values()])[:, 1].mean())}
        )


LIMITS = ["dollars <= 1", "dollars <= 2 in paid", "p(seconds > 2) <= 5%", "seconds / dollars <= 9", "share(a) <= 40%"]


def test_limits_of_every_kind():
    known = {"off": Known(0.0, {"dollars": 0.0, "seconds": 1.0, "p(seconds > 2)": 0.0})}
    problem = Problem(["a", "b"], limits=LIMITS, segments={"free": 0.5, "paid": 0.5}, known=known)
    now, measures = Revision.beginning(problem), problem.measures
    means = {"reward": 1.0, "dollars": 3.0, "seconds": 6.0, "p(seconds > 2)": 0.5}
    sums = Moments(len(measures)).plus(np.array([[means[name] for name in measures]] * 2))
    found = served_means(now, {now.served.index(("a", "free")): sums, now.served.index(("off", "paid")): Moments(4, 2)})
    assert found == {
        "dollars": 1.5,
        "dollars <= 2 in paid": 0.0,
        "p(seconds > 2) <= 5%": 0.25,
        "seconds / dollars <= 9": 14.0 / 6.0,
        "share(a) <= 40%": 0.5,
    }
    assert served_means(now, {}) == {}


def test_before_any_request_there_is_no_mean():
    with open_experiment("memory://", "live", ROUTER, traffic=Traffic()) as exp:
        assert (exp.traffic().means, exp.traffic().version_means) == ({}, [{}])
