import csv
import math
from dataclasses import replace

import matplotlib
import pytest

matplotlib.use("Agg")

from bestmix import catalog, families, reproduction, solve
from bestmix.reproduction import beyond, trials
from bestmix.theory.planning import error_rates

STRATEGIES = ("SFSR", "SFSR-L", "USLP", "Challenger")


FEW = ["D1P", "D2P", "A1", "H2"]


def make(folder):
    """The figure with fewer instances, and all of its parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "names", lambda: FEW)
        patch.setattr(beyond, "FAMILIES", (beyond.FAMILIES[0], beyond.FAMILIES[4]))
        return reproduction.reproduce("beyond", folder, runs=10, seed=1, instances=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make(tmp_path_factory.mktemp("beyond"))


def rows(made, name):
    with next(path for path in made.files if path.name == name).open() as file:
        return list(csv.DictReader(file))


def test_the_full_size_has_a_hundred_instances_of_each_family():
    assert [(f.arms, f.costs) for f in beyond.FAMILIES] == 2 * [(16, 1), (24, 2), (24, 3)]
    assert {f.count for f in beyond.FAMILIES} == {100}
    assert len({f.label for f in beyond.FAMILIES}) == 6


def test_subjects_are_the_catalog_and_seeded_random_instances():
    found = beyond.subjects(instances=2)
    assert [s.name for s in found[:12]] == catalog.names()
    assert [s.name for s in found[12:]] == ["1000"] * 6 + ["1001"] * 6
    assert {s.runs for s in found} == {5000}
    assert {s.runs for s in beyond.subjects(runs=7, instances=1)} == {7}
    assert len(beyond.subjects(instances=101)) == 12 + 6 * 101
    one = next(s for s in found if s.group == "uniform, 24 arms, 2 costs" and s.name == "1001")
    assert (one.instance.means == families.uniform_instance(24, 2, seed=1001).means).all()
    assert all(solve(s.instance).feasible for s in found)


def test_files(made):
    assert [path.name for path in made.files] == [
        "beyond.png",
        "beyond.svg",
        "beyond-gains.png",
        "beyond-gains.svg",
        "beyond.csv",
        "beyond-pulls.csv",
        "beyond-pulls.md",
        "beyond.txt",
    ]
    text = next(path for path in made.files if path.suffix == ".md").read_text()
    assert made.table in text
    assert made.caption in text


def test_the_curves_have_all_strategies_on_all_instances(made):
    found = rows(made, "beyond.csv")
    assert {(row["instance"], row["strategy"]) for row in found} == {
        (name, strategy) for name in FEW for strategy in STRATEGIES
    }
    assert {row["runs"] for row in found} == {"10"}


def test_the_trials_and_their_ratio(made):
    found = rows(made, "beyond-pulls.csv")
    assert len(found) == 2 * (4 + 2)
    for row in found:
        need = {name: float(row[f"pulls of {name}"]) for name in STRATEGIES}
        better = min(need["SFSR"], need["SFSR-L"])
        assert float(row["ratio"]) == pytest.approx(better / need["Challenger"], rel=0.01)
    by_target = {(row["group"], row["instance"], row["target"]): row for row in found}
    for (group, name, target), row in by_target.items():
        if target == "0.1":
            assert float(row["pulls of USLP"]) <= float(by_target[group, name, "0.01"]["pulls of USLP"])


def test_the_table_sums_up(made):
    found = rows(made, "beyond-pulls.csv")
    ratios = [float(row["ratio"]) for row in found if row["group"] == "D" and row["target"] == "0.1"]
    mean = math.exp(sum(map(math.log, ratios)) / 2)
    line = next(line for line in made.table.splitlines() if line.startswith("| D  "))
    assert [cell.strip() for cell in line.split("|")[1:4]] == ["D", "2", f"{mean:.2f}"]
    assert all(any(line.startswith(f"| {name} ") for line in made.table.splitlines()) for name in FEW)


def need(group, gained):
    found = dict.fromkeys(STRATEGIES, 100.0 * gained) | {"Challenger": 100.0}
    return beyond.Need(f"{group}, 16 arms, 1 cost", "1000", 16, 1, 10, 0.1, found)


def test_a_group_in_which_nobody_gets_there_is_said_to_have_no_ratio():
    lost = replace(need("uniform", 2.0), pulls=dict.fromkeys(STRATEGIES, math.inf))
    (row,) = beyond._summed_up([lost, replace(lost, target=0.01)], [lost.group])
    assert list(row.values()) == [lost.group, "0", *["none"] * 6]


def test_the_caption_is_honest(made):
    assert "about equally close to the best mix" in made.caption
    found = [need("designed", 2.0), need("uniform", 3.0)]
    assert "2.00 on designed ones, 3.00 on uniform ones" in beyond._by_design(found)
    assert beyond._by_design(found[:1]) == ""
    assert "designed for this package" in made.caption
    assert "the smallest of many looks worse" in made.caption
    assert "more than" not in made.caption.split("logarithms")[1]
    needs = [
        beyond.Need("D", "D1P", 24, 2, 10, 0.1, dict.fromkeys(STRATEGIES, 100.0)),
        beyond.Need("uniform", "1000", 16, 1, 10, 0.1, dict.fromkeys(STRATEGIES, math.inf)),
    ]
    assert f"1 times a strategy needs more than {trials.LARGEST_BUDGET:,} trials" in beyond._caption(needs, 0)
    assert beyond._row(needs[1])["ratio"] is None
    assert beyond._row(replace(needs[1], pulls=needs[0].pulls))["ratio"] == 1


def test_a_second_call_repeats_no_run(made, monkeypatch):
    monkeypatch.setattr(error_rates, "simulate", None)
    before = [path.read_bytes() for path in made.files]
    again = make(made.files[0].parent)
    assert [path.read_bytes() for path in again.files] == before
