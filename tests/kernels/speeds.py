"""The kernels' modules with machine code in place of the plain functions."""

import importlib
import pkgutil
from collections.abc import Callable

from bestmix import kernels
from bestmix.kernels import jit


def use_machine_code(replace: Callable[..., None] = setattr) -> None:
    """Replace every kernel in its module, as in ``replace(module, name, value)``."""
    for found in pkgutil.iter_modules(kernels.__path__):
        module = importlib.import_module(f"{kernels.__name__}.{found.name}")
        for name, value in list(vars(module).items()):
            if callable(value) and not isinstance(value, type) and jit.is_kernel(value):
                replace(module, name, jit.machine(value))
