"""Every predictor takes the models and objects that users bring, and passes on what belongs to them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone, is_regressor
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.svm import OneClassSVM
from sklearn.utils import get_tags
from sklearn.utils.fixes import parse_version

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
from exactcp.measures import KNN, Bootstrap, ModelQuantile, ModelResidual, ModelScore
from exactcp.measures._model import INPUT_TAGS
from users_models import (
    KINDS,
    QUICK,
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


# --- what is passed on


@pytest.fixture(autouse=True)
def _nothing_seen():
    SEEN.clear()


FRAME = pd.DataFrame(VECTORS, columns=list("pqrs"))
WEIGHTS = np.arange(1.0, 61.0)
WEIGHTED = {
    "split": SplitConformalClassifier(SpyClassifier(LogisticRegression()), **HOW),
    "cross": CrossConformalClassifier(SpyClassifier(LogisticRegression()), cv=3, **HOW),
    "aggregated": AggregatedConformalClassifier(SpyClassifier(LogisticRegression()), n_splits=2, **HOW),
    "inductive": VennAbersPredictor(SpyClassifier(LogisticRegression()), method="inductive", **HOW),
    "cross Venn-Abers": VennAbersPredictor(SpyClassifier(LogisticRegression()), method="cross", cv=3, **HOW),
    "score": SplitConformalClassifier(ModelScore(SpyClassifier(LogisticRegression())), **HOW),
    "bootstrap": SplitConformalClassifier(Bootstrap(SpyClassifier(LogisticRegression()), 3), **HOW),
    "split regressor": SplitConformalRegressor(SpyRegressor(Ridge()), **HOW),
    "residual": SplitConformalRegressor(ModelResidual(SpyRegressor(Ridge())), **HOW),
    "CV+": CVPlusRegressor(SpyRegressor(Ridge()), cv=3, **HOW),
    "jackknife+": JackknifePlusRegressor(SpyRegressor(Ridge()), **HOW),
    "after bootstrap": JackknifeAfterBootstrapRegressor(SpyRegressor(Ridge()), n_resamplings=10, **HOW),
    "detector": ConformalAnomalyDetector(SpyDetector(IsolationForest(n_estimators=5, random_state=0)), **HOW),
}


def _requesting(predictor, *, wanted):
    """Return a clone whose spy says whether it wants weights."""
    own = clone(predictor)
    model = own.estimator if hasattr(own, "estimator") else own.measure
    (model if hasattr(model, "model") else model.estimator).set_fit_request(sample_weight=wanted)
    return own


def _answers(predictor):
    return TARGETS if is_regressor(predictor) else Y


@pytest.mark.parametrize("name", WEIGHTED)
class TestWeights:
    def _check_slices(self):
        fits = [(X, weights) for method, X, weights in SEEN if method == "fit"]
        assert fits
        for X, weights in fits:
            np.testing.assert_array_equal(weights, WEIGHTS[X.index])

    def test_they_go_with_the_rows(self, name):
        clone(WEIGHTED[name]).fit(FRAME, _answers(WEIGHTED[name]), sample_weight=WEIGHTS)
        self._check_slices()

    def test_they_are_routed(self, name):
        if name == "detector" and parse_version(sklearn.__version__) < parse_version("1.7"):
            pytest.skip("the isolation forest of scikit-learn 1.6 does not route weights to its own trees")
        with config_context(enable_metadata_routing=True):
            predictor = _requesting(WEIGHTED[name], wanted=True)
            predictor.fit(FRAME, _answers(predictor), sample_weight=WEIGHTS)
            self._check_slices()

    def test_routing_refuses_what_nobody_asked_for(self, name):
        with config_context(enable_metadata_routing=True):
            predictor = clone(WEIGHTED[name])
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                predictor.fit(FRAME, _answers(predictor), sample_weight=WEIGHTS)
            with pytest.raises(TypeError, match="sample_weight"):
                _requesting(predictor, wanted=False).fit(FRAME, _answers(predictor), sample_weight=WEIGHTS)


def test_a_vector_measure_takes_no_weights_routed_or_not():
    for routing in (True, False):
        with (
            config_context(enable_metadata_routing=routing),
            pytest.raises(TypeError, match=r"KNN.fit got sample_weight"),
        ):
            SplitConformalClassifier(KNN(2)).fit(FRAME, Y, sample_weight=WEIGHTS)


@pytest.mark.parametrize(
    ("predictor", "X"),
    [
        (VennAbersPredictor(FrozenEstimator(LogisticRegression().fit(FRAME, Y)), method="inductive"), FRAME),
        (CVPlusRegressor(FrozenEstimator(Ridge().fit(FRAME, TARGETS))), FRAME),
        (SplitConformalRegressor(ModelQuantile("precomputed")), np.sort(VECTORS[:, :2], axis=1)),
        (SplitConformalClassifier(ModelScore("precomputed")), np.full((60, 3), 1 / 3)),
        (ConformalAnomalyDetector(FrozenEstimator(OneClassSVM().fit(FRAME))), FRAME),
    ],
)
def test_what_learns_nothing_takes_no_weights(predictor, X):
    with pytest.raises(TypeError, match=r"(?s)sample_weight=, and .* learns nothing more"):
        predictor.fit(X, _answers(predictor), sample_weight=WEIGHTS)


CLASSIFIERS = (
    SplitConformalClassifier,
    CrossConformalClassifier,
    AggregatedConformalClassifier,
    FullConformalClassifier,
    ConformalSequencePredictor,
    VennAbersPredictor,
)
REGRESSORS = (
    SplitConformalRegressor,
    CVPlusRegressor,
    JackknifePlusRegressor,
    JackknifeAfterBootstrapRegressor,
    FullConformalRegressor,
)


def _tags(estimator):
    tags = get_tags(estimator).input_tags
    return [getattr(tags, tag) for tag in INPUT_TAGS]


@pytest.mark.parametrize("name", KINDS)
def test_tags_are_the_models(name):
    classifier, regressor, detector = KINDS[name].classifier, KINDS[name].regressor, KINDS[name].detector
    frozen = [FrozenEstimator(classifier)] * (name != "lightgbm")
    holders = [cls(model) for cls in CLASSIFIERS for model in (classifier, ModelScore(classifier), *frozen)]
    for predictor in (*holders, SplitConformalClassifier(Bootstrap(classifier))):
        assert _tags(predictor) == _tags(classifier)
    holders = [cls(model) for cls in REGRESSORS for model in (regressor, ModelResidual(regressor))]
    for predictor in (*holders, SplitConformalRegressor(ModelQuantile(regressor, regressor))):
        assert _tags(predictor) == _tags(regressor)
    if detector is not None:
        assert _tags(ConformalAnomalyDetector(detector)) == _tags(detector)


def test_tags_differ_between_models():
    models = [KINDS["lightgbm"].classifier, KINDS["csr array"].classifier, HistGradientBoostingClassifier(), None]
    tags = [get_tags(SplitConformalClassifier(model)).input_tags.allow_nan for model in models]
    assert tags == [True, False, True, False]


FRAMED = dict(WEIGHTED)
FRAMED["full"] = FullConformalClassifier(LogisticRegression(), **HOW)
FRAMED["full regressor"] = FullConformalRegressor(Ridge(), **HOW)
FRAMED["sequence"] = ConformalSequencePredictor(LogisticRegression(), **HOW)
WRONG = {
    "renamed": (lambda frame: frame.rename(columns={"q": "other"}), "unseen at fit time"),
    "reordered": (lambda frame: frame[["q", "p", "r", "s"]], "same order"),
    "missing": (lambda frame: frame[["p", "q", "r"]], "yet now missing"),
    "added": (lambda frame: frame.assign(more=1.0), "unseen at fit time"),
}


@pytest.mark.parametrize("library", ["pandas", pytest.param("polars", marks=pytest.mark.slow)])
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FRAMED)
def test_other_columns_than_in_fit_are_refused(name, wrong, library):
    change, sentence = WRONG[wrong]
    make = pl.from_pandas if library == "polars" else pd.DataFrame
    predictor = clone(FRAMED[name]).fit(make(FRAME[:30]), _answers(FRAMED[name])[:30])
    asked = [n for n in ("predict_p", "predict_interval", "predict_proba", "predict") if hasattr(predictor, n)]
    more = [TARGETS[30:33]] if asked[0] == "predict_p" and is_regressor(predictor) else []
    with pytest.raises(ValueError, match=sentence):
        getattr(predictor, asked[0])(make(change(FRAME[30:33])), *more)
    for learn in ("partial_fit", "calibrate"):
        if hasattr(predictor, learn):
            answers = [] if name == "detector" else [_answers(predictor)[30:33]]
            with pytest.raises(ValueError, match=sentence):
                getattr(predictor, learn)(make(change(FRAME[30:33])), *answers)


@pytest.mark.filterwarnings("ignore:GridSearchCV chose")
def test_grid_search_on_a_frame():
    X, y = KINDS["pandas"].first(60), Y
    clf = SplitConformalClassifier(ModelScore(KINDS["pandas"].classifier), **HOW)
    grid = {"measure__estimator__logisticregression__C": [1e-6, 1.0], "measure__score": ["odds", "margin"]}
    search = GridSearchCV(clf, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["measure__estimator__logisticregression__C"] == 1.0
    assert search.best_score_ > search.cv_results_["mean_test_score"].min()
    reg = SplitConformalRegressor(Ridge(), **HOW)
    search = GridSearchCV(reg, {"measure__alpha": [1e9, 1.0]}, cv=3, error_score="raise").fit(FRAME, TARGETS)
    assert search.best_params_ == {"measure__alpha": 1.0}


@pytest.mark.parametrize("kind", kinds([*QUICK, "csr array", "images"]))
def test_lists_of_sequences(kind):
    kind = KINDS[kind]
    model = FrozenEstimator(clone(kind.classifier).fit(kind.first(40), kind.y[:40]))
    joined = ConformalSequencePredictor(model, **HOW).fit(kind.first(12), kind.y[:12], lengths=[6, 6])
    X, y, new = [kind.first(6), kind.after(6, 6)], [kind.y[:6], kind.y[6:12]], kind.after(50, 5)
    listed = ConformalSequencePredictor(model, **HOW)
    if np.ndim(X[0]) == 1:  # a list of texts may be a sequence, or an object
        with pytest.raises(ValueError, match=r"y is a list of 2 sequences, and X .* one below the other, and lengths="):
            listed.fit(X, y)
        return
    np.testing.assert_array_equal(listed.fit(X, y).predict_p([new])[0], joined.predict_p(new)[0])
    np.testing.assert_array_equal(listed.predict([new])[0], joined.predict(new))
