"""Adapters for river: conformal predictors that learn and predict one dict at a time.

They are river's classifiers and regressors, so that its pipelines, `evaluate.progressive_val_score` and metrics take
them. The module can be imported without river; its classes then say what to install.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from exactcp import pvalues
from exactcp._optional import require
from exactcp._parameters import shown
from exactcp.online._beginning import Beginning, is_fitted
from exactcp.online._examples import FixedKeys
from exactcp.online._judging import is_venn

try:
    from river.base import Classifier, Regressor
except ImportError:
    Classifier = Regressor = object  # type: ignore[misc, assignment, unused-ignore]

RIVER_PURPOSE = "an adapter for river"


class _Adapter:
    """What both adapters are: a clone that learns, the keys of the dicts, and the first examples."""

    predictor: Any
    confidence_level: float
    n_initial: int | None
    classes: Any = None
    _asks: tuple[str, ...]  # one of these a predictor must be able to say
    _example: str

    def _set_up(self) -> None:
        require("river", "river", RIVER_PURPOSE)
        if isinstance(self.predictor, type) or not any(hasattr(self.predictor, name) for name in self._asks):
            who, what = type(self).__name__, "the class " if isinstance(self.predictor, type) else ""
            msg = f"{who} got {what}{shown(self.predictor)}: expected a predictor such as {self._example}."
            raise TypeError(msg)
        self._keys = FixedKeys()
        self._own = clone(self.predictor)
        epsilon = pvalues.significance(self.confidence_level)
        self._beginning = Beginning(self._own, epsilon, self.classes, self.n_initial)

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn one example; the first ones are kept until there are enough to learn from.

        Parameters
        ----------
        x : dict
            Its keys are those of the first example.
        y : label or target
        """
        row = self._keys.row(x)
        if self._is_ready():
            self._own.partial_fit(row, np.asarray([y]))
            return
        beginning = self._beginning.with_one(row, y)
        if not beginning.lacks_some:
            beginning.learn()
        self._beginning = beginning

    def _is_ready(self) -> bool:
        return is_fitted(self._own)


class RiverClassifier(_Adapter, Classifier):  # type: ignore[misc, unused-ignore]
    """A conformal classifier, or a Venn predictor, as a classifier of river.

    Parameters
    ----------
    predictor : conformal classifier with `partial_fit`
        A clone of it learns.
    confidence_level : float, default=0.95
        Of `predict_set_one`.
    classes : list, default=None
        All labels that will ever come. Without it, a new label becomes a new class.
    n_initial : int, default=None
        How many examples are learned together before the first prediction, which is None until then; None means as few
        as possible.
    """

    def __init__(
        self, predictor: Any, confidence_level: float = 0.95, classes: Any = None, n_initial: int | None = None
    ) -> None:
        self.predictor = predictor
        self.confidence_level = confidence_level
        self.classes = classes
        self.n_initial = n_initial
        self._set_up()

    _asks, _example = ("predict_set", "predict_proba_interval"), "FullConformalClassifier()"

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_one(self, x: Mapping[Any, Any], **_: Any) -> Any:
        """Return the predicted label, None before there are enough examples."""
        return self._own.predict(self._keys.row(x)).tolist()[0] if self._is_ready() else None

    def predict_p_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the p-value of each label; none before there are enough examples."""
        return self._by_label(self._own.predict_p, x) if self._is_ready() else {}

    def predict_set_one(self, x: Mapping[Any, Any]) -> set[Any]:
        """Return the labels whose p-values exceed 1 - confidence_level."""
        epsilon = pvalues.significance(self.confidence_level)
        p = self.predict_p_one(x)
        inside = pvalues.exceeds(np.array(list(p.values())), epsilon)
        return {label for label, is_in in zip(p, inside, strict=True) if is_in}

    def predict_proba_one(self, x: Mapping[Any, Any], **_: Any) -> dict[Any, float]:
        """Return the probability of each label, of a Venn predictor; p-values are no probabilities."""
        if not is_venn(self._own):
            msg = (
                f"{type(self._own).__name__} gives p-values and no probabilities: use predict_p_one, or VennPredictor."
            )
            raise NotImplementedError(msg)
        return self._by_label(self._own.predict_proba, x) if self._is_ready() else {}

    def _by_label(self, ask: Any, x: Mapping[Any, Any]) -> dict[Any, float]:
        return dict(zip(self._own.classes_.tolist(), ask(self._keys.row(x))[0].tolist(), strict=True))


class RiverRegressor(_Adapter, Regressor):  # type: ignore[misc, unused-ignore]
    """A conformal regressor as a regressor of river.

    Parameters
    ----------
    predictor : conformal regressor with `partial_fit`
        A clone of it learns.
    confidence_level : float, default=0.95
        Of the intervals.
    n_initial : int, default=None
        How many examples are learned together before the first prediction, which is None until then; None means so many
        that intervals are finite.
    """

    _asks, _example = ("predict_interval",), "FullConformalRegressor()"

    def __init__(self, predictor: Any, confidence_level: float = 0.95, n_initial: int | None = None) -> None:
        self.predictor = predictor
        self.confidence_level = confidence_level
        self.n_initial = n_initial
        self._set_up()

    def predict_one(self, x: Mapping[Any, Any], *, with_interval: bool = False, **_: Any) -> Any:
        """Return the predicted target, or river's interval around it; None before there are enough examples.

        Parameters
        ----------
        x : dict
        with_interval : bool, default=False
            As in river's own conformal regressors.

        Returns
        -------
        float or river.conf.Interval
        """
        if not self._is_ready():
            return None
        return self.predict_interval_one(x) if with_interval else float(self._own.predict(self._keys.row(x))[0])

    def predict_interval_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the prediction interval, a river.conf.Interval; of all numbers before there are enough examples."""
        ends = [-np.inf, np.inf]
        if self._is_ready():
            ends = self._own.predict_interval(self._keys.row(x), confidence_level=self.confidence_level)[0].tolist()
        return require("river.conf", "river", RIVER_PURPOSE).Interval(*ends)

    def predict_p_one(self, x: Mapping[Any, Any], y: float) -> float:
        """Return the p-value of a target; 1 before there are enough examples."""
        return float(self._own.predict_p(self._keys.row(x), np.asarray([y]))[0]) if self._is_ready() else 1.0
