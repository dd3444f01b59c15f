import csv
import json
import sys

import pytest
from tests.cli.commands import good, invoke

from bestmix import Items, Problem, from_log, open_storage
from bestmix.cli.items import load_items

PROMPTS = ["Sum two numbers.", "Sort a list, by name.", "Say {arm}.", "Swap.", "Search.", "Sift."]
TRIAL = """
import json, sys
arm, item = sys.argv[1:]
with open("calls.txt", "a") as calls:
    calls.write(json.dumps([arm, item]) + "\\n")
print(json.dumps({"reward": len(item) % 7 + (arm == "b"), "dollars": 0.25}))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trial.py").write_text(TRIAL)
    (tmp_path / "prompts.txt").write_text("\n".join([*PROMPTS, "", ""]))
    Problem(["a", "b"], {"dollars": 1.0}).save(tmp_path / "problem.toml")
    return tmp_path


COMMAND = f"{sys.executable} trial.py {{arm}} {{item}}"
RUN = ["run", "problem.toml", "--budget", "8", "--strategy", "uniform", "--exec", COMMAND]


def calls(place):
    return [tuple(json.loads(line)) for line in (place / "calls.txt").read_text().splitlines()]


def test_a_file_or_a_number(place):
    assert load_items("prompts.txt", True, 0) == Items(PROMPTS)
    assert load_items("12", False, 3) == Items(12, shared=False, seed=3)
    assert load_items(None, True, 0) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--items", "none.txt"], "--items: cannot read none.txt, no such file"),
        (["--items", "0"], "items: expected a whole number of at least 1"),
        (["--separate"], "--separate: there are no items; add --items"),
        (["--items-seed", "3"], "--items-seed: there are no items"),
        (["--items", "9", "--confidence", "0.9", "--strategy", "challenger"], "share no items"),
    ],
)
def test_what_is_refused(place, words, said):
    result = invoke(*RUN, *words)
    assert result.exit_code != 0
    assert said in " ".join(result.stderr.split())


def test_a_command_without_a_place_for_the_item_is_refused(place):
    words = [*RUN[:-1], f"{sys.executable} trial.py {{arm}}", "--items", "prompts.txt"]
    assert "expected {item} where the item's name goes" in " ".join(invoke(*words).stderr.split())


def test_a_run_on_items_is_kept_and_its_file_is_a_log(place):
    said = good(*RUN, "--items", "prompts.txt", "-j", 2)
    assert "Arms are compared on the items that they share; 4 were used." in said
    assert len(set(calls(place))) == 8
    assert {item for _, item in calls(place)} == {item for arm, item in calls(place) if arm == "b"}
    with (place / "problem.run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted((row["arm"], row["item"]) for row in rows) == sorted(calls(place))
    assert from_log(place / "problem.run.csv", bounds={"dollars": 1.0}, item="item").items == 4
    more = [*RUN[:3], "12", *RUN[4:], "--items", "prompts.txt"]
    assert "6 were used" in good(*more)
    assert len(set(calls(place))) == len(calls(place)) == 12
    for other in ([], ["--items", "6"], ["--items", "prompts.txt", "--items-seed", "1"]):
        expected = "the run kept there has 6 items" if other else "but there are no items; give some, or take it out"
        assert expected in " ".join(invoke(*RUN, *other).stderr.split())


def test_an_experiment_on_items_with_a_worker(place):
    words = ["experiment", "create", "x.db", "r", "problem.toml", "--budget", 8, "--strategy", "uniform"]
    result = invoke(*words, "--items", "prompts.txt", "--items-seed", 5)
    assert "--exec './trial.sh {arm} {item}'" in result.stderr
    with open_storage("x.db") as storage:
        assert storage.open("r").items == Items(PROMPTS, seed=5)
    line = good("experiment", "ask", "x.db", "r").strip().split("\t")
    assert line[1] == "a"
    assert line[2] in PROMPTS
    good("experiment", "fail", "x.db", "r", line[0])
    assert "told 8 trials" in good("worker", "x.db", "r", "--exec", COMMAND, "-j", 2)
    assert len(set(calls(place))) == 8
    assert "item" in good("experiment", "trials", "x.db", "r")
    assert "4 were used" in good("experiment", "show", "x.db", "r")
    assert "expected {item}" in invoke("worker", "x.db", "r", "--exec", "echo {arm}").stderr


def test_a_log_tells_which_items_its_trials_were_made_on(place):
    with (place / "pilot.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["arm", "reward", "dollars", "prompt"])
        table.writerows([[arm, 1.0, 0.25, item] for arm, item in (("a", "Swap."), ("a", "Sift."), ("b", "Search."))])
    good(*RUN, "--items", "prompts.txt", "--log", "pilot.csv", "--item", "prompt")
    made = calls(place)
    assert len(set(made)) == len(made) == 7  # 11 with the pilot's: five of each
    assert not set(made) & {("a", "Swap."), ("a", "Sift."), ("b", "Search.")}
    good("experiment", "create", "e.db", "r", "problem.toml", "--budget", "8", "--strategy", "uniform", "--items",
         "prompts.txt", "--log", "pilot.csv", "--item", "prompt")  # fmt: skip
    with open_storage("e.db") as storage:
        given = [(t.arm, t.item) for t in storage.open("r").ask(8)]
    assert not set(given) & {("a", "Swap."), ("a", "Sift."), ("b", "Search.")}
