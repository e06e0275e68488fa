"""What predictors share.

- `labels` and `intervals` are the questions that classifiers and regressors answer; `levels` says a word about levels
  that there are too few examples for.
- `learning` learns and unlearns labelled examples; `taxonomy` says which examples a p-value compares with.
- `calibration` fits a measure on one part and calibrates it with another; `left_out_models` leave each example out of
  one of them.
"""
