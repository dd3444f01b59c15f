"""Tables of sums in every form give the same moments."""

import gzip
import json

import numpy as np
import pytest

import bestmix as bm
from bestmix.answers.logs.sum_tables import Names, check_blocks, named, read_sums
from bestmix.problems.quantities import Mean, Tail

MEASURES = [Mean("x"), Mean("reward"), Tail("t", ">", 2.0)]
NAMES = Names.of(MEASURES, "y")
TRIALS = {
    "a": np.array([[1.0, 2.0, 1.0], [3.0, 5.0, 0.0], [2.5, 4.0, 1.0]]),
    "b": np.array([[0.25, -1.0, 0.0], [1.5, 1.0, 0.0]]),
}


def sums():
    table = {"arm": list(TRIALS), "n": [len(rows) for rows in TRIALS.values()]}
    for i, name in enumerate(NAMES.sums):
        table[name] = [float(rows[:, i].sum()) for rows in TRIALS.values()]
    for i, j in NAMES.pairs:
        table[NAMES.product(i, j)] = [float(rows[:, i] @ rows[:, j]) for rows in TRIALS.values()]
    return table


def statistics():
    table = {"arm": list(TRIALS), "n": [len(rows) for rows in TRIALS.values()]}
    cov = [np.cov(rows, rowvar=False) for rows in TRIALS.values()]
    for i, name in enumerate(NAMES.sums):
        table[f"mean({name})"] = [float(rows[:, i].mean()) for rows in TRIALS.values()]
    for i, j in NAMES.pairs:
        key = f"var({NAMES.sums[i]})" if i == j else f"cov({NAMES.sums[j]}, {NAMES.sums[i]})"
        table[key] = [float(c[i, j]) for c in cov]
    return table


def numbered():
    table, plain = {}, sums()
    for key in ("arm", "n"):
        table[key] = plain[key]
    for i, name in enumerate(NAMES.sums, 1):
        table[f"sum_{i}"] = plain[name]
    for i, j in NAMES.pairs:
        table[f"sum_{i + 1}_{j + 1}"] = plain[NAMES.product(i, j)]
    return table | {"measures": [json.dumps(NAMES.sums)] * 2}


def check(frame):
    found, blocks = read_sums(frame, NAMES, "arm", "n", None, None)
    assert (list(found), blocks) == ([("a", None), ("b", None)], 0)
    for arm, rows in TRIALS.items():
        moments = found[arm, None].moments
        assert moments.count == len(rows)
        np.testing.assert_allclose(moments.mean(), rows.mean(axis=0))
        np.testing.assert_allclose(moments.covariance(), np.cov(rows, rowvar=False), atol=1e-12)
        np.testing.assert_allclose(found[arm, None].sums.sum(axis=0), rows.sum(axis=0))


@pytest.mark.parametrize("form", [sums, statistics, numbered])
def test_every_form_says_the_same(form):
    check(form())


def test_means_and_covariances_lose_no_digits():
    far = {"arm": ["a"], "n": [10**9], "mean(x)": [1e9], "var(x)": [1e-6]}
    found, _ = read_sums(far, Names(("x",), (False,)), "arm", "n", None, None)
    assert found["a", None].moments.covariance()[0, 0] == pytest.approx(1e-6)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("form", [sums, statistics, numbered])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.json", "lines.json", "columns.json", "t.jsonl", "t.parquet"])
def test_every_file_says_the_same(form, name, tmp_path):
    table, path = form(), tmp_path / name
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    if name == "t.parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(table), path)
    elif name.startswith("t.csv"):
        import csv
        import io

        text = io.StringIO()
        writer = csv.writer(text, delimiter=";")
        writer.writerows([list(table), *[row.values() for row in rows]])
        content = text.getvalue().encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    else:
        whole = {"t.json": json.dumps(rows), "columns.json": json.dumps(table)}
        path.write_text(whole.get(name) or lines(rows))
    check(path)


def test_frames_too():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    check(pandas.DataFrame(sums()))
    check(polars.DataFrame(statistics()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.update(measures=["[]", '["x"]']), "the same list of names"),
        (lambda t: t.update(measures=["x", "x"]), "the same list of names"),
        (lambda t: t.update(measures=["1", "1"]), "the same list of names"),
        (lambda t: t.update(incomplete=[0, 3]), "3 rows miss a value"),
        (lambda t: t.update(n=[2, None]), "1 of 2 rows miss a value"),
    ],
)
def test_what_cannot_be_read_is_told(change, message):
    table = numbered()
    change(table)
    with pytest.raises(ValueError, match=message):
        read_sums(table, NAMES, "arm", "n", None, None)


@pytest.mark.parametrize("content", ["1", '[1, {"arm": "a"}]', "{", "[" * 100_000], ids=range(4))
def test_json_that_is_no_table_is_told(content, tmp_path):
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(ValueError, match=r"expected a (list of JSON objects in|JSON object in line 1 of) .*t.json"):
        read_sums(tmp_path / "t.json", NAMES, "arm", "n", None, None)


@pytest.mark.parametrize("frame", [[1, 2], 5, {}])
def test_what_is_no_table_is_refused(frame):
    with pytest.raises(ValueError, match="sums: expected a path of a table or -"):
        read_sums(frame, NAMES, "arm", "n", None, None)


def test_a_metric_may_be_called_measures():
    table = {"sum_1": [1], "measures": [3.0]}
    assert named(table, ["measures"]) == table


def test_so_many_blocks_need_a_column_of_units():
    assert check_blocks("user", np.int64(7)) == 7
    with pytest.raises(ValueError, match="there is no column of the unit"):
        check_blocks(None, 7)
    with pytest.raises(ValueError, match="at least 2"):
        check_blocks("user", "week")


BASE = {"arm": ["a"], "n": [2], "reward": [2.0], "dollars": [3.0], "reward*reward": [2.5], "reward*dollars": [3.2]}
BASE |= {"dollars*dollars": [5.0]}


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"reward*dollars": [100.0]}, "reward[*]dollars would make a correlation beyond 1"),
        (
            {"n": [1], "reward*reward": [9.0], "reward*dollars": [6.0], "dollars*dollars": [9.0]},
            "is not the square of reward, of a single trial",
        ),
        ({"dollars*reward": [4.0]}, "'reward[*]dollars' and 'dollars[*]reward' are the same column"),
        ({"mean(reward)": [1.0]}, "there is the sum 'reward' as well as 'mean"),
    ],
)
def test_sums_that_no_trials_can_have_are_refused(other, told):
    bm.from_sums(BASE, bounds={"dollars": 2.0})
    with pytest.raises(ValueError, match=told):
        bm.from_sums(BASE | other, bounds={"dollars": 2.0})


def test_parts_of_an_event_are_refused():
    table = {"arm": ["a"], "n": [10], "reward": [5.0], "reward*reward": [4.0], "p(x > 2)": [2.5]}
    table |= {"reward*p(x > 2)": [1.2]}
    with pytest.raises(ValueError, match="counts events, got a sum that is no whole number"):
        bm.from_sums(table, limits=["p(x > 2) <= 50%"])
    bm.from_sums(table | {"p(x > 2)": [3.0]}, limits=["p(x > 2) <= 50%"])
