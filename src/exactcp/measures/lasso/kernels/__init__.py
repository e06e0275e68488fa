"""Compiled loops of the lasso.

`start` solves it, `path` follows the solution as one target varies, `qr` is the factorisation of the columns that take part.
"""
