"""Learning and unlearning one example in the sums of kernels of its label (theory DE.6).

`error` bounds the absolute error of each `total`. It grows with every addition and subtraction by their rounding; a sum
whose error outgrows DRIFT, or of which half or more is taken away, is made anew from its kernels. Sums after a change
are written beside those before it.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled
from exactcp.measures.density.kernels.log_sums import add_term, sum_logs

DIRECT = 1e-13  # relative error of a kernel, or a sum of kernels, by direct differences
DRIFT = 4e-11  # largest relative error of a sum; two of them are within the tie rule's 1e-10
ROUNDING = 2.0**-52


class Sums(NamedTuple):
    """The sum of each example's kernels with the others of its label, by slot."""

    top: np.ndarray  # (n,)
    total: np.ndarray
    error: np.ndarray


def new_sums(n):
    """Return sums with anything in them."""
    return Sums(np.empty(n), np.empty(n), np.empty(n))


@compiled
def learn_logs(logs, old, new):
    """Add the example of slot n = len(logs), which has these log kernels with slots 0..n-1."""
    n = logs.shape[0]
    for i in range(n):
        k, top, total, error = logs[i], old.top[i], old.total[i], old.error[i]
        if k > -np.inf:
            if k > top:
                error *= math.exp(top - k)
            top, total = add_term(top, total, k)
            error += ROUNDING * total + DIRECT * math.exp(k - top)
        new.top[i], new.total[i], new.error[i] = top, total, error
    new.top[n], new.total[n] = sum_logs(logs)
    new.error[n] = DIRECT * new.total[n]


@compiled
def unlearn_logs(logs, slot, old, new):
    """Take the example of a slot, which has these log kernels, out of the others' sums; the last one moves there.

    Returns the slots, after that, of the sums to make anew.
    """
    last = logs.shape[0] - 1
    anew = np.empty(last, np.int64)
    used = 0
    for i in range(last):
        j = last if i == slot else i
        top, total, error = old.top[j], old.total[j], old.error[j]
        term = math.exp(logs[j] - top) if logs[j] > -np.inf else 0.0
        if term > 0.0:
            error += ROUNDING * total + DIRECT * term
            rest = total - term
            if 2.0 * term < total and error <= DRIFT * rest:
                total = rest
            else:
                anew[used] = i
                used += 1
        new.top[i], new.total[i], new.error[i] = top, total, error
    return anew[:used].copy()
