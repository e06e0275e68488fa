"""Compiled loops: arrays in, arrays out, no estimators.

Who calls whom, for the nearest-neighbour measures:

- `ties` is the one tie rule; everything that compares scores asks it for its band.
- `label_counts` is what every bag answers: counts for every test object and label.
- `label_ranks` counts for all labels at once.
- `sorted_lists` keeps the k smallest distances of an example and sums them in ascending order.
- `distances` computes Euclidean distances by direct differences: the only distances that enter a score.
- `screen` decides with one matrix product, and a bound on its rounding error, which pairs need a distance at all.
- `neighbour_fit` fills the lists of the training examples (screened, or from blocks of distances).
- `neighbour_search` finds, for test objects, the k nearest of each label and the training examples they touch.
- `neighbour_count` turns both into scores and counts for all labels.

For LS-SVM, `loo_count` counts leave-one-out scores and `matrix_update` keeps small products and rank-one updates. For
KDE, `kde_kernels` are the kernels, `kde_sums`, `kde_dense`, `kde_screen` three ways to sum them, `kde_update` learns.
"""
