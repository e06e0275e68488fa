"""Sorted lists of the examples of a leaf, into which distances go without a branch (theory TR.3).

A list is a row of `keys`: ROOM times -inf, then the smallest distances in ascending order, +inf where there are none
yet. When d joins, the entry at i becomes min(key_i, max(d, key_{i-1})); the entries of a register are made together.
"""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from exactcp._jit import cgutils, inner, intrinsic, ir, types
from exactcp.geometry.lanes import LEAF, spread_value

ROOM = 8  # entries of a register


def _keys():
    return ir.VectorType(ir.DoubleType(), ROOM)


def _partners():
    return ir.VectorType(ir.IntType(64), ROOM)


class LaneLists(NamedTuple):
    """The lists of the examples of a leaf."""

    keys: np.ndarray  # (LEAF, ROOM + entries)
    partners: np.ndarray  # likewise, or of width 0: slot of the example at each distance
    found: np.ndarray  # (LEAF,) how many distances have come


@inner
def new_lane_lists(k, with_partners):
    """Lists of at least k entries."""
    width = ROOM + (k + ROOM - 1) // ROOM * ROOM
    partners = np.zeros((LEAF, width if with_partners else 0), np.int64)
    return LaneLists(np.full((LEAF, width), -np.inf), partners, np.zeros(LEAF, np.int64))


@inner
def clear(lists):
    """Take everything out."""
    lists.keys[:, ROOM:] = np.inf
    lists.found[:] = 0


@intrinsic
def join(typingctx, keys, partners, found, row, d, partner):  # noqa: ARG001  (the signature of every intrinsic)
    """Let d join a row of keys, and a partner the same place of theirs if there are partners.

    It is one instruction to numba, which would count references around a function.
    """

    def code(context, builder, signature, args):  # noqa: ARG001
        keys, partners, found = (context.make_array(kind)(context, builder, args[i]) for i, kind in enumerate(arrays))
        row, d, partner = args[3], spread_value(builder, args[4], _keys()), spread_value(builder, args[5], _partners())
        place = builder.gep(found.data, [row])
        size = builder.load(place)
        width = cgutils.unpack_tuple(builder, partners.shape)[1]
        with builder.if_else(builder.icmp_signed("==", width, width.type(0))) as (alone, accompanied):
            with alone, _registers_from_the_end(builder, keys, row) as (at, _):
                own, before = (_load_register(builder, keys.data, at, back, _keys()) for back in (0, 1))
                larger = builder.select(builder.fcmp_ordered(">", d, before), d, before)
                _store_register(
                    builder, builder.select(builder.fcmp_ordered("<", own, larger), own, larger), keys.data, at
                )
            with accompanied, _registers_from_the_end(builder, keys, row) as (at, first):
                own, before = (_load_register(builder, keys.data, at, back, _keys()) for back in (0, 1))
                companion, companion_before = (
                    _load_register(builder, partners.data, at, back, _partners()) for back in (0, 1)
                )
                is_used = builder.icmp_signed(
                    "<", _numbers_from(builder, first), spread_value(builder, size, _partners())
                )
                stays = builder.and_(builder.fcmp_ordered("<=", own, d), is_used)  # also where d is infinite
                moves = builder.fcmp_ordered(">", before, d)
                for mine, shifted, new, data in (
                    (own, before, d, keys.data),
                    (companion, companion_before, partner, partners.data),
                ):
                    _store_register(builder, builder.select(stays, mine, builder.select(moves, shifted, new)), data, at)
        builder.store(builder.add(size, size.type(1)), place)
        return context.get_dummy_value()

    arrays = (keys, partners, found)
    return types.void(*arrays, types.int64, types.float64, types.int64), code


@contextmanager
def _registers_from_the_end(builder, keys, row):
    """A loop over the registers of a row, the last first: each reads an entry of the one before.

    Yield where the register is, and which entry of the list its first is.
    """
    width = cgutils.unpack_tuple(builder, keys.shape)[1]
    size = width.type(ROOM)
    end = builder.mul(builder.add(row, row.type(1)), width)
    with cgutils.for_range(builder, builder.sub(builder.udiv(width, size), width.type(1))) as loop:
        back = builder.mul(builder.add(loop.index, width.type(1)), size)
        yield builder.sub(end, back), builder.sub(builder.sub(width, size), back)


def _numbers_from(builder, first):
    """A register of first, first + 1, ..."""
    return builder.add(spread_value(builder, first, _partners()), ir.Constant(_partners(), list(range(ROOM))))


def _load_register(builder, data, at, back, vector):
    """A register that begins some entries before a place."""
    place = builder.gep(data, [builder.sub(at, at.type(back))])
    return builder.load(builder.bitcast(place, vector.as_pointer()), align=8)


def _store_register(builder, values, data, at):
    builder.store(values, builder.bitcast(builder.gep(data, [at]), values.type.as_pointer()), align=8)
