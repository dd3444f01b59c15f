import json
import random

import numpy as np
import pytest
from tests.cli.commands import good, invoke
from typer.testing import CliRunner

from bestmix import Policy
from bestmix.cli import app

ROWS = [("s", 1.0, 0.0), ("s", 1.2, 0.2), ("l", 2.0, 1.8), ("l", 2.2, 2.2)]


def solve(*words):
    return CliRunner().invoke(app, ["solve", *map(str, words)])


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "trials.csv"
    path.write_text("model,quality,dollars\n" + "".join(f"{a},{r},{c}\n" for a, r, c in ROWS))
    return path


@pytest.fixture
def options(log):
    return [log, "--arm", "model", "--reward", "quality", "--bound", "dollars=1"]


def test_answer(options):
    result = solve(*options)
    assert result.exit_code == 0
    assert result.stdout.startswith("Mix 73% s with 27% l. All limits are kept with 95% certainty")
    assert "of 1, kept 95%" in result.stdout


@pytest.mark.parametrize("safety", ["none", "NONE"])
def test_without_safety_it_is_the_optimum_at_the_estimates(options, safety):
    result = solve(*options, "--safety", safety)
    assert result.stdout.startswith("Mix 53% s with 47% l: estimated quality")
    data = json.loads(solve(*options, "--safety", safety, "--json").stdout)
    assert data["mixture"] == data["best_guess"]
    assert data["safety"] is None


def test_the_answer_calls_the_reward_by_its_column(options, tmp_path):
    report, policy = tmp_path / "r.html", tmp_path / "p.json"
    told = solve(*options, "--report", report, "--policy", policy).stdout
    assert "has a mean quality of" in told
    assert "reward" not in told
    assert "maximise quality" in report.read_text()
    assert json.loads(policy.read_text())["goal"] == "maximise quality"


def test_a_higher_certainty_takes_a_wider_margin(options):
    shares = [json.loads(solve(*options, "--safety", s, "--json").stdout)["mixture"]["l"] for s in (0.8, 0.95, "95%")]
    assert shares[0] > shares[1] == shares[2]


def test_json_is_all_there_is(options):
    data = json.loads(solve(*options, "--json", "--uncertainty", "bootstrap", "--seed", 3).stdout)
    assert data["support"] == ["s", "l"]
    assert data["best_guess"]["s"] == pytest.approx(10 / 19)
    assert 0 < data["support_probability"] <= 1


def test_files_are_written(options, tmp_path):
    out = tmp_path / "new"
    result = solve(*options, "--figure", out / "f.svg", "--report", out / "r.html", "--policy", out / "p.json")
    assert result.exit_code == 0, result.stderr
    assert (out / "f.svg").read_text().startswith("<?xml")
    assert "</html>" in (out / "r.html").read_text()
    assert list(Policy.load(out / "p.json").weights) == ["s", "l"]


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"arm": [r[0] for r in ROWS], "reward": [r[1] for r in ROWS], "dollars": [r[2] for r in ROWS]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    data = json.loads(solve(tmp_path / "t.parquet", "--bound", "dollars=1", "--json").stdout)
    assert data["support"] == ["s", "l"]


def test_no_mix_within_bounds_is_an_answer(options):
    result = solve(*options[:-1], "dollars=-1")
    assert result.exit_code == 0
    assert "no mix keeps all bounds" in result.stdout


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--bound", "euros=1"], "no column 'euros'"),
        (["--safety", "95"], "--safety: expected a certainty from 0.5 to below 1, or none, got '95'"),
        (["--reward", "joy"], "no column 'joy'"),
        (["--bound", "dollars"], "expected name=number"),
        (["--uncertainty", "guess"], "'delta', 'bootstrap'"),
        (["--seed", "-1"], "--seed"),
        (["--figure", "f.bmp"], "end in .png, .svg, .pdf"),
        (["--report", "r.txt"], "end in .html"),
        (["--policy", "p.txt"], "end in .json or .toml"),
        (["--policy", "."], "expected the name of a file, got a folder"),
    ],
)
def test_mistakes(log, words, part):
    result = solve(log, "--arm", "model", "--reward", "quality", *words)
    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_missing_values(log):
    log.write_text("arm,reward\na,1\na,\n")
    assert "pass --drop-missing" in solve(log).stderr
    assert solve(log, "--drop-missing").exit_code == 0


def test_a_file_that_is_no_text(log):
    log.write_bytes(b"arm,reward\n\xff\xfe,1\n")
    assert "is not a CSV file in UTF-8" in solve(log).stderr


def test_standard_input_and_a_bootstrap_with_a_bar(log, options):
    result = invoke("solve", "-", *options[1:], "--uncertainty", "bootstrap", text=log.read_text())
    assert result.exit_code == 0, result.output
    assert "bootstrap" in result.stderr


def test_absent_file():
    assert "there is no file nowhere.csv" in solve("nowhere.csv").stderr


GROUPED = "arm,plan,quality,dollars\n" + "".join(
    f"{arm},{plan},{int(row % 10 < good)},{price + row % 3 / 10}\n"
    for arm, price in (("s", 1.0), ("l", 5.0))
    for plan, good in (("free", 9), ("paid", 5 if arm == "s" else 9))
    for row in range(40)
)


def test_goal_limits_and_segments_from_a_log(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text(GROUPED)
    asked = ("solve", log, "--goal", "minimise dollars", "--limit", "quality >= 0.7")
    one = json.loads(good(*asked, "--json"))
    assert (one["problem"]["goal"], one["problem"]["limits"]) == ("minimise dollars", ["quality >= 0.7"])
    shares = ("--segment", "plan", "--segments", "free=50%,paid=50%")
    two = json.loads(good(*asked, *shares, "--policy", tmp_path / "p.json", "--json"))
    assert two["by_segment"]["free"]["s"] > two["by_segment"]["paid"]["s"]
    assert set(json.loads((tmp_path / "p.json").read_text())["segments"]) == {"free", "paid"}
    assert "The mix of each segment" in good(*asked, *shares)


def test_a_limit_that_cannot_be_read_is_shown_with_a_mark(tmp_path):
    (tmp_path / "log.csv").write_text(GROUPED)
    result = invoke("solve", tmp_path / "log.csv", "--limit", "quality > 0.7")
    assert (result.exit_code, result.stderr.splitlines()) == (
        2,
        ["Error: limit: expected <=, >= or =, got '>'", "  quality > 0.7", "          ^"],
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--segments", "free=0.5,paid=0.5"], "--segments: expected the column that has them"),
        (["--segment", "plan", "--segments", "free,paid"], "--segments: expected shares"),
        (["--segment", "plan", "--segments", "free=1"], "a share of the segment 'paid' too"),
    ],
)
def test_segments_that_are_not_whole_are_refused(tmp_path, words, message):
    (tmp_path / "log.csv").write_text(GROUPED.replace("quality", "reward"))
    result = invoke("solve", tmp_path / "log.csv", *words)
    assert result.exit_code == 2
    assert message in result.stderr


SUMS = """arm,n,reward,reward*reward,dollars,reward*dollars,dollars*dollars
s,2,2.2,2.44,0.2,0.24,0.04
l,2,4.2,8.84,4.0,8.44,8.08
"""


def test_sums_have_all_outputs(tmp_path):
    path = tmp_path / "sums.csv"
    path.write_text(SUMS)
    asked = ("solve", "--sums", path, "--bound", "dollars=1")
    outputs = ("--figure", tmp_path / "f.svg", "--report", tmp_path / "r.html", "--policy", tmp_path / "p.json")
    assert good(*asked, *outputs).startswith("Mix 73% s with 27% l. All limits are kept with 95% certainty")
    assert (tmp_path / "f.svg").read_text().startswith("<?xml")
    assert "sums.csv" in (tmp_path / "r.html").read_text()
    assert list(Policy.load(tmp_path / "p.json").weights) == ["s", "l"]
    assert json.loads(good(*asked, "--json"))["best_guess"]["s"] == pytest.approx(10 / 19)


def test_sums_from_standard_input():
    asked = ("solve", "--sums", "-", "--bound", "dollars=1", "--n", "trials")
    assert good(*asked, text=SUMS.replace("arm,n", "arm,trials")).startswith("Mix 73% s with 27% l.")


def test_sums_that_cannot_be_read_are_told(tmp_path):
    (tmp_path / "sums.csv").write_text(SUMS)
    result = invoke("solve", "--sums", tmp_path / "sums.csv", "--bound", "euros=1")
    assert result.exit_code == 2
    assert "there is no column 'euros'" in result.stderr


@pytest.mark.parametrize("words", [["--drop-missing"], ["--blocks", "5"]])
def test_sums_are_made_already(tmp_path, words):
    (tmp_path / "sums.csv").write_text(SUMS)
    result = invoke("solve", "--sums", tmp_path / "sums.csv", *words)
    assert result.exit_code == 2
    assert "sums are made already; give it to bestmix sql" in result.stderr
    (tmp_path / "sums.csv").write_text(SUMS.replace("arm,n", "arm,incomplete,n").replace(",2,", ",1,2,"))
    result = invoke("solve", "--sums", tmp_path / "sums.csv", "--bound", "dollars=1")
    assert "2 rows miss a value; fill them in, or leave them out of the sums with bestmix sql" in result.stderr


def clustered():
    """Twenty users of which each has rows of one price."""
    rows = [
        (arm, 1 + (user * 7 % 11) / 10 + 3 * (arm == "l"), user) for user in range(20) for arm in "sl" for _ in "abcd"
    ]
    return "arm,reward,dollars,who\n" + "".join(f"{a},{d + k % 3 / 10},{d},u{u}\n" for k, (a, d, u) in enumerate(rows))


def test_blocks_of_rows_and_of_sums_widen_errors(tmp_path):
    (tmp_path / "a.csv").write_text(clustered())
    asked = ("solve", tmp_path / "*.csv", "--bound", "dollars=3", "--json")

    def error(*words):
        return json.loads(good(*asked, *words))["limits"]["dollars"]["error"]

    assert error("--block", "who") > 1.5 * error()
    assert error("--block", "who", "--blocks", "10") > 1.2 * error()
    data = json.loads(good(*asked, "--block", "who", "--uncertainty", "bootstrap"))
    assert 0 < data["support_probability"] <= 1


def test_arms_that_were_tried_on_the_same_items_are_compared_on_them(tmp_path):
    (tmp_path / "a.csv").write_text(clustered())
    asked = ("solve", tmp_path / "a.csv", "--bound", "dollars=3", "--json")
    paired, plain = (json.loads(good(*asked, *words)) for words in (("--item", "who"), ()))
    assert (paired["items"], plain["items"]) == (20, None)
    assert paired["best_guess"] == pytest.approx(plain["best_guess"])
    assert paired["limits"]["dollars"]["error"] > 1.5 * plain["limits"]["dollars"]["error"]
    assert "leave out block" in invoke(*asked, "--item", "who", "--block", "who").output
    assert "Arms are compared on the items that they share; 20 were used." in good(*asked[:-1], "--item", "who")


def steps(path, each=30):
    """A log of a shop whose steps lead from state to state."""
    rng = np.random.default_rng(1)
    table = {("wait", "idle"): (0.1, 0.0, 0.5), ("serve", "idle"): (0.4, 0.3, 1.0)}
    table |= {("wait", "busy"): (0.0, 0.1, 0.0), ("serve", "busy"): (1.0, 0.9, 0.6)}
    rows = ["state,action,reward,dollars,next"]
    for (action, state), (reward, dollars, idle) in table.items():
        for _ in range(each):
            told = reward + rng.normal(0, 0.2), dollars + rng.normal(0, 0.1), "idle" if rng.random() < idle else "busy"
            rows.append(",".join(map(str, (state, action, *told))))
    path.write_text("\n".join(rows) + "\n")
    return [path, "--arm", "action", "--segment", "state", "--bound", "dollars=0.35", "--discount", "0.9"]


def test_a_log_of_steps_gives_a_policy(tmp_path):
    words = steps(tmp_path / "steps.csv")
    text = good("solve", *words, "--start", "idle", "--policy", tmp_path / "p.json")
    assert "The mix of each state" in text
    assert "of all steps" in text
    policy = Policy.load(tmp_path / "p.json")
    assert (policy.discount, list(policy.by_segment)) == (0.9, ["idle", "busy"])
    found = json.loads(good("solve", *words, "--start", "idle=0.5,busy=0.5", "--json"))
    assert found["problem"]["start"] == {"idle": 0.5, "busy": 0.5}
    assert set(found["limits"]) == {"dollars"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "discount: expected the start with it"),
        (["--start", "nowhere"], "start: expected some of"),
        (["--start", "idle", "--next", "then"], "there is no column 'then'"),
        (["--start", "idle", "--sums"], "--discount: sums have no steps between states"),
        (
            ["--start", "idle", "--uncertainty", "bootstrap"],
            "uncertainty: a log of steps between states does without it",
        ),
        (["--start", "idle=x"], "--start"),
    ],
)
def test_a_log_of_steps_needs_what_belongs_to_it(tmp_path, words, message):
    result = solve(*steps(tmp_path / "steps.csv", 3), *words)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_start_is_of_states(log):
    result = solve(log, "--arm", "model", "--reward", "quality", "--start", "idle")
    assert result.exit_code == 2
    assert "--start: expected --discount with it" in " ".join(result.output.split())


def variants(path, trials=9):
    """A log of models with prompts, whose qualities and prices add up."""
    rng = random.Random(5)
    lines = ["variant,model,prompt,quality,cents"]
    for model, quality, cents in (("small", 0.5, 0.2), ("large", 0.8, 1.9)):
        for prompt, more in (("short", 0.0), ("long", 0.1)):
            for _ in range(trials):
                told = f"{quality + more + rng.gauss(0, 0.1)},{cents + more + rng.gauss(0, 0.1)}"
                lines.append(f"{model}-{prompt},{model},{prompt},{told}")
    path.write_text("\n".join(lines))
    return [path, "--arm", "variant", "--reward", "quality", "--bound", "cents=1"]


def test_columns_are_features(tmp_path):
    words = variants(tmp_path / "log.csv")
    text = good("solve", *words, "--feature", "model", "--feature", "prompt", "--report", tmp_path / "r.html")
    assert "one fit of all trials" in " ".join(text.split())
    assert "one fit of all trials" in (tmp_path / "r.html").read_text()
    found = json.loads(good("solve", *words, "--feature", "model", "--json"))
    assert found["problem"]["features"]["small-long"] == {"model": "small"}
    result = solve(*words, "--feature", "size")
    assert result.exit_code == 2
    assert "there is no column 'size'" in " ".join(result.output.split())
    result = solve(*words, "--feature", "model", "--sums")
    assert "--feature: sums have no columns of features" in " ".join(result.output.split())
