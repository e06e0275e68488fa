"""Three ways to solve a ridge regression: `primal`, `dual` and `singular_values`.

`form` says what all three offer, and `choice` takes one of them; `tiled_cholesky` inverts on several threads.
"""
