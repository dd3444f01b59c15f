"""From Numba's typed code to LLVM's for what kernels do most, in few words: elements of arrays, arithmetic, variables.

Numba puts an array into memory, with all of its fields, to read one element, looks every operator up once more, and
reads and clears variables that hold nothing to be given back. LLVM takes all of that out again: the machine code is the
same, and comes later. What is not a plain case is left to Numba.
"""

# mypy: allow-untyped-calls
# Numba has no types.

from typing import Any

from numba.core import cgutils, ir, types
from numba.core.lowering import Lower


class KernelLower(Lower):
    """Numba's ``Lower`` with short cuts."""

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """``value[index]``."""
        array, indices = self.typeof(value.name), self.index_types(index)
        if not self.is_element(array, indices):
            return super().lower_getitem(resty, expr, value, index, signature)
        address = self.address(value, index, array, indices)
        found = self.context.unpack_value(self.builder, array.dtype, address, align=None if array.aligned else 1)
        return self.context.cast(self.builder, found, array.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """``target[index] = value``."""
        array, indices = self.typeof(target_var.name), self.index_types(index_var)
        if not self.is_element(array, indices):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value, kind = self.loadvar(value_var.name), self.typeof(value_var.name)
        value = self.context.cast(self.builder, value, kind, array.dtype)
        address = self.address(target_var, index_var, array, indices)
        self.context.pack_value(self.builder, array.dtype, value, address, align=None if array.aligned else 1)
        return None

    def index_types(self, index: Any) -> tuple[Any, ...]:
        """Types of the indices, of which there may be several."""
        kind = self.typeof(index.name)
        return tuple(getattr(kind, "types", (kind,)))

    def is_element(self, array: Any, indices: tuple[Any, ...]) -> bool:
        """Whether indices name one number in an array that lies in memory as it is written in C."""
        plain = isinstance(array, types.Array) and array.layout == "C" and isinstance(array.dtype, types.Number)
        whole = all(isinstance(kind, types.Integer) for kind in indices)
        return plain and whole and len(indices) == array.ndim and not self.context.enable_boundscheck

    def address(self, value: Any, index: Any, array: Any, kinds: tuple[Any, ...]) -> Any:
        """Where the element is; a negative index counts from the end."""
        builder, model = self.builder, self.context.data_model_manager[array]
        held, at = self.loadvar(value.name), self.loadvar(index.name)
        several = isinstance(self.typeof(index.name), types.BaseTuple)
        shape, place = model.get_field_position("shape"), None
        for axis, kind in enumerate(kinds):
            size = builder.extract_value(held, [shape, axis])
            step = self.context.cast(builder, builder.extract_value(at, axis) if several else at, kind, types.intp)
            if kind.signed:
                negative = builder.icmp_signed("<", step, step.type(0))
                step = builder.select(negative, builder.add(step, size), step)
            place = step if place is None else builder.add(builder.mul(place, size), step)
        return builder.gep(builder.extract_value(held, model.get_field_position("data")), [place])

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        """``lhs op rhs``."""
        signature = self.fndesc.calltypes[expr]
        known = expr.static_lhs is not ir.UNDEFINED or expr.static_rhs is not ir.UNDEFINED
        if known or not all(isinstance(kind, types.Float | types.Integer) for kind in signature.args):
            return super().lower_binop(resty, expr, op)
        operands = [self._cast_var(var, kind) for var, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)]
        kind = self.context.typing_context.resolve_value_type(op)
        if signature.args not in kind._impl_keys:
            kind.get_call_type(self.context.typing_context, signature.args, {})
        result = self.context.get_function(kind, signature)(self.builder, operands)
        return self.context.cast(self.builder, result, signature.return_type, resty)

    def counts(self, name: str) -> bool:
        """Whether a variable holds something of which references are counted."""
        kind = self.typeof(name)
        return bool(self.context.enable_nrt and self.context.data_model_manager[kind].contains_nrt_meminfo())

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Store a value: what was there before matters only if it has references."""
        if name in self._singly_assigned_vars or self._disable_sroa_like_opt or self.counts(name):
            super().storevar(value, name, argidx)
        else:
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """Forget a variable, which takes code only if it has references."""
        if self._disable_sroa_like_opt or self.counts(name):
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        """Space for a variable, of which Numba notes the size for debuggers."""
        if self.context.enable_debuginfo:
            return super().alloca_lltype(name, lltype, datamodel)
        return cgutils.alloca_once(self.builder, lltype, name=name, zfill=False)
