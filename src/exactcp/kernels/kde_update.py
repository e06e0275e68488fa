"""Learning and unlearning one example in the sums of kernels of its label (SPEC B).

`error` bounds the absolute error of each `total`. It grows with every addition and subtraction by their rounding; a sum
whose error outgrows DRIFT, or of which half or more is taken away, is made anew from its kernels.
"""

import math

import numpy as np
from numba import njit

from exactcp.kernels.kde_sums import add_term, sum_logs

DIRECT = 1e-13  # relative error of a kernel, or a sum of kernels, by direct differences
DRIFT = 4e-11  # largest relative error of a sum; two of them are within the tie rule's 1e-10
ROUNDING = 2.0**-52


@njit(cache=True, nogil=True)
def learn_logs(logs, top, total, error):
    """Add the example of slot n = len(logs), which has these log kernels with slots 0..n-1."""
    n = logs.shape[0]
    for i in range(n):
        k = logs[i]
        if k > -np.inf:
            if k > top[i]:
                error[i] *= math.exp(top[i] - k)
            top[i], total[i] = add_term(top[i], total[i], k)
            error[i] += ROUNDING * total[i] + DIRECT * math.exp(k - top[i])
    top[n], total[n] = sum_logs(logs)
    error[n] = DIRECT * total[n]


@njit(cache=True, nogil=True)
def unlearn_logs(logs, slot, top, total, error):
    """Take the example of a slot, which has these log kernels, out of the others' sums; return those to make anew."""
    anew = np.empty(logs.shape[0], np.int64)
    used = 0
    for i in range(logs.shape[0]):
        term = math.exp(logs[i] - top[i]) if i != slot and logs[i] > -np.inf else 0.0
        if term > 0.0:
            error[i] += ROUNDING * total[i] + DIRECT * term
            rest = total[i] - term
            if 2.0 * term < total[i] and error[i] <= DRIFT * rest:
                total[i] = rest
            else:
                anew[used] = i
                used += 1
    return anew[:used]
