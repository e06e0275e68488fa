"""The nearest-neighbour measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from exactcp import textbook
from exactcp.geometry.metric import METRIC, METRIC_PARAMS
from exactcp.measures.neighbours._classification import NeighbourMeasure
from exactcp.textbook import DistanceFunction, ScoreFunction


class NN(NeighbourMeasure):
    """Nearest neighbour: distance to the nearest same-label example over distance to the nearest other-label one.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        Any metric name of scipy and scikit-learn, a function of two objects, or "precomputed".
    metric_params : dict, default=None
        Keyword arguments of the metric.

    Notes
    -----
    It is `KNN(k=1)`. Equation 1 of the founding paper [1]_.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    An object halfway between an example of each label is equally strange with both:

    >>> from exactcp.measures import NN
    >>> measure = NN().fit([[0.0], [2.0]], ["left", "right"])
    >>> measure.score([[1.0], [0.5]], ["left", "left"]).round(3)
    array([1.   , 0.333])
    """

    k: ClassVar[int] = 1  # type: ignore[misc]
    allowed_parameters: ClassVar = {"metric": METRIC, "metric_params": METRIC_PARAMS}

    def __init__(
        self, metric: str | Callable[..., float] = "euclidean", metric_params: dict[str, Any] | None = None
    ) -> None:
        self.metric = metric
        self.metric_params = metric_params

    def _score_of_textbook(self, distance: DistanceFunction) -> ScoreFunction:
        return textbook.nn(distance)
