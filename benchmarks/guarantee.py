"""What breaks the guarantee, measured: `python -m benchmarks.guarantee [--quick] [--page FILE] [name ...]`.

Each line simulates a mistake where the truth is known, and what to do instead. Of the mistakes in `SEEN` the library
warns, or it refuses them; those in `UNSEEN` no library can see. A repetition has training examples of its own and one
question, so that the outcomes are independent and their range is exact.
"""

from __future__ import annotations

import argparse
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from exactcp import (
    ConformalAnomalyDetector,
    CVPlusRegressor,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    pipeline,
)
from exactcp.measures import KDE, KNN, KNNResidual, ModelResidual, RidgeResidual, SimplifiedKNN

LEVEL = 0.9
HIGH_LEVEL = 0.95
LARGE_SETS = 0.8  # the level at which sets of two labels are found
FALSE_ALARMS = 0.05
CERTAINTY = 0.99  # of the ranges
QUICK = 20  # how many times fewer repetitions
START, END = "<!-- numbers: written by benchmarks/guarantee.py -->", "<!-- end of numbers -->"
SEEN_START, SEEN_END = "<!-- seen: written by benchmarks/guarantee.py -->", "<!-- end of seen -->"
WARNS, REFUSES = "warns", "refuses"

Rng = np.random.Generator
Outcomes = tuple[bool | None, ...]  # of the mistake, then of the remedies; None where nothing was answered


class Line(NamedTuple):
    """What was done, what was asked for, what to do instead, one repetition of all of it, and what the library does."""

    done: str
    instead: tuple[str, ...]
    once: Callable[[Rng], Outcomes]
    asked: float = LEVEL
    repetitions: int = 4000
    does: str = ""

    @property
    def counts_alarms(self) -> bool:
        """Whether the numbers are shares of false alarms, which should be small."""
        return self.asked < 0.5

    @property
    def promise(self) -> str:
        """What was asked for, as the table has it."""
        return f"{'≤' if self.counts_alarms else '≥'} {self.asked}"


class Share(NamedTuple):
    """How often something happened, and how often it could have."""

    times: int
    of: int

    def __str__(self) -> str:
        if self.of == 0:
            return "none"
        ends = binomtest(self.times, self.of).proportion_ci(CERTAINTY)
        return f"{self.times / self.of:.3f} ({ends.low:.3f} to {ends.high:.3f})"


def _labelled(rng: Rng, n: int, flipped: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Two labels that the first column tells, apart from those that are flipped."""
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] > 0) ^ (rng.random(n) < flipped)


def _targeted(rng: Rng, n: int, p: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Targets that are linear in the first column, with noise."""
    X = rng.normal(size=(n, p))
    return X, X[:, 0] + rng.normal(size=n)


def _set_of(
    classifier: FullConformalClassifier | SplitConformalClassifier, x: np.ndarray, level: float = LEVEL, **more: Any
) -> np.ndarray:
    return np.asarray(classifier.predict_set(x, confidence_level=level, **more)[0])


def _covers(regressor: Any, x: np.ndarray, target: np.ndarray, level: float = LEVEL, **more: Any) -> bool:
    low, high = regressor.predict_interval(x, level, **more)[0]
    return bool(low <= target[0] <= high)


def _full(measure: Any = None, **options: Any) -> FullConformalRegressor:
    return FullConformalRegressor(RidgeResidual(1.0) if measure is None else measure, n_jobs=1, **options)


def _split(rng: Rng, measure: Any, **options: Any) -> SplitConformalRegressor:
    return SplitConformalRegressor(measure, random_state=int(rng.integers(2**31)), n_jobs=1, **options)


def fitted(rng: Rng) -> Outcomes:
    """A linear model of eight columns and 19 rows, which calibrate, or the next 19."""
    X, y = _targeted(rng, 39, p=8)
    rows = (slice(19), slice(19, 38))
    regs = (_split(rng, LinearRegression()).fit(X[:19], y[:19], X[some], y[some]) for some in rows)
    return tuple(_covers(reg, X[38:], y[38:]) for reg in regs)


def fitted_tree(rng: Rng) -> Outcomes:
    """A tree with leaves of three rows at least."""
    X, y = _targeted(rng, 79)
    tree, rows = DecisionTreeRegressor(min_samples_leaf=3, random_state=0), (slice(39), slice(39, 78))
    regs = (_split(rng, tree).fit(X[:39], y[:39], X[some], y[some]) for some in rows)
    return tuple(_covers(reg, X[78:], y[78:]) for reg in regs)


def calibrated(rng: Rng) -> Outcomes:
    """All 39 rows calibrate a predictor that was fitted on 20 of them and calibrated with the others."""
    X, y = _targeted(rng, 40, p=8)
    reg = _split(rng, LinearRegression(), calibration_size=19).fit(X[:39], y[:39])
    once = _covers(reg, X[39:], y[39:])
    return _covers(reg.calibrate(X[:39], y[:39]), X[39:], y[39:]), once


def frozen(rng: Rng) -> Outcomes:
    """A classifier of 20 columns, which 39 rows determine; these calibrate, or the next 39, or half fit and half do."""
    X = rng.normal(size=(79, 20))
    y = (X[:, 0] > 0) ^ (rng.random(79) < 0.1)
    rows = (slice(39), slice(39, 78))
    model = FrozenEstimator(LogisticRegression(C=100).fit(X[:39], y[:39]))
    same, others = (SplitConformalClassifier(model, n_jobs=1).fit(X[some], y[some]) for some in rows)
    fresh = SplitConformalClassifier(LogisticRegression(C=100), random_state=0, n_jobs=1).fit(X[:39], y[:39])
    return tuple(bool(_set_of(clf, X[78:])[int(y[78])]) for clf in (same, others, fresh))


def _scaled(X: np.ndarray) -> np.ndarray:
    return np.asarray((X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9))


def batches(rng: Rng) -> Outcomes:
    """An object that comes alone is scaled to zeros."""
    X = rng.normal(size=(60, 2))
    y = X.sum(axis=1) + rng.normal(size=60)
    models = (make_pipeline(scaler, Ridge()) for scaler in (FunctionTransformer(_scaled), StandardScaler()))
    regs = (_split(rng, model, calibration_size=39).fit(X[:59], y[:59]) for model in models)
    return tuple(_covers(reg, X[59:], y[59:]) for reg in regs)


def _again(rng: Rng, times: int) -> Outcomes:
    X, y = _targeted(rng, 20)
    reg = _full(KNNResidual(1)).fit(X[:19], y[:19])
    once = _covers(reg, X[19:], y[19:])
    return _covers(reg.partial_fit(X[:times], y[:times]), X[19:], y[19:]), once


def half_twice(rng: Rng) -> Outcomes:
    """Of 19 rows ten are learned again."""
    return _again(rng, 10)


def twice(rng: Rng) -> Outcomes:
    """All of 19 rows are learned again."""
    return _again(rng, 19)


def copies(rng: Rng) -> Outcomes:
    """A label that one row in five has; three copies of each of its rows make the labels equally frequent, nearly."""
    y = rng.random(100) < 0.2
    X = rng.normal(size=(100, 2)) + 1.5 * y[:, None] * np.array([1.0, 0.0])
    rows = np.concatenate([np.arange(99), np.repeat(np.flatnonzero(y[:99]), 3)])
    copied = FullConformalClassifier(KNN(1), n_jobs=1).fit(X[rows], y[rows])
    by_label = FullConformalClassifier(KNN(1), mondrian="label", n_jobs=1).fit(X[:99], y[:99])
    return tuple(bool(_set_of(clf, X[99:])[int(y[99])]) for clf in (copied, by_label))


def limits(rng: Rng) -> Outcomes:
    """Of 30 targets one in fifteen is the smallest or the largest."""
    X, y = _targeted(rng, 30)
    own = {"y_min": y[:29].min(), "y_max": y[:29].max()}
    regs = (_split(rng, Ridge(), calibration_size=19, **how).fit(X[:29], y[:29]) for how in (own, {}))
    return tuple(_covers(reg, X[29:], y[29:], HIGH_LEVEL) for reg in regs)


def precision(rng: Rng) -> Outcomes:
    """There are five objects, and all of them have been learned several times."""
    X = rng.normal(size=(5, 2))[rng.integers(5, size=60)]
    detector = ConformalAnomalyDetector(SimplifiedKNN(3), epsilon=FALSE_ALARMS, n_jobs=1).fit(X[:59])
    return tuple(bool(detector.predict(x)[0] == -1) for x in (X[59:].astype(np.float32), X[59:]))


def search(rng: Rng) -> Outcomes:
    """The penalty, of fifteen, with the smallest errors when each row is left out; 19 rows of 19 columns."""
    X = rng.normal(size=(39, 19))
    y = X.sum(axis=1) / np.sqrt(19) + rng.normal(size=39)
    outcomes = []
    for rows in (slice(19), slice(19, 38)):
        all_rows = np.arange(19)
        chosen = GridSearchCV(
            _full(), {"measure__rho": np.logspace(-3, 4, 15)}, scoring=_left_out, cv=[(all_rows, all_rows)]
        ).fit(X[rows], y[rows])
        outcomes.append(_covers(chosen.best_estimator_.fit(X[:19], y[:19]), X[38:], y[38:]))
    return tuple(outcomes)


def _left_out(reg: FullConformalRegressor, X: np.ndarray, y: np.ndarray) -> float:
    """Minus the sum of squared errors of ridge regression where each row is left out, by the diagonal of its hat."""
    hat = X @ np.linalg.solve(X.T @ X + reg.measure.rho * np.eye(X.shape[1]), X.T)
    return -float((((y - hat @ y) / (1 - np.diag(hat))) ** 2).sum())


def classes(rng: Rng) -> Outcomes:
    """Of 60 labels, as frequent as words are, 50 examples do not have all."""
    labels, shares = np.arange(60), 1 / np.arange(1, 61)
    y = rng.choice(labels, 51, p=shares / shares.sum())
    X = rng.normal(size=(51, 2)) + 2.0 * np.column_stack([y % 8, y // 8])
    outcomes = []
    for how in ({}, {"classes": labels}):
        clf = FullConformalClassifier(KNN(3), n_jobs=1).fit(X[:50], y[:50], **how)
        outcomes.append(bool(_set_of(clf, X[50:])[clf.classes_ == y[50]].any()))
    return tuple(outcomes)


def transformer(rng: Rng) -> Outcomes:
    """19 objects of ten columns: components of variance 1 among them, and more for any other object."""
    X, y = rng.normal(size=(20, 10)), rng.permutation(np.arange(20) % 2)
    alone = pipeline.make_pipeline(PCA(whiten=True), FullConformalClassifier(KDE(2.0), n_jobs=1))
    together = FullConformalClassifier(KDE(2.0), preprocess=PCA(whiten=True), n_jobs=1)
    return tuple(bool(_set_of(clf.fit(X[:19], y[:19]), X[19:])[y[19]]) for clf in (alone, together))


def folds(rng: Rng) -> Outcomes:
    """Every model is fitted on all rows."""
    X, y = _targeted(rng, 40)
    CVPlusRegressor(Ridge(), cv=[(np.arange(40), out) for out in np.array_split(np.arange(40), 4)]).fit(X, y)
    return ()


def quantiles(rng: Rng) -> Outcomes:
    """The category is the side of the median of those that come together."""
    X, y = _targeted(rng, 40)
    _full(mondrian=lambda objects: objects[:, 0] > np.median(objects[:, 0])).fit(X, y)
    return ()


def labelled_step(rng: Rng) -> Outcomes:
    """A choice of columns by their correlation with y."""
    X, y = _targeted(rng, 40)
    pipeline.make_pipeline(SelectKBest(f_regression, k=1), _full()).fit(X, y)
    return ()


def singletons(rng: Rng) -> Outcomes:
    """The rule of the remedy is written before the data are seen, and is a category."""
    X, y = _labelled(rng, 60, flipped=0.35)
    clf = FullConformalClassifier(KNN(5), n_jobs=1).fit(X[:59], y[:59])
    rule = np.abs(X[:, 0]) > 1
    chosen = FullConformalClassifier(KNN(5), n_jobs=1).fit(X[:59], y[:59], categories=rule[:59])
    labels, within = _set_of(clf, X[59:]), _set_of(chosen, X[59:], categories=rule[59:])
    truth = int(y[59])
    return (bool(labels[truth]) if labels.sum() == 1 else None), (bool(within[truth]) if rule[59] else None)


def level(rng: Rng) -> Outcomes:
    """The level falls by 0.05 until one label is left; what counts are the sets that are then given as sets at 0.9."""
    X, y = _labelled(rng, 20, flipped=0.1)
    clf = FullConformalClassifier(KNN(3), n_jobs=1).fit(X[:19], y[:19])
    before, at_last = (_set_of(clf, X[19:], asked) for asked in (0.95, LEVEL))
    right = bool(at_last[int(y[19])])
    return (right if before.sum() > 1 and at_last.sum() <= 1 else None), right


def outliers(rng: Rng) -> Outcomes:
    """A fifth of the rows is forgotten."""
    X, y = _targeted(rng, 50)
    residuals = np.abs(y[:49] - LinearRegression().fit(X[:49], y[:49]).predict(X[:49]))
    cleaned = _full().fit(X[:49], y[:49]).unlearn(np.argsort(residuals)[-10:])
    by_age = _full().fit(X[:49], y[:49]).unlearn(np.arange(10))
    return _covers(cleaned, X[49:], y[49:]), _covers(by_age, X[49:], y[49:])


def right_only(rng: Rng) -> Outcomes:
    """Of the rows that come, those are learned that were predicted right."""
    return _after_learning(rng, KNN(5), lambda clf, X, y: clf.predict(X) == y, LEVEL)


def unsure_only(rng: Rng) -> Outcomes:
    """Of the rows that come, those are labelled and learned whose sets have two labels."""
    return _after_learning(
        rng,
        SimplifiedKNN(5),
        lambda clf, X, _: clf.predict_set(X, confidence_level=LARGE_SETS).sum(axis=1) > 1,
        LARGE_SETS,
    )


def _after_learning(rng: Rng, measure: Any, wanted: Callable[..., np.ndarray], asked: float) -> Outcomes:
    """After 19 rows come five times 20: learn those that are wanted, or as many at random; then ask."""
    X, y = _labelled(rng, 120)
    selective, random = (FullConformalClassifier(measure, n_jobs=1).fit(X[:19], y[:19]) for _ in range(2))
    for start in range(19, 119, 20):
        new = np.arange(start, start + 20)
        taken = new[wanted(selective, X[new], y[new])]
        for clf, some in ((selective, taken), (random, rng.choice(new, taken.size, replace=False))):
            if some.size:
                clf.partial_fit(X[some], y[some])
    return tuple(bool(_set_of(clf, X[119:], asked)[int(y[119])]) for clf in (selective, random))


def missing_labels(rng: Rng) -> Outcomes:
    """All rows of one label are kept, and one in five of the other."""
    X, y = _labelled(rng, 121)
    kept = np.flatnonzero(~y[:120] | (rng.random(120) < 0.2))
    if y[kept].sum() < 9:
        return None, None
    outcomes = []
    for mondrian in (None, "label"):
        clf = FullConformalClassifier(KNN(5), mondrian=mondrian, n_jobs=1).fit(X[kept], y[kept])
        outcomes.append(bool(_set_of(clf, X[120:])[int(y[120])]))
    return tuple(outcomes)


def seeds(rng: Rng) -> Outcomes:
    """The seed of a split, of thirty, with the shortest interval."""
    X, y = _targeted(rng, 40)
    splits = [_split(rng, RidgeResidual(1.0), calibration_size=19).fit(X[:39], y[:39]) for _ in range(30)]
    ends = np.array([split.predict_interval(X[39:], LEVEL)[0] for split in splits])
    inside = (ends[:, 0] <= y[39]) & (y[39] <= ends[:, 1])
    return bool(inside[np.argmin(ends[:, 1] - ends[:, 0])]), bool(inside[0])


def models(rng: Rng) -> Outcomes:
    """The model, of 200 that know nothing, with the smallest 0.9 quantile of the residuals."""
    y, answers = rng.normal(size=40), rng.normal(size=(40, 200)) / 2

    def chosen_on(rows: slice) -> int:
        return int(np.argmin(np.quantile(np.abs(y[rows, None] - answers[rows]), LEVEL, axis=0)))

    outcomes = []
    for best, rows in ((chosen_on(slice(39)), slice(39)), (chosen_on(slice(20)), slice(20, 39))):
        reg = _split(rng, ModelResidual("precomputed")).fit(answers[rows, best], y[rows])
        outcomes.append(_covers(reg, answers[39:, best], y[39:]))
    return tuple(outcomes)


def columns(rng: Rng) -> Outcomes:
    """The five of 500 columns that go best with y; none has anything to do with it."""
    X, y = rng.normal(size=(40, 500)), rng.normal(size=40)
    best = SelectKBest(f_regression, k=5).fit(X[:39], y[:39])
    full = _full().fit(best.transform(X[:39]), y[:39])
    inside = _split(rng, make_pipeline(SelectKBest(f_regression, k=5), Ridge()), calibration_size=19)
    return _covers(full, best.transform(X[39:]), y[39:]), _covers(inside.fit(X[:39], y[:39]), X[39:], y[39:])


def metric(rng: Rng) -> Outcomes:
    """19 objects of 10 columns: their covariance fits them, and no other object."""
    X = rng.normal(size=(20, 10))
    inverse = np.linalg.inv(np.cov(X[:19], rowvar=False))
    learned = SimplifiedKNN(3, metric="mahalanobis", metric_params={"VI": inverse})
    alone = ConformalAnomalyDetector(learned, epsilon=FALSE_ALARMS, n_jobs=1)
    together = ConformalAnomalyDetector(SimplifiedKNN(3), preprocess=PCA(whiten=True), epsilon=FALSE_ALARMS, n_jobs=1)
    return tuple(bool(detector.fit(X[:19]).predict(X[19:])[0] == -1) for detector in (alone, together))


def difficulty(rng: Rng) -> Outcomes:
    """A k-NN regressor of the residuals of the rows that calibrate, or of the rows that fit the model."""
    X, y = _targeted(rng, 80)
    model = LinearRegression().fit(X[:40], y[:40])
    outcomes = []
    for rows in (slice(40, 79), slice(40)):
        residuals = np.abs(y[rows] - model.predict(X[rows]))
        learned = FrozenEstimator(KNeighborsRegressor(5).fit(X[rows], residuals))
        reg = _split(rng, ModelResidual(FrozenEstimator(model), difficulty=learned)).fit(X[40:79], y[40:79])
        outcomes.append(_covers(reg, X[79:], y[79:]))
    return tuple(outcomes)


def categories(rng: Rng) -> Outcomes:
    """The leaves of a tree that has learned the size of the residuals of the rows, or of other rows."""
    X, y = rng.normal(size=(160, 50)), rng.normal(size=160)
    mean = FrozenEstimator(DummyRegressor(strategy="constant", constant=0.0).fit(X, y))
    outcomes = []
    for some in (slice(80, 159), slice(80)):
        tree = DecisionTreeRegressor(max_leaf_nodes=4, min_samples_leaf=15, random_state=0).fit(
            X[some], np.abs(y[some])
        )
        reg = _split(rng, mean).fit(X[80:159], y[80:159], categories=tree.apply(X[80:159]))
        outcomes.append(_covers(reg, X[159:], y[159:], categories=tree.apply(X[159:])))
    return tuple(outcomes)


def patients(rng: Rng) -> Outcomes:
    """Rows of a patient are alike; the question is about a new one."""
    sick, rows = 20, 5
    X = np.repeat(rng.normal(size=(sick, 3)), rows, axis=0) + 0.1 * rng.normal(size=(sick * rows, 3))
    y = np.repeat(rng.normal(size=sick), rows) + 0.1 * rng.normal(size=sick * rows)
    known, asked = slice(0, -rows), slice(-1, None)
    groups = np.repeat(np.arange(sick - 1), rows)
    pairs = list(GroupKFold(5).split(X[known], y[known], groups))
    by_patient = CVPlusRegressor(KNeighborsRegressor(3), cv=pairs, n_jobs=1)
    every_row = _full(KNNResidual(3)).fit(X[known], y[known])
    one_each = _full(KNNResidual(3)).fit(X[known][::rows], y[known][::rows])
    return tuple(_covers(reg, X[asked], y[asked]) for reg in (every_row, one_each, by_patient.fit(X[known], y[known])))


def random_walk(rng: Rng) -> Outcomes:
    """The next value from the last three; then the next difference from the last three."""
    steps = rng.normal(size=43)
    outcomes = []
    for series in (np.cumsum(steps), steps):
        lags = np.lib.stride_tricks.sliding_window_view(series, 4)
        reg = _full(KNNResidual(10)).fit(lags[:39, :3], lags[:39, 3])
        outcomes.append(_covers(reg, lags[39:, :3], lags[39:, 3]))
    return tuple(outcomes)


def _alarms(objects: np.ndarray, y: np.ndarray | None = None, measure: Any = None) -> bool:
    test = ExchangeabilityTest(measure, threshold=1 / FALSE_ALARMS, random_state=0)
    test.update_many(objects, y)
    return bool(test.alarms_.size)


def windows(rng: Rng) -> Outcomes:
    """200 windows of ten values of independent noise; they begin at every value, or at every tenth."""
    rows = np.lib.stride_tricks.sliding_window_view(rng.normal(size=2000), 10)
    return _alarms(rows[:200]), _alarms(rows[::10])


def seen_stream(rng: Rng) -> Outcomes:
    """A model that has learned the first half of the stream, or rows before it."""
    X, y = _targeted(rng, 180, p=30)
    fitted = (LinearRegression().fit(X[some], y[some]) for some in (slice(60, 120), slice(60)))
    return tuple(_alarms(X[60:], y[60:], FrozenEstimator(model)) for model in fitted)


def many_tests(rng: Rng) -> Outcomes:
    """A hundred objects, none of which is an anomaly."""
    X = rng.normal(size=(299, 2))
    detector = ConformalAnomalyDetector(epsilon=FALSE_ALARMS, n_jobs=1).fit(X[:199])
    return bool((detector.predict(X[199:]) == -1).any()), bool(detector.select(X[199:], fdr=FALSE_ALARMS).any())


_warned = partial(Line, repetitions=2000, does=WARNS)
_refused = partial(Line, does=REFUSES)
SEEN = {
    "fitted": _warned("calibrated with the rows that fitted: `fit(X, y, X, y)`", ("other rows",), fitted),
    "fitted_tree": _warned("the same with a tree", ("other rows",), fitted_tree),
    "calibrated": _warned("`calibrate(X, y)` with the rows of `fit`", ("`fit` alone, which splits them",), calibrated),
    "frozen": _warned(
        "calibrated a frozen model with its own training rows",
        ("other rows", "the model without `FrozenEstimator`"),
        frozen,
    ),
    "folds": _refused(
        "folds whose fitting part holds what they leave out",
        ("a splitter that leaves every example out once, `KFold(5)`",),
        folds,
    ),
    "quantiles": _refused(
        "`mondrian=` a function of the whole batch, such as its quantiles",
        ("a function of each row; edges that are fixed before",),
        quantiles,
    ),
    "batches": _warned(
        "a model that scales each batch, asked one by one", ("a scaler that is fitted with the model",), batches
    ),
    "half_twice": _warned("learned half of the rows twice, by `partial_fit`", ("each row once",), half_twice),
    "twice": _warned("learned all rows twice", ("each row once",), twice),
    "copies": _warned(
        "copied one class four times, by oversampling", ('the rows as they came, `mondrian="label"`',), copies
    ),
    "limits": _warned("took `y_min`, `y_max` from y", ("no limits, or known ones",), limits, HIGH_LEVEL),
    "precision": _warned("learned in float64, asked in float32", ("one type for both",), precision, FALSE_ALARMS),
    "search": _warned(
        "let `GridSearchCV` choose on the training rows", ("chose on other rows",), search, repetitions=4000
    ),
    "classes": _warned("labels never seen in `fit`", ("`classes=` in `fit`",), classes),
    "transformer": _warned(
        "a transformer in `exactcp.pipeline`, fitted on the training rows alone", ("`preprocess=`",), transformer
    ),
    "labelled_step": _refused(
        "a step of `exactcp.pipeline` that looks at y", ("the step inside the model, split CP",), labelled_step
    ),
}

UNSEEN = {
    "singletons": Line("answered only where the set has one label", ("a rule beforehand, as a category",), singletons),
    "level": Line("chose the level after seeing the sets", ("one level for all objects",), level),
    "outliers": Line("unlearned the strangest fifth", ("unlearned the oldest fifth",), outliers),
    "right_only": Line("learned only what was predicted right", ("learned as many at random",), right_only),
    "unsure_only": Line(
        "asked for labels only where sets are large", ("asked for as many at random",), unsure_only, LARGE_SETS
    ),
    "missing_labels": Line("lost four in five of one label", ('`mondrian="label"`',), missing_labels),
    "seeds": Line("took the best of 30 seeds", ("took the first seed",), seeds, repetitions=1000),
    "models": Line("took the best of 200 models on the same rows", ("chose on other rows",), models),
    "columns": Line("chose columns by correlation with y", ("chose them inside the model, split CP",), columns),
    "metric": Line("took the covariance of the training rows", ("PCA on all rows together",), metric, FALSE_ALARMS),
    "difficulty": Line("fitted the difficulty on the same rows", ("fitted it on other rows",), difficulty),
    "categories": Line("fitted the categories on the same rows", ("fitted them on other rows",), categories),
    "patients": Line(
        "took several rows of each patient",
        ("one row of each", "CV+ with folds of patients"),
        patients,
        repetitions=1000,
    ),
    "random_walk": Line("took lags of a random walk", ("took lags of its differences",), random_walk),
    "windows": Line("tested overlapping windows", ("windows end to end",), windows, FALSE_ALARMS, 800),
    "seen_stream": Line(
        "tested with a model that saw the first half", ("a model of rows before",), seen_stream, FALSE_ALARMS, 800
    ),
    "many_tests": Line("tested 100 objects at 0.05 each", ("`select(X, fdr=0.05)`",), many_tests, FALSE_ALARMS, 2000),
}

LINES = SEEN | UNSEEN


def repeat(name: str, repetitions: int) -> list[Share]:
    """Repeat a line; return how often the truth was in the answer, or an alarm came: the mistake, then the remedies."""
    line = LINES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ValidityWarning is one: what a mistake costs is the question
        outcomes = [line.once(rng) for _ in range(repetitions)]
    counted = ([outcome for outcome in one if outcome is not None] for one in zip(*outcomes, strict=True))
    return [Share(sum(one), len(one)) for one in counted]


def table(names: list[str], *, quick: bool = False) -> Iterator[str]:
    """Write the lines of a table, all of `SEEN` or all of `UNSEEN`."""
    are_seen = names[0] in SEEN
    does = " what the library does |" if are_seen else ""
    yield f"| name | what was done | asked | got |{does} instead | got then |"
    yield "|---" * (7 if are_seen else 6) + "|"
    for name in names:
        line = LINES[name]
        promise, mistake, *remedies = ("-", "-", "-")
        if line.does != REFUSES:
            shares = repeat(name, line.repetitions // (QUICK if quick else 1))
            promise, mistake, *remedies = (line.promise, *map(str, shares))
        cells = [f"`{name}`", line.done, promise, mistake, *([line.does] if are_seen else [])]
        for instead, got in zip(line.instead, remedies, strict=True):
            yield (
                f"| {' | '.join(cells)} | {instead} | {got} |"
                if cells[0]
                else f"|{' |' * len(cells)} {instead} | {got} |"
            )
            cells = [""] * len(cells)


def write(page: Path, lines: list[str], start: str, end: str) -> None:
    """Write a table into a page, between its marks."""
    before, rest = page.read_text(encoding="utf-8").split(start)
    text = "\n".join([f"{before}{start}", "", *lines, "", f"{end}{rest.split(end)[1]}"])
    page.write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Print the tables, or the lines that are named, and write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guarantee", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} times fewer repetitions")
    parser.add_argument("--page", type=Path, help="also write the tables that have lines into this page")
    parser.add_argument("names", nargs="*", choices=[*LINES, []], help="lines; all if none is named")
    asked = parser.parse_args(arguments)
    for group, start, end in ((SEEN, SEEN_START, SEEN_END), (UNSEEN, START, END)):
        names = [name for name in asked.names or group if name in group]
        lines = []
        for line in table(names, quick=asked.quick) if names else ():
            print(line, flush=True)
            lines.append(line)
        if lines and asked.page is not None:
            write(asked.page, lines, start, end)


if __name__ == "__main__":
    main()
