"""Sums give the answer of the trials that they are of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestmix import from_log, from_sums


def log(trials=200, seed=0):
    rng = np.random.default_rng(seed)
    rows = {"model": [], "quality": [], "dollars": [], "seconds": [], "who": []}
    for place, model in enumerate(["small", "medium", "large"]):
        for k in range(trials):
            rows["model"].append(model)
            rows["quality"].append(float(rng.random() < 0.6 + 0.15 * place))
            rows["dollars"].append((1.0 + 2 * place) * rng.gamma(4.0) / 4.0)
            rows["seconds"].append(rng.gamma(2.0))
            rows["who"].append("free" if k % 3 else "paid")
    return rows


def sums(rows, names, by=("model",), parts=1):
    """A table of sums, each group in so many rows."""
    table = {key: [] for key in (*by, "n", *names)} | {f"{a}*{b}": [] for i, a in enumerate(names) for b in names[i:]}
    table |= {f"{a}*{a}*{a}": [] for a in names}
    keys = list(zip(*(rows[key] for key in by), strict=True))
    for key in dict.fromkeys(keys):
        index = [i for i, k in enumerate(keys) if k == key]
        for part in np.array_split(index, parts):
            values = {name: np.array(rows[name])[part] for name in names}
            for name, one in zip(by, key, strict=True):
                table[name].append(one)
            table["n"].append(len(part))
            for i, a in enumerate(names):
                table[a].append(values[a].sum())
                table[f"{a}*{a}*{a}"].append((values[a] ** 3).sum())
                for b in names[i:]:
                    table[f"{a}*{b}"].append((values[a] * values[b]).sum())
    return table


def alike(first, second):
    assert first.mixture == pytest.approx(second.mixture, abs=1e-6)
    assert first.value == pytest.approx(second.value)
    assert first.regret == pytest.approx(second.regret, rel=1e-4)
    assert first.support_probability == pytest.approx(second.support_probability, abs=1e-6)


@pytest.mark.parametrize("parts", [1, 7])
def test_sums_are_as_good_as_their_trials(parts):
    rows, options = log(), {"arm": "model", "reward": "quality", "bounds": {"dollars": 3.0}}
    alike(from_sums(sums(rows, ["quality", "dollars"], parts=parts), **options), from_log(rows, **options))


def test_without_third_powers_nothing_is_known_of_the_skewness():
    table, options = (
        sums(log(), ["quality", "dollars"]),
        {"arm": "model", "reward": "quality", "bounds": {"dollars": 3}},
    )
    with_all = from_sums(table, **options)
    del table["dollars*dollars*dollars"]
    without = from_sums(table, **options)
    assert without.best_guess == with_all.best_guess
    assert without.mixture != with_all.mixture  # dollars are skewed here


def test_third_powers_that_are_too_large_are_not_known():
    table, options = sums(log(), ["quality", "dollars"]), {"arm": "model", "reward": "quality"}
    large = {k: np.array(v) * 1e60 ** k.count("dollars") if k != "model" else v for k, v in table.items()}
    for power in (large["dollars*dollars*dollars"], np.full(3, np.inf), np.full(3, np.nan)):
        found = from_sums(large | {"dollars*dollars*dollars": power}, bounds={"dollars": 3e60}, **options)
        assert found.told[0].skewness() is None


def test_a_price_whose_scatter_is_rounded_below_zero_leaves_the_others_their_skewness():
    rng, rows = np.random.default_rng(1), {"model": [], "quality": [], "dollars": []}
    for name, price in (
        ("a", np.full(300, 0.7)),
        ("b", rng.lognormal(0.5, 0.9, 300)),
        ("c", rng.lognormal(1.2, 0.9, 300)),
    ):
        rows["model"] += [name] * 300
        rows["quality"] += list(rng.normal(0.3 * len(price) / 300 + price.mean() / 10, 0.1, 300))
        rows["dollars"] += list(price)
    options = {"arm": "model", "reward": "quality", "bounds": {"dollars": 2.0}}
    alike(from_sums(sums(rows, ["quality", "dollars"]), **options), from_log(rows, **options))


def test_goals_limits_and_segments():
    rows = log()
    rows["p(seconds > 3)"] = [float(s > 3) for s in rows["seconds"]]
    options = {"arm": "model", "goal": "minimise dollars", "limits": ["quality >= 0.7", "p(seconds > 3) <= 30%"]}
    table = sums(rows, ["dollars", "quality", "p(seconds > 3)"], by=("model", "who"))
    del table["p(seconds > 3)*p(seconds > 3)"]
    alike(from_sums(table, segment="who", **options), from_log(rows, segment="who", **options))


def test_a_product_may_be_written_in_either_order():
    table = sums(log(), ["quality", "dollars"])
    table["dollars*quality"] = table.pop("quality*dollars")
    options = {"arm": "model", "reward": "quality", "bounds": {"dollars": 3.0}}
    assert from_sums(table, **options).feasible


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("n"), "there is no column 'n'"),
        (lambda t: t.pop("quality*dollars"), r"there is no column 'quality\*dollars'"),
        (lambda t: t.update(n=[1.5, 2, 3]), "n of 'small': expected a whole number"),
        (lambda t: t.update({"quality*quality": [0.1, 0.1, 0.1]}), "sums of squares, not squares of sums"),
        (lambda t: t.update({"dollars*dollars*dollars": [1e9, 1e9, 1e9]}), "third powers, not third powers of sums"),
    ],
)
def test_what_cannot_be_sums_is_refused(change, message):
    table = sums(log(), ["quality", "dollars"])
    change(table)
    with pytest.raises(ValueError, match=message):
        from_sums(table, arm="model", reward="quality", bounds={"dollars": 3.0})


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.integers(1, 5))
def test_any_division_into_rows_gives_the_same(values, parts):
    rows = {"model": ["a"] * len(values), "quality": values}
    once, often = (from_sums(sums(rows, ["quality"], parts=p), arm="model", reward="quality") for p in (1, parts))
    assert once.value == pytest.approx(often.value, rel=1e-9, abs=1e-9)


def summed(rows):
    """A table of sums as a database makes it, which rounds every product."""
    arms = list(dict.fromkeys(row[0] for row in rows))

    def total(value):
        return [sum(value(row) for row in rows if row[0] == arm) for arm in arms]

    return {
        "arm": arms,
        "n": total(lambda r: 1),
        "reward": total(lambda r: r[1]),
        "dollars": total(lambda r: r[2]),
        "reward*reward": total(lambda r: r[1] * r[1]),
        "reward*dollars": total(lambda r: r[1] * r[2]),
        "dollars*dollars": total(lambda r: r[2] * r[2]),
    }


@pytest.mark.parametrize("alike", [[(1.3, 0.7)], [(1.3, 0.7)] * 3, [(1.1, 0.1)] * 2])
def test_what_rounding_leaves_of_values_that_were_all_alike_is_no_spread(alike):
    rows = [("a", *row) for row in alike]
    rows += [("b", x, y) for x, y in [(1.0, 1.5), (1.25, 1.75), (0.75, 1.25), (1.0, 1.0), (1.5, 1.125)] * 2]
    table = summed(rows)
    powers = {
        f"{name}*{name}*{name}": [sum(row[k] ** 3 for row in rows if row[0] == arm) for arm in "ab"]
        for k, name in ((1, "reward"), (2, "dollars"))
    }
    log = dict(zip(("arm", "reward", "dollars"), map(list, zip(*rows, strict=True)), strict=True))
    one, two = from_sums(table | powers, bounds={"dollars": 1.0}), from_log(log, bounds={"dollars": 1.0})
    assert one.mixture == pytest.approx(two.mixture)
    assert one.regret == pytest.approx(two.regret, rel=1e-6)
    assert one.value_interval == pytest.approx(two.value_interval, rel=1e-6)
    assert (one.certified, one.note) == (two.certified, two.note)


def test_a_real_spread_of_many_trials_is_not_taken_for_rounding():
    n, mean, deviation = 10**6, 1e6, 0.5
    table = {
        "arm": ["a", "b"],
        "n": [n, n],
        "reward": [n, 2 * n],
        "reward*reward": [2 * n, 5 * n],
        "x": [n * mean, n * (mean + 1)],
        "x*x": [n * (mean**2 + deviation**2), n * ((mean + 1) ** 2 + deviation**2)],
        "reward*x": [n * mean, 2 * n * (mean + 1)],
    }
    low, high = from_sums(table, bounds={"x": mean + 0.0005}).estimates["a"].cost_intervals["x"]
    assert high - low == pytest.approx(2 * 1.96 * deviation / n**0.5, rel=0.01)
