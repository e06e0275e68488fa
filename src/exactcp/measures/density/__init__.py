"""Density: kernel density estimation, label by label.

`_kde` is the measure, `_bag` learns and unlearns, `_label_sums` keeps the sums of kernels of one label, and `_routes`
counts for test objects by the route that fits the data: blocks of all pairs, or those few that a screen leaves.
"""
