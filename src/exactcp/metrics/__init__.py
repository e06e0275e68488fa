"""Efficiency and validity of conformal predictors (theory EF).

``p`` of shape (m, l) has the p-values, a row per test object and a column per label, in the order of ``classes``;
``sets`` of the same shape says which labels are in the prediction set, ``p > epsilon`` (0.05 at level 0.95).
`efficiency_summary` has the ten criteria of Vovk, Nouretdinov, Fedorova, Petej and Gammerman, "Criteria of efficiency
for set-valued classification", AMAI 81 (2017): means over the test objects, smaller is better. The observed ones need
the true labels ``y`` and look at the false labels only.

Of regressors, `interval_coverage`, `mean_width` and `interval_score` read intervals of shape (m, 2), `crps` reads
distributions; of Venn predictors, `expected_calibration_error` reads probabilities. `evaluate` judges a fitted
predictor at several levels at once; `coverage_by_group`, `coverage_by_bin`, `size_stratified_coverage` and
`worst_slab_coverage` look at parts of the test objects; `scorers` are for scikit-learn's searches.

- `labels` judges sets, p-values and probabilities of labels; `intervals` intervals and distributions; `groups` parts.
- `bands` says what chance can do: bands, the coverage to expect, tests. `_inputs` checks what all of them read.

Examples
--------
>>> import numpy as np
>>> from exactcp.metrics import coverage, fuzziness, set_size
>>> p, y = np.array([[0.75, 0.02], [0.25, 0.5], [0.04, 0.75]]), [0, 0, 1]
>>> round(fuzziness(p), 4), round(set_size(p > 0.05), 4), coverage(p > 0.05, y)
(0.1033, 1.3333, 1.0)
"""

from exactcp.metrics import scorers
from exactcp.metrics.bands import binomial_band, expected_coverage, p_value_uniformity, paired_test, select_discoveries
from exactcp.metrics.evaluation import evaluate
from exactcp.metrics.groups import coverage_by_bin, coverage_by_group, size_stratified_coverage, worst_slab_coverage
from exactcp.metrics.intervals import crps, interval_coverage, interval_score, mean_width
from exactcp.metrics.labels import (
    coverage,
    efficiency_summary,
    error_by_label,
    expected_calibration_error,
    fuzziness,
    observed_fuzziness,
    set_size,
)

__all__ = [
    "binomial_band",
    "coverage",
    "coverage_by_bin",
    "coverage_by_group",
    "crps",
    "efficiency_summary",
    "error_by_label",
    "evaluate",
    "expected_calibration_error",
    "expected_coverage",
    "fuzziness",
    "interval_coverage",
    "interval_score",
    "mean_width",
    "observed_fuzziness",
    "p_value_uniformity",
    "paired_test",
    "scorers",
    "select_discoveries",
    "set_size",
    "size_stratified_coverage",
    "worst_slab_coverage",
]
