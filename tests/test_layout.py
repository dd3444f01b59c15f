"""The floor plan holds: few files at the top, a test file for every module, all of them on the map."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src/bestmix"
MODULES = [
    path for path in sorted(SOURCE.rglob("*.py")) if path.name != "__init__.py" and "migrations" not in path.parts
]
WITHOUT = {
    "arrays.py",
    "experiments/sql/tables.py",
    "kernels/jit.py",
}  # names of types, and declarations that the schema's tests cover


def test_few_files_stand_at_the_top_level():
    assert len([path for path in SOURCE.iterdir() if path.is_file()]) <= 9


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_what_it_is_and_has_a_test_file_of_its_name(path):
    place = path.relative_to(SOURCE)
    assert path.read_text().startswith(('"""', 'r"""'))
    assert str(place) in WITHOUT or (ROOT / "tests" / place.with_name(f"test_{place.name}")).is_file()


def rooms():
    """The map of CONTRIBUTING.md: the names that it has of each folder."""
    layout = (ROOT / "CONTRIBUTING.md").read_text().partition("**Layout.**")[2].partition("\n**")[0]
    parts = re.findall(r"^- `(\S+)/`:(.*(?:\n  .*)*)", layout, re.MULTILINE)
    return {folder: re.findall(r"`(\w+)`", text) for folder, text in parts}


def test_the_map_names_every_module_in_its_room_once_and_nothing_else():
    folders = [(path.relative_to(SOURCE).parent.as_posix().replace(".", "bestmix"), path.stem) for path in MODULES]
    wanted = {folder: sorted(stem for other, stem in folders if other == folder) for folder, _ in folders}
    assert {folder: sorted(names) for folder, names in rooms().items()} == wanted
