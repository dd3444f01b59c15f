import csv

import pytest

from bestmix import Challenger, MarkovProblem, from_log
from bestmix.problems.families import random_markov

INSTANCE = random_markov(3, 2, 1, seed=1)
COLUMNS = {"arm": "action", "segment": "state"}


def steps(each=40, seed=0):
    pull = INSTANCE.sampler(seed)
    rows = [
        (cell.segment, cell.arm, pull(cell.arm, cell.segment)) for cell in INSTANCE.problem.cells for _ in range(each)
    ]
    return {
        "state": [state for state, _, _ in rows],
        "action": [action for _, action, _ in rows],
        **{name: [told[name] for _, _, told in rows] for name in INSTANCE.problem.metrics},
    }


def test_a_log_of_steps_gives_the_policy_of_its_trials(tmp_path):
    log, bounds = steps(), INSTANCE.problem.bounds
    found = from_log(log, **COLUMNS, bounds=bounds, discount=0.9, start=INSTANCE.problem.start)
    search = Challenger().start(INSTANCE.problem, 100)
    search.start_from(log, "action", "reward", "state")
    direct = search.recommend()
    assert found.best_guess == pytest.approx(direct.best_guess)
    assert found.mixture == pytest.approx(direct.mixture)
    with (tmp_path / "steps.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow([*list(log)[:-1], "then"])
        writer.writerows(zip(*log.values(), strict=True))
    asked = {"bounds": bounds, "discount": 0.9, "start": INSTANCE.problem.start, "next_state": "then"}
    assert from_log(tmp_path / "steps.csv", **COLUMNS, **asked).mixture == pytest.approx(found.mixture)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": None}, "discount: expected the start with it"),
        ({"segment": None}, "discount: expected the column with the state with it"),
        ({"known": {}}, "known: a log of steps between states does without it"),
        ({"uncertainty": "bootstrap"}, "uncertainty: a log of steps"),
        ({"next_state": "then"}, "there is no column 'then'"),
        ({"start": "nowhere"}, "start: expected some of"),
    ],
)
def test_what_is_missing_or_too_much_is_told(change, message):
    asked = {**COLUMNS, "bounds": INSTANCE.problem.bounds, "discount": 0.9, "start": "state0"} | change
    with pytest.raises(ValueError, match=message):
        from_log(steps(5), **asked)


@pytest.mark.parametrize("given", [{"start": "state0"}, {"next_state": "then"}])
def test_what_is_of_steps_needs_their_discount(given):
    with pytest.raises(ValueError, match=rf"{next(iter(given))}: it is of steps between states"):
        from_log(steps(5), **COLUMNS, **given)


def test_a_state_that_is_never_left_and_one_that_is_missing_are_told():
    log = {"state": ["a", "a"], "action": ["x", "x"], "reward": [1.0, 2.0], "next": ["a", "end"]}
    asked = {**COLUMNS, "discount": 0.5, "start": "a"}
    with pytest.raises(ValueError, match=r"next: expected states that rows begin in: \['a'\], got 'end'"):
        from_log(log, **asked)
    with pytest.raises(ValueError, match="next: expected the state that came next in every row"):
        from_log(log | {"next": ["a", None]}, **asked)
    more = {"state": ["a", "b", "b"], "action": ["x"] * 3, "reward": [1.0, 2.0, 0.0], "next": ["b", "a", None]}
    assert from_log(more, **asked, drop_missing=True).trials == 2


def test_a_pilot_counts_in_a_run():
    problem = MarkovProblem(["a", "b"], ["x"], 0.5, "a")
    pilot = {"segment": ["a", "b"], "arm": ["x", "x"], "reward": [1.0, 0.0], "next": ["b", "a"]}
    search = Challenger().start(problem, 10)
    search.start_from(pilot, "arm", "reward", "segment")
    assert [m.count for m in search.moments] == [1, 1]
