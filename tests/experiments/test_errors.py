import pickle

import pytest

from bestmix import experiments
from bestmix.experiments import Closed, Conflict, StorageError, UnknownTrial


@pytest.mark.parametrize(
    ("error", "base", "code", "field"),
    [
        (StorageError("x"), RuntimeError, "unavailable", None),
        (UnknownTrial("trial", "x"), ValueError, "not_found", "trial"),
        (Conflict("x"), RuntimeError, "conflict", "trial"),
        (Closed("x"), RuntimeError, "closed", None),
    ],
)
def test_every_error_has_its_base_its_code_and_its_field(error, base, code, field):
    assert isinstance(error, base)
    assert (error.code, error.field) == (code, field)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_every_public_name_is_there():
    assert all(hasattr(experiments, name) for name in experiments.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        experiments.nonsense  # noqa: B018
