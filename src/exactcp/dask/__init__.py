"""More examples than a machine holds: full conformal prediction on Dask, with the counts of one machine.

- `_classifier` and `_regressor` are what users see; `_front` is what they have in common.
- `_parts` makes parts of what users give, and Dask arrays of answers.
- `_questions` are the plain predictors without their bags: they check parts, and say what counts mean.
- `_graph` holds the tasks of measures under names that depend on their arguments alone; `_running` has them done, by
  the workers of a cluster, where shards have homes (`_homes`), or by threads, which put what is large into files
  (`_aside`) and read mapped ones part by part (`_mapped`).

No formula is here: a measure says what it does with shards (`exactcp.measures`), a plain predictor what comes of it.
"""

from exactcp.dask._classifier import DaskFullConformalClassifier
from exactcp.dask._regressor import DaskFullConformalRegressor

__all__ = ["DaskFullConformalClassifier", "DaskFullConformalRegressor"]
