"""What arms of a log are made of: columns that say the same in all rows of an arm."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.logs.files import STANDARD_INPUT
from bestmix.answers.logs.tables import log_chunks
from bestmix.problems.features import features_of_frame


def log_features(frame: Any, arm: str, features: Any) -> Mapping[str, Any]:
    """Features by arm: as they are given, or what columns of the log say."""
    if isinstance(features, Mapping):
        return features
    if hasattr(features, "columns"):
        return features_of_frame(features)
    if isinstance(features, str) or not all(isinstance(name, str) for name in features):
        raise checks.InvalidInput(
            "features",
            expected="names of columns, or features by arm",
            got=checks.shown(features),
            remedy="write ['model', 'prompt'], or {'arm': {'model': 'large'}, ...}",
        )
    return column_features(frame, arm, features)


def column_features(frame: Any, arm: str, names: Sequence[str]) -> dict[str, dict[str, float | str]]:
    """What columns say of each arm, which is the same in all of its rows; numbers where a column has nothing else.

    Of a column as in "text(version)" numbers are texts too.

    >>> log = {"arm": ["a", "b", "a"], "model": ["s", "l", "s"], "heat": ["0.5", 1, None]}
    >>> column_features(log, "arm", ["model", "heat"])
    {'a': {'model': 's', 'heat': 0.5}, 'b': {'model': 'l', 'heat': 1.0}}
    """
    wanted = checks.names("features", names, "column")
    names = [name[5:-1] if name.startswith("text(") and name.endswith(")") else name for name in wanted]
    if isinstance(frame, (str, os.PathLike)) and str(frame) == STANDARD_INPUT:
        raise checks.InvalidInput("features", "standard input can be read but once", "write the log to a file first")
    found: dict[str, dict[str, str]] = {}
    for chunk in log_chunks(frame, [arm, *names]):
        arms = chunk[arm].labels()
        found |= {of: {} for of in arms.names if of not in found}
        for name in names:
            said = chunk[name].labels()
            pairs = np.unique(np.column_stack([arms.codes, said.codes]), axis=0)
            for of, what in pairs[(pairs >= 0).all(axis=1)]:
                _note_feature(found[arms.names[of]], arms.names[of], name, said.names[what])
    for of, values in found.items():
        if missing := [name for name in names if name not in values]:
            fault = f"no row of the arm says its {missing[0]}"
            raise checks.InvalidInput(f"features[{of!r}]", fault, "fill it in, or leave the column out")
    columns: dict[str, Sequence[float | str]] = {}
    for name, how in zip(names, wanted, strict=True):
        said_of = [values[name] for values in found.values()]
        columns[name] = said_of if how != name else as_numbers(said_of)
    return {of: {name: columns[name][a] for name in names} for a, of in enumerate(found)}


def _note_feature(values: dict[str, str], arm: str, name: str, said: str) -> None:
    """Write down what a row says of an arm, if no other has said anything else."""
    before = values.setdefault(name, said)
    if before != said and as_numbers([before, said]) != as_numbers([said, said]):
        raise checks.InvalidInput(
            f"features[{arm!r}]",
            expected=f"one {name} in all rows of the arm, such as {checks.shown(before)}",
            got=checks.shown(said),
            remedy="leave the column out, or make arms of its values",
        )


def as_numbers(texts: list[str]) -> Sequence[float | str]:
    """As numbers, where all of them are."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return texts
    return numbers if np.isfinite(numbers).all() and not any("_" in text for text in texts) else texts
