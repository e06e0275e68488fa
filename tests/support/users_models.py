"""Models and objects that users bring, a spy that sees what a model is given, and answers by hand from its outputs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
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
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils.metaestimators import available_if

SEED = 5
EPSILON = Fraction(1, 5)
SEEN: list[tuple[str, Any, Any]] = []  # the method of a spy, its X, its sample_weight


class _Spy(BaseEstimator):
    """Hands all on to a clone of a model, and writes down what it was given."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y=None, sample_weight=None):
        SEEN.append(("fit", X, sample_weight))
        weights = {} if sample_weight is None else {f"{self._last()}sample_weight": sample_weight}
        self.model_ = clone(self.model).fit(X, y, **weights)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return self

    def _last(self):
        return f"{self.model.steps[-1][0]}__" if hasattr(self.model, "steps") else ""

    def _ask(self, method, X):
        SEEN.append((method, X, None))
        return getattr(self.model_, method)(X)


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


# positions that fit and that calibrate, as predictors draw them


def split_of(n: int, size: float = 0.5) -> list[tuple[np.ndarray, np.ndarray]]:
    return [tuple(train_test_split(np.arange(n), test_size=size, random_state=SEED))]


def folds_of(n: int, cv: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(KFold(cv, shuffle=True, random_state=SEED).split(np.arange(n)))


def splits_of(n: int, number: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(ShuffleSplit(number, test_size=0.5, random_state=SEED).split(np.arange(n)))


def each_of(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(LeaveOneOut().split(np.arange(n)))


# labels


def at_least(calibrating: np.ndarray, scores: np.ndarray, floor: float = 1.0) -> np.ndarray:
    """Count the calibration scores that are not below each score; they are equal within 1e-10, relative above floor."""
    slack = 1e-10 * np.maximum(floor, np.abs(scores))
    return (calibrating.reshape(-1, *(1,) * scores.ndim) >= scores - slack).sum(axis=0)


def fitted_on(model: Any, X: Any, y: np.ndarray, fitting: np.ndarray) -> Any:
    fitting = np.sort(fitting)
    return clone(model).fit(rows(X, fitting), y[fitting])


def label_counts(model: Any, X: Any, y: np.ndarray, X_test: Any, parts: Any) -> list[tuple[np.ndarray, int]]:
    """Return for each part how many examples have a probability of their label at most that of each candidate."""
    found = []
    for fitting, out in parts:
        fitted = fitted_on(model, X, y, fitting)
        own = fitted.predict_proba(rows(X, out))[np.arange(out.size), np.searchsorted(fitted.classes_, y[out])]
        found.append((at_least(-own, -fitted.predict_proba(X_test)), out.size))
    return found


def summed_p(counts: list[tuple[np.ndarray, int]]) -> np.ndarray:
    return (sum(count for count, _ in counts) + 1) / (sum(n for _, n in counts) + 1)


def mean_p(counts: list[tuple[np.ndarray, int]]) -> np.ndarray:
    exact = [[[Fraction(int(c) + 1, n + 1) for c in row] for row in count] for count, n in counts]
    sums = np.sum(np.array(exact, dtype=object), axis=0)
    return np.vectorize(float, otypes=[float])(sums / len(counts))


def full_p(kind: Kind, n: int, m: int, *, by_label: bool) -> np.ndarray:
    """Return the p-values of full CP, by Algorithm 1: every example is left out of the bag with the candidate."""
    labels, p = np.unique(kind.y[:n]), np.empty((m, 3))
    for t in range(m):
        places = np.append(np.arange(n), n + t)
        for code, label in enumerate(labels):
            y, scores = np.append(kind.y[:n], label), np.empty(n + 1)
            for i in range(n + 1):
                others = np.delete(np.arange(n + 1), i)
                model = clone(kind.classifier).fit(rows(kind.objects, places[others]), y[others])
                said = model.predict_proba(rows(kind.objects, places[i : i + 1]))[0]
                scores[i] = -said[list(model.classes_).index(y[i])]
            compared = scores[y == label] if by_label else scores
            p[t, code] = at_least(compared, scores[-1]) / compared.size
    return p


def venn_abers(model: Any, X: Any, y: np.ndarray, X_test: Any, parts: Any) -> np.ndarray:
    """Return lower and upper probabilities (m, l, 2): isotonic regressions with the test object at either outcome."""
    means = []
    for fitting, out in parts:
        fitted = fitted_on(model, X, y, fitting)
        known, new = (fitted.predict_proba(one).round(10) for one in (rows(X, out), X_test))
        pairs = np.empty((*new.shape, 2))
        for (t, c), score in np.ndenumerate(new):
            for outcome in (0, 1):
                scores, outcomes = np.append(known[:, c], score), np.append(y[out] == fitted.classes_[c], outcome)
                pairs[t, c, outcome] = IsotonicRegression().fit(scores, outcomes).predict([score])[0]
        means.append(pairs)
    return np.mean(means, axis=0)


# targets


def needed(n: int) -> int:
    """Return the smallest count of examples at least as strange with which a target is in a region."""
    return next(m for m in range(n + 1) if Fraction(m + 1, n + 1) > EPSILON)


def split_interval(model: Any, X: Any, t: np.ndarray, X_test: Any, parts: Any) -> np.ndarray:
    ((fitting, out),) = parts
    fitted = fitted_on(model, X, t, fitting)
    residuals = np.sort(np.abs(t[out] - fitted.predict(rows(X, out))))
    width, points = residuals[-needed(out.size)], fitted.predict(X_test)
    return np.column_stack([points - width, points + width])


def plus_interval(left_out: np.ndarray, at_test: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return jackknife+ intervals: predictions of each example (n,) and of test objects (m, n) by models without it."""
    residuals, m = np.abs(t - left_out), needed(t.size)
    lower, upper = np.sort(at_test - residuals, axis=1)[:, m - 1], np.sort(at_test + residuals, axis=1)[:, -m]
    return np.column_stack([lower, upper])


def cv_plus_interval(model: Any, X: Any, t: np.ndarray, X_test: Any, parts: Any) -> np.ndarray:
    left_out, at_test = np.empty(t.size), None
    for fitting, out in parts:
        fitted = fitted_on(model, X, t, fitting)
        left_out[out], said = fitted.predict(rows(X, out)), fitted.predict(X_test)
        at_test = np.empty((said.size, t.size)) if at_test is None else at_test
        at_test[:, out] = said[:, None]
    return plus_interval(left_out, at_test, t)


def after_bootstrap_interval(model: Any, X: Any, t: np.ndarray, X_test: Any, number: int) -> np.ndarray:
    """Return jackknife+-after-bootstrap intervals: means of the models whose samples lack an example."""
    n, generator = t.size, np.random.RandomState(SEED)
    drawn = [generator.randint(0, n, n) for _ in range(generator.binomial(number, (1 - 1 / (n + 1)) ** n))]
    models = [clone(model).fit(rows(X, sample), t[sample]) for sample in drawn]
    here, there = (np.array([one.predict(objects) for one in models]) for objects in (X, X_test))
    lacks = np.array([~np.isin(np.arange(n), sample) for sample in drawn])
    means = [(t.sum() - t[i]) / (n - 1) for i in range(n)]  # where all samples hold an example
    left_out = np.array([here[lacks[:, i], i].mean() if lacks[:, i].any() else means[i] for i in range(n)])
    at_test = [
        there[lacks[:, i]].mean(axis=0) if lacks[:, i].any() else np.full(there.shape[1], means[i]) for i in range(n)
    ]
    return plus_interval(left_out, np.transpose(at_test), t)


def full_target_p(kind: Kind, n: int, t: int, y: float) -> float:
    """Return the p-value of a target of the t-th test object: residuals of one fit on all examples and it."""
    places, targets = np.append(np.arange(n), n + t), np.append(kind.t[:n], y)
    objects = rows(kind.objects, places)
    residuals = np.abs(targets - clone(kind.regressor).fit(objects, targets).predict(objects))
    return float(at_least(residuals, residuals[-1]) / (n + 1))
