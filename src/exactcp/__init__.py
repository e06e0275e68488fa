"""Full conformal prediction, exact and fast.

Prediction sets with a finite-sample guarantee, from all of the training data: scikit-learn estimators whose p-values
equal those of the textbook's algorithm count for count.
"""

from exactcp.classification import FullConformalClassifier, SplitConformalClassifier

__version__ = "0.1.0"

__all__ = ["FullConformalClassifier", "SplitConformalClassifier", "__version__"]
