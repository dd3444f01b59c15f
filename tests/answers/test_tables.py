import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from bestmix.answers.tables import read_trials

LOG = {"arm": ["b", "a", "b"], "reward": [1.0, 2.0, 3.0], "x": [0.5, 1, -2.0], "other": ["?", None, ""]}


def as_csv(path, log, encoding="utf-8"):
    rows = [
        ",".join(log),
        *(",".join("" if v is None else str(v) for v in row) for row in zip(*log.values(), strict=True)),
    ]
    path.write_text("\n".join(rows) + "\n", encoding=encoding)
    return path


def as_parquet(path, log):
    parquet.write_table(pyarrow.table(log), path)
    return path


FORMS = {
    "csv": lambda tmp, log: as_csv(tmp / "log.csv", log),
    "csv with a byte order mark": lambda tmp, log: as_csv(tmp / "log.CSV", log, "utf-8-sig"),
    "csv by text": lambda tmp, log: str(as_csv(tmp / "log.csv", log)),
    "parquet": lambda tmp, log: as_parquet(tmp / "log.parquet", log),
    "pandas": lambda tmp, log: pandas.DataFrame(log),
    "pandas with missing-value types": lambda tmp, log: pandas.DataFrame(log).convert_dtypes(),
    "polars": lambda tmp, log: polars.DataFrame(log),
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
    with pytest.raises(ValueError, match=r"log: 3 of 4 rows miss a value, the first is row 2; .*drop_missing=True"):
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
        (__file__, "expected a .csv or .parquet file, got test_tables.py"),
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
