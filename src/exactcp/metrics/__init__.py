"""Efficiency and validity of conformal classifiers (theory EF).

``p`` of shape (m, l) has the p-values, a row per test object and a column per label, in the order of ``classes``;
``sets`` of the same shape says which labels are in the prediction set, ``p > epsilon`` (0.05 at level 0.95). The
criteria are means over the test objects, smaller is better, named as in Vovk, Nouretdinov, Fedorova, Petej and
Gammerman, "Criteria of efficiency for set-valued classification", AMAI 81 (2017): S, U, F and the observed OU, OF take
``p``; N, M, E and the observed OM, OE take ``sets``. The observed ones need the true labels ``y`` and look at the false
labels only.

Examples
--------
>>> import numpy as np
>>> from exactcp.metrics import coverage, fuzziness, set_size
>>> p, y = np.array([[0.75, 0.02], [0.25, 0.5], [0.04, 0.75]]), [0, 0, 1]
>>> round(fuzziness(p), 4), round(set_size(p > 0.05), 4), coverage(p > 0.05, y)
(0.1033, 1.3333, 1.0)
"""

from exactcp.metrics.clustering import purity
from exactcp.metrics.comparison import Comparison, compare
from exactcp.metrics.criteria import (
    excess,
    fuzziness,
    fuzziness_per_object,
    mean_fuzziness,
    multiple_fraction,
    observed_excess,
    observed_fuzziness,
    observed_multiple_fraction,
    observed_unconfidence,
    set_size,
    sum_of_p,
    unconfidence,
)
from exactcp.metrics.discoveries import select
from exactcp.metrics.distribution import crps, crps_per_object
from exactcp.metrics.summary import EfficiencySummary, efficiency_summary
from exactcp.metrics.validity import coverage, error_by_label, error_rate

__all__ = [
    "Comparison",
    "EfficiencySummary",
    "compare",
    "coverage",
    "crps",
    "crps_per_object",
    "efficiency_summary",
    "error_by_label",
    "error_rate",
    "excess",
    "fuzziness",
    "fuzziness_per_object",
    "mean_fuzziness",
    "multiple_fraction",
    "observed_excess",
    "observed_fuzziness",
    "observed_multiple_fraction",
    "observed_unconfidence",
    "purity",
    "select",
    "set_size",
    "sum_of_p",
    "unconfidence",
]
