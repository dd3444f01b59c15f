"""Kernels are tested as plain Python, and as machine code where a test asks for both.

``pytestmark = pytest.mark.parametrize("speed", ["plain", "machine"], indirect=True)`` asks for both.
"""

import numpy as np
import pytest
from tests.kernels.speeds import use_machine_code


@pytest.fixture(autouse=True)
def speed(request, monkeypatch):
    if getattr(request, "param", "plain") == "machine":
        use_machine_code(monkeypatch.setattr)
    with np.errstate(all="ignore"):  # as in ``jit.speed_for``
        yield
