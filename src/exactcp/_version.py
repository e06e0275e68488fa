"""The version of this package, and of what its estimators keep, where every module can read them."""

__version__ = "0.1.0"
STATE_FORMAT = 1  # counted up when an attribute of a fitted estimator, or of what it holds, comes, goes or changes
