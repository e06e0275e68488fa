"""Distances by direct differences in float64, and the written order in which they, and products, are summed.

Rows may be in float32 or in float64, also one in each: what is read becomes float64 before anything is computed, so
that the bits of a distance are those of the same numbers in float64.
"""

import math
from functools import partial

from exactcp._jit import cgutils, inner, intrinsic, ir, types

LANES = 16  # partial sums


@intrinsic
def squared_distance(typingctx, a, b):  # noqa: ARG001  (the signature of every intrinsic)
    """Sum (a_j - b_j)^2 of two contiguous rows: 16 partial sums, halved while 8, 4, 2 and 1 of what is left are added.

    The order of summation is written down, for each length once, so that equal rows have equal distances whichever
    kernel asks, and vectorised, which numba does not do to a sum whose order is to be kept.
    """
    return _typed(a, b, _squared_difference)


@intrinsic
def inner_product(typingctx, a, b):  # noqa: ARG001
    """Sum a_j b_j of two contiguous rows, in the order of `squared_distance`."""
    return _typed(a, b, _product)


@intrinsic
def manhattan_distance(typingctx, a, b):  # noqa: ARG001
    """Sum |a_j - b_j| of two contiguous rows, in the order of `squared_distance`."""
    return _typed(a, b, _size_of_difference)


@intrinsic
def chebyshev_distance(typingctx, a, b):  # noqa: ARG001
    """Return the largest |a_j - b_j| of two contiguous rows."""
    return _typed(a, b, _size_of_difference, _greater)


def _typed(a, b, term, join=None):
    if not all(isinstance(row, types.Array) and row.ndim == 1 and row.layout == "C" for row in (a, b)):
        return None
    if any(row.dtype not in (types.float32, types.float64) for row in (a, b)):
        return None
    return types.float64(a, b), partial(_sum_in_order, term, join or _sum_of_two)


def _squared_difference(builder, a, b):
    difference = builder.fsub(a, b)
    return builder.fmul(difference, difference)


def _product(builder, a, b):
    return builder.fmul(a, b)


def _size_of_difference(builder, a, b):
    difference = builder.fsub(a, b)
    bits = ir.VectorType(ir.IntType(64), difference.type.count)
    unsigned = builder.and_(builder.bitcast(difference, bits), ir.Constant(bits, [2**63 - 1] * bits.count))
    return builder.bitcast(unsigned, difference.type)


def _sum_of_two(builder, a, b):
    return builder.fadd(a, b)


def _greater(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _sum_in_order(term, join, context, builder, signature, args):
    rows = [context.make_array(kind)(context, builder, value) for kind, value in zip(signature.args, args, strict=True)]
    length = cgutils.unpack_tuple(builder, rows[0].shape)[0]
    whole = builder.and_(length, length.type(-LANES))
    total = cgutils.alloca_once_value(builder, ir.Constant(_vector(LANES), [0.0] * LANES))
    with cgutils.for_range_slice(builder, length.type(0), whole, length.type(LANES), length.type) as (start, _):
        builder.store(_with_terms(term, join, builder, builder.load(total), rows, start, LANES), total)
    start, summed = whole, builder.load(total)
    width = LANES // 2
    while width:
        total = cgutils.alloca_once_value(builder, _halved(join, builder, summed, width))
        here = builder.and_(length, length.type(width))
        with builder.if_then(builder.icmp_signed("!=", here, length.type(0))):
            builder.store(_with_terms(term, join, builder, builder.load(total), rows, start, width), total)
        start, summed, width = builder.add(start, here), builder.load(total), width // 2
    return builder.extract_element(summed, ir.Constant(ir.IntType(32), 0))


def _vector(width):
    return ir.VectorType(ir.DoubleType(), width)


def _with_terms(term, join, builder, total, rows, start, width):
    """Join `width` terms to as many partial sums."""
    a, b = (_loaded(builder, row.data, start, width) for row in rows)
    return join(builder, total, term(builder, a, b))


def _loaded(builder, data, start, width):
    """Return `width` numbers of a row in float64."""
    is_narrow = isinstance(data.type.pointee, ir.FloatType)
    vector = ir.VectorType(ir.FloatType(), width) if is_narrow else _vector(width)
    place = builder.bitcast(builder.gep(data, [start]), vector.as_pointer())
    numbers = builder.load(place, align=4 if is_narrow else 8)
    return builder.fpext(numbers, _vector(width)) if is_narrow else numbers


def _halved(join, builder, total, width):
    """Join the upper half of the partial sums to the lower half."""
    low, high = (
        builder.shuffle_vector(
            total, total, ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(at, at + width)))
        )
        for at in (0, width)
    )
    return join(builder, low, high)


@inner
def euclidean_distance(a, b):
    """sqrt(sum (a - b)^2) in a fixed order: the same bits for (a, b) and (b, a)."""
    return math.sqrt(squared_distance(a, b))
