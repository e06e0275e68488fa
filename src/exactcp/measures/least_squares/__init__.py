"""Least squares: LS-SVM and ridge regression, with features or with kernels.

- `_lssvm` and `_ridge` are the measures, `_parameters` what they share.
- `_lssvm_bag` and `_ridge_bag` learn and unlearn; `_left_out` leaves one example out.
- `_features` keeps rows of features, `_kernel_matrix` a kernel matrix; `_kernel_function`, `_polynomial_map` make them.
- `factorisations` solve: in the primal, in the dual, or by singular values.
- `kernels` are the compiled loops.
"""
