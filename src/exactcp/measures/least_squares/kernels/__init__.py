"""Compiled loops of least squares.

`leave_one_out` counts leave-one-out scores, `order` and `windows` only those that a test object can move across a
candidate's, `fits` gives the fits themselves; `extents` counts and bounds for ridge regression; `updates` keeps small
products and rank-one updates.
"""
