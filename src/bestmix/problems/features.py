"""What arms are made of: features in which the means of every metric are linear.

Arms that are combinations, such as a model with a prompt and a temperature, have far fewer features than there are of
them, and a trial of one tells about all that share some with it: the mean of arm a is Theta phi_a, the same Theta for
all arms. Features with names may be texts, of which each stands for itself, and have a constant beside them; numbers in
a list are phi_a as it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats

Features = dict[str, float | str] | list[float]  # of one arm

SMALLEST = 1e-13  # of the largest direction: what is smaller is rounding
SHAPE = "for each arm its features by name, such as {'model': 'large', 'temperature': 0.5}, or a list of numbers"


def read_features(arms: Sequence[str], given: Any) -> dict[str, Features]:
    """Features of each arm as a problem keeps them; arms in the order of a table's rows, where they are one.

    >>> read_features(["a", "b"], {"b": {"size": 7, "kind": "new"}, "a": {"kind": "old", "size": 1}})
    {'a': {'kind': 'old', 'size': 1.0}, 'b': {'kind': 'new', 'size': 7.0}}
    >>> read_features(["a", "b"], [[1, 0], [1, 2]])
    {'a': [1.0, 0.0], 'b': [1.0, 2.0]}
    """
    if given is None:
        return {}
    if hasattr(given, "columns") and not isinstance(given, Mapping):
        given = features_of_frame(given)
    if not isinstance(given, Mapping):
        if isinstance(given, np.ma.MaskedArray) and given.mask.any():
            raise checks.InvalidInput(
                "features", expected="a value for each arm", got="masked ones", remedy="fill them in"
            )
        table = checks.array("features", given, (len(arms), None), "(arms, features)")
        given = dict(zip(arms, table.tolist(), strict=True))
    if not given:
        return {}
    checks.same_names("features", given, arms, "arm that can be tried")
    first = given[arms[0]]
    result = {arm: _of_arm(arm, given[arm], first) for arm in arms}
    _check_kinds(result)
    if not np.any(_raw_design(result)):
        raise checks.InvalidInput(
            "features", expected="some that are not zero", got="zeros alone", remedy="leave features out"
        )
    return result


def features_of_frame(frame: Any) -> dict[str, Any]:
    """Rows of a frame with the arms for its index, by the names of its columns."""
    if not hasattr(frame, "iterrows"):
        got = type(frame).__name__
        raise checks.InvalidInput(
            "features", expected="a frame with the arms for its index", got=got, remedy="give a mapping"
        )
    return {str(arm): row.to_dict() for arm, row in frame.iterrows()}


def _of_arm(arm: str, given: Any, first: Any) -> Features:
    """Features of an arm, in the form of those of the first one."""
    name = f"features[{arm!r}]"
    if isinstance(first, Mapping):
        checks.same_names(name, checks.mapping(name, given, "of names to values"), list(first), "feature")
        checks.names(name, given, "feature")
        if not first:
            raise checks.InvalidInput(name, expected=SHAPE, got="none", remedy="leave features out")
        return {feature: _value(f"{name}[{feature!r}]", given[feature]) for feature in first}
    if isinstance(given, (str, bytes, Mapping)) or not np.ndim(given):
        raise checks.InvalidInput(name, expected=SHAPE, got=checks.shown(given), remedy="see the example")
    size = len(first) if np.ndim(first) else None
    return list(map(float, checks.array(name, given, (size,), "(features,)").tolist()))


def _value(name: str, value: Any) -> float | str:
    """A number, a text, or a flag as a number."""
    if isinstance(value, str):
        return checks.names(name, (value,), "value")[0]
    return checks.number(name, float(value) if isinstance(value, (bool, np.bool_)) else value)


def _check_kinds(features: Mapping[str, Features]) -> None:
    """A feature is a number in all arms, or a text in all."""
    rows = {arm: row for arm, row in features.items() if isinstance(row, dict)}
    first = next(iter(rows.values()), {})
    for arm, row in rows.items():
        for name, value in row.items():
            if isinstance(value, str) != isinstance(first[name], str):
                kind = "text" if isinstance(first[name], str) else "number"
                raise checks.InvalidInput(
                    f"features[{arm!r}]",
                    expected=f"{name} as a {kind}, as other arms have it",
                    got=checks.shown(value),
                    remedy="write numbers as texts, '7', where they are mere names",
                )


def design(features: Mapping[str, Features]) -> Floats:
    """Rows (K, d), one for each arm, whose span is that of the features: orthonormal columns, as many as are needed.

    >>> named = {"a": {"kind": "old", "size": 1.0}, "b": {"kind": "new", "size": 1.0}}
    >>> design(named).shape, design({"a": [1.0, 2.0], "b": [2.0, 4.0]}).shape
    ((2, 2), (2, 1))
    """
    raw = _raw_design(features)
    with np.errstate(over="ignore", under="ignore"):
        raw = raw / np.where((size := np.abs(raw).max(axis=0)) > 0, size, 1.0)  # no square overflows
        if isinstance(next(iter(features.values())), dict):  # beside a constant only differences count
            raw[:, 1:] -= raw[:, 1:].mean(axis=0)
    length = np.linalg.norm(raw, axis=0)
    left, sizes, _ = np.linalg.svd(raw / np.where(length > 0, length, 1.0), full_matrices=False)
    result = np.ascontiguousarray(left[:, sizes > SMALLEST * sizes[0]])
    result.flags.writeable = False
    return result


def _raw_design(features: Mapping[str, Features]) -> Floats:
    """As they are given: a constant, numbers, and a column of ones and zeros for each text that a feature can be."""
    rows = list(features.values())
    columns: list[list[float]] = []
    if isinstance(rows[0], list):
        return np.array(rows, dtype=np.float64)
    columns.append([1.0] * len(rows))
    for name in rows[0]:
        values = [row[name] for row in rows if isinstance(row, dict)]
        if isinstance(values[0], str):
            columns += [[float(value == level) for value in values] for level in dict.fromkeys(values)]
        else:
            columns.append([float(value) for value in values])
    return np.array(columns, dtype=np.float64).T
