"""The floor plan holds: few files at the top, a test file for every module, small modules."""

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
