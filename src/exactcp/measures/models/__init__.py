"""Any model as a measure: `_score` of a classifier, `_residual` of a regressor, `_quantile` of two quantiles.

- A classifier's `_label_outputs` become scores by `_score_formulas`; `_fixed_label_bag` keeps those that never change.
- `_refit_bag` refits a regressor for every target, `_fixed_target_bag` needs no refit where nothing is learned;
  `_difficulty` tells how wide intervals are, and `_regressors` what is asked of other people's models.
"""
