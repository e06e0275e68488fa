"""Compiled loops of least squares.

`leave_one_out` has the leave-one-out residuals, and counts by them; `windows` looks only at those that a test object
can move across a candidate's score; `extents` counts and bounds for ridge regression; `updates` keeps small
products and rank-one updates.
"""
