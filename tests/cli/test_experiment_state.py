"""A line that says where an experiment is."""

from tests.cli.commands import good

from bestmix import Problem, Uniform, open_experiment


def test_a_line_says_where_an_experiment_is(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    open_experiment(url, "a", Problem(["x", "y"], {"c": 1.0}), 6, Uniform()).ask(2)
    assert good("experiment", "pause", url, "a").startswith("a: paused, round 1, 0 of 6 trials, 2 leased.")
