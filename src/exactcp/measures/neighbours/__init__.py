"""Nearest neighbours: NN, KNN and SimplifiedKNN, k-NN regression, and the k-NN taxonomy of Venn prediction.

- `_classification` has the measures of classification, `_regression` that of regression.
- `_label_lists` learn and unlearn examples with labels, `_label_stream` counts them as they come, `_label_bag` counts
  for test objects. `_target_bag` and `_category_bag` learn and unlearn examples with targets, and with labels
  that vote; `_neighbourhood_bag` is what the latter two keep.
- `_filling` fills the lists of all examples, `_search` finds who is near a test object, `_left_out` leaves one example
  out, `_tuning` says from which sizes routes differ.
- `_streaming` counts and learns a stream. `_trees` grows the trees of all three; `_choosing` measures whether they are
  faster than products, `_route` names the two.
- `kernels` are the compiled loops.
"""
