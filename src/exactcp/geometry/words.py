"""Flags that are read eight at a time, since few of them are set.

`flags.view(np.uint64)` would do, but for the error message that numba compiles with it, into every loop that reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp._jit import IS_INTERPRETED, intrinsic, ir, types

WORD = 8  # flags, a byte each


def read_word(flags: np.ndarray, w: int) -> np.uint64:
    """Return the flags from WORD * w on as one number, which is 0 if none of them is set."""
    word: np.uint64 = flags[WORD * w : WORD * w + WORD].view(np.uint64)[0]
    return word


@intrinsic
def _load_word(typing_context: Any, flags: Any, w: Any) -> Any:  # noqa: ARG001
    """Do the same, compiled; nothing checks that the flags are there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        words = builder.bitcast(data, ir.IntType(64).as_pointer())
        word = builder.load(builder.gep(words, [arguments[1]]))
        word.align = 1
        return word

    return types.uint64(flags, types.intp), generate


word_at: Any = read_word if IS_INTERPRETED else _load_word
