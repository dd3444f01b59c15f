import json

import pytest

from bestmix import Items, Problem, Uniform
from bestmix.cli.trial_file import TrialFile

PROBLEM = Problem(["small", "'+large"], {"dollars": 1.0})


def begun(path, trials=4, items=None):
    """A run of which each trial was told and written."""
    search = Uniform().start(PROBLEM, 8, items=items)
    file = TrialFile(search, path)
    told(search, file, trials)
    return search, file


def told(search, file, trials):
    for number in range(trials):
        arm = next(iter(search.ask()))
        on = () if search.item_list is None else search.items(arm, most=1)
        search.tell(arm, 0.1 * number, [number / 3], item=on[0] if on else None)
        file((arm, *on), (0.1 * number, {"dollars": number / 3}))


def again(search, path, rows):
    copy = type(search).from_json(search.to_json())
    return copy, TrialFile(copy, path, rows, new=False)


@pytest.mark.parametrize("items", [None, Items(3), Items(["sum, all", '"sort"', "'=swap"])])
def test_what_a_state_missed_is_told_from_the_file(tmp_path, capsys, items):
    path = tmp_path / "run.csv"
    search, file = begun(path, 2, items)
    saved = search.to_json()
    told(search, file, 4)
    copy, found = again(type(search).from_json(saved), path, 2)
    assert copy.to_dict() == search.to_dict()
    assert found.rows == file.rows == 6
    assert "4 trials of" in capsys.readouterr().err


def test_a_torn_line_is_left_out_and_the_next_trial_has_a_line_of_its_own(tmp_path, capsys):
    path = tmp_path / "run.csv"
    search, file = begun(path)
    whole = path.read_text()
    path.write_text(whole + "small,0.")
    copy, file = again(search, path, 4)
    assert (copy.trials, file.rows, path.read_text()) == (4, 4, whole)
    assert "cut off in writing ('small,0.'); it is left out" in " ".join(capsys.readouterr().err.split())
    path.write_text(whole.rstrip("\n"))  # an editor has taken the end of a line that was counted
    assert again(search, path, 4)[1].rows == 4
    assert path.read_text() == whole


def test_a_torn_item_of_several_lines_is_left_out_whole(tmp_path, capsys):
    path = tmp_path / "run.csv"
    search, file = begun(path, 2, Items(["one\ntwo\nthree", 'say "a\nb"', "c"]))
    before, saved = path.read_bytes(), search.to_json()
    told(search, file, 1)
    added = path.read_bytes()[len(before) :]
    assert added.count(b"\n") > 1
    for end in range(1, len(added)):
        path.write_bytes(before + added[:end])
        copy, found = again(type(search).from_json(saved), path, 2)
        assert (copy.trials, found.rows, path.read_bytes()) == (2, 2, before)
    assert "could not be counted" not in capsys.readouterr().err


def test_a_quote_within_a_cell_that_somebody_wrote_ends_no_row(tmp_path):
    path = tmp_path / "run.csv"
    search, _ = begun(path, 2, Items(['5" screen', '6" screen', '7" screen']))
    head, first, *others = path.read_text().splitlines()
    assert '"" screen"' in first
    written = "\n".join([head, first.replace('"" screen"', "' screen").replace('"', "").replace("'", '"'), *others, ""])
    path.write_text(written)
    assert again(search, path, 1)[1].rows == 2
    assert path.read_text() == written


def test_a_row_with_too_few_columns_says_so(tmp_path, capsys):
    path = tmp_path / "run.csv"
    search, _ = begun(path)
    path.write_text(path.read_text() + "small,0.5\n")
    copy, _ = again(search, path, 4)
    assert copy.trials == 4
    assert "1 trial could not be counted; row 5 has 2 of 3 columns." in " ".join(capsys.readouterr().err.split())


def test_rows_that_cannot_be_counted_are_named_and_the_others_count(tmp_path, capsys):
    path = tmp_path / "run.csv"
    search, _ = begun(path)
    with path.open("a") as file:
        file.write("other,1,1\n'+large,x,1\n''+large,1,1\n")
    copy, found = again(search, path, 4)
    assert (copy.trials, found.rows) == (5, 7)
    said = " ".join(capsys.readouterr().err.split())
    assert "1 trial of" in said
    assert "2 trials could not be counted; row 5:" in said


def test_a_state_that_does_not_say_how_many_rows_it_has_goes_on_as_before(tmp_path):
    path = tmp_path / "run.csv"
    search, _ = begun(path)
    with path.open("a") as file:
        file.write("small,1,1\n")
    copy, found = again(search, path, None)
    assert (copy.trials, found.rows) == (4, 5)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "", "\xff"])
def test_a_file_of_something_else_is_kept(tmp_path, text):
    path = tmp_path / "run.csv"
    path.write_text(text, encoding="latin-1")
    (tmp_path / "run.1.csv").write_text("mine")
    search, file = begun(path, 1)
    assert path.read_text().splitlines()[0] == "arm,reward,dollars"
    assert (tmp_path / "run.1.csv").read_text() == "mine"
    assert (tmp_path / "run.2.csv").read_text(encoding="latin-1") == text
    path.write_text(text, encoding="latin-1")
    _, file = again(search, path, 1)
    assert file.rows == 0
    assert (tmp_path / "run.3.csv").exists()


def test_the_state_is_saved_before_the_first_line_is_written(tmp_path):
    path, seen = tmp_path / "run.csv", []
    search = Uniform().start(PROBLEM, 8)
    file = TrialFile(search, path)
    file.before_first = lambda: seen.append(
        (file.rows, path.exists(), json.loads(search.to_json())["moments"][0]["count"])
    )
    told(search, file, 2)
    assert seen == [(1, False, 1)]
