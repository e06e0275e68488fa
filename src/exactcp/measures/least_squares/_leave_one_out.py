"""Leave-one-out values: what every label's regression gives at the training examples, each left out (theory LS.2)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp.measures.least_squares.small import loo_values


class LeaveOneOut(NamedTuple):
    """Every label's regression at the training examples, each left out, with one of m test objects in the bag."""

    G: np.ndarray  # (m, n)
    d: np.ndarray  # (m,)
    F: np.ndarray  # (m, l) the regressions' values at the test objects
    residuals: np.ndarray  # (l, n)
    targets: np.ndarray  # (l, n)
    divisors: np.ndarray  # (n,) 1 - h_i

    def values(self, t: int, label: int) -> np.ndarray:
        """Return the values (2, n) in one label's regression if test object t has another label, and if it has this."""
        residuals, targets = self.residuals[label], self.targets[label]
        return np.asarray(loo_values(self.G[t], residuals, self.divisors, targets, self.d[t], self.F[t, label]))
