import numpy as np
import pytest

import bestmix as bm
from bestmix.simulation.cells import BLOCK, Cell, Outcomes
from bestmix.simulation.store import ChunkFolder

CELL = Cell(bm.catalog.load("D1P"), bm.Uniform(), 400, 3)


def outcomes(count, regret=0.0):
    return Outcomes(np.zeros(count, np.uint8), np.full(count, 400), np.full(count, regret), *np.zeros((2, count)))


def test_chunks_come_back_block_by_block(tmp_path):
    ChunkFolder(tmp_path / "deep" / "folder").save(CELL, 2, outcomes(BLOCK + 7))
    found = ChunkFolder(tmp_path / "deep" / "folder").load(CELL)
    assert {block: len(part) for block, part in found.items()} == {2: BLOCK, 3: 7}
    assert ChunkFolder(tmp_path / "deep" / "folder").load(Cell(CELL.instance, CELL.strategy, 401, 3)) == {}


def test_the_longer_of_two_counts(tmp_path):
    folder = ChunkFolder(tmp_path)
    folder.save(CELL, 0, outcomes(9, regret=1.0))
    folder.save(CELL, 1, outcomes(20))
    folder.save(CELL, 0, outcomes(BLOCK + 5, regret=1.0))
    found = ChunkFolder(tmp_path).load(CELL)
    assert {block: len(part) for block, part in found.items()} == {0: BLOCK, 1: 20}


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        ChunkFolder(tmp_path).save(CELL, 0, outcomes(3))
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "x").write_text("")
    with pytest.raises(ValueError, match="output: expected a folder"):
        ChunkFolder(tmp_path / "x")
