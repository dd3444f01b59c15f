import json
import subprocess
import sys

import pytest

from bestmix.client.edge_choices import Measure, Place, add_up
from bestmix.client.edge_outbox import Outbox, orphans

NAMES = (["q"], ["q*q"])
SMALL, LARGE = Place(1, None, "small"), Place(1, "free", "large")


def sums(*values):
    return add_up([Measure("q", "q")], [{"q": value} for value in values])


@pytest.fixture
def outbox(tmp_path):
    return Outbox(tmp_path, "exp", NAMES)


def test_one_report_is_under_way_and_what_comes_after_it_is_added_up(outbox):
    outbox.add({SMALL: sums(1.0, 2.0)})
    first = outbox.next()
    assert first["key"] == f"{outbox.edge}:1"
    assert first["rows"] == [{"version": 1, "arm": "small", "n": 2, "sums": {"q": 3.0}, "products": {"q*q": 5.0}}]
    outbox.add({SMALL: sums(4.0)})
    outbox.add({SMALL: sums(5.0), LARGE: sums(1.0)})
    assert outbox.next() is first
    assert outbox.pending() == 5
    outbox.answered()
    second = outbox.next()
    assert second["key"] == f"{outbox.edge}:2"
    assert [(row["arm"], row["n"], row.get("segment")) for row in second["rows"]] == [
        ("small", 2, None),
        ("large", 1, "free"),
    ]
    outbox.answered()
    assert outbox.next() is None
    assert outbox.pending() == 0


def test_the_file_holds_what_is_on_its_way_and_goes_when_nothing_is(outbox, tmp_path):
    outbox.save()
    assert list(tmp_path.glob("*.json")) == []
    outbox.add({SMALL: sums(1.0)})
    outbox.next()
    outbox.add({SMALL: sums(2.0)})
    outbox.save()
    (path,) = tmp_path.glob("*.json")
    assert [entry["key"].rpartition(":")[2] for entry in json.loads(path.read_text())] == ["1", "2"]
    outbox.answered()
    outbox.next()
    outbox.answered()
    outbox.save()
    assert not path.exists()
    outbox.close()
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_an_edge_that_is_there_is_left_alone(outbox, tmp_path):
    outbox.add({SMALL: sums(1.0)})
    outbox.save()
    assert list(orphans(tmp_path, "exp")) == []
    outbox.close()  # without having delivered it
    (orphan,) = orphans(tmp_path, "exp")
    assert [entry["key"] for entry in orphan.reports()] == [f"{outbox.edge}:1"]
    orphan.delivered()
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_a_process_that_was_killed_is_found(tmp_path):
    text = (
        "import os, signal, sys; from pathlib import Path; from tests.client.test_edge_outbox import *; "
        "box = Outbox(Path(sys.argv[1]), 'exp', NAMES); box.add({SMALL: sums(1.0)}); box.save(); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", text, str(tmp_path)], check=False)
    assert list(orphans(tmp_path, "another")) == []
    (found,) = [orphan.reports() for orphan in orphans(tmp_path, "exp")]
    assert found[0]["rows"][0]["n"] == 1


@pytest.mark.parametrize("content", ["", "{", "5", "[5]", "null"])
def test_a_damaged_file_has_no_reports(tmp_path, content):
    (tmp_path / "exp.x.json").write_text(content)
    assert [orphan.reports() for orphan in orphans(tmp_path, "exp")] == [[]]


def test_without_a_folder_nothing_is_written():
    outbox = Outbox(None, "exp", NAMES)
    outbox.add({SMALL: sums(1.0)})
    outbox.save()
    outbox.close()
    assert list(orphans(None, "exp")) == []
