"""Nearest neighbours: NN, KNN and SimplifiedKNN, k-NN regression, and the k-NN taxonomy of Venn prediction.

- `_nn`, `_knn`, `_simplified_knn` are the measures of classification, `_classification` what they share; `_regression`
  is the measure of regression.
- `_label_bag`, `_target_bag` and `_category_bag` learn and unlearn examples with labels, with targets, and with labels
  that vote; `_search` finds who is near a test object; `_left_out` leaves one example out.
- `kernels` are the compiled loops.
"""
