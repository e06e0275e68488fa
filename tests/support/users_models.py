"""Models and objects that users bring, and a spy that sees what a model is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, IsolationForest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils.metaestimators import available_if

SEED = 5
SEEN: list[tuple[str, Any, Any]] = []  # the method of a spy, its X, its sample_weight


class _Spy(BaseEstimator):
    """Hands all on to a clone of a model, and writes down what it was given.

    With the name of a kind, it gets the numbers of rows as objects, and looks the rows up.
    """

    def __init__(self, model, looks_up=None):
        self.model = model
        self.looks_up = looks_up

    def fit(self, X, y=None, sample_weight=None):
        X = self._noted("fit", X, sample_weight)
        weights = {} if sample_weight is None else {f"{self._last()}sample_weight": sample_weight}
        self.model_ = clone(self.model).fit(X, y, **weights)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return self

    def _last(self):
        return f"{self.model.steps[-1][0]}__" if hasattr(self.model, "steps") else ""

    def _noted(self, method, X, sample_weight=None):
        SEEN.append((method, X, sample_weight))
        return X if self.looks_up is None else rows(KINDS[self.looks_up].objects, X[:, 0])

    def _ask(self, method, X):
        return getattr(self.model_, method)(self._noted(method, X))


class SpyRegressor(RegressorMixin, _Spy):
    def predict(self, X):
        return self._ask("predict", X)


class SpyClassifier(ClassifierMixin, SpyRegressor):
    def predict_proba(self, X):
        return self._ask("predict_proba", X)


class SpyDetector(OutlierMixin, _Spy):
    @available_if(lambda self: hasattr(self.model, "score_samples"))
    def score_samples(self, X):
        return self._ask("score_samples", X)


@dataclass(frozen=True)
class Kind:
    """Objects of one kind, all in one, with labels and targets, and models that take them."""

    objects: Any
    y: np.ndarray
    t: np.ndarray
    classifier: Any
    regressor: Any
    detector: Any = None

    def first(self, n: int) -> Any:
        return rows(self.objects, np.arange(n))

    def after(self, n: int, m: int) -> Any:
        return rows(self.objects, np.arange(n, n + m))


def rows(X: Any, positions: Any) -> Any:
    """Return rows of anything."""
    if isinstance(X, list):
        return [X[i] for i in positions]
    return X.iloc[positions] if hasattr(X, "iloc") else X[positions]


def assert_untouched(seen: Any, X: Any) -> None:
    """Check that what a model was given is of the kind of X: type, dtypes, columns and their order, format."""
    assert type(seen) is type(X)
    if isinstance(X, pd.DataFrame):
        assert list(seen.columns) == list(X.columns)
        assert list(seen.dtypes) == list(X.dtypes)
    elif isinstance(X, pl.DataFrame):
        assert seen.schema == X.schema
    elif isinstance(X, list):
        assert all(type(one) is type(X[0]) for one in seen)
    else:
        assert seen.dtype == X.dtype
        assert seen.shape[1:] == X.shape[1:]
        assert getattr(seen, "format", None) == getattr(X, "format", None)
        assert getattr(seen, "name", None) == getattr(X, "name", None)


RNG = np.random.default_rng(0)
N = 60
Y = np.array(["a", "b", "c"])[np.arange(N) % 3]
TARGETS = (np.arange(N) % 3) + RNG.normal(size=N)
WORDS = {"a": ["red", "green", "blue"], "b": ["one", "two", "red"], "c": ["sun", "moon", "blue"]}
COLOURS = RNG.choice(["red", "green", "blue"], N)
TEXTS = [" ".join(RNG.choice([*WORDS[label], "and", "or"], 8)) for label in Y]
VECTORS = RNG.normal(size=(N, 4)) + 0.7 * (np.arange(N) % 3)[:, None]
MIXED = pd.DataFrame(
    {
        "size": VECTORS[:, 0],
        "colour": COLOURS.astype(object),
        "age": RNG.integers(1, 90, N),
        "old": RNG.random(N) < 0.5,
    },
    index=np.arange(N)[::-1],
)
GAPS = pd.DataFrame(
    {
        "size": np.where(RNG.random(N) < 0.2, np.nan, VECTORS[:, 0]),
        "colour": pd.Categorical(np.where(RNG.random(N) < 0.1, None, COLOURS), categories=["red", "green", "blue"]),
        "width": VECTORS[:, 1].astype(np.float32),
    }
)
IMAGES = RNG.integers(0, 17, size=(N, 8, 8)).astype(np.uint8) + (4 * (np.arange(N) % 3)).astype(np.uint8)[:, None, None]
SPARSE = TfidfVectorizer().fit_transform(TEXTS)
FOREST = IsolationForest(n_estimators=10, random_state=0)


def flatten(images):
    return images.reshape(len(images), -1) / 16


def _behind(*steps: Any) -> dict[str, Any]:
    """Return models with these steps before them."""
    return {
        "classifier": make_pipeline(*steps, LogisticRegression(C=10.0, max_iter=1000)),
        "regressor": make_pipeline(*steps, Ridge()),
        "detector": make_pipeline(*steps, FOREST),
    }


def _columns() -> Any:
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((encode, ["colour"]), (StandardScaler(), ["age", "size"]), remainder="passthrough")


_BOOSTED = {"max_iter": 4, "min_samples_leaf": 2, "categorical_features": "from_dtype", "random_state": 0}
_LIGHT = {"n_estimators": 4, "min_child_samples": 2, "verbose": -1, "n_jobs": 1, "random_state": 0}
_PLAIN = {"classifier": LogisticRegression(C=10.0, max_iter=1000), "regressor": Ridge(), "detector": FOREST}
_ORDINAL = make_column_transformer((OrdinalEncoder(), ["colour"]), remainder="passthrough")

KINDS = {
    "pandas": Kind(MIXED, Y, TARGETS, **_behind(_columns())),
    "polars": Kind(pl.from_pandas(MIXED), Y, TARGETS, **_behind(_columns())),
    "gaps and categories": Kind(
        GAPS,
        Y,
        TARGETS,
        HistGradientBoostingClassifier(**_BOOSTED),
        HistGradientBoostingRegressor(**_BOOSTED),
        make_pipeline(_ORDINAL, FOREST),
    ),
    "lightgbm": Kind(GAPS, Y, TARGETS, LGBMClassifier(**_LIGHT), LGBMRegressor(**_LIGHT)),
    "texts": Kind(TEXTS, Y, TARGETS, **_behind(TfidfVectorizer())),
    "array of texts": Kind(np.array(TEXTS, dtype=object), Y, TARGETS, **_behind(TfidfVectorizer())),
    "series of texts": Kind(pd.Series(TEXTS, name="text"), Y, TARGETS, **_behind(TfidfVectorizer())),
    "csr matrix": Kind(sparse.csr_matrix(SPARSE), Y, TARGETS, **_PLAIN),
    "csr array": Kind(sparse.csr_array(SPARSE), Y, TARGETS, **_PLAIN),
    "images": Kind(IMAGES, Y, TARGETS, **_behind(FunctionTransformer(flatten))),
}
QUICK = ("polars", "texts")  # in the normal lane


def kinds(quick: Any = QUICK, of: Any = tuple(KINDS)) -> list[Any]:
    """Return the kinds for a test, those that are not quick for the slow lane."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in of]


DETECTABLE = {name: kind for name, kind in KINDS.items() if kind.detector is not None}
