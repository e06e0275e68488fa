"""Flags that are read eight at a time: the same word in compiled code and in Python, wherever the flags begin."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from exactcp.geometry.words import WORD, read_word, word_at


@njit
def _word(flags, w):
    return word_at(flags, w)


@pytest.mark.parametrize("first", [0, 1, 3])
def test_a_word_is_eight_flags(first):
    flags = np.zeros(64, np.uint8)[first : first + 3 * WORD]
    assert [_word(flags, w) for w in range(3)] == [0, 0, 0]
    for j in range(flags.size):
        flags[:] = 0
        flags[j] = 1
        words = [int(_word(flags, w)) for w in range(3)]
        assert words == [int(read_word(flags, w)) for w in range(3)]
        assert [w for w, word in enumerate(words) if word] == [j // WORD]
