import io
import struct
import sys

import numpy as np
import pyarrow
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from bestmix import from_log
from bestmix.answers.logs import arrow_files, csv_files
from bestmix.answers.logs import files as log_files
from bestmix.answers.logs.arrow_files import ArrowColumn, read_arrow_csv, read_parquet
from bestmix.answers.logs.columns import NotANumber, Values
from bestmix.answers.logs.csv_files import layout, read_csv
from bestmix.answers.logs.tables import read_groups
from bestmix.answers.moments import Moments

FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100)
CELLS = st.one_of(
    FLOATS.map(repr),
    st.sampled_from(["", "nan", "nan(1)", "inf", "True", " 1 ", "1_0", "'-1", "+1", "1e-400", "0x10", "x", "1,5"]),
)


def labels_of(column):
    found = column.labels()
    return [found.names[code] if code >= 0 else None for code in found.codes]


def numbers_of(column):
    try:
        return [struct.pack("d", value) for value in column.numbers()]
    except NotANumber as error:
        return str(error)


@given(st.lists(CELLS, max_size=5))
@example(["nan(1)"])
@settings(max_examples=300, deadline=None)
def test_a_column_of_texts_is_read_as_python_reads_it(cells):
    column, objects = (
        ArrowColumn(pyarrow.array(cells, pyarrow.string()), csv_files.text_of),
        Values(cells, csv_files.text_of),
    )
    assert numbers_of(column) == numbers_of(objects)
    assert labels_of(column) == labels_of(objects)


@pytest.mark.parametrize(
    "array",
    [
        pyarrow.array([1, None, 2**60 + 1]),
        pyarrow.array([0.5, None, 1.5], pyarrow.float32()),
        pyarrow.array([True, False, None]),
        pyarrow.array(["1", None, "2"]).dictionary_encode(),
        pyarrow.array(["1", "2"], pyarrow.large_string()),
        pyarrow.array([1, None]).cast(pyarrow.decimal128(30, 3)),
        pyarrow.array([1, 2, 3])[1:],
        pyarrow.array([], pyarrow.float64()),
        pyarrow.array([None, None]),
    ],
    ids=lambda array: str(array.type),
)
def test_columns_of_other_types_are_read_as_their_objects_are(array):
    column, objects = ArrowColumn(array), Values(array.to_pylist())
    np.testing.assert_array_equal(column.numbers(), objects.numbers())
    assert labels_of(column) == labels_of(objects)


def rows_of(read, content):
    file = io.BytesIO(content)
    try:
        chunks = list(read(file, "log.csv", layout(file, "log.csv", ["arm", "reward"])))
    except ValueError as error:
        return str(error)
    arms = [name for chunk in chunks for name in labels_of(chunk["arm"])]
    return arms, [text for chunk in chunks for text in labels_of(chunk["reward"])]


@given(
    st.lists(
        st.sampled_from(["a", "1", ",", ",", "\n", "\n", "\r\n", "\r", '"', '""', " ", "'", ";", "é"]), max_size=16
    )
)
@settings(max_examples=500, deadline=None)
def test_any_text_has_the_same_rows_either_way(parts):
    content = ("arm,reward\n" + "".join(parts)).encode()
    assert rows_of(read_arrow_csv, content) == rows_of(read_csv, content)


def test_from_a_row_that_arrow_refuses_the_standard_library_goes_on(monkeypatch):
    monkeypatch.setattr(arrow_files, "BLOCK", 64)
    content = ("arm,reward\n" + "a,1.5\n" * 40 + "b\n" + "c,2\n" * 40).encode()
    file = io.BytesIO(content)
    kinds = [
        type(chunk["arm"]) for chunk in read_arrow_csv(file, "log.csv", layout(file, "log.csv", ["arm", "reward"]))
    ]
    assert kinds[0] is ArrowColumn
    assert kinds[-1] is Values
    assert rows_of(read_arrow_csv, content) == rows_of(read_csv, content)


@given(st.lists(st.tuples(st.sampled_from("abc"), FLOATS, FLOATS), min_size=1, max_size=60), st.integers(32, 200))
@settings(max_examples=40, deadline=None)
def test_all_ways_to_read_give_the_same_sums_to_the_bit(tmp_path_factory, rows, block):
    path = tmp_path_factory.mktemp("logs") / "log.csv"
    path.write_text("arm,reward,x\n" + "".join(f"{arm},{reward!r},{x!r}\n" for arm, reward, x in rows))
    columns = dict(zip(("arm", "reward", "x"), map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pyarrow.table(columns), path.with_suffix(".parquet"), row_group_size=7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_files, "BLOCK", block)
        patch.setattr(arrow_files, "ROWS", 5)
        patch.setattr(log_files, "SMALL_FILE", 0)
        fast = [sums(path), sums(path.with_suffix(".parquet"))]
        patch.setattr(log_files, "find_spec", lambda name: None)
        patch.setattr(csv_files, "ROWS", 3)
        assert fast == [sums(path)] * 2
    assert fast[0] == sums(columns)


def sums(log):
    groups = read_groups(log, "arm", "reward", ["x"])
    return [(group, Moments(2).plus(table).to_dict()) for group, table in groups.items()]


def test_without_arrow_csv_is_read_and_parquet_names_the_extra(monkeypatch, tmp_path):
    (tmp_path / "log.csv").write_text("arm,reward\na,1\na,2\n")
    (tmp_path / "log.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(log_files, "find_spec", lambda name: None)
    assert from_log(tmp_path / "log.csv").trials == 2
    with pytest.raises(ValueError, match=r"reading Parquet needs pyarrow; install bestmix\[frames\]"):
        from_log(tmp_path / "log.parquet")


def test_a_broken_parquet_file_is_told():
    with pytest.raises(ValueError, match=r"log.parquet is not a readable Parquet file"):
        list(read_parquet(io.BytesIO(b"PAR1 and nothing else"), "log.parquet", ["arm"]))
