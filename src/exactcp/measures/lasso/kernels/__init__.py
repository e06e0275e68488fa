"""Compiled loops of the lasso.

`start` solves it, `path` follows the solution as one target varies, `qr` factorises the columns that take part.
"""
