"""What the words of ``lanes.py`` are in machine code: a processor's vectors; plain numbers where there is one lane."""

# mypy: allow-untyped-calls, allow-untyped-defs
# Numba has no types.

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_cast
from numba.core.typeconv.castgraph import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import models, register_model, type_callable
from numba.np import arrayobj

from bestmix.kernels import lanes

NUMBERS = ir.VectorType(ir.DoubleType(), lanes.LANES)
FLAGS = ir.VectorType(ir.IntType(1), lanes.LANES)
PLACES = ir.VectorType(ir.IntType(32), lanes.LANES)
ARITHMETIC = {
    operator.add: "fadd",
    operator.sub: "fsub",
    operator.mul: "fmul",
    operator.truediv: "fdiv",
}
COMPARISONS = {operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "=="}
LOGIC = {operator.and_: "and_", operator.or_: "or_"}


class Lanes(types.Type):
    """Several values side by side; one of ``kinds`` becomes as many alike."""

    kinds: tuple[type, ...] = ()

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """From one value, always."""
        return Conversion.safe if isinstance(other, self.kinds) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        """What is one value here and several there, is several."""
        return self if isinstance(other, self.kinds) else None


class Vector(Lanes):
    """Numbers."""

    kinds = (types.Float, types.Integer)


class Mask(Lanes):
    """Answers to a comparison."""

    kinds = (types.Boolean,)


vector, mask = Vector(name="lanes.vector"), Mask(name="lanes.mask")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """Vectors in memory and in registers."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, NUMBERS)


@register_model(Mask)
class MaskModel(models.PrimitiveModel):
    """Masks in memory and in registers."""

    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, FLAGS)


def spread(builder: Any, value: Any, kind: Any) -> Any:
    """One value in all lanes."""
    empty, zero = ir.Constant(kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    return builder.shuffle_vector(
        builder.insert_element(empty, value, zero), empty, ir.Constant(PLACES, [0] * lanes.LANES)
    )


@lower_cast(types.Float, Vector)
@lower_cast(types.Integer, Vector)
def number_to_vector(context, builder, fromty, toty, val):
    """A number beside several."""
    return spread(builder, context.cast(builder, val, fromty, types.float64), NUMBERS)


@lower_cast(types.Boolean, Mask)
def flag_to_mask(context, builder, fromty, toty, val):
    """An answer beside several."""
    return spread(builder, context.cast(builder, val, fromty, types.boolean), FLAGS)


def declare(op: Callable[..., Any], result: Any, operand: Any, method: str, *sign: str) -> None:
    """Teach Numba an operator on two operands, of which one may be a single value, by a method of LLVM's builder."""

    class Template(AbstractTemplate):
        key = op

        def generic(self, args: Any, kws: Any) -> Any:
            fits = all(kind == operand or isinstance(kind, operand.kinds) for kind in args)
            return signature(result, operand, operand) if operand in args and len(args) == 2 and fits else None

    infer_global(op)(Template)

    @lower_builtin(op, operand, operand)
    def lower(context, builder, sig, args):
        return getattr(builder, method)(*sign, *args)


for _op, _method in ARITHMETIC.items():
    declare(_op, vector, vector, _method)
for _op, _sign in COMPARISONS.items():
    declare(_op, mask, vector, "fcmp_ordered", _sign)
for _op, _method in LOGIC.items():
    declare(_op, mask, mask, _method)


@infer_global(operator.neg)
@infer_global(abs)
class OfOneTemplate(AbstractTemplate):
    """What makes a vector of a vector."""

    def generic(self, args: Any, kws: Any) -> Any:
        """Its type."""
        return signature(vector, vector) if args == (vector,) else None


@lower_builtin(operator.neg, vector)
def negative(context, builder, sig, args):
    """The negatives of all lanes."""
    return builder.fneg(args[0])


@lower_builtin(abs, vector)
def size(context, builder, sig, args):
    """The absolute values of all lanes."""
    return builder.call(of_one(builder, "fabs", NUMBERS), args)


@type_callable(lanes.side_by_side)
def type_side_by_side(context):
    """One axis less, of vectors, whatever the alignment; only for arrays of floats that lie one behind the other."""

    def typer(array):
        if array.dtype != types.float64 or array.layout != "C":
            return None
        return types.Array(vector, array.ndim - 1, "C", aligned=False)

    return typer


@lower_builtin(lanes.side_by_side, types.Array)
def lower_side_by_side(context, builder, sig, args):
    """The same memory, seen as vectors."""
    kind, found = sig.return_type, arrayobj.make_array(sig.args[0])(context, builder, args[0])
    result = arrayobj.make_array(kind)(context, builder)
    arrayobj.populate_array(
        result,
        data=builder.bitcast(found.data, NUMBERS.as_pointer()),
        shape=cgutils.unpack_tuple(builder, found.shape)[: kind.ndim],
        strides=cgutils.unpack_tuple(builder, found.strides)[: kind.ndim],
        itemsize=context.get_constant(types.intp, 8 * lanes.LANES),
        meminfo=found.meminfo,
        parent=found.parent,
    )
    return impl_ret_borrowed(context, builder, kind, result._getvalue())


@type_callable(lanes.either)
def type_either(context):
    """A vector if the condition is a mask, else whatever holds both."""

    def typer(condition, yes, no):
        kind = context.unify_types(yes, no) if condition == types.boolean else vector
        return None if kind is None else signature(kind, condition, kind, kind)

    return typer


@lower_builtin(lanes.either, types.Boolean, types.Any, types.Any)
@lower_builtin(lanes.either, Mask, types.Any, types.Any)
def lower_either(context, builder, sig, args):
    """A choice without a branch."""
    return builder.select(*args)


@type_callable(lanes.any_lane)
@type_callable(lanes.every_lane)
def type_any_lane(context):
    """One answer."""

    def typer(condition):
        return types.boolean

    return typer


@lower_builtin(lanes.any_lane, types.Boolean)
@lower_builtin(lanes.every_lane, types.Boolean)
def lower_one_lane(context, builder, sig, args):
    """The one there is."""
    return args[0]


@lower_builtin(lanes.any_lane, Mask)
def lower_any_lane(context, builder, sig, args):
    """Whether a bit is set."""
    bits = builder.bitcast(args[0], ir.IntType(lanes.LANES))
    return builder.icmp_unsigned("!=", bits, bits.type(0))


@lower_builtin(lanes.every_lane, Mask)
def lower_every_lane(context, builder, sig, args):
    """Whether all bits are set."""
    bits = builder.bitcast(args[0], ir.IntType(lanes.LANES))
    return builder.icmp_unsigned("==", bits, bits.type(2**lanes.LANES - 1))


@type_callable(lanes.root)
def type_root(context):
    """A number, or a vector."""

    def typer(value):
        kind = value if value == vector else types.float64
        return signature(kind, kind)

    return typer


@lower_builtin(lanes.root, types.Float)
@lower_builtin(lanes.root, Vector)
def lower_root(context, builder, sig, args):
    """The processor's square root."""
    return builder.call(of_one(builder, "sqrt", args[0].type), args)


def of_one(builder: Any, name: str, kind: Any) -> Any:
    """A function of LLVM's own on a number, or on those of all lanes."""
    whole = f"llvm.{name}.{'f64' if kind != NUMBERS else f'v{lanes.LANES}f64'}"
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), whole)


@type_callable(lanes.at)
def type_at(context):
    """An entry as the row has them; of whole numbers a number."""

    def typer(row, index):
        return row.dtype if row.dtype == vector else types.float64

    return typer


@lower_builtin(lanes.at, types.Array, types.Any)
def lower_at(context, builder, sig, args):
    """One entry, or one of each lane."""
    row, index = sig.args
    start, step = row_address(context, builder, row, args[0])
    if row.dtype != vector:
        place = context.cast(builder, args[1], index, types.intp)
        found = builder.load(builder.bitcast(moved(builder, start, builder.mul(place, step)), start.type))
        return context.cast(builder, found, row.dtype, types.float64)
    result = ir.Constant(NUMBERS, ir.Undefined)
    for lane, address in enumerate(lane_addresses(context, builder, sig.args, args, start, step)):
        result = builder.insert_element(result, builder.load(address, align=8), ir.Constant(ir.IntType(32), lane))
    return result


@type_callable(lanes.put)
def type_put(context):
    """Nothing."""

    def typer(row, index, value):
        return signature(types.none, row, index, row.dtype)

    return typer


@lower_builtin(lanes.put, types.Array, types.Any, types.Any)
def lower_put(context, builder, sig, args):
    """One entry, or one of each lane."""
    row, index, _ = sig.args
    start, step = row_address(context, builder, row, args[0])
    if row.dtype != vector:
        place = context.cast(builder, args[1], index, types.intp)
        builder.store(args[2], builder.bitcast(moved(builder, start, builder.mul(place, step)), start.type))
    else:
        for lane, address in enumerate(lane_addresses(context, builder, sig.args, args, start, step)):
            value = builder.extract_element(args[2], ir.Constant(ir.IntType(32), lane))
            builder.store(value, address, align=8)
    return context.get_dummy_value()


def row_address(context: Any, builder: Any, kind: Any, row: Any) -> tuple[Any, Any]:
    """Where a row begins, and the bytes from one entry to the next."""
    held = arrayobj.make_array(kind)(context, builder, row)
    return held.data, builder.extract_value(held.strides, 0)


def moved(builder: Any, start: Any, size: Any) -> Any:
    """An address so many bytes further on."""
    return builder.gep(builder.bitcast(start, ir.IntType(8).as_pointer()), [size])


def lane_addresses(context: Any, builder: Any, kinds: Any, args: Any, start: Any, step: Any) -> list[Any]:
    """Where each lane's entry of a row is, by the index of that lane."""
    whole, number = ir.VectorType(ir.IntType(64), lanes.LANES), ir.DoubleType().as_pointer()
    index = args[1] if kinds[1] == vector else context.cast(builder, args[1], kinds[1], vector)
    places, found = builder.fptosi(index, whole), []
    for lane in range(lanes.LANES):
        place = builder.extract_element(places, ir.Constant(ir.IntType(32), lane))
        bytes_on = builder.add(builder.mul(place, step), place.type(8 * lane))
        found.append(builder.bitcast(moved(builder, start, bytes_on), number))
    return found


@type_callable(lanes.reach)
def type_reach(context):
    """Two places."""

    def typer(index, size):
        return signature(types.UniTuple(types.intp, 2), index, types.intp)

    return typer


@lower_builtin(lanes.reach, types.Integer, types.Integer)
@lower_builtin(lanes.reach, types.Float, types.Integer)
def lower_reach_one(context, builder, sig, args):
    """The index alone, or nothing."""
    first = context.cast(builder, args[0], sig.args[0], types.intp)
    some = builder.icmp_signed(">=", first, first.type(0))
    one = builder.add(first, first.type(1))
    ends = [builder.select(some, first, first.type(0)), builder.select(some, one, first.type(0))]
    return context.make_tuple(builder, sig.return_type, ends)


@lower_builtin(lanes.reach, Vector, types.Integer)
def lower_reach_all(context, builder, sig, args):
    """All."""
    return context.make_tuple(builder, sig.return_type, [args[1].type(0), args[1]])
