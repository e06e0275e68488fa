"""The numbers that the founding paper prints (ICML 2021, arXiv 2102.03236), in seconds unless told otherwise.

Its machine had 48 threads (two Xeon E5-2680 v3); times are of one core, except for the parallel column.
"""

from __future__ import annotations

import math
from typing import NamedTuple

MINUTE, HOUR = 60.0, 3600.0


class Printed(NamedTuple):
    """A time that the paper prints: for which n, how long, and how it says so if not plainly."""

    n: int
    seconds: float
    remark: str = ""


# section 6.1: one prediction
PREDICTION = {
    ("KNN", "standard"): Printed(100_000, 2 * HOUR, "about 2 h"),
    ("KNN", "optimized"): Printed(100_000, 0.63),
    ("LSSVM", "standard"): Printed(100_000, 24.5 * HOUR, "more than 24.5 h"),
    ("LSSVM", "optimized"): Printed(100_000, 0.21, "0.21 s (elsewhere 6.68 s)"),
    ("LSSVM", "split"): Printed(100_000, 0.16),
    ("KDE", "optimized"): Printed(100_000, 0.46),
    ("KDE", "split"): Printed(100_000, 0.31),
    ("RandomForest", "standard"): Printed(46_415, 82 * HOUR),
    ("RandomForest", "optimized"): Printed(46_415, 43 * HOUR),
    # section 7, regression
    ("KNNResidual", "standard"): Printed(100_000, 1 * HOUR),
    ("KNNResidual", "optimized"): Printed(100_000, 9.3),
    ("KNNResidual", "split"): Printed(100_000, 4.6e-3),
}

# section 6.2: training
TRAINING = {("KNN", "optimized"): Printed(100_000, 2.2 * HOUR)}

# table 2: training and prediction of MNIST; a number of predictions instead of a time where 48 hours ran out
MNIST_TIMES: dict[tuple[str, str], tuple[float, float | None, int | None]] = {
    ("NN", "standard"): (0, None, 1),
    ("SimplifiedKNN", "standard"): (0, None, 1),
    ("KNN", "standard"): (0, None, 0),
    ("KDE", "standard"): (0, None, 1),
    ("RandomForest", "standard"): (0, None, 0),
    ("NN", "optimized"): (34 * MINUTE + 5, 7 * HOUR + 9 * MINUTE, None),
    ("SimplifiedKNN", "optimized"): (29, 4 * HOUR + 36 * MINUTE, None),
    ("KNN", "optimized"): (34 * MINUTE + 17, 7 * HOUR + 21 * MINUTE, None),
    ("KDE", "optimized"): (HOUR + 17 * MINUTE, 29 * HOUR + 13 * MINUTE, None),
    ("RandomForest", "optimized"): (48, None, 0),
    ("NN", "split"): (22 * MINUTE + 58, 2 * HOUR + 38 * MINUTE, None),
    ("SimplifiedKNN", "split"): (3 * MINUTE + 47, HOUR + 38 * MINUTE, None),
    ("KNN", "split"): (20 * MINUTE + 25, 2 * HOUR + 29 * MINUTE, None),
    ("KDE", "split"): (HOUR + 30 * MINUTE, 6 * HOUR + 13 * MINUTE, None),
    ("RandomForest", "split"): (21, HOUR + 25 * MINUTE, None),
}

# the fuzziness table: mean and standard deviation of F / 9; all four differences are significant there
FUZZINESS = {
    ("NN", "optimized"): (0.00047, 0.00105),
    ("NN", "split"): (0.00065, 0.00143),
    ("SimplifiedKNN", "optimized"): (0.04998, 0.07151),
    ("SimplifiedKNN", "split"): (0.05684, 0.07744),
    ("KNN", "optimized"): (0.00066, 0.00125),
    ("KNN", "split"): (0.00098, 0.00174),
    ("KDE", "optimized"): (0.04494, 0.07005),
    ("KDE", "split"): (0.16791, 0.11729),
}

# table 3: 300 predictions from 700 examples, with one process and with 48; mean and standard deviation of 5 runs
PARALLEL = {
    ("SimplifiedKNN", "standard"): ((74.60, 1.46), (3.95, 0.18)),
    ("KNN", "standard"): ((82.14, 1.29), (4.11, 0.17)),
    ("KDE", "standard"): ((138.48, 1.49), (6.66, 0.28)),
    ("LSSVM", "standard"): ((8852.18, 27.46), (624.74, 2.58)),
    ("RandomForest", "standard"): ((5061.67, 310.75), (225.75, 4.41)),
    ("SimplifiedKNN", "optimized"): ((1.29, 0.01), (0.43, 0.05)),
    ("KNN", "optimized"): ((1.60, 0.27), (9.04, 0.33)),
    ("KDE", "optimized"): ((1.35, 0.14), (0.41, 0.00)),
    ("LSSVM", "optimized"): ((8.47, 0.58), (0.76, 0.01)),
    ("RandomForest", "optimized"): ((2409.59, 546.21), (110.32, 32.50)),
}
PARALLEL_LARGE = ((3.5 * HOUR, math.nan), (1 * HOUR, math.nan))  # optimized k-NN, 100,000 examples; no spread
