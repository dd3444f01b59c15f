"""Machine code for a tree of kernels, made once: for the kernel that Python calls.

Numba by itself optimises every function together with all that it calls, and makes machine code of it, although a
caller takes only what was there before and does the same again: each level of a tree of calls once more. Here a
kernel that only others call stays as it was written down; all of a tree is put together, optimised and made into
machine code where Python calls it. This uses parts of Numba that are its own business: a new Numba needs a look here.
"""

# mypy: allow-untyped-calls
# Numba has no types.

import operator
from collections.abc import Hashable
from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import compiler, ir_utils, ssa, typed_passes, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering

from bestmix.kernels.lowering import KernelLower

ENVIRONMENT = "_ZN08NumbaEnv"  # how Numba names what a function refers to of Python


@register_pass(mutates_CFG=False, analysis_only=False)
class KernelSSA(untyped_passes.ReconstructSSA):
    """Numba's, without a look at the lifetimes of variables, which only generators need here."""

    _name = "kernel_ssa"

    def run_pass(self, state: Any) -> bool:
        """Give every assignment a variable of its own."""
        state.func_ir = ssa.reconstruct_ssa(state.func_ir)
        self._patch_locals(state)
        state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelStripPhis(typed_passes.PreLowerStripPhis):
    """Numba's, without a look at the lifetimes of variables."""

    _name = "kernel_strip_phis"

    def run_pass(self, state: Any) -> bool:
        """Write the choice between variables as assignments."""
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = ir_utils.build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class KernelLegalization(typed_passes.IRLegalization):
    """Numba's, where references are counted."""

    _name = "kernel_legalization"

    def run_pass(self, state: Any) -> bool:
        """Say where variables end: where no references are given back then, nothing happens there."""
        return bool(super().run_pass(state)) if state.flags.nrt else True


BEFORE_LOWERING = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.InlineInlinables,
    KernelSSA,
    typed_passes.NopythonTypeInference,
    KernelStripPhis,
    KernelLegalization,
    typed_passes.AnnotateTypes,
)
OPERATORS = {value for name, value in vars(operator).items() if callable(value) and not name.startswith("_")}
LOOKED_UP = OPERATORS | {bool, int, float, abs, max, min, range, slice, len}

signatures: dict[tuple[Any, ...], Any] = {}  # of those
known_flags: "dict[FixedFlags, FixedFlags]" = {}


class KernelLibrary(JITCodeLibrary):
    """Numba's, which sets the passes up for a module and not for each function, declared ones too."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        passes, builder = self._codegen._function_pass_manager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class InnerLibrary(KernelLibrary):
    """A kernel that only others call; what it calls is linked where Python calls the whole."""

    def finalize(self) -> None:
        """Nothing is to be done to it by itself."""
        self._finalized = True


class EntryLibrary(KernelLibrary):
    """A kernel that Python calls, with everything below it."""

    def finalize(self) -> None:
        """Link, optimise and make machine code."""
        self._linking_libraries = all_below(self._linking_libraries)
        super().finalize()


def all_below(libraries: list[Any]) -> list[Any]:
    """These libraries and those that they call, each once, and every caller before what it calls.

    LLVM leaves a function out for good that nothing which was linked before calls.
    """
    seen: set[Any] = set()
    callees_first: list[Any] = []

    def visit(library: Any) -> None:
        if library not in seen:
            seen.add(library)
            for below in library._linking_libraries if isinstance(library, InnerLibrary) else ():
                visit(below)
            callees_first.append(library)

    for library in libraries:
        visit(library)
    return callees_first[::-1]


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):
    """Write a kernel down for those that call it."""

    _name = "inner_lowering"
    lowering_class = KernelLower

    def run_pass(self, state: Any) -> bool:
        """As Numba's, without machine code."""
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags = compiler.Flags(state.flags)
        state.flags.no_compile = True
        super().run_pass(state)
        written, name = state["cr"], state.func_id.func_name
        # Callers find it by this function, which cannot be called.
        entry = _dynfunc.make_function(written.fndesc.lookup_module(), name, "", 0, written.env, (state.library,))
        state.targetctx.insert_user_function(entry, written.fndesc, [state.library])
        state["cr"] = written._replace(cfunc=entry)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(NativeLowering):
    """Machine code of a kernel and of everything below it."""

    _name = "entry_lowering"
    lowering_class = KernelLower

    def run_pass(self, state: Any) -> bool:
        """As Numba's, for the whole tree."""
        codegen = state.targetctx.codegen()
        state.library = EntryLibrary(codegen, state.func_id.func_qualname)
        state.library.enable_object_caching()
        super().run_pass(state)
        for variable in state.library._final_module.global_variables:
            environment = lookup_environment(variable.name) if variable.name.startswith(ENVIRONMENT) else None
            if environment is not None:
                codegen.set_env(variable.name, environment)
        return True


class Remembering:
    """Numba's typing context, which looks an operator's types up once: Numba itself tries everything every time."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, func: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
        """The signature of a call."""
        name = getattr(func, "typing_key", func)
        if kws or not (isinstance(func, str) or (isinstance(name, Hashable) and name in LOOKED_UP)):
            return self._context.resolve_function_type(func, args, kws)
        key = key_of(name, args)
        if key in signatures:
            return signatures[key]
        found = self._context.resolve_function_type(func, args, kws)
        if not is_overload(func, found):
            signatures[key] = found
        return found

    def resolve_setitem(self, *args: Any) -> Any:
        """The signature of an assignment to an element."""
        key = key_of(operator.setitem, args)
        if key not in signatures:
            signatures[key] = self._context.resolve_setitem(*args)
        return signatures[key]


def key_of(name: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Under which a signature is remembered; a literal equals its type in the eyes of Numba, but for its class."""
    return (name, args, *map(type, args))


def is_overload(func: Any, signature: Any) -> bool:
    """Whether a call is of a function that Numba compiles for every kind of caller: it keeps the one looked up last."""
    templates = () if signature is None else getattr(func, "templates", ())
    return any(signature.args in getattr(template, "_compiled_overloads", ()) for template in templates)


class FixedFlags(compiler.Flags):
    """Numba's flags of a compilation, which are asked for at every step: looked at once."""

    __slots__ = ("_hash",)

    def __hash__(self) -> int:
        if not hasattr(self, "_hash"):
            self._hash = int(super().__hash__())
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or bool(super().__eq__(other))

    def copy(self) -> "FixedFlags":
        """What it means for functions that Numba brings along: the same object for all kernels that count alike."""
        result: Any = FixedFlags(self)
        result.forceinline, result.no_cpython_wrapper = False, True
        return known_flags.setdefault(result, result)


class InnerCompiler(compiler.CompilerBase):
    """Numba's compiler for a kernel that only others call: with the passes that kernels need."""

    lowering: type[NativeLowering] = InnerLowering

    def __init__(self, *arguments: Any) -> None:
        typing, target, library, args, result, flags, names = arguments
        super().__init__(typing, target, library, args, result, FixedFlags(flags), names)
        self.state.typingctx = Remembering(typing)

    def define_pipelines(self) -> list[Any]:
        """Numba's own without what kernels do not have: closures, comprehensions, contexts, array expressions."""
        passes = PassManager("kernel")
        for kind in (*BEFORE_LOWERING, self.lowering, typed_passes.NoPythonBackend):
            passes.add_pass(kind, kind.__name__)
        passes.finalize()
        return [passes]


class EntryCompiler(InnerCompiler):
    """Numba's compiler for a kernel that Python calls."""

    lowering = EntryLowering
