import json

import numpy as np
import pandas
import polars
import pytest
from scipy import stats

import bestmix as bm
from bestmix.simulation.results import wilson


@pytest.fixture(scope="module")
def table():
    return bm.sweep(["D1P", "D2P"], [bm.SFSR("lagrangian"), bm.Uniform()], [1000, 4000], runs=300, seed=2)


@pytest.mark.parametrize(("errors", "runs"), [(0, 10), (10, 10), (3, 50), (1, 5000), (4999, 5000)])
def test_wilson_is_scipys(errors, runs):
    expected = stats.binomtest(errors, runs).proportion_ci(method="wilson")
    assert wilson(errors, runs) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_rows_add_up(table):
    assert len(table) == 8
    for row in table.rows():
        assert row["errors"] == row["wrong_support"] + row["wrongly_infeasible"]
        assert row["low"] <= row["error_rate"] <= row["high"]
        assert row["pulls_mean"] <= row["budget"]
        assert row["violation_q50"] >= 0


def test_loss_kept_limits_and_regret_have_intervals(table):
    for cell in table:
        row = cell.row()
        assert row["loss_low"] <= row["loss_mean"] == cell.loss <= row["loss_high"]
        assert row["kept_low"] <= row["kept"] == cell.kept <= row["kept_high"]
        assert cell.regret_interval[0] < cell.regret < cell.regret_interval[1]
        assert cell.measured("loss") == (cell.loss, cell.loss_interval)
        assert f"limits kept {cell.kept:.4f}" in str(cell)
    with pytest.raises(ValueError, match="by: expected one of"):
        cell.measured("luck")


def test_frames_and_files_hold_the_same_table(table, tmp_path):
    rows = table.rows()
    assert table.to_pandas().to_dict("records") == rows
    assert table.to_polars().to_dicts() == rows
    for name, read in (("t.csv", pandas.read_csv), ("t.parquet", polars.read_parquet)):
        table.save(tmp_path / name)
        frame = read(tmp_path / name)
        assert list(frame["errors"]) == [row["errors"] for row in rows]
        np.testing.assert_array_equal(np.array(frame["regret_q99"]), [row["regret_q99"] for row in rows])
    table.save(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["rows"] == rows
    with pytest.raises(ValueError, match=r"t\.txt: expected a name that ends in"):
        table.save(tmp_path / "t.txt")


def test_a_cell_is_found_by_its_names(table):
    cell = table.get("D2P", "USLP", 4000)
    assert (cell.instance, cell.strategy, cell.budget, cell.runs) == ("D2P", "USLP", 4000, 300)
    assert f"{cell.error_rate:.4f}" in str(table)
    with pytest.raises(ValueError, match="there is no cell"):
        table.get("D2P", "USLP", 4001)
