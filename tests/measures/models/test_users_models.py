"""Every predictor takes the models and objects that users bring, and nothing is done to X; outputs do as well."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_regressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit

from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    ConformalSequencePredictor,
    CrossConformalClassifier,
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
)
from exactcp.measures import Bootstrap, ModelQuantile, ModelResidual, ModelScore
from users_models import (
    KINDS,
    SEED,
    SEEN,
    TARGETS,
    VECTORS,
    N,
    SpyClassifier,
    SpyDetector,
    SpyRegressor,
    Y,
    assert_untouched,
    kinds,
    rows,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:ModelScore cannot learn and unlearn"),
    pytest.mark.filterwarnings("ignore:ModelResidual fits"),
    pytest.mark.filterwarnings("ignore:Bootstrap trains on"),
]
LEVEL = 0.8
HOW = {"random_state": SEED, "n_jobs": 1}
TRIED = np.array([-2.0, 0.5, 1.0, 5.0])


class Case(NamedTuple):
    """A predictor of a model, what it is asked, and the most rows that its model is given at a time."""

    make: Callable[[Any], Any]
    most: int
    question: str = "predict_p"
    n: int = 40
    m: int = 5
    fit: dict[str, Any] = {}
    changes: tuple[str, ...] = ()

    def predictor(self, model: Any) -> Any:
        return self.make(model).set_params(**HOW)

    def answers(self, predictor: Any, objects: Any) -> list[Any]:
        """Fit the predictor to the first objects, and ask it about others, after all changes as well."""
        end = 40 + self.n // 4
        X, more, new = (rows(objects, np.arange(*part)) for part in ((self.n,), (40, end), (50, 50 + self.m)))
        y = TARGETS if is_regressor(predictor) else Y
        said = [self._ask(predictor.fit(X, y[: self.n], **self.fit), new)]
        for change in self.changes:
            getattr(predictor, change)(more, *([] if self is CASES["detector"] else [y[40:end]]))
            said.append(self._ask(predictor, new))
        return said

    def _ask(self, predictor: Any, new: Any) -> Any:
        how = [LEVEL] if self.question == "predict_interval" else []
        if self.question == "predict_p" and is_regressor(predictor):
            how = [TRIED]
        return getattr(predictor, self.question)(new, *how)


BOTH = ("partial_fit", "calibrate")
CASES = {
    "split": Case(lambda model: SplitConformalClassifier(model, calibration_size=0.4), 24, changes=BOTH),
    "cross": Case(lambda model: CrossConformalClassifier(model, cv=4), 30),
    "aggregated": Case(lambda model: AggregatedConformalClassifier(model, n_splits=3), 20),
    "full": Case(FullConformalClassifier, 10, n=9, m=2),
    "sequence": Case(ConformalSequencePredictor, 10, n=9, m=2, fit={"lengths": [4, 5]}),
    "inductive Venn-Abers": Case(
        lambda model: VennAbersPredictor(model, method="inductive"), 20, "predict_proba_interval", changes=BOTH
    ),
    "cross Venn-Abers": Case(lambda model: VennAbersPredictor(model, method="cross", cv=4), 30, "predict_proba"),
    "bootstrap, split": Case(lambda model: SplitConformalClassifier(Bootstrap(model, 5, random_state=3)), 20),
    "bootstrap, full": Case(
        lambda model: FullConformalClassifier(Bootstrap(model, 2, random_state=3)), 20, n=9, m=2, changes=BOTH[:1]
    ),
    "split regressor": Case(SplitConformalRegressor, 20, "predict_interval", changes=BOTH),
    "quantiles": Case(lambda model: SplitConformalRegressor(ModelQuantile(model, model)), 20, "predict_interval"),
    "CV+": Case(lambda model: CVPlusRegressor(model, cv=4), 40, "predict_interval"),
    "jackknife+": Case(JackknifePlusRegressor, 12, "predict_interval", n=12),
    "jackknife+ after bootstrap": Case(
        lambda model: JackknifeAfterBootstrapRegressor(model, n_resamplings=12), 40, "predict_interval"
    ),
    "full regressor": Case(FullConformalRegressor, 13, n=12, m=4),
    "full intervals": Case(
        lambda model: FullConformalRegressor(ModelResidual(model, bisections=6)), 13, "predict_interval", n=12, m=2
    ),
    "detector": Case(ConformalAnomalyDetector, 20, changes=BOTH),
    "detector in folds": Case(lambda model: ConformalAnomalyDetector(model, cv=4), 30),
}
FIRST = ("split", "split regressor", "detector")  # which meet every kind in the normal lane
TABLE = [
    pytest.param(name, kind, marks=[pytest.mark.slow] * (name not in FIRST and kind != "texts"))
    for name in CASES
    for kind in KINDS
    if KINDS[kind].detector is not None or not name.startswith("detector")
]


def _spy(name: str, kind: str, **how: Any) -> Any:
    """Return a spy on a model of the kind, of the sort that the predictor takes."""
    if name.startswith("detector"):
        return SpyDetector(KINDS[kind].detector, **how)
    if is_regressor(CASES[name].make(None)):
        return SpyRegressor(KINDS[kind].regressor, **how)
    return SpyClassifier(KINDS[kind].classifier, **how)


def _assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            one, other, rtol=1e-12
        )  # sparse matrices may round otherwise where they lie elsewhere


@pytest.mark.parametrize(("name", "kind"), TABLE)
def test_objects_of_a_kind_are_answered_as_their_numbers_are(name, kind):
    """With a model that looks the rows up, a predictor has an array of numbers, as its own tests give it."""
    case, objects = CASES[name], KINDS[kind].objects
    expected = case.answers(case.predictor(_spy(name, kind, looks_up=kind)), np.arange(N)[:, None])
    SEEN.clear()
    predictor = case.predictor(_spy(name, kind))
    _assert_same(case.answers(predictor, objects), expected)
    assert np.ptp(expected[0]) > 0
    assert {method for method, _, _ in SEEN} > {"fit"}
    for _, X, _ in SEEN:
        assert_untouched(X, objects)
        assert (X.shape[0] if hasattr(X, "shape") else len(X)) <= case.most
    if kind == "texts":
        several = clone(predictor).set_params(n_jobs=2)
        _assert_same(case.answers(several, objects), expected)
        new = rows(objects, np.arange(50, 50 + case.m))
        _assert_same([case._ask(pickle.loads(pickle.dumps(several)), new)], expected[-1:])


@pytest.mark.parametrize("kind", kinds())
def test_whole_sets_of_examples_are_given_themselves(kind):
    kind = KINDS[kind]
    X, own = kind.first(30), kind.after(30, 20)
    SEEN.clear()
    SplitConformalClassifier(SpyClassifier(kind.classifier), **HOW).fit(X, kind.y[:30], own, kind.y[30:50])
    SplitConformalRegressor(SpyRegressor(kind.regressor), **HOW).fit(X, kind.t[:30], own, kind.t[30:50])
    assert [X is seen for method, seen, _ in SEEN if method == "fit"] == [True, True]
    assert sum(own is seen for _, seen, _ in SEEN) == 2
    CVPlusRegressor(SpyRegressor(kind.regressor), cv=4, **HOW).fit(X, kind.t[:30])
    assert [seen for method, seen, _ in SEEN if method == "fit"][-1] is X


# models that were trained elsewhere, and outputs of which only these are known: all examples calibrate


CLASSES = np.unique(Y)


def at_least(own: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Count the own scores that are not below each score; they are equal within 1e-10."""
    return (own.reshape(-1, *(1,) * scores.ndim) >= scores - 1e-10 * np.maximum(1.0, np.abs(scores))).sum(axis=0)


def _marginal(P, y, new, label=None):
    own = -P[np.arange(len(y)), np.searchsorted(CLASSES, y)]
    own = own if label is None else own[y == label]
    return at_least(own, -new) + 1, own.size + 1


def _p(P, y, new):
    return np.divide(*_marginal(P, y, new))


def _p_by_label(P, y, new):
    found = [np.divide(*_marginal(P, y, new, label)) for label in CLASSES]
    return np.column_stack([found[c][:, c] for c in range(3)])


def _mean_p(P, y, new):
    found = []
    for _, out in ShuffleSplit(3, test_size=0.5, random_state=SEED).split(P):
        counts, n = _marginal(P[out], y[out], new)
        found.append([[Fraction(int(count), n) for count in row] for row in counts])
    return (np.sum(np.array(found, dtype=object), axis=0) / 3).astype(float)


FIXED_CLASSIFIERS = {
    "split": (SplitConformalClassifier, {}, _p),
    "cross": (CrossConformalClassifier, {"cv": 4}, _p),
    "aggregated": (AggregatedConformalClassifier, {"n_splits": 3}, _mean_p),
    "full": (FullConformalClassifier, {}, _p),
    "standard": (FullConformalClassifier, {"algorithm": "standard"}, _p),
    "sequence": (ConformalSequencePredictor, {}, _p_by_label),
}
VENN_ABERS = {
    "inductive": (VennAbersPredictor, {"method": "inductive"}, None),
    "cross Venn-Abers": (VennAbersPredictor, {"method": "cross", "cv": 2}, None),
}
FIXED_REGRESSORS = {
    "split": (SplitConformalRegressor, {}),
    "CV+": (CVPlusRegressor, {"cv": 4}),
    "jackknife+": (JackknifePlusRegressor, {}),
    "full": (FullConformalRegressor, {}),
}


def _asked(predictor, X, y, new):
    if is_regressor(predictor):
        return predictor.fit(X, y).predict_interval(new, LEVEL)
    ask = "predict_proba_interval" if isinstance(predictor, VennAbersPredictor) else "predict_p"
    return np.concatenate(getattr(predictor.fit(X, y), ask)(new)).reshape(-1, 3)


class TestFrozen:
    """They are never cloned, nor fitted: the spy would tell."""

    def _assert_as_given(self, cls, parameters, spy, given, y, kind):
        X, new = kind.after(30, 20), kind.after(50, 5)
        SEEN.clear()
        found = _asked(cls(FrozenEstimator(spy), **parameters, **HOW), X, y, new)
        ((method, _, _), *_) = SEEN
        assert {method for method, _, _ in SEEN} == {method}
        assert SEEN[0][1] is X or len(SEEN) > 3  # and one row alone
        expected = _asked(cls(given, **parameters, **HOW), *(_outputs(spy, method, X), y, _outputs(spy, method, new)))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)  # rows alone may round otherwise

    @pytest.mark.parametrize("kind", kinds())
    @pytest.mark.parametrize("name", [*FIXED_CLASSIFIERS, *VENN_ABERS])
    def test_classifiers(self, name, kind):
        kind, (cls, parameters, _) = KINDS[kind], (FIXED_CLASSIFIERS | VENN_ABERS)[name]
        spy = SpyClassifier(kind.classifier).fit(kind.first(30), kind.y[:30])
        self._assert_as_given(cls, parameters, spy, ModelScore("precomputed"), kind.y[30:50], kind)

    @pytest.mark.parametrize("kind", kinds())
    @pytest.mark.parametrize("name", FIXED_REGRESSORS)
    def test_regressors(self, name, kind):
        kind, (cls, parameters) = KINDS[kind], FIXED_REGRESSORS[name]
        spy = SpyRegressor(kind.regressor).fit(kind.first(30), kind.t[:30])
        self._assert_as_given(cls, parameters, spy, ModelResidual("precomputed"), kind.t[30:50], kind)

    def test_detectors(self):
        kind = KINDS["pandas"]
        spy = SpyDetector(kind.detector).fit(kind.first(30))
        SEEN.clear()
        detector = ConformalAnomalyDetector(FrozenEstimator(spy), **HOW).fit(kind.after(30, 20))
        own, scores = (-_outputs(spy, "score_samples", objects) for objects in (kind.after(30, 20), kind.after(50, 5)))
        np.testing.assert_array_equal(detector.predict_p(kind.after(50, 5)), (at_least(own, scores) + 1) / 21)
        assert {method for method, _, _ in SEEN} == {"score_samples"}

    @pytest.mark.parametrize("use", [SplitConformalClassifier, FullConformalClassifier])
    def test_what_resamples_refuses_them(self, use):
        frozen = FrozenEstimator(LogisticRegression().fit(VECTORS, Y))
        with pytest.raises(TypeError, match="A frozen model learns nothing from a sample: use ModelScore"):
            use(Bootstrap(frozen)).fit(VECTORS, Y)


def _outputs(spy, method, X):
    return getattr(spy.model_, method)(X)


P = np.random.default_rng(1).dirichlet([1.0, 1.0, 1.0], size=45)
COLUMNS = ["x", "y", "z"]
FORMS = {
    "array": np.asarray,
    "pandas": lambda P: pd.DataFrame(P, columns=COLUMNS[: P.shape[1]]),
    "polars": lambda P: pl.from_numpy(P, schema=COLUMNS[: P.shape[1]]),
    "list": lambda P: P.tolist(),
}


class TestPrecomputed:
    @pytest.mark.parametrize("form", [*FORMS, "float32"])
    @pytest.mark.parametrize("name", FIXED_CLASSIFIERS)
    def test_probabilities(self, name, form):
        (cls, parameters, by_hand), make = FIXED_CLASSIFIERS[name], FORMS.get(form, lambda P: P.astype(np.float32))
        y = list(Y[:20]) if form == "list" else Y[:20]
        lists = name == "sequence" and form == "list"  # which may be of sequences
        X, new = (one if lists else make(one) for one in (P[:20], P[40:]))
        found = _asked(cls(ModelScore("precomputed"), **parameters, **HOW), X, y, new)
        X, new = (np.asarray(one, dtype=float) for one in (make(P[:20]), make(P[40:])))
        np.testing.assert_array_equal(found, by_hand(X, Y[:20], new))

    @pytest.mark.parametrize("form", [*FORMS, "vector", "series"])
    @pytest.mark.parametrize("name", FIXED_REGRESSORS)
    def test_predictions(self, name, form):
        make = FORMS.get(form, lambda f: (pd.Series if form == "series" else np.asarray)(f[:, 0]))
        self._assert_intervals(name, ModelResidual("precomputed"), P[:, [0, 0]], make(P[:40, :1]), make(P[40:, :1]))

    @pytest.mark.parametrize("name", FIXED_REGRESSORS)
    def test_quantiles(self, name):
        ends = np.sort(P[:, :2], axis=1)
        self._assert_intervals(name, ModelQuantile("precomputed"), ends, ends[:40], ends[40:])

    def _assert_intervals(self, name, measure, ends, X, new):
        (cls, parameters), t = FIXED_REGRESSORS[name], TARGETS[:40]
        found = _asked(cls(measure, **parameters, **HOW), X, t, new)
        width = np.sort(np.maximum(ends[:40, 0] - t, t - ends[:40, 1]))[-8]  # 9 / 41 is the least p-value above 0.2
        np.testing.assert_allclose(found, ends[40:] + np.array([-width, width]), rtol=0, atol=1e-9)
