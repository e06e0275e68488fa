"""Any model as a measure: `_score` of a classifier, `_residual` of a regressor; `_refit_bag` refits it.

A classifier's `_label_outputs` become scores by `_score_formulas`; `_fixed_label_bag` keeps those that never change.
"""
