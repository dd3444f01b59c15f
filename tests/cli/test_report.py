import pytest
from tests.cli.commands import invoke

from bestmix import Problem, Uniform, open_storage


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "x.db"
    with open_storage(path) as storage:
        exp = storage.create("r", Problem(["a", "b"], {"dollars": 1.0}), 6, Uniform(), notes="Ask Ann.")
        exp.tell_failed(exp.ask(1, worker="w1")[0], "no <luck>")
        exp.tell_many([(t, 1.0 + t.token, [0.5]) for t in exp.ask(9, worker="w2")])
    return path


def test_a_report_tells_what_the_page_tells(db, tmp_path):
    assert invoke("report", db, "r", "-o", tmp_path / "r.html").exit_code == 0
    page = (tmp_path / "r.html").read_text()
    for part in ("Ask Ann.", "How the trials went", "Round by round", "w2", "no &lt;luck&gt;", "<svg"):
        assert part in page
    assert "<script" not in page


@pytest.mark.parametrize("place", ["DB", "http://127.0.0.1"])
def test_a_name_that_is_no_page_is_refused_before_anything_is_read(db, place):
    result = invoke("report", db if place == "DB" else place, "r", "-o", "x.pdf")
    assert result.exit_code == 2
    assert "expected a report's name to end in .html" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_report_has_the_certainty_that_was_asked_for(db, tmp_path):
    with open_storage(db) as storage:
        exp = storage.create("s", Problem(["a", "b"], {"dollars": 1.0}), 40, Uniform())
        exp.tell_many([(t, 1.0 + t.token % 3, [0.6 + 0.3 * (t.token % 4)]) for t in exp.ask(40)])
        usual, asked = (exp.recommend(safety).sentence() for safety in (0.95, 0.8))
    assert invoke("report", db, "s", "-o", tmp_path / "r.html", "--safety", "0.8").exit_code == 0
    page = (tmp_path / "r.html").read_text()
    assert asked in page
    assert usual not in page
    assert invoke("report", db, "s", "--safety", "2").exit_code == 2


def test_help_has_an_example():
    assert "Example: bestmix report" in invoke("report", "--help").stdout
