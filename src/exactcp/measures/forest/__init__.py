"""Forests and other ensembles of bootstrap samples.

`_random_forest` and `_bootstrap` are the measures, `_forest_bag` and `_bootstrap_bag` learn and unlearn; `_resampling`
draws the samples, `_rank_codes` turns values into ranks, `_trees` grows trees from them; `kernels` are compiled loops.
"""
