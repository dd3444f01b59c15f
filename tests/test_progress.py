import io

from rich.console import Console

from bestmix import progress


def written(**options):
    """Three pieces, and what the terminal shows in the end."""
    console = Console(file=io.StringIO(), width=120, force_terminal=True, highlight=False)
    with progress.bar("walks", 3, "pieces", console=console, **options) as bar:
        for _ in range(3):
            bar.advance()
        bar.line("a line [bold]of text[/bold]")
    return console.file.getvalue()


def test_the_bar_says_what_is_done_and_of_how_much():
    text = written()
    for part in ("walks", "3/3", "pieces", "left", "a line [bold]of text[/bold]"):
        assert part in text


def test_without_a_bar_only_lines_are_written():
    assert written(shown=False) == "a line [bold]of text[/bold]\n"


def test_without_a_bar_and_a_console_nothing_is_written(capsys):
    with progress.bar("walks", 3, shown=False) as bar:
        bar.advance()
        bar.update(2, "others", total=4)
        bar.line("hidden")
    assert capsys.readouterr() == ("", "")


def test_what_is_done_and_the_total_may_change():
    console = Console(file=io.StringIO(), width=120, force_terminal=True)
    with progress.bar("trials", None, console=console, completed=5) as bar:
        bar.update(7, "trials of b", total=8)
    assert "trials of b" in console.file.getvalue()
    assert "7/8" in console.file.getvalue()


def test_a_bar_goes_to_standard_error(capsys):
    with progress.bar("walks", 2) as bar:
        bar.advance(2)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2/2" in shown.err
