import os
import stat

import pytest

from bestmix import files

DATA = {"a": 1, "b": [1.5, -2.0], "c": {"é ü": "text\nmore", "empty": {}}, "d": True}


@pytest.mark.parametrize("name", ["x.json", "x.toml", "X.JSON", "deep/er/x.toml"])
def test_what_is_written_is_read(tmp_path, name):
    files.write(tmp_path / name, DATA)
    assert files.read(tmp_path / name) == DATA
    assert files.read(str(tmp_path / name)) == DATA


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    files.write(path, {"old": 1})

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match=r"disk full"):
        files.write(path, {"new": 1})
    assert files.read(path) == {"old": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_data_that_cannot_be_written_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.json"
    files.write(path, {"old": 1})
    with pytest.raises(TypeError):
        files.write(path, {"new": object()})
    assert files.read(path) == {"old": 1}


def test_others_can_read_what_was_written(tmp_path):
    files.write_text(tmp_path / "x.txt", "text")
    assert stat.S_IMODE((tmp_path / "x.txt").stat().st_mode) == 0o644


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", b"{", "not valid JSON"),
        ("x.toml", b"a = = 1", "not valid TOML"),
        ("x.json", b'{"a": {"b": 1, "b": 2}}', "'b' stands there twice; remove one"),
        ("x.toml", b"a = 1\na = 2", "not valid TOML"),
        ("x.json", b"[1, 2]", "expected a table of named values, got a list"),
        ("x.json", b'{"a": "\xff"}', "x.json"),
        ("x.yaml", b"a: 1", "ends in .toml or .json, got .yaml"),
        ("x", b"{}", "ends in .toml or .json, got none"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        files.read(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_what_is_wanted_in_a_file_is_told(tmp_path):
    with pytest.raises(
        ValueError, match=r"expected a policy in a file whose name ends in .toml or .json, got .csv; give"
    ):
        files.read(tmp_path / "calls.csv", "a policy")
    with pytest.raises(ValueError, match=r"ends in .toml or .json, got .csv; rename it"):
        files.write(tmp_path / "calls.csv", DATA)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"no.json: there is no such file"):
        files.read(tmp_path / "no.json")


@pytest.mark.parametrize("name", ["folder.json", "folder", "folder.csv"])
def test_a_folder_in_place_of_a_file_is_told(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(ValueError, match=rf"{name}: it is a folder, a file was expected; name a file in it"):
        files.read(tmp_path / name)


def test_csv_is_quoted_where_it_must_be():
    rows = [{"a": "x,y", "b": 1.5}, {"a": 'say "z"\n', "b": None}]
    assert files.csv_text(rows) == 'a,b\n"x,y",1.5\n"say ""z""\n",\n'
    assert files.csv_text([]) == "\n"


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "c": 2, "a": 3}}]'])
def test_no_name_stands_twice_in_json(text):
    with pytest.raises(files.Repeated, match="'a' stands there twice; remove one"):
        files.loads(text)
    assert files.loads('[{"a": 1}, {"a": 2}]') == [{"a": 1}, {"a": 2}]
