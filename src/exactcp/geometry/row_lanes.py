"""Test objects side by side, one in each lane of a vector, on their way past a training example (theory NN.15).

numba does not vectorise such loops, which are short; these are three times faster. Arrays of test objects are padded to
whole groups of GROUP. What is found here only bounds or screens, so that any rounding has its allowance elsewhere.
"""

from exactcp._jit import cgutils, intrinsic, ir, types

GROUP = 32  # test objects of a group


@intrinsic
def keep_largest(typingctx, values, best, group, length):  # noqa: ARG001  (the signature of every intrinsic)
    """Insert values (groups * GROUP,) of a group into its `length` largest: best (groups, depth, GROUP), descending."""

    def code(context, builder, signature, args):
        lanes = _Lanes(context, builder, signature.args[0].dtype)
        integer = args[2].type
        own = lanes.load(lanes.data(signature.args[0], args[0]), builder.mul(args[2], integer(GROUP)))
        shape = cgutils.unpack_tuple(builder, context.make_array(signature.args[1])(context, builder, args[1]).shape)
        data = builder.gep(
            lanes.data(signature.args[1], args[1]), [builder.mul(builder.mul(args[2], shape[1]), integer(GROUP))]
        )
        last = builder.sub(args[3], integer(1))
        smallest = lanes.load(data, builder.mul(last, integer(GROUP)))
        enters = lanes.mask(builder.fcmp_ordered(">", own, smallest))
        with builder.if_then(builder.icmp_unsigned("!=", enters, enters.type(0))):
            below = cgutils.alloca_once_value(builder, smallest)
            with cgutils.for_range_slice(builder, last, integer(0), integer(-1), integer, inc=False) as (i, _):
                above = lanes.load(data, builder.mul(builder.sub(i, integer(1)), integer(GROUP)))
                larger = lanes.choose(">", own, builder.load(below))
                lanes.store(lanes.choose("<", larger, above), data, builder.mul(i, integer(GROUP)))
                builder.store(above, below)
            lanes.store(lanes.choose(">", own, lanes.load(data, integer(0))), data, integer(0))
        return context.get_dummy_value()

    return types.void(values, best, types.int64, types.int64), code


@intrinsic
def hits_among(typingctx, values, group, least, reach, half):  # noqa: ARG001
    """Mask of the lanes of a group with value > least, or value + reach > half."""

    def code(context, builder, signature, args):
        lanes = _Lanes(context, builder, signature.args[0].dtype)
        at = builder.mul(args[1], args[1].type(GROUP))
        own, least, half = (lanes.load(lanes.data(signature.args[i], args[i]), at) for i in (0, 2, 4))
        near = builder.fcmp_ordered(">", own, least)
        touching = builder.fcmp_ordered(">", builder.fadd(own, lanes.spread(args[3])), half)
        return lanes.mask(builder.or_(near, touching))

    return types.int64(values, types.int64, least, values.dtype, half), code


class _Lanes:
    """Vectors of GROUP numbers of one type."""

    def __init__(self, context, builder, dtype):
        self._context, self._builder = context, builder
        kind = context.get_value_type(dtype)
        self._vector = ir.VectorType(kind, GROUP)
        self._align = 4 if isinstance(kind, ir.FloatType) else 8

    def data(self, kind, array):
        return self._context.make_array(kind)(self._context, self._builder, array).data

    def _place(self, data, at):
        return self._builder.bitcast(self._builder.gep(data, [at]), self._vector.as_pointer())

    def load(self, data, at):
        return self._builder.load(self._place(data, at), align=self._align)

    def store(self, values, data, at):
        self._builder.store(values, self._place(data, at), align=self._align)

    def choose(self, order, a, b):
        return self._builder.select(self._builder.fcmp_ordered(order, a, b), a, b)

    def spread(self, value):
        empty = ir.Constant(self._vector, ir.Undefined)
        one = self._builder.insert_element(empty, value, ir.Constant(ir.IntType(32), 0))
        return self._builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(ir.IntType(32), GROUP), [0] * GROUP))

    def mask(self, flags):
        return self._builder.zext(self._builder.bitcast(flags, ir.IntType(GROUP)), ir.IntType(64))
