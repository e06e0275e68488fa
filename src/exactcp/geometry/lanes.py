"""The points of a leaf, looked at together: bit masks of those that are near enough (theory TR.2, TR.4).

numba does not vectorise such loops, which are short; these are twenty times faster. They only screen: what they keep
is measured. Bit j of a mask tells of the point in place j.
"""

from exactcp._jit import cgutils, intrinsic, ir, types

LEAF = 32  # points of a leaf


def _single():
    return ir.VectorType(ir.FloatType(), LEAF)


def _double():
    return ir.VectorType(ir.DoubleType(), LEAF)


def _zeros():
    return ir.Constant(_single(), [0.0] * LEAF)


@intrinsic
def within(typingctx, z, points, leaf, limit):  # noqa: ARG001  (the signature of every intrinsic)
    """Mask of the points of a leaf whose squared distance from z is at most the limit."""

    def code(context, builder, signature, args):
        squares = _squares(context, builder, signature, args)
        return _mask(builder, builder.fcmp_ordered("<=", squares, spread_value(builder, args[3], _single())))

    return types.int64(z, points, types.int64, types.float32), code


@intrinsic
def within_either(typingctx, z, points, leaf, limit, limits):  # noqa: ARG001
    """Mask of the points of a leaf whose squared distance from z is at most the limit, or their own."""

    def code(context, builder, signature, args):
        squares = _squares(context, builder, signature, args)
        at = builder.mul(args[2], args[2].type(LEAF))
        own = _load_lanes(builder, _data(context, builder, signature.args[4], args[4]), at, _single())
        larger = _larger(builder, own, spread_value(builder, args[3], _single()))
        return _mask(builder, builder.fcmp_ordered("<=", squares, larger))

    return types.int64(z, points, types.int64, types.float32, limits), code


@intrinsic
def within_cones(typingctx, z, points, leaf, radius, slope, score, least, most, room, grow):  # noqa: ARG001
    """Mask of the points with score >= least and distance <= r + room, r = radius - slope max(score - most, 0) >= 0."""

    def code(context, builder, signature, args):
        squares = builder.fpext(_squares(context, builder, signature, args), _double())
        at = builder.mul(args[2], args[2].type(LEAF))
        r, slopes, scores = (
            _load_lanes(builder, _data(context, builder, signature.args[i], args[i]), at, _double()) for i in (3, 4, 5)
        )
        floor, ceiling, room, grow = (spread_value(builder, args[i], _double()) for i in (6, 7, 8, 9))
        over = _larger(builder, builder.fsub(scores, ceiling), ir.Constant(_double(), [0.0] * LEAF))
        r = builder.fsub(r, builder.fmul(slopes, over))
        wide = builder.fadd(r, room)
        near = builder.fcmp_ordered("<=", squares, builder.fmul(builder.fmul(wide, wide), grow))
        asks = builder.fcmp_ordered(">=", r, ir.Constant(_double(), [0.0] * LEAF))
        matters = builder.fcmp_ordered(">=", scores, floor)
        return _mask(builder, builder.and_(near, builder.and_(asks, matters)))

    double = types.float64
    return types.int64(z, points, types.int64, radius, slope, score, double, double, double, double), code


@intrinsic
def near_box(typingctx, points, leaf, box, node, limits):  # noqa: ARG001
    """Mask of the points of a leaf whose squared distance from the box of a node is at most the limit, or their own.

    `limits` is a number, or an array of LEAF of them.
    """

    def code(context, builder, signature, args):
        points, box = (_data(context, builder, signature.args[i], args[i]) for i in (0, 2))
        q, start = _leaf_start(context, builder, signature.args[0], args[0], args[1])
        corner = builder.mul(builder.mul(args[3], q), q.type(2))
        total = cgutils.alloca_once_value(builder, _zeros())
        with cgutils.for_range(builder, q) as loop:
            values = _load_lanes(builder, points, builder.add(start, builder.mul(loop.index, q.type(LEAF))), _single())
            low = builder.add(corner, loop.index)
            least = spread_value(builder, builder.load(builder.gep(box, [low])), _single())
            most = spread_value(builder, builder.load(builder.gep(box, [builder.add(low, q)])), _single())
            gap = _larger(builder, builder.fsub(least, values), builder.fsub(values, most))
            _add_square(builder, total, _larger(builder, gap, _zeros()))
        if isinstance(limits, types.Float):
            own = spread_value(builder, args[4], _single())
        else:
            own = _load_lanes(builder, _data(context, builder, limits, args[4]), q.type(0), _single())
        return _mask(builder, builder.fcmp_ordered("<=", builder.load(total), own))

    return types.int64(points, types.int64, box, types.int64, limits), code


@intrinsic
def lowest(typingctx, mask):  # noqa: ARG001
    """Place of the lowest bit of a mask that has one."""

    def code(context, builder, signature, args):  # noqa: ARG001
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), code


def _data(context, builder, kind, array):
    return context.make_array(kind)(context, builder, array).data


def _leaf_start(context, builder, kind, array, leaf):
    """Number of features, and where the points of a leaf begin."""
    shape = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, array).shape)
    return shape[1], builder.mul(builder.mul(leaf, shape[1]), leaf.type(LEAF))


def _load_lanes(builder, data, at, vector):
    align = 4 if vector == _single() else 8
    return builder.load(builder.bitcast(builder.gep(data, [at]), vector.as_pointer()), align=align)


def spread_value(builder, value, vector):
    """A vector of one value."""
    empty = ir.Constant(vector, ir.Undefined)
    one = builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None))


def _larger(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _add_square(builder, total, values):
    builder.store(builder.fadd(builder.load(total), builder.fmul(values, values)), total)


def _squares(context, builder, signature, args):
    """Squared distances of a row from the points of a leaf: `args` begin with z, points, leaf."""
    z, points = (_data(context, builder, signature.args[i], args[i]) for i in (0, 1))
    q, start = _leaf_start(context, builder, signature.args[1], args[1], args[2])
    total = cgutils.alloca_once_value(builder, _zeros())
    with cgutils.for_range(builder, q) as loop:
        own = spread_value(builder, builder.load(builder.gep(z, [loop.index])), _single())
        values = _load_lanes(builder, points, builder.add(start, builder.mul(loop.index, q.type(LEAF))), _single())
        _add_square(builder, total, builder.fsub(own, values))
    return builder.load(total)


def _mask(builder, flags):
    return builder.zext(builder.bitcast(flags, ir.IntType(LEAF)), ir.IntType(64))
