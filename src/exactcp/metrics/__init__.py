"""Efficiency and validity of conformal predictors (theory EF).

``p`` of shape (m, l) has the p-values, a row per test object and a column per label, in the order of ``classes``;
``sets`` of the same shape says which labels are in the prediction set, ``p > epsilon`` (0.05 at level 0.95). The
criteria are means over the test objects, smaller is better, named as in Vovk, Nouretdinov, Fedorova, Petej and
Gammerman, "Criteria of efficiency for set-valued classification", AMAI 81 (2017): S, U, F and the observed OU, OF take
``p``; N, M, E and the observed OM, OE take ``sets``. The observed ones need the true labels ``y`` and look at the false
labels only.

Of regressors, `interval_coverage`, `mean_width`, `interval_score` and `pinball_loss` read intervals of shape (m, 2); of
Venn predictors, `log_loss` and `expected_calibration_error` read probabilities. `evaluate` judges a fitted predictor at
several levels at once; `coverage_by_group`, `coverage_by_bin`, `size_stratified_coverage` and `worst_slab_coverage`
look at parts of the test objects; `scorers` are for scikit-learn's searches.

Examples
--------
>>> import numpy as np
>>> from exactcp.metrics import coverage, fuzziness, set_size
>>> p, y = np.array([[0.75, 0.02], [0.25, 0.5], [0.04, 0.75]]), [0, 0, 1]
>>> round(fuzziness(p), 4), round(set_size(p > 0.05), 4), coverage(p > 0.05, y)
(0.1033, 1.3333, 1.0)
"""

from exactcp.metrics import scorers
from exactcp.metrics.bands import binomial_band, expected_coverage
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
from exactcp.metrics.evaluation import evaluate
from exactcp.metrics.groups import (
    CoverageTable,
    SlabCoverage,
    coverage_by_bin,
    coverage_by_group,
    size_stratified_coverage,
    worst_slab_coverage,
)
from exactcp.metrics.intervals import interval_coverage, interval_score, mean_width, pinball_loss
from exactcp.metrics.probabilities import expected_calibration_error, log_loss
from exactcp.metrics.summary import EfficiencySummary, efficiency_summary
from exactcp.metrics.validity import Uniformity, coverage, error_by_label, error_rate, p_value_uniformity

__all__ = [
    "Comparison",
    "CoverageTable",
    "EfficiencySummary",
    "SlabCoverage",
    "Uniformity",
    "binomial_band",
    "compare",
    "coverage",
    "coverage_by_bin",
    "coverage_by_group",
    "crps",
    "crps_per_object",
    "efficiency_summary",
    "error_by_label",
    "error_rate",
    "evaluate",
    "excess",
    "expected_calibration_error",
    "expected_coverage",
    "fuzziness",
    "fuzziness_per_object",
    "interval_coverage",
    "interval_score",
    "log_loss",
    "mean_fuzziness",
    "mean_width",
    "multiple_fraction",
    "observed_excess",
    "observed_fuzziness",
    "observed_multiple_fraction",
    "observed_unconfidence",
    "p_value_uniformity",
    "pinball_loss",
    "purity",
    "scorers",
    "select",
    "set_size",
    "size_stratified_coverage",
    "sum_of_p",
    "unconfidence",
    "worst_slab_coverage",
]
