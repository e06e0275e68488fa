"""Three ways to solve a ridge regression: `primal`, `dual` and `singular_values`; `form` says what all three offer."""
