"""The k-nearest-neighbour measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exactcp import textbook
from exactcp.measures.neighbours._classification import NeighbourMeasure
from exactcp.textbook import DistanceFunction, ScoreFunction


class KNN(NeighbourMeasure):
    """k nearest neighbours: sum of the k smallest same-label distances over that of the k smallest other-label ones.

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
    Equation 2 of the founding paper [1]_. No same-label example makes the score infinite, no other-label example makes
    it 0, and 0/0 is 1. The bag fits in n^2/2 screened pairs and O(n k) memory; a prediction for all labels costs about
    one product of the test object with the training matrix.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    The two nearest of each label: (1 + 2) / (3 + 4) for label "a".

    >>> from exactcp.measures import KNN
    >>> measure = KNN(k=2).fit([[1.0], [2.0], [-3.0], [-4.0], [9.0]], ["a", "a", "b", "b", "a"])
    >>> measure.score([[0.0], [0.0]], ["a", "b"]).round(3)
    array([0.429, 2.333])
    """

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
        return textbook.knn(self.k, distance)
