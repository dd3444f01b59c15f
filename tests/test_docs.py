"""Nothing public is without a page, and all code on the pages runs."""

import dataclasses
import importlib.util
import pkgutil
import re
import shlex
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import bestmix
from bestmix.cli import app, grid

DOCS = Path(__file__).resolve().parent.parent / "docs"
WRITTEN = sorted(path for path in DOCS.rglob("*.md") if not {"_build", "_generated"} & set(path.parts))
WRITTEN += [DOCS.parent / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES = [path for path in WRITTEN if path.is_relative_to(DOCS) and "research" not in path.parts]
OTHERS = {"db", "edge", "choice", "metrics"}  # files, and names in others' systems, not in the package
FENCE = re.compile(r"^```(?P<head>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)


def load(name):
    """A module of the documentation's own."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMMANDS = load("commands")
API = (DOCS / "reference/api.md").read_text()
CLI = (DOCS / "reference/cli.md").read_text()
FILES = (DOCS / "reference/files.md").read_text()


@pytest.mark.parametrize("name", [name for name in bestmix.__all__ if name != "__version__"])
def test_every_public_name_has_an_entry(name):
    assert re.search(rf"^\.\. auto(class|function|module):: bestmix\.{name}$", API, re.M)


def test_no_entry_is_of_a_name_that_is_gone():
    for name in re.findall(r"^\.\. auto(?:class|function):: bestmix\.(\w+)$", API, re.M):
        assert name in bestmix.__all__


@pytest.mark.parametrize("words", COMMANDS.commands())
def test_every_command_has_an_entry_with_all_its_options_explained(words):
    assert f"\n## bestmix {words}\n\n```{{command}} {words}\n```\n" in CLI
    text = "\n".join(COMMANDS.describe(words))
    command = COMMANDS.commands()[words]
    assert command.help
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            assert parameter.help, f"{words}: {parameter.name} has no help"
            assert f"`{parameter.metavar or parameter.name.upper()}`" in text
        elif "--help" not in parameter.opts:
            assert parameter.help, f"{words}: {parameter.name} has no help"
            assert all(f"`{option}`\n" in text or f"`{option}`, " in text for option in parameter.opts)


def test_no_entry_is_of_a_command_that_is_gone():
    assert re.findall(r"^```\{command\} (.*)$", CLI, re.M) == list(COMMANDS.commands())


def fields(kind):
    return [field.name for field in dataclasses.fields(kind) if field.init]


SETTINGS = {
    *fields(bestmix.SFSR),
    *fields(bestmix.Challenger),
    *fields(bestmix.Uniform),
    *fields(bestmix.SingleArm),
    *fields(bestmix.Traffic),
    *grid.KEYS,
    *bestmix.Problem(["a"]).to_dict(),
    *bestmix.catalog.load("A1").to_dict(),
}


@pytest.mark.parametrize("setting", sorted(SETTINGS))
def test_every_setting_of_files_and_strategies_is_explained(setting):
    assert re.search(rf"^\| `{setting}` \|", FILES, re.M)


def test_every_gallery_script_has_a_page_that_shows_it():
    scripts = {path.stem for path in (DOCS / "gallery").glob("*.py")}
    assert scripts == {path.stem for path in (DOCS / "gallery").glob("*.md")}
    for name in scripts:
        page = (DOCS / "gallery" / f"{name}.md").read_text()
        assert f"{{literalinclude}} {name}.py" in page
        assert f"../_generated/{name}.png" in page


def test_links_between_pages_lead_somewhere():
    for page in WRITTEN:
        for target in re.findall(r"\]\(([^)#:]+\.(?:md|png))\)", page.read_text()):
            assert "_generated" in target or (page.parent / target).is_file(), f"{page.name}: {target}"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_every_module_and_name_that_a_page_refers_to_is_there(page):
    for name in re.findall(r"(?<![\w./-])bestmix((?:\.\w+)+)(?![\w/-])", page.read_text()):
        if name[1:] not in OTHERS:
            assert found(f"bestmix{name}"), f"{page.name}: bestmix{name}"


def found(name):
    """Whether a dotted name is that of a module, or of something in one."""
    try:
        return pkgutil.resolve_name(name) is not None
    except (ImportError, AttributeError):
        return False


def cells(row):
    """How many cells a row of a table has; a bar in code or behind a backslash is no border."""
    return re.sub(r"`[^`]*`|\\.", "", row.strip().strip("|")).count("|") + 1


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.stem)
def test_every_row_of_a_table_has_as_many_cells_as_its_head(page):
    for table in re.findall(r"(?:^\|.*\|$\n?)+", FENCE.sub("", page.read_text()), re.M):
        assert len({cells(row) for row in table.splitlines()}) == 1, f"{page.name}: {table[:200]}"


def blocks(page):
    """Language, file name and text of each block of code on a page."""
    for found in FENCE.finditer(page.read_text()):
        head, body = found["head"].strip(), found["body"]
        name = None
        if head.startswith("{code-block}"):
            head = head.removeprefix("{code-block}").strip()
            options, _, body = body.partition("\n\n")
            name = re.search(r":caption: (\S+)", options).group(1)
        yield head, name, body


def run_line(line):
    """A line of the shell; the program itself runs in this process."""
    words = shlex.split(line.replace("python trial.py", f"{sys.executable} trial.py"))
    assert words[0] == "bestmix"
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == 0, f"{line}\n{result.output}"


RUNNABLE = [page for page in PAGES if any(head in ("python", "console") for head, _, _ in blocks(page))]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.stem)
def test_the_code_on_a_page_runs(page, tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "page"}
    for head, name, body in blocks(page):
        if name:
            (tmp_path / name).write_text(body)
        elif head == "python":
            exec(compile(body, str(page), "exec"), space)
        elif head == "console":
            for line in re.findall(r"^\$ (.*)$", body, re.M):
                run_line(line)
    pyplot.close("all")


@pytest.mark.parametrize("name", ["infeasible_pair", "special_cases"])
def test_a_gallery_script_runs(name, tmp_path, monkeypatch, capsys):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(sys, "argv", [name, str(tmp_path)])
    path = DOCS / "gallery" / f"{name}.py"
    exec(compile(path.read_text(), str(path), "exec"), {"__name__": "gallery"})
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000
    assert capsys.readouterr().out.startswith(("Known means", "Mix"))
    pyplot.close("all")
