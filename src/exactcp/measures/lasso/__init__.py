"""The lasso: `_lasso` is the measure, `_bag` learns and unlearns, `kernels` follow its solution as a target varies."""
