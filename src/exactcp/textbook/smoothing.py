"""The random numbers of smoothed p-values: one for each object, or for each step of a stream."""

from __future__ import annotations

import struct

import numpy as np

from exactcp.textbook.forest import splitmix64

_OBJECT, _STEP = 3, 4  # numbers for different purposes are independent


def tau_of_object(seed: int, x: np.ndarray) -> float:
    """Return a number in (0, 1]: splitmix64 over the words of the object's numbers, of which -0.0 is 0.0.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook import tau_of_object
    >>> round(tau_of_object(0, np.array([1.0, -0.0])), 3)
    0.692
    """
    key = splitmix64(seed ^ (_OBJECT << 32))
    for number in x.tolist():
        (word,) = struct.unpack("<Q", struct.pack("<d", number + 0.0))
        key = splitmix64(key ^ word)
    return ((key >> 11) + 1) / 2**53


def tau_of_step(seed: int, step: int) -> float:
    """Return a number in (0, 1]: splitmix64 of the position in the stream.

    Examples
    --------
    >>> from exactcp.textbook import tau_of_step
    >>> [round(tau_of_step(0, step), 3) for step in range(3)]
    [0.78, 0.189, 0.075]
    """
    return ((splitmix64(splitmix64(seed ^ (_STEP << 32)) ^ step) >> 11) + 1) / 2**53
