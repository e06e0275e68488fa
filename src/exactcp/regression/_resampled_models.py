"""Models of bootstrap samples, and what those say whose sample lacks an example: for jackknife+-after-bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor

from exactcp._parallel import progress
from exactcp._rows import count_rows, take_parameters, take_rows
from exactcp._seeds import lend_seed
from exactcp.measures._left_out import LeftOut
from exactcp.measures._model import ask_number, fit_model

SEEDS = 2**31 - 1


def draws_samples(estimator: Any) -> bool:
    """Tell whether an estimator is an ensemble of models of bootstrap samples, and says which these were."""
    own = (RandomForestRegressor, ExtraTreesRegressor, BaggingRegressor)
    return type(estimator) in own and bool(estimator.bootstrap)


def chance_to_lack(n: int, size: int) -> float:
    """Return with what probability a bootstrap sample of some size from n + 1 examples lacks one of them."""
    return float((1 - 1 / (n + 1)) ** size)


def draw_samples(n: int, n_resamplings: int, generator: np.random.RandomState) -> list[np.ndarray]:
    """Return bootstrap samples of n examples: as many as lack one more example, of this number of samples of n + 1."""
    drawn = generator.binomial(n_resamplings, chance_to_lack(n, n))
    return [generator.randint(0, n, n) for _ in range(drawn)]


class ResampledModels:
    """Fitted models, and which examples the sample of each one lacks.

    Attributes
    ----------
    models : list of estimators
    lacks : ndarray of bool of shape (n, b)
    """

    def __init__(self, models: list[Any], samples: list[np.ndarray], n: int) -> None:
        self.models = models
        self.lacks = np.ones((n, len(models)), dtype=bool)
        for b, sample in enumerate(samples):
            self.lacks[sample, b] = False

    @classmethod
    def of_samples(
        cls,
        estimator: Any,
        X: Any,
        y: np.ndarray,
        fit_parameters: Mapping[str, Any],
        *,
        n_resamplings: int,
        seed: int,
        verbose: int = 0,
    ) -> Self:
        """Fit one clone of an estimator on each of the samples that are drawn, with a seed of its own."""
        generator = np.random.RandomState(seed)
        samples = draw_samples(y.size, n_resamplings, generator)
        models = []
        for sample in progress(samples, len(samples), verbose, "fitting"):
            own = lend_seed(clone(estimator), int(generator.randint(SEEDS)))
            parameters = take_parameters(fit_parameters, sample, y.size)
            models.append(fit_model(own, take_rows(X, sample), y[sample], parameters))
        return cls(models, samples, y.size)

    @classmethod
    def of_ensemble(
        cls, estimator: Any, X: Any, y: np.ndarray, fit_parameters: Mapping[str, Any], *, seed: int
    ) -> ResampledModels:
        """Fit one ensemble that draws samples itself; around its number of models, how many is drawn."""
        chance = chance_to_lack(y.size, _sample_size(estimator, y.size))
        drawn = np.random.RandomState(seed).binomial(round(estimator.n_estimators / chance), chance)
        if drawn == 0:
            return cls([], [], y.size)
        own = lend_seed(clone(estimator), seed).set_params(n_estimators=int(drawn), warm_start=False)
        ensemble = fit_model(own, X, y, fit_parameters)
        features = getattr(ensemble, "estimators_features_", None)
        return _EnsembleModels(list(ensemble.estimators_), ensemble.estimators_samples_, y.size, features)

    def answers(self, X: Any) -> np.ndarray:
        """Return what each model predicts for each object, (m, b)."""
        return self._stack([ask_number(model, "predict", X) for model in self.models], X)

    def _stack(self, columns: list[np.ndarray], X: Any) -> np.ndarray:
        return np.column_stack(columns) if columns else np.empty((count_rows(X), 0))


class _EnsembleModels(ResampledModels):
    """The models of one ensemble, which has given them bare matrices, perhaps of some of the columns."""

    def __init__(self, models: list[Any], samples: list[np.ndarray], n: int, features: list[np.ndarray] | None) -> None:
        super().__init__(models, samples, n)
        self._features = features

    def answers(self, X: Any) -> np.ndarray:
        """Return what each model predicts for each object, (m, b)."""
        bare = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        seen = [bare] * len(self.models) if self._features is None else [bare[:, one] for one in self._features]
        asked = zip(self.models, seen, strict=True)
        return self._stack([ask_number(model, "predict", some) for model, some in asked], X)


def _sample_size(ensemble: Any, n: int) -> int:
    size = ensemble.max_samples
    if size is None:
        return n
    return int(size) if isinstance(size, Integral) else max(1, int(size * n))


_AGGREGATES: dict[str, Callable[..., Any]] = {"mean": np.nanmean, "median": np.nanmedian}


def _means_of_others(y: np.ndarray) -> np.ndarray:
    return np.asarray((y.sum() - y) / (y.size - 1))


def _medians_of_others(y: np.ndarray) -> np.ndarray:
    order = np.argsort(y, kind="stable")
    ranks = np.empty(y.size, dtype=np.int64)
    ranks[order] = np.arange(y.size)
    middle = np.array([(y.size - 2) // 2, (y.size - 1) // 2])  # positions among the y.size - 1 others
    return np.asarray(y[order][middle + (middle >= ranks[:, None])].mean(axis=1))


class LackingModels(LeftOut):
    """mu_-i: the mean or the median of what the models say whose sample lacks example i.

    Where no sample lacks it, there is no such model; its place takes the mean or the median of the other targets, which
    depends on the others alone, as a model does that has not learned the example.

    Test objects are given by the answers of all models, (m, b).
    """

    def __init__(self, lacks: np.ndarray, answers: np.ndarray, y: np.ndarray, aggregate: str) -> None:
        self._has_patterns = aggregate == "median"
        if self._has_patterns:
            self._patterns, self._pattern_of = np.unique(lacks, axis=0, return_inverse=True)
        else:
            self._picks = np.ascontiguousarray(lacks.T, dtype=np.float64)  # once, since a block may be a few objects
            self._sizes = np.maximum(1, lacks.sum(axis=1))
        self.never = np.flatnonzero(~lacks.any(axis=1))  # examples that are in every sample
        others = _medians_of_others(y) if aggregate == "median" else _means_of_others(y)
        self._instead = others[self.never]
        own, known = others, lacks.any(axis=1)
        own[known] = _AGGREGATES[aggregate](np.where(lacks, answers, np.nan)[known], axis=1)
        self.residuals = np.abs(y - own)

    def predictions(self, X: np.ndarray) -> np.ndarray:
        """Return mu_-i(x) of a block of test objects, (b, n), from the answers of all models about them."""
        P = self._medians(X) if self._has_patterns else self._means(X)
        P[:, self.never] = self._instead
        return P

    def _means(self, answers: np.ndarray) -> np.ndarray:
        P = answers @ self._picks
        P /= self._sizes
        return np.asarray(P)

    def _medians(self, answers: np.ndarray) -> np.ndarray:
        none = np.zeros(answers.shape[0])
        columns = [np.median(answers[:, of], axis=1) if of.any() else none for of in self._patterns]
        return np.column_stack(columns)[:, self._pattern_of.reshape(-1)]
