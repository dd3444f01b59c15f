import json

import pytest
from typer.testing import CliRunner

from bestmix import Instance, catalog
from bestmix.cli import app


def instances(*words):
    return CliRunner().invoke(app, ["instances", *map(str, words)])


def test_the_catalog():
    result = instances()
    assert result.exit_code == 0
    assert all(name in result.stdout for name in catalog.names())
    assert "66.7% arm10 + 33.3% arm20" in result.stdout


def test_one_instance():
    result = instances("D2P")
    assert result.exit_code == 0
    assert "arm23" in result.stdout
    assert "cost0 ≤ 1, cost1 ≤ 1" in result.stdout


def test_json():
    listed = json.loads(instances("--json").stdout)
    assert [entry["name"] for entry in listed] == [*catalog.names(), *catalog.segment_names()]
    one = json.loads(instances("D2P", "--json").stdout)
    assert one["best"]["mixture"] == {"arm10": pytest.approx(2 / 3), "arm20": pytest.approx(1 / 3)}


def test_an_instance_with_segments(tmp_path):
    result = instances("S3L1", "--export", tmp_path / "s.toml")
    assert "arm5 in segment2" in result.stdout
    assert "Best mix: in 3 segments, as above" in result.stdout
    assert Instance.load(tmp_path / "s.toml").to_dict() == catalog.load("S3L1").to_dict()
    assert len(json.loads(instances("S3L1", "--json").stdout)["best"]["mixture"]) == 4


def test_export(tmp_path):
    assert instances("D2P", "--export", tmp_path / "d.toml").exit_code == 0
    assert (Instance.load(tmp_path / "d.toml").means == catalog.load("D2P").means).all()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["D9"], "expected one of 'D1P'"),
        (["--export", "x.toml"], "name of an instance"),
        (["D2P", "--export", "x"], ".toml or .json"),
    ],
)
def test_mistakes(words, part):
    result = instances(*words)
    assert result.exit_code == 2
    assert part in result.stderr
