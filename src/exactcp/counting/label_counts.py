"""What a bag answers: counts for every test object and label."""

from typing import NamedTuple

import numpy as np


class LabelCounts(NamedTuple):
    """Per (test object, label): how many training scores are greater than, or equal to, the candidate's."""

    greater_same: np.ndarray  # (m, l) among the training examples with that label
    equal_same: np.ndarray
    greater_other: np.ndarray  # among the others
    equal_other: np.ndarray
    scores: np.ndarray  # (m, l) the candidates' own scores
