"""Opening and creating experiments by the URL of a storage."""

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, Challenger, Problem, Uniform, open_experiment, open_storage
from bestmix.strategies.challenger import NEWEST


def test_an_experiment_is_created_once_and_opened_ever_after(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with open_experiment(url, "router", PROBLEM, 60, SFSR(), lease=5.0) as exp:
        trial = exp.ask()[0]
    with open_experiment(url, name="router") as again:
        assert again.tell(trial.id, 1.0, {"dollars": 0.5}) == "counted"
        assert again.problem == PROBLEM
        assert again.strategy == SFSR()
        assert again.record.lease == 5.0
    open_experiment(tmp_path / "a.db", "router", PROBLEM, 60, SFSR(), lease=5.0).close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problem": Problem(["x", "y"])}, "problem: the experiment 'a' has another one"),
        ({"budget": 61}, "budget: the experiment 'a' has 60, got 61"),
        ({"strategy": Uniform()}, "strategy: the experiment has {'kind': 'SFSR'"),
        ({"lease": 7.0}, "lease: the experiment 'a' has 60 s, got 7"),
    ],
)
def test_another_experiment_of_the_same_name_is_refused(options, message):
    storage = open_storage("memory://")
    storage.create("a", PROBLEM, 60, SFSR())
    with pytest.raises(ValueError, match=message):
        open_experiment(storage, "a", **({"problem": PROBLEM, "budget": 60} | options))


def test_what_does_not_exist_is_not_created_by_opening():
    storage = open_storage("memory://")
    storage.create("router", PROBLEM, 60)
    with pytest.raises(ValueError, match="there is no experiment 'ruter' \\(there is 'router'\\)"):
        open_experiment(storage, "ruter")
    with pytest.raises(ValueError, match="budget: a new experiment needs one"):
        open_experiment(storage, "ruter", PROBLEM)
    with pytest.raises(ValueError, match="there is an experiment 'router' already"):
        storage.create("router", PROBLEM, 60)


def test_the_first_budget_opens_an_extended_experiment():
    storage = open_storage("memory://")
    open_experiment(storage, "a", PROBLEM, 6, Uniform()).extend(12)
    for budget in (6, 12):
        assert open_experiment(storage, "a", PROBLEM, budget).state.budget == 12


def mine(mu, u, e):
    return mu


def test_a_function_of_ones_own_cannot_be_read_back_from_a_database(tmp_path):
    with open_experiment(tmp_path / "a.db", "a", PROBLEM, 30, SFSR(mine)) as exp:
        trials = exp.ask(9)
    with pytest.raises(ValueError, match="pass the strategy when loading"):
        open_experiment(tmp_path / "a.db", "a")
    with open_experiment(tmp_path / "a.db", "a", strategy=SFSR(mine)) as exp:
        exp.tell_many([(t, 1.0, [0.5]) for t in trials])


def test_the_same_code_goes_on_with_an_experiment_of_an_older_edition():
    storage = open_storage("memory://")
    begun = Challenger(confidence=0.9, edition=1)
    made = open_experiment(storage, "a", PROBLEM, 600, begun)
    assert "edition" not in made.record.strategy
    again = open_experiment(storage, "a", PROBLEM, 600, Challenger(confidence=0.9))
    assert again.strategy == begun
    new = open_experiment(storage, "b", PROBLEM, 600, Challenger(confidence=0.9))
    assert new.strategy.edition == NEWEST
    with pytest.raises(ValueError, match="strategy: the experiment has"):
        open_experiment(storage, "b", PROBLEM, 600, begun)


def test_an_experiment_with_a_fixed_budget_keeps_its_edition():
    storage = open_storage("memory://")
    begun = Challenger(edition=1, ahead=0)
    made = open_experiment(storage, "a", PROBLEM, 600, begun)
    assert "edition" not in made.record.strategy
    for again in (open_experiment(storage, "a", PROBLEM, 600, Challenger()), open_experiment(storage, "a")):
        assert again.strategy.edition == 1
    assert open_experiment(storage, "b", PROBLEM, 600).strategy.edition == NEWEST


@pytest.mark.parametrize("strategy", [Uniform(), SFSR()])
@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/a.db"], ids=["memory", "sqlite"])
def test_an_experiment_does_not_go_on_with_another_log(tmp_path, url, strategy):
    storage, problem = open_storage(url.format(tmp_path)), Problem(["a", "b", "c"])
    log = {"arm": ["a", "a", "b", "b"], "reward": [0.1, 3.7, 0.25, 0.75]}
    asked = (storage, "router", problem, 9, strategy)
    made = open_experiment(*asked, log=log)
    assert open_experiment(*asked, log=log).record.key == made.record.key
    trials = made.ask(2, worker="log")  # a worker may have this name
    made.tell(trials[0], 1.0)
    assert open_experiment(*asked, log=log).record.key == made.record.key
    assert open_experiment(*asked, log="elsewhere.csv").record.key == made.record.key  # as a worker has it
    with pytest.raises(ValueError, match="began with another log; leave it out, or choose another name"):
        open_experiment(*asked, log=log | {"reward": [0.1, 3.7, 0.25, 0.5]})
    with pytest.raises(ValueError, match=r"began with a log whose results count 1, not 0\.5"):
        open_experiment(*asked, log=log, log_weight=0.5)
    long = {"arm": ["a", "b"] * 40, "reward": [n / 10 for n in range(80)]}  # so many are summed in another way
    longer = (storage, "long", problem, 99, strategy)
    assert open_experiment(*longer, log=long).record.key == open_experiment(*longer, log=long).record.key
    open_experiment(storage, "bare", problem, 9, strategy)
    with pytest.raises(ValueError, match="began with no log"):
        open_experiment(storage, "bare", problem, 9, strategy, log=log)


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/a.db"], ids=["memory", "sqlite"])
def test_an_experiment_that_was_changed_goes_on_with_its_log(tmp_path, url):
    storage, log = open_storage(url.format(tmp_path)), {"arm": ["a", "a", "b", "b"], "reward": [0.1, 3.7, 0.25, 0.75]}
    asked = (storage, "router", Problem(["a", "b"]), 9, Uniform())
    made = open_experiment(*asked, log=log)
    for arms in (["a", "b", "c"], ["b", "c"]):
        made.change(arms=arms)
        assert open_experiment(*asked, log=log).record.key == made.record.key
        with pytest.raises(ValueError, match="began with another log"):
            open_experiment(*asked, log=log | {"reward": [0.1, 3.7, 0.25, 0.5]})
