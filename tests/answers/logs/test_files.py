import gzip
import io
import sys
from types import SimpleNamespace

import pyarrow
import pytest
from pyarrow import parquet

from bestmix.answers.logs.files import is_log, read_file, read_json_lines
from bestmix.answers.logs.tables import read_trials

CSV = b"arm,reward\na,1\nb,2\n"
LINES = b'{"arm": "a", "reward": 1}\n\n{"arm": "b", "reward": 2}\n'


def as_parquet():
    file = io.BytesIO()
    parquet.write_table(pyarrow.table({"arm": ["a", "b"], "reward": [1, 2]}), file)
    return file.getvalue()


# With ids of their own: compressed bytes hold the time, and pytest's workers must collect the same tests.
@pytest.mark.parametrize(
    "content",
    [CSV, LINES, b"\xef\xbb\xbf" + LINES, gzip.compress(CSV), gzip.compress(LINES), as_parquet()],
    ids=["csv", "lines", "lines with a mark", "csv.gz", "lines.gz", "parquet"],
)
def test_standard_input_is_known_by_its_begin(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    found = read_trials("-", "arm", "reward", [])
    assert {arm: table.tolist() for arm, table in found.items()} == {"a": [[1.0]], "b": [[2.0]]}


def test_an_empty_standard_input_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))
    with pytest.raises(ValueError, match=r"log: standard input is empty"):
        read_trials("-", "arm", "reward", [])


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(CSV)[:-9], gzip.compress(CSV)[:12] + b"?" * 20],
    ids=["no gzip", "cut off", "damaged"],
)
def test_a_broken_gzip_file_is_told(tmp_path, content):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"log.csv.gz is no whole gzip file .*; compress it again"):
        list(read_file(path, ["arm", "reward"]))


@pytest.mark.parametrize("line", [b"[1]", b"{", b"1", b'{"arm": "a"\xff}', b"[" * 100_000], ids=range(5))
def test_a_line_that_is_no_object_is_told_with_its_number(line):
    with pytest.raises(
        ValueError, match=r"expected a JSON object in line 4 of log.jsonl, got .*; write one trial a line"
    ):
        list(read_json_lines(io.BytesIO(LINES + line + b"\n"), "log.jsonl", ["arm", "reward"]))


def test_a_key_may_come_late_but_must_come():
    late = LINES + b'{"arm": "a", " x ": 3}'
    (chunk,) = read_json_lines(io.BytesIO(late), "log.jsonl", ["arm", "x"])
    assert chunk["x"].values == [None, None, 3]
    with pytest.raises(ValueError, match=r"there is no column 'y'; the columns are \['arm', 'reward', ' x '\]"):
        list(read_json_lines(io.BytesIO(late), "log.jsonl", ["arm", "y"]))


def test_what_is_a_log_by_its_name():
    names = ("a.csv", "a.CSV.gz", "a.jsonl", "a.ndjson.gz", "a.parquet", "-")
    assert all(map(is_log, names))
    assert not any(map(is_log, ("a.json", "a.toml", "D2P", "a.gz", "")))
