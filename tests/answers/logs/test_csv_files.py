import io

import pytest

from bestmix.answers.logs import csv_files
from bestmix.answers.logs.csv_files import layout, read_csv


def read(text, *wanted):
    file = io.BytesIO(text.encode())
    chunks = list(read_csv(file, "log.csv", layout(file, "log.csv", wanted)))
    return {name: [csv_files.text_of(cell) for chunk in chunks for cell in chunk[name].values] for name in wanted}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_the_one_that_finds_the_columns(separator):
    text = "arm reward x,;\t|y\nsmall 2 3\n"
    assert read(text.replace(" ", separator), "arm", "reward") == {"arm": ["small"], "reward": ["2"]}


def test_without_the_columns_the_complaint_shows_the_most_there_are():
    with pytest.raises(ValueError, match=r"there is no column 'x'; the columns are \['arm', 'reward', 'cost,s'\]"):
        read("arm;reward;cost,s\n", "arm", "x")


def test_quotes_blank_lines_and_short_rows(monkeypatch):
    text = 'arm,"re\nward",x\n"a, b",1,2\n\n"c ""d""",3\n  e ,\'-4,\n'
    expected = {"re\nward": ["1", "3", "-4"], "arm": ["a, b", 'c "d"', "e"], "x": ["2", "", ""]}
    for rows in (1, 2, 9):
        monkeypatch.setattr(csv_files, "ROWS", rows)
        assert read(text, "re\nward", "arm", "x") == expected


def test_a_long_row_is_told_with_its_number_over_blocks(monkeypatch):
    monkeypatch.setattr(csv_files, "ROWS", 2)
    with pytest.raises(ValueError, match=r"row 4 of log.csv has 3 values for 2 columns; correct it"):
        read("arm,reward\na,1\na,1\n\na,1\na,1,2\n", "arm", "reward")


def test_reading_can_begin_later():
    file = io.BytesIO(b"arm,reward\na,1\n\nb,2\nc,3\n")
    found = read_csv(file, "log.csv", layout(file, "log.csv", ["arm", "reward"]), skip=1)
    assert [chunk["arm"].labels().names for chunk in found] == [("b", "c")]


@pytest.mark.parametrize("content", [b"\xff\xfea\x00", b"arm,reward\na,\xff\n"])
def test_other_encodings_are_told(content):
    file = io.BytesIO(content)
    with pytest.raises(ValueError, match=r"log.csv is not a CSV file in UTF-8"):
        list(read_csv(file, "log.csv", layout(file, "log.csv", ["arm", "reward"])))
