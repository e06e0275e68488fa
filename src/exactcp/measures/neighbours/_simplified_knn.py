"""The simplified k-nearest-neighbour measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from exactcp import textbook
from exactcp.measures.neighbours._classification import NeighbourMeasure
from exactcp.textbook import DistanceFunction, ScoreFunction


class SimplifiedKNN(NeighbourMeasure):
    """Simplified k-NN: the sum of the k smallest same-label distances.

    Parameters
    ----------
    k : int, default=15
        Number of neighbours. Where a label has fewer, all of them count.
    metric : str or callable, default="euclidean"
        Any metric name of scipy and scikit-learn, a function of two objects, or "precomputed".
    metric_params : dict, default=None
        Keyword arguments of the metric.

    Notes
    -----
    The numerator of the k-NN measure (section 3 of the founding paper [1]_); it knows one label at a time, which suits
    anomaly detection. Its bag needs same-label pairs only: with l labels of equal size, 1/l of k-NN's.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    >>> from exactcp.measures import SimplifiedKNN
    >>> measure = SimplifiedKNN(k=2).fit([[1.0], [2.0], [-3.0], [9.0]], ["a", "a", "b", "a"])
    >>> measure.score([[0.0], [0.0]], ["a", "b"])
    array([3., 3.])
    """

    compares_labels: ClassVar = False

    def __init__(
        self,
        k: int = 15,
        metric: str | Callable[..., float] = "euclidean",
        metric_params: dict[str, Any] | None = None,
    ) -> None:
        self.k = k
        self.metric = metric
        self.metric_params = metric_params

    def _score_of_textbook(self, distance: DistanceFunction) -> ScoreFunction:
        return textbook.simplified_knn(self.k, distance)
