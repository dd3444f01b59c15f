"""Small results that are kept in a folder, so that a second call does not compute them again."""

from pathlib import Path
from typing import Any

from bestmix import files


class ResultFolder:
    """A file for each key; one that cannot be read counts as not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> dict[str, Any]:
        """What was put there last; empty when nothing was."""
        try:
            return files.read(self.folder / f"{key}.json")
        except ValueError:
            return {}

    def put(self, key: str, data: dict[str, Any]) -> None:
        """Keep it, in the place of what was there."""
        files.write(self.folder / f"{key}.json", data)
