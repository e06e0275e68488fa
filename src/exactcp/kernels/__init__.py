"""Compiled loops: arrays in, arrays out, no estimators.

Who calls whom, for the nearest-neighbour measures:

- `ties` is the one tie rule; everything that compares scores asks it for its band.
- `label_counts` is what every bag answers: counts for every test object and label.
- `label_ranks` counts for all labels at once.
- `sorted_lists` keeps the k smallest distances of an example and sums them in ascending order.
- `distances` computes Euclidean distances by direct differences: the only distances that enter a score.
- `screen` decides with one matrix product, and a bound on its rounding error, which pairs need a distance at all.
- `sketch` does so before it with a shorter product, where the data are near a subspace, as images are.
- `neighbour_fit` fills the lists of the training examples (screened, or from blocks of distances).
- `neighbour_search` finds, for test objects, the k nearest of each label and the training examples they touch.
- `neighbour_count` turns both into scores and counts for all labels.
- `neighbour_stream` counts an example of a stream against all before it, and learns it, from one row of distances.
- `venn_votes` counts the votes of neighbours for Venn prediction, with `member_search` for who they are.

For LS-SVM, `loo_count` counts leave-one-out scores, `loo_order` and `loo_window` only those that a test object can
move across a candidate's, `loo_fits` gives the fits themselves, and `matrix_update` keeps small products and rank-one
updates. For KDE, `kde_kernels` are the kernels, `kde_sums`, `kde_dense`, `kde_screen` three ways to sum them,
`kde_update` learns.

For forests, `forest_layout` says how a tree lies in memory, `forest_hash` draws the features of a node, `forest_items`
puts its examples in order, `forest_cuts` finds its best cut and keeps its rivals, `forest_grow` grows trees from them;
`forest_walk` notes what a test object changes, `forest_regrow` grows a branch with it, `forest_count` counts votes.

For regression, `affine_sets` tells for which targets an example is at least as strange, and counts; `ridge_sets` does
so for blocks of test objects and ridge regression. For k-NN, `member_search` finds all who are as near as the k-th,
`neighbour_mean` takes their mean, `residual_count` counts and bounds, and `residual_update` learns.
"""
