import io

from rich.console import Console

from bestmix import SFSR, Problem
from bestmix.strategies.search_bar import search_bar, status

PROBLEM = Problem(["a", "b", "c"])


def run(shown, lines):
    search = SFSR("lagrangian").start(PROBLEM, 30)
    with search_bar(search, shown, lines) as update:
        while owed := search.ask():
            for arm, count in owed.items():
                search.tell(arm, [float(ord(arm))] * count)
            update()
    return search


def test_each_round_is_a_line_where_there_is_no_terminal():
    console = Console(file=io.StringIO(), width=160)
    search = run(shown=False, lines=console)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == len(search.history) == 2
    assert "rejected a" in lines[0]


def test_the_bar_ends_full(capsys):
    search = run(shown=True, lines=None)
    assert search.trials < search.budget
    text = capsys.readouterr().err
    assert f"{search.trials}/{search.trials} trials" in text
    assert "SFSR-L, finished" in text


def test_where_a_search_is():
    search = SFSR("lagrangian").start(PROBLEM, 30)
    assert status(search) == "SFSR-L, round 1, 3 arms"
    for arm, count in search.ask().items():
        search.tell(arm, [float(ord(arm))] * count)
    assert status(search) == "SFSR-L, round 2, 2 arms"
