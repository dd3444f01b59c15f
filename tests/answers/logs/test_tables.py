import gzip
import json
import re

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from bestmix import from_log
from bestmix.answers.logs import tables
from bestmix.answers.logs.tables import read_trials

LOG = {"arm": ["b", "a", "b"], "reward": [1.0, 2.0, 3.0], "x": [0.5, 1, -2.0], "other": ["?", None, ""]}


def as_csv(path, log, encoding="utf-8", separator=","):
    rows = [
        separator.join(log),
        *(separator.join("" if v is None else str(v) for v in row) for row in zip(*log.values(), strict=True)),
    ]
    path.write_text("\n".join(rows) + "\n", encoding=encoding)
    return path


def as_parquet(path, log):
    parquet.write_table(pyarrow.table(log), path)
    return path


def as_json_lines(path, log):
    path.write_text(
        "".join(json.dumps(dict(zip(log, row, strict=True))) + "\n" for row in zip(*log.values(), strict=True))
    )
    return path


def compressed(path):
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


FORMS = {
    "csv": lambda tmp, log: as_csv(tmp / "log.csv", log),
    "csv with a byte order mark": lambda tmp, log: as_csv(tmp / "log.CSV", log, "utf-8-sig"),
    "semicolons": lambda tmp, log: as_csv(tmp / "log.csv", log, separator=";"),
    "tabs": lambda tmp, log: as_csv(tmp / "log.tsv", log, separator="\t"),
    "spaces": lambda tmp, log: as_csv(tmp / "log.csv", log, separator=" , "),
    "csv by text": lambda tmp, log: str(as_csv(tmp / "log.csv", log)),
    "csv.gz": lambda tmp, log: compressed(as_csv(tmp / "log.csv", log)),
    "json lines": lambda tmp, log: as_json_lines(tmp / "log.jsonl", log),
    "json lines compressed": lambda tmp, log: compressed(as_json_lines(tmp / "log.jsonl", log)),
    "parquet": lambda tmp, log: as_parquet(tmp / "log.parquet", log),
    "pandas": lambda tmp, log: pandas.DataFrame(log),
    "pandas with missing-value types": lambda tmp, log: pandas.DataFrame(log).convert_dtypes(),
    "polars": lambda tmp, log: polars.DataFrame(log),
    "arrow strings": lambda tmp, log: pandas.DataFrame(log).convert_dtypes(dtype_backend="pyarrow"),
    "mapping": lambda tmp, log: log,
    "mapping of arrays": lambda tmp, log: {k: np.array(v, dtype=object) for k, v in log.items()},
}
each_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@each_form
def test_every_form_gives_the_same_tables(tmp_path, form):
    trials = read_trials(form(tmp_path, LOG), "arm", "reward", ["x"])
    assert list(trials) == ["b", "a"]
    np.testing.assert_array_equal(trials["b"], [[1.0, 0.5], [3.0, -2.0]])
    np.testing.assert_array_equal(trials["a"], [[2.0, 1.0]])


@each_form
def test_missing_values_are_told_or_left_out(tmp_path, form):
    log = {"arm": ["a", None, "a", "b"], "reward": [1.0, 2.0, None, 4.0], "x": [0.5, 0.5, 0.5, None]}
    frame = form(tmp_path, log)
    with pytest.raises(
        ValueError, match=r"log: 3 of 4 rows miss a value, the first is row 2.*column 'arm' .*drop_missing=True"
    ):
        read_trials(frame, "arm", "reward", ["x"])
    trials = read_trials(frame, "arm", "reward", ["x"], drop_missing=True)
    assert list(trials) == ["a"]
    np.testing.assert_array_equal(trials["a"], [[1.0, 0.5]])


@each_form
def test_an_infinity_is_an_error_even_when_missing_values_are_dropped(tmp_path, form):
    log = {"arm": ["a", "a", "b"], "reward": [1.0, None, 2.0], "x": [0.5, 0.5, float("inf")]}
    with pytest.raises(ValueError, match=r"log: .*infinity in row 3"):
        read_trials(form(tmp_path, log), "arm", "reward", ["x"], drop_missing=True)


@each_form
def test_an_unknown_column_is_told_with_those_there_are(tmp_path, form):
    with pytest.raises(ValueError, match=r"log: there is no column 'dollars'; the columns are .*'reward'"):
        read_trials(form(tmp_path, LOG), "arm", "reward", ["dollars"])


@each_form
def test_text_in_place_of_a_number_is_told_with_its_row(tmp_path, form):
    log = {"arm": ["a", "b"], "reward": ["1.5", "high"]}
    with pytest.raises(ValueError, match=r"log: expected numbers in column 'reward', got 'high' in row 2"):
        read_trials(form(tmp_path, log), "arm", "reward", [])


def test_an_empty_log_is_told(tmp_path):
    for frame in ({"arm": [], "reward": []}, as_csv(tmp_path / "log.csv", {"arm": [], "reward": []})):
        with pytest.raises(ValueError, match=r"log: expected at least one trial, got none"):
            read_trials(frame, "arm", "reward", [])
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match=r"log: "):
        read_trials(tmp_path / "empty.csv", "arm", "reward", [])
    with pytest.raises(ValueError, match=r"log: every row misses a value"):
        read_trials({"arm": ["a"], "reward": [None]}, "arm", "reward", [], drop_missing=True)


def test_a_column_can_have_one_part_only():
    with pytest.raises(ValueError, match=r"log: the column 'reward' is named twice"):
        read_trials(LOG, "arm", "reward", ["reward"])


def test_two_columns_of_one_name_are_told(tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward,reward\na,1,2\n")
    twice = pandas.DataFrame([["a", 1.0, 2.0]], columns=["arm", "reward", "reward"])
    for frame in (tmp_path / "log.csv", twice):
        with pytest.raises(ValueError, match=r"log: .*'reward'.*twice|two columns"):
            read_trials(frame, "arm", "reward", [])


def test_columns_of_different_lengths_are_told():
    for log in ({"arm": ["a"], "reward": [1.0, 2.0]}, {"arm": ["a", "a"], "reward": [1.0, 2.0], "x": [1.0]}):
        with pytest.raises(ValueError, match=r"log: "):
            read_trials(log, "arm", "reward", [c for c in log if c == "x"])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (None, "NoneType"),
        ([1, 2], "list"),
        ({}, "dict"),
        ("no.csv", "there is no file no.csv"),
        (".", r"\. is a folder, a file was expected; name a file in it, or all of one kind as in '\*.csv'"),
        (__file__, "expected a file whose name ends in .csv, .* got test_tables.py"),
    ],
)
def test_what_is_no_log_is_told(frame, message):
    with pytest.raises(ValueError, match=f"log: .*{message}"):
        read_trials(frame, "arm", "reward", [])


def test_numbers_name_arms_too():
    assert list(read_trials({"arm": [2, 1, 2], "reward": [1, 2, 3]}, "arm", "reward", [])) == ["2", "1"]


def test_a_short_row_misses_values(tmp_path):
    (tmp_path / "log.csv").write_text('arm,reward,x\n"a, b",1,2\nc,3\n')
    with pytest.raises(ValueError, match=r"1 of 2 rows miss a value, the first is row 2"):
        read_trials(tmp_path / "log.csv", "arm", "reward", ["x"])
    assert list(read_trials(tmp_path / "log.csv", "arm", "reward", [])) == ["a, b", "c"]


@each_form
@pytest.mark.parametrize("written", [("True", "False"), ("true", "FALSE"), (True, False)])
def test_events_are_ones_and_zeros(tmp_path, form, written):
    log = {"arm": ["a", "a"], "reward": list(written)}
    np.testing.assert_array_equal(read_trials(form(tmp_path, log), "arm", "reward", [])["a"], [[1.0], [0.0]])


def test_numbers_of_a_frame_with_gaps_name_arms_as_they_are():
    frame = polars.DataFrame({"arm": [2, None, 1], "reward": [1, 2, 3]})
    assert list(read_trials(frame, "arm", "reward", [], drop_missing=True)) == ["2", "1"]


def test_a_comma_as_decimal_sign_is_refused_with_the_remedy(tmp_path):
    (tmp_path / "log.csv").write_text("arm;reward\na;1,5\n")
    with pytest.raises(ValueError, match=r"numbers in column 'reward', got '1,5' in row 1; write numbers as 1234.5"):
        read_trials(tmp_path / "log.csv", "arm", "reward", [])


def test_the_groups_and_their_order_are_those_of_a_plain_loop(monkeypatch):
    rng = np.random.default_rng(3)
    log = {
        "arm": rng.choice(["a", "b", "", "c"], 200).tolist(),
        "tier": rng.choice(["free", "paid", None], 200).tolist(),
        "reward": np.where(rng.random(200) < 0.1, np.nan, rng.normal(size=200)).tolist(),
    }
    expected = {}
    for arm, tier, reward in zip(*log.values(), strict=True):
        if arm and tier and reward == reward:
            expected.setdefault((arm, tier), []).append([reward])
    for rows in (7, 200):
        monkeypatch.setattr(tables, "ROWS", rows)
        found = tables.read_groups(log, "arm", "reward", [], drop_missing=True, segment="tier")
        assert {group: table.tolist() for group, table in found.items()} == expected
        assert list(found) == list(expected)


def test_rows_are_counted_over_blocks(monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 2)
    log = {"arm": ["a"] * 7, "reward": [1.0, 2.0, 3.0, None, 5.0, None, 7.0]}
    with pytest.raises(ValueError, match=r"2 of 7 rows miss a value, the first is row 4: column 'reward' is empty"):
        read_trials(log, "arm", "reward", [])
    with pytest.raises(ValueError, match=r"an infinity in row 6"):
        read_trials(log | {"reward": [1.0] * 5 + [float("inf")] * 2}, "arm", "reward", [])
    with pytest.raises(ValueError, match=r"got 'x' in row 7"):
        read_trials(log | {"reward": [1.0] * 6 + ["x"]}, "arm", "reward", [])


def test_an_export_with_trials_that_were_not_told_says_what_helps():
    log = {"token": ["x", "y"], "state": ["complete", "expired"], "arm": ["a", "a"], "reward": [1.0, None]}
    with pytest.raises(ValueError, match="export --state complete has the others"):
        tables.read_groups(log, "arm", "reward", [])


def test_an_arm_whose_name_says_that_it_is_missing_is_told_apart():
    log = {"token": ["x", "y", "z"], "state": ["complete"] * 3, "arm": ["None", "a", "nan"], "reward": [1.0, 2.0, 3.0]}
    with pytest.raises(ValueError, match=r"2 of 3 rows miss a value.*export, names that say that they are missing"):
        tables.read_groups(log, "arm", "reward", [])


def test_a_relation_of_duckdb_and_a_table_of_arrow_are_logs():
    duckdb = pytest.importorskip("duckdb")
    columns = {"arm": ["s", "s", "l", "l"], "reward": [1.0, 1.2, 2.0, 2.2], "dollars": [0.0, 0.2, 1.8, 2.2]}
    rows = ", ".join(str(row) for row in zip(*columns.values(), strict=True))
    relation = duckdb.sql(f"select * from (values {rows}) as t(arm, reward, dollars)")
    wanted = from_log(columns, bounds={"dollars": 1.0}).to_dict()
    for log in (relation, pyarrow.table(columns)):
        assert from_log(log, bounds={"dollars": 1.0}).to_dict() == wanted
    with pytest.raises(ValueError, match="there is no column 'euros'"):
        from_log(relation, bounds={"euros": 1.0})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (",free,1", "row 2 (line 5 of LOG): column 'arm' is empty there, or says nan or None"),
        ("a,None,1", "row 2 (line 5 of LOG): column 'tier' is empty there"),
        ("a,free,nan", "row 2 (line 5 of LOG): column 'reward' is empty there"),
        ("a,free", "row 2 (line 5 of LOG): column 'reward' is empty there"),
        ("a,free,-inf", "finite numbers in column 'reward', got an infinity in row 2 (line 5 of LOG); correct it"),
    ],
)
def test_the_column_and_the_line_of_a_missing_value_are_told(tmp_path, row, message):
    path = tmp_path / "log.csv"
    path.write_text(f'arm,tier,reward\n"a\nb",free,1\n\n{row}\na,free,2\n')
    with pytest.raises(ValueError, match=re.escape(message.replace("LOG", str(path)))):
        tables.read_groups(path, "arm", "reward", [], segment="tier")


def test_of_several_files_the_one_with_the_missing_value_is_told(tmp_path):
    for name, last in (("a", "1"), ("b", "")):
        (tmp_path / f"{name}.csv").write_text(f"arm,reward\na,1\na,{last}\n")
    with pytest.raises(ValueError, match=rf"row 4 \(line 3 of {re.escape(str(tmp_path))}/b\.csv\)"):
        read_trials(tmp_path / "*.csv", "arm", "reward", [])


@pytest.mark.parametrize("odd", [b"y" * 200_000, b"caf\xe9"], ids=["a long cell", "not UTF-8"])
def test_a_missing_value_is_told_where_the_line_cannot_be(tmp_path, odd):
    path = tmp_path / "log.csv"  # large enough for pyarrow, which reads what Python's own reader refuses
    rows = b"a,1,xxxxxxxxxxxxxxxx\n" * 60_000
    path.write_bytes(b"arm,reward,x\n" + rows + b"a,1," + odd + b"\nb,,x\n")
    with pytest.raises(ValueError, match=r"1 of 60002 rows miss a value, the first is row 60002: column 'reward'"):
        read_trials(path, "arm", "reward", [])
