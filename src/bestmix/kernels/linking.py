"""Machine code for a tree of kernels, made once: for the kernel that Python calls.

Numba by itself optimises every function together with all that it calls, and makes machine code of it, although a
caller takes only what was there before and does the same again: each level of a tree of calls once more. Here a
kernel that only others call stays as it was written down; all of a tree is put together, optimised and made into
machine code where Python calls it. This uses parts of Numba that are its own business: a new Numba needs a look here.
"""

# mypy: allow-untyped-calls
# Numba has no types.

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import compiler
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_machinery import register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import NativeLowering

ENVIRONMENT = "_ZN08NumbaEnv"  # how Numba names what a function refers to of Python


class InnerLibrary(JITCodeLibrary):
    """A kernel that only others call; what it calls is linked where Python calls the whole."""

    def finalize(self) -> None:
        """Nothing is to be done to it by itself."""
        self._finalized = True


class EntryLibrary(JITCodeLibrary):
    """A kernel that Python calls, with everything below it."""

    def finalize(self) -> None:
        """Link, optimise and make machine code."""
        self._linking_libraries = all_below(self._linking_libraries)
        super().finalize()


def all_below(libraries: list[Any]) -> list[Any]:
    """These libraries and those that they call, each once."""
    found, open_ones = dict.fromkeys(libraries), list(libraries)
    while open_ones:
        library = open_ones.pop()
        if isinstance(library, InnerLibrary):
            more = [below for below in library._linking_libraries if below not in found]
            found.update(dict.fromkeys(more))
            open_ones += more
    return list(found)


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):
    """Write a kernel down for those that call it."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """As Numba's, without machine code."""
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
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


class InnerCompiler(compiler.CompilerBase):
    """Numba's compiler for a kernel that only others call."""

    lowering: type[NativeLowering] = InnerLowering

    def define_pipelines(self) -> list[Any]:
        """Numba's own, but for the last step."""
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(self.lowering if kind is NativeLowering else kind, said) for kind, said in passes.passes]
        passes.finalize()
        return [passes]


class EntryCompiler(InnerCompiler):
    """Numba's compiler for a kernel that Python calls."""

    lowering = EntryLowering
