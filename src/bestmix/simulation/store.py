"""Finished chunks of a sweep in a folder, so that the same call goes on where it stopped."""

import os
import re
import zipfile
from pathlib import Path

import numpy as np

from bestmix import checks, files
from bestmix.simulation.cells import BLOCK, Cell, Outcomes

NAME = re.compile(r"([0-9a-f]{32})-(\d+)\.npz")


class ChunkFolder:
    """One file for each finished chunk, named by the cell's content and the first block."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise checks.InvalidInput(
                "output", expected="a folder", got=f"the file {self.folder}", remedy="choose another name"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self.files: dict[str, list[tuple[int, Path]]] = {}
        for path in sorted(self.folder.glob("*.npz")):
            if match := NAME.fullmatch(path.name):
                self.files.setdefault(match[1], []).append((int(match[2]), path))

    def load(self, cell: Cell) -> dict[int, Outcomes]:
        """Finished blocks of a cell. A file that cannot be read counts as not there."""
        blocks: dict[int, Outcomes] = {}
        for first, path in self.files.get(cell.digest, []):
            try:
                with path.open("rb") as file, np.load(file) as data:
                    loss = data["loss"] if "loss" in data else np.full(len(data["regret"]), np.nan)
                    all_runs = Outcomes(data["outcome"], data["pulls"], data["regret"], data["violation"], loss)
            except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
                continue
            for k in range(0, len(all_runs), BLOCK):
                part = all_runs[k : k + BLOCK]
                known = blocks.get(first + k // BLOCK)
                if known is None or len(known) < len(part):
                    blocks[first + k // BLOCK] = part
        return blocks

    def save(self, cell: Cell, first: int, outcomes: Outcomes) -> None:
        """Keep a finished chunk; the file appears whole or not at all."""
        with files.replacing(self.folder / f"{cell.digest}-{first:06d}.npz") as temporary, temporary.open("wb") as file:
            np.savez(file, **vars(outcomes))
