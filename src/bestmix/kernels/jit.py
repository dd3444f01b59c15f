"""Every kernel at two speeds, from one definition: as plain Python, and as machine code that is made when it pays.

A kernel is an ordinary function, and calls other kernels as such. ``machine`` compiles it together with all that it
calls, and only then is Numba loaded: a decision on a few dozen arms is over before a compiler has started.
``speed_for`` is the rule of which of the two to use. Numba is an extra: without it all is plain Python.
"""

import gc
import hashlib
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, Protocol, TypeVar, cast, get_args
from weakref import WeakKeyDictionary

import numpy as np

F = TypeVar("F", bound=Callable[..., object])

# Steps of an innermost loop in one decision from which on machine code is used. A step takes about 1.3 us in plain
# Python: a run of a few hundred such decisions takes as long as compiling does, and a smaller one less.
ENOUGH_WORK = 50_000
# The same in all runs of a simulation: two seconds of plain Python, about as long as it takes to load Numba and machine
# code that is kept, where making it takes a quarter of a minute. With segments it takes a minute: below, ten seconds.
ENOUGH_WORK_OF_RUNS = 1_500_000
ENOUGH_WORK_OF_SEGMENT_RUNS = 8_000_000
LINKED = (0, 68)  # version of Numba whose inner parts linking.py knows; with others kernels compile by its own ways
SENTENCE = (
    "bestmix: compiling the arithmetic for work of this size; "
    "that takes a quarter of a minute, with segments a minute, once."
)
WITHOUT_COMPILER = (
    "bestmix: Numba is not installed, so that work of this size is done in plain Python, in which simulated runs take "
    "200 to 1,600 times as long; install bestmix[fast]."
)


class Options(NamedTuple):
    """How a kernel is compiled."""

    keep: bool = True  # the machine code, on disk
    inline: bool = False  # into its callers
    substitute: bool = False  # for the call, before anything is compiled
    counts: bool | None = True  # references to arrays; None: where its caller does


class Form(NamedTuple):
    """One of the forms in which a kernel is compiled."""

    entry: bool  # can be called from Python, which takes as much machine code as a small kernel
    counts: bool  # references to arrays; an entry does, since Python hands over objects that it must give back
    without: frozenset[str] = frozenset()  # constants that are False: what they guard is not compiled

    @property
    def mark(self) -> str:
        """Part of the names of machine code: of two forms that have one name the linker would take either for both.

        Numba numbers what it compiles, but machine code that is kept comes with the numbers of another process.
        """
        return hashlib.sha256(repr((self.entry, self.counts, sorted(self.without))).encode()).hexdigest()[:8]


ENTRY = Form(entry=True, counts=True)


class Speed(Protocol):
    """Gives a kernel as plain Python or as machine code."""

    def __call__(self, kernel: F, /) -> F:
        """The kernel, to be called."""


@dataclass
class PlainWork:
    """Steps of simulated runs that this process has done in plain Python."""

    steps: float = 0.0


_plain_work = PlainWork()
_kernels: "WeakKeyDictionary[Callable[..., object], Options]" = WeakKeyDictionary()
_machines: "WeakKeyDictionary[Callable[..., object], dict[Form, Any]]" = WeakKeyDictionary()
_lock = threading.RLock()  # simulated runs ask for machine code from several threads


def compiled(function: F) -> F:
    """Declare a kernel, whose machine code is kept on disk; the function stays as it is."""
    _kernels[function] = Options()
    return function


def borrowing(function: F) -> F:
    """As ``compiled``, without a count of references to arrays, which can take longer than the arithmetic.

    It makes no array and returns none: all are its caller's.
    """
    result = function.__annotations__["return"]
    if any(kind not in (int, float, bool, None) for kind in get_args(result) or (result,)):
        raise TypeError(f"{function.__name__}: expected numbers to be returned, got {result}; use compiled")
    _kernels[function] = Options(counts=False)
    return function


def inlined(function: F) -> F:
    """As ``compiled``, and put into its callers; it counts references to arrays where they do."""
    _kernels[function] = Options(inline=True, counts=None)
    return function


def view(function: F) -> F:
    """As ``inlined``, for a line that returns a part of an array: what borrows an array cannot return it."""
    _kernels[function] = Options(substitute=True, counts=None)
    return function


def compiled_here(function: F) -> F:
    """As ``compiled``, but not kept on disk: for a function that is made while the program runs."""
    _kernels[function] = Options(keep=False)
    return function


@compiled
def plain(value: int) -> int:
    """The value as a variable: for a constant argument Numba would compile the callee once more."""
    return int(value)


def speed_for(work: float) -> Speed:
    """How to call the kernels of a live decision that takes so many steps of an innermost loop.

    >>> speed_for(work=10)(plain)(3)
    3
    """
    return _in_python if work < ENOUGH_WORK else machine


def speed_for_runs(work: float, segments: bool = False, now: float = 0.0) -> Speed:
    """How to call the kernels of simulated runs, or of a search for gaps, of so many steps of an innermost loop in all.

    ``now`` are those that follow at once. What was done in plain Python before counts too: many small simulations, as a
    plan makes them, would otherwise take as long as a compiler does several times over.

    >>> speed_for_runs(work=10)(plain)(3)
    3
    """
    with _lock:
        if work + _plain_work.steps >= (ENOUGH_WORK_OF_SEGMENT_RUNS if segments else ENOUGH_WORK_OF_RUNS):
            return machine
        _plain_work.steps += now
    return _in_python


def is_kernel(function: Callable[..., object]) -> bool:
    """Whether the function can be compiled."""
    return function in _kernels


def is_machine(function: Callable[..., object]) -> bool:
    """Whether it is a function that Numba compiles, such as a user's own score."""
    numba = sys.modules.get("numba")  # not loaded: then there is none
    return numba is not None and isinstance(function, numba.core.registry.CPUDispatcher)


@cache
def has_compiler() -> bool:
    """Whether Numba is installed, without loading it."""
    return find_spec("numba") is not None


def machine(function: F, without: frozenset[str] = frozenset()) -> F:
    """Machine code of a kernel, kept on disk and free of Python's global lock.

    Any other function is returned as Python, with machine code for the kernels that it calls. ``without`` names
    constants of kernels, such as those of ``columns.py``, that are False for what is computed. Where Numba is not
    installed the function is plain Python, and a sentence says so.
    """
    if not has_compiler():
        _announce(WITHOUT_COMPILER)
        return _in_python(function)
    return cast(F, _formed(cast(FunctionType, function), ENTRY._replace(without=without)))


def _formed(function: FunctionType, form: Form) -> Any:
    with _lock:
        made = _machines.setdefault(function, {})
        if not form.entry and (counts := _kernels[function].counts) is not None:
            form = form._replace(counts=counts)
        if form not in made:
            _make(function, form)
        return made[form]


def _in_python(kernel: F, /) -> F:
    """Machine code divides by zero and overflows without a word, and the kernels mean it so: plain ones do the same."""
    return np.errstate(all="ignore")(kernel)


@cache
def _announce_compilation() -> None:
    """From now on say, once in a process, that kernels are compiled: reading them from disk takes no time.

    On a terminal the kernels that are done are counted below the sentence while it lasts. Meanwhile nobody looks for
    garbage: a compiler makes millions of objects that refer to each other, and to find that they are still in use takes
    a fifth of its time.
    """
    from numba.core import event

    class Announcement(event.Listener):
        def __init__(self) -> None:
            self.depth, self.done, self.began, self.collects = 0, 0, 0.0, False

        def on_start(self, event: Any) -> None:
            if _is_ours(event.data["dispatcher"]):
                if self.depth == 0:
                    self.began, self.collects = time.monotonic(), gc.isenabled()
                    gc.disable()
                    _announce(SENTENCE)
                self.depth += 1

        def on_end(self, event: Any) -> None:
            if _is_ours(event.data["dispatcher"]):
                self.depth, self.done = self.depth - 1, self.done + 1
                if self.depth == 0 and self.collects:
                    gc.enable()
                seconds = time.monotonic() - self.began
                _count(f"bestmix: {self.done} compiled in {seconds:.0f} s" if self.depth else "")

    register: Any = event.register  # which has no types
    register("numba:compile", Announcement())


def _is_ours(dispatcher: Any) -> bool:
    return str(dispatcher.__module__).startswith(f"{__package__}.")


@cache
def _announce(sentence: str) -> None:
    """Say something once in a process."""
    print(sentence, file=sys.stderr, flush=True)


def _count(text: str) -> None:
    """Write a text over the last one, on a terminal that shows nothing else, such as a bar."""
    terminal = sys.__stderr__
    if terminal is not None and terminal is sys.stderr and terminal.isatty():
        print(f"\r{text}\x1b[K", end="", file=terminal, flush=True)


def _make(function: FunctionType, form: Form) -> None:
    """Keep a copy of the function in whose globals kernels are machine code; compiled if it is a kernel itself."""
    code, names = function.__code__, {"__name__": function.__module__, "__builtins__": __builtins__}
    copy = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__qualname__, copy.__doc__ = f"{function.__qualname__}.{form.mark}", function.__doc__
    kernel = is_kernel(function)
    _machines[function][form] = _compile(copy, _kernels[function], form) if kernel else copy
    # The callees come after it, since the function itself may be one.
    below = form._replace(entry=not kernel)
    names |= {name: _link(function.__globals__[name], below) for name in _names(code) if name in function.__globals__}
    names |= dict.fromkeys(form.without.intersection(names), False)


def _compile(function: FunctionType, options: Options, form: Form) -> Any:
    import numba

    from bestmix.kernels import vectors  # noqa: F401  # Numba learns them

    _announce_compilation()
    compiler: Any = numba.njit  # its types do not know all of its options
    inside = {"forceinline": options.inline, "inline": "always" if options.substitute else "never"}
    ways = _linked(form) if numba.version_info.short == LINKED else {}
    result = compiler(nogil=True, error_model="numpy", **ways, **inside)(function)
    if not is_machine(result):  # by NUMBA_DISABLE_JIT
        return _in_python(result) if form.entry else result
    if options.keep and form.entry:
        _keep(result, function)
    return result


def _keep(dispatcher: Any, function: FunctionType) -> None:
    """Read machine code from disk where it is kept, and keep it there."""
    from bestmix.kernels.kept_code import kept_code

    dispatcher._cache = kept_code(function) or dispatcher._cache


def _linked(form: Form) -> dict[str, Any]:
    """How a kernel is compiled as a part of a whole tree of calls, which takes half of the time."""
    from bestmix.kernels import linking

    pipeline = linking.EntryCompiler if form.entry else linking.InnerCompiler
    wrappers = {"no_cpython_wrapper": not form.entry, "no_cfunc_wrapper": True}
    return {"_nrt": form.counts, "pipeline_class": pipeline, **wrappers}


def _names(code: CodeType) -> set[str]:
    """Names that some code uses, with those of the functions inside it."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _link(value: Any, form: Form) -> Any:
    """What compiled code sees in place of a global."""
    if isinstance(value, FunctionType) and is_kernel(value):
        return _formed(value, form)
    if isinstance(value, ModuleType) and value.__name__.startswith(__package__ + "."):
        return _Linked(value, form)
    return value


class _Linked(ModuleType):
    """A module of kernels as compiled code sees it."""

    def __init__(self, module: ModuleType, form: Form) -> None:
        super().__init__(module.__name__)
        self._module, self._form = module, form

    def __getattr__(self, name: str) -> Any:
        value = _link(getattr(self._module, name), self._form)
        setattr(self, name, value)
        return value
