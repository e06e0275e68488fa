"""Any scikit-learn model as a measure: `_score` of a classifier, `_residual` of a regressor; `_refit_bag` refits it."""
