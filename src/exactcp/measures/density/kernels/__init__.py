"""Compiled loops of kernel density estimation.

`kernel_functions` are the kernels by their logarithms; `log_sums`, `dense` and `screened` are three ways to sum them;
`learning` takes an example into the sums of its label and out of them.
"""
