import random

import pytest
from tests.pages.pages import HOSTILE, NAME, check_harmless, parse

from bestmix import SFSR, Problem, Uniform, open_experiment
from bestmix.pages.experiment import experiment_report, save_experiment_report


def fill(exp, seed=1):
    rng = random.Random(seed)
    while given := exp.ask(5, worker="w"):
        exp.tell_many([(t, rng.gauss(1.0, 0.1), [rng.gauss(0.5, 0.1)] * len(exp.problem.costs)) for t in given])


@pytest.fixture
def exp():
    problem = Problem(["small", "medium", "large"], {"dollars": 0.6})
    return open_experiment("memory://", "router", problem, budget=30, strategy=SFSR(), notes="first\nsecond")


def test_tells_how_the_trials_went(exp):
    exp.tell_failed(exp.ask(1, worker="w1")[0], "no luck")
    fill(exp)
    page = experiment_report(exp)
    for part in ("first", "second", "Round by round", "How the trials went", "The workers", "no luck", "w1"):
        assert part in page
    assert exp.recommend().sentence() in page
    assert f"{exp.state.complete} of 30" in page
    assert page.count('class="chart"') == 1 + 2 + 1  # arms, rounds, and what another limit would earn
    assert "<figure" not in experiment_report(exp, figure=False)
    parse(page)


@pytest.mark.parametrize("safety", [0.999, None])
def test_the_answer_has_the_certainty_that_was_asked_for(exp, safety):
    fill(exp)
    page = experiment_report(exp, safety=safety)
    assert exp.recommend(safety).sentence() in page
    assert exp.recommend().sentence() not in page


def test_before_the_first_trial(exp):
    page = experiment_report(exp)
    assert "no answer yet" in page
    assert "Round by round" not in page
    assert "The workers" not in page


def test_it_is_one_snapshot(exp, monkeypatch):
    """Results that come while it is written change nothing of what it says."""
    store, read = exp.storage.store, exp.storage.store.run_state

    def meanwhile(key):
        found = read(key)
        monkeypatch.setattr(store, "run_state", read)
        fill(exp)
        return found

    before = exp.snapshot()
    monkeypatch.setattr(store, "run_state", meanwhile)
    page = experiment_report(exp)
    assert exp.state.complete > 0
    assert before.recommendation.sentence() in page
    assert "0 of 30" in page
    assert "Round by round" not in page


def test_hostile_names_are_harmless():
    script, quotes, left, long, template = HOSTILE
    problem = Problem(
        [script, quotes, template], {left.lstrip("\u202e"): 0.6, long: 5.0}
    )  # what turns others round is refused
    exp = open_experiment("memory://", NAME, problem, budget=24, strategy=SFSR(), notes="\n".join(HOSTILE))
    exp.tell_failed(exp.ask(1, worker=quotes)[0], script)
    fill(exp)
    parser = check_harmless(experiment_report(exp))
    assert not any(tag == "script" for tag, _ in parser.seen)


def test_saved(tmp_path):
    exp = open_experiment("memory://", NAME, Problem(["a", "b"]), budget=2, strategy=Uniform())
    assert save_experiment_report(exp, tmp_path / "r.html").read_text(encoding="utf-8") == experiment_report(exp)
    with pytest.raises(ValueError, match=r"end in \.html"):
        save_experiment_report(exp, tmp_path / "r.pdf")


@pytest.mark.parametrize(
    ("bound", "values"),
    [
        (0.0, [5e-324, 1e-320]),
        (1e150, [1e150, -1e150]),
        (5e-324, [1e150, 5e-324]),
        (1.0, [1e-200, 1e150]),
    ],
)
def test_every_finite_result_has_a_page(bound, values):
    exp = open_experiment("memory://", "x", Problem(["a", "b"], {"d": bound}), 8, Uniform())
    for t in exp.ask(8):
        exp.tell(t, values[t.token % 2], [values[t.token // 2 % 2]])
    assert "How the trials went" in experiment_report(exp)
