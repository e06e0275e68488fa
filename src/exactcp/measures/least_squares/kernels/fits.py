"""Leave-one-out values of a ridge regression, for both targets that a test object may have (theory LS.2)."""

import numpy as np

from exactcp._jit import compiled


@compiled(error_model="numpy")
def loo_values(g, residuals, slack, targets, d, F):
    """Values (2, n) at the examples, each left out, if the test object has target -1, and +1.

    The value is t_i - r_i(t), r_i(t) = (d e0_i - g_i (t - F)) / (d (1 - h_i) + g_i^2).
    """
    n = g.shape[0]
    out = np.empty((2, n))
    for i in range(n):
        below = d * slack[i] + g[i] * g[i]
        out[0, i] = targets[i] - (d * residuals[i] - g[i] * (-1.0 - F)) / below
        out[1, i] = targets[i] - (d * residuals[i] - g[i] * (1.0 - F)) / below
    return out
