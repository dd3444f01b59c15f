import numpy as np
import pytest

from bestmix import Known, Problem

OFF = Known(0.0, {"x": 0.0})


def test_columns_are_unknown_arms_known_arms_then_slacks():
    problem = Problem(["a", "b"], {"x": 1, "y": 2.5}, {"k": Known(3, {"y": 5, "x": 4})})
    assert problem.names == ("a", "b", "k")
    assert problem.costs == ("x", "y")
    assert problem.columns == ("a", "b", "k", "slack of x", "slack of y")
    np.testing.assert_array_equal(problem.bound, [1.0, 2.5])
    np.testing.assert_array_equal(problem.known_means, [[3.0, 4.0, 5.0]])
    assert problem.index("b") == 1


def test_bounds_and_known_arms_may_be_left_out():
    problem = Problem(["a"])
    assert (problem.bounds, problem.known, problem.bound.shape, problem.known_means.shape) == ({}, {}, (0,), (0, 1))
    assert Problem([], {"x": 1.0}, {"k": OFF}).names == ("k",)


BAD_PROBLEMS = [
    (lambda: Problem([]), "arms: expected at least one arm, got none"),
    (lambda: Problem("abc"), "arms: .*string 'abc'"),
    (lambda: Problem(None), "arms: .*None"),
    (lambda: Problem(["a", "a"]), "arms: 'a' is listed twice"),
    (lambda: Problem(["a", ""]), "arms: expected non-empty strings, got ''"),
    (lambda: Problem(["a", 1]), "arms: expected non-empty strings, got 1"),
    (lambda: Problem(["a"], {"x": float("nan")}), r"bounds\['x'\]: expected a finite number, got nan"),
    (lambda: Problem(["a"], {"x": float("inf")}), r"bounds\['x'\]: .*inf"),
    (lambda: Problem(["a"], {"x": "1"}), r"bounds\['x'\]: .*'1'"),
    (lambda: Problem(["a"], {"x": None}), r"bounds\['x'\]: .*None"),
    (lambda: Problem(["a"], {"": 1.0}), "bounds: expected non-empty strings, got ''"),
    (lambda: Problem(["a"], [1.0]), r"bounds: expected a mapping .*got \[1.0\]"),
    (lambda: Problem(["a"], {"x": 1.0}, {"a": OFF}), "known: 'a' is listed under arms too"),
    (lambda: Problem(["a"], {"x": 1.0}, {"k": Known(1.0)}), r"known\['k'\].costs: .*1 missing .'x'"),
    (lambda: Problem(["a"], {}, {"k": OFF}), r"known\['k'\].costs: .*1 unknown .'x'"),
    (lambda: Problem(["a"], {"x": 1.0}, {"k": (1.0, 0.0)}), r"known\['k'\]: expected Known.*got \(1.0, 0.0\)"),
    (lambda: Problem(["a"], {"x": 1.0}, {"": OFF}), "known: expected non-empty strings, got ''"),
    (lambda: Problem(["a"], {"x": 1.0}, [OFF]), "known: expected a mapping"),
    (lambda: Problem.from_dict({}), "problem: .*no entry 'arms'"),
    (lambda: Problem.from_dict({"arms": ["a"], "bound": {}}), "problem: .*unknown entry 'bound'; write 'bounds'"),
    (lambda: Problem.from_dict({"arm": ["a"]}), "problem: .*unknown entry 'arm'; write 'arms'"),
    (
        lambda: Problem.from_dict({"arms": ["a"], "bounds": {}, "bound": {}}),
        "problem: .*'bound'; write, for example, {",
    ),
    (lambda: Problem.from_dict({}), "problem: .*no entry 'arms'; write, for example, {\"arms\""),
    (lambda: Problem.from_dict({"arms": ["a"], "known": {"k": {"costs": {}}}}), r"known\['k'\]: .*costs"),
    (lambda: Problem.from_dict({"arms": ["a"], "known": {"k": 3}}), r"known\['k'\]: .*3"),
    (lambda: Problem(["a"]).index("b"), "arm: expected one of .*'a'.*got 'b'"),
    (lambda: Problem(["a"], {"x": 1.0}, {"k": OFF}).index("k"), "arm: 'k' is a known arm and is never tried"),
]


@pytest.mark.parametrize(("make", "message"), BAD_PROBLEMS, ids=lambda x: x if isinstance(x, str) else "")
def test_a_bad_problem_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


@pytest.mark.parametrize("name", ["p.toml", "p.json"])
def test_files_hold_a_problem(tmp_path, name):
    problem = Problem(["a b", "ü"], {"x": 0.1, "y": -2.0}, {"k": Known(1 / 3, {"x": 0.1, "y": 7})})
    problem.save(tmp_path / name)
    again = Problem.load(tmp_path / name)
    assert again == problem
    assert hash(again) == hash(problem)
    assert again.columns == problem.columns


def test_problems_differ_in_any_of_their_parts():
    base = Problem(["a"], {"x": 1.0}, {"k": OFF})
    others = [
        Problem(["b"], {"x": 1.0}, {"k": OFF}),
        Problem(["a"], {"x": 2.0}, {"k": OFF}),
        Problem(["a"], {"x": 1.0}),
        Problem(["a"], {"x": 1.0}, {"k": Known(0.0, {"x": 0.5})}),
    ]
    assert base not in others
    assert base != "a problem"


def test_equal_problems_have_equal_columns_and_hashes():
    # The order of bounds and of known arms is the order of columns, and of costs given without names.
    pairs = [
        (Problem(["a"], {"x": 1.0, "y": 2.0}), Problem(["a"], {"y": 2.0, "x": 1.0})),
        (Problem([], {}, {"k": Known(1), "m": Known(2)}), Problem([], {}, {"m": Known(2), "k": Known(1)})),
    ]
    for one, other in pairs:
        assert one.columns != other.columns
        assert one != other


def test_a_problem_cannot_be_changed():
    problem = Problem(["a"], {"x": 1.0})
    with pytest.raises(AttributeError):
        problem.arms = ("b",)
    with pytest.raises(ValueError, match=r"read-only"):
        problem.bound[0] = 2.0


@pytest.mark.parametrize(
    "problem",
    [
        Problem(["a", "b"]),
        Problem(["a"], {"x": 1.5}, {"off": Known(0.1, {"x": 0.0}), "a": Known(costs={"x": 2.0})}),
        Problem(["a", "b"], goal="minimise x", limits=["y >= 0.5", "share(a) <= 40%"], segments=["s", "t"]),
        Problem(["a", "b"], {"x": 1.0}, segments={"s": 0.25, "t": 0.75}, tracked=["z"]),
    ],
)
def test_it_is_shown_as_it_can_be_written(problem):
    assert eval(repr(problem), {"Problem": Problem, "Known": Known}) == problem


def test_a_limit_on_what_the_goal_is_about_is_written_and_read(tmp_path):
    problem = Problem(["a", "b"], limits=["reward <= 1.5", "dollars <= 2"])
    assert Problem.from_dict(problem.to_dict()) == problem
    problem.save(tmp_path / "problem.toml")
    assert Problem.load(tmp_path / "problem.toml") == problem
    with pytest.raises(ValueError, match="'reward' is what the goal is about"):
        Problem(["a"], {"reward": 1.5})
