from dataclasses import replace

import numpy as np
import pytest
from tests.experiments.flows import QUICK, ROUTER, report

from bestmix import open_experiment, open_storage
from bestmix.answers.moments import Moments
from bestmix.experiments.audit import audit
from bestmix.experiments.sql import checkup
from bestmix.experiments.sql.database import Database, parse_url


@pytest.fixture
def live():
    exp = open_experiment("memory://", "live", ROUTER, traffic=QUICK)
    rng = np.random.default_rng(0)
    for k in range(1, 6):
        exp.tell_sums(report(exp, 300, rng), f"web:{k}")
    return exp


def stored(live):
    return live.storage.store._experiments[live.record.key]


def lose_sums(kept):
    kept.sums.pop((2, 0))


def change_sums(kept):
    kept.sums[2, 0] = kept.sums[2, 0].joined(Moments(2, 1))


def change_total(kept):
    kept.moments[1] = Moments(2, 7)


def lose_edge(kept):
    kept.edges.clear()


def change_weights(kept):
    kept.versions[2] = replace(kept.versions[2], weights={"": {"small": 0.5, "large": 0.5}})


def change_shares(kept):
    kept.versions[2] = replace(kept.versions[2], alone={"": {"small": 0.5}})


def change_evidence(kept):
    kept.versions[2] = replace(kept.versions[2], evidence=kept.versions[1].evidence)


def lose_version(kept):
    kept.versions.pop(len(kept.versions))


def lose_round(kept):
    kept.rounds.pop(len(kept.rounds))


@pytest.mark.parametrize(
    "damage",
    [
        *(lose_sums, change_sums, change_total, lose_edge, change_weights),
        *(change_shares, change_evidence, lose_version, lose_round),
    ],
)
def test_what_is_lost_or_changed_is_found(live, damage):
    assert audit(live) == []
    damage(stored(live))
    assert audit(live)


@pytest.mark.parametrize("figure", ["complete", "owing", "round", "events"])
def test_a_wrong_figure_is_found(live, figure):
    head = stored(live).head
    setattr(head, figure, getattr(head, figure) + 1)
    (found,) = audit(live)
    assert found.startswith(f"{figure}: the figure is")


def test_the_doctor_looks_at_traffic_and_repairs_figures(tmp_path):
    import sqlite3

    path = tmp_path / "x.db"
    with open_storage(path) as storage:
        exp = open_experiment(storage, "live", ROUTER, traffic=QUICK)
        rng = np.random.default_rng(0)
        for k in range(1, 4):
            exp.tell_sums(report(exp, 300, rng), f"web:{k}")
    database = Database(parse_url(path))
    assert all(finding.good for finding in checkup.look_at(database, thorough=True))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE heads SET owing = owing + 3")
    connection.close()
    assert not all(finding.good for finding in checkup.look_at(database, thorough=True))
    checkup.repair(database)
    assert all(finding.good for finding in checkup.look_at(database, thorough=True))
    database.close()
