"""Every predictor with the models and objects that users bring: answers by hand, and nothing is done to X."""

from __future__ import annotations

import numpy as np
import pytest

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
from exactcp.measures import Bootstrap, ModelResidual
from users_models import (
    DETECTABLE,
    KINDS,
    SEED,
    SEEN,
    SpyClassifier,
    SpyDetector,
    SpyRegressor,
    after_bootstrap_interval,
    assert_untouched,
    at_least,
    cv_plus_interval,
    each_of,
    fitted_on,
    folds_of,
    full_p,
    full_target_p,
    kinds,
    label_counts,
    mean_p,
    rows,
    split_interval,
    split_of,
    splits_of,
    summed_p,
    venn_abers,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:ModelScore cannot learn and unlearn"),
    pytest.mark.filterwarnings("ignore:ModelResidual fits"),
    pytest.mark.filterwarnings("ignore:Bootstrap trains on"),
]
LEVEL = 0.8
M = 5
HOW = {"random_state": SEED, "n_jobs": 1}


@pytest.fixture(autouse=True)
def _nothing_seen():
    SEEN.clear()


def _check_seen(kind, at_most):
    """Check all that the models were given, by `fit` and by questions."""
    assert {method for method, _, _ in SEEN} > {"fit"}
    for _, X, _ in SEEN:
        assert_untouched(X, kind.objects)
        assert (X.shape[0] if hasattr(X, "shape") else len(X)) <= at_most


# each takes a kind of objects, and returns what the predictor answers and what it should, and the most rows to be seen


def _split(kind):
    X, y, new = kind.first(40), kind.y[:40], kind.after(40, M)
    clf = SplitConformalClassifier(SpyClassifier(kind.classifier), calibration_size=0.4, **HOW).fit(X, y)
    p = summed_p(label_counts(kind.classifier, X, y, new, split_of(40, 0.4)))
    np.testing.assert_array_equal(clf.predict_set(new, confidence_level=LEVEL), p > 0.2)
    return clf.predict_p(new), p, 24


def _cross(kind):
    X, y, new = kind.first(40), kind.y[:40], kind.after(40, M)
    clf = CrossConformalClassifier(SpyClassifier(kind.classifier), cv=4, **HOW).fit(X, y)
    return clf.predict_p(new), summed_p(label_counts(kind.classifier, X, y, new, folds_of(40, 4))), 30


def _aggregated(kind):
    X, y, new = kind.first(40), kind.y[:40], kind.after(40, M)
    clf = AggregatedConformalClassifier(SpyClassifier(kind.classifier), n_splits=3, **HOW).fit(X, y)
    return clf.predict_p(new), mean_p(label_counts(kind.classifier, X, y, new, splits_of(40, 3))), 20


def _full(kind):
    clf = FullConformalClassifier(SpyClassifier(kind.classifier), **HOW).fit(kind.first(9), kind.y[:9])
    return clf.predict_p(kind.after(9, 2)), full_p(kind, 9, 2, by_label=False), 10


def _sequence(kind):
    model = ConformalSequencePredictor(SpyClassifier(kind.classifier), **HOW)
    model.fit(kind.first(9), kind.y[:9], lengths=[4, 5])
    (p,) = model.predict_p(kind.after(9, 2))
    return p, full_p(kind, 9, 2, by_label=True), 10


def _inductive(kind):
    X, y, new = kind.first(40), kind.y[:40], kind.after(40, M)
    clf = VennAbersPredictor(SpyClassifier(kind.classifier), method="inductive", **HOW).fit(X, y)
    return clf.predict_proba_interval(new), venn_abers(kind.classifier, X, y, new, split_of(40)), 20


def _cross_venn(kind):
    X, y, new = kind.first(30), kind.y[:30], kind.after(30, M)
    clf = VennAbersPredictor(SpyClassifier(kind.classifier), method="cross", cv=3, **HOW).fit(X, y)
    return clf.predict_proba_interval(new), venn_abers(kind.classifier, X, y, new, folds_of(30, 3)), 20


def _bootstrap(kind):
    X, y, new = kind.first(40), kind.y[:40], kind.after(40, M)
    measure = Bootstrap(SpyClassifier(kind.classifier), n_estimators=5, random_state=3)
    clf = SplitConformalClassifier(measure, **HOW).fit(X, y)
    ((fitting, out),) = split_of(40)
    generator, fitting = np.random.default_rng(3), np.sort(fitting)
    draws = [fitting[np.sort(generator.integers(0, 20, 20))] for _ in range(5)]
    models = [fitted_on(kind.classifier, X, y, draw) for draw in draws]
    own = -sum((model.predict(rows(X, out)) == y[out]).astype(float) for model in models)
    scores = -sum((model.predict(new)[:, None] == np.unique(y)).astype(float) for model in models)
    return clf.predict_p(new), (at_least(own, scores) + 1) / 21, 20


def _full_bootstrap(kind):
    measure = Bootstrap(SpyClassifier(kind.classifier), n_estimators=2, random_state=3)
    fast, standard = (
        FullConformalClassifier(measure, algorithm=name, **HOW).fit(kind.first(9), kind.y[:9])
        for name in ("optimized", "standard")
    )
    for clf in (fast, standard):
        clf.partial_fit(kind.after(9, 3), kind.y[9:12]).unlearn([2, 5])
    new = kind.after(12, 2)
    for found, expected in zip(fast._bag.scores(new), standard._bag.scores(new), strict=True):
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
    return fast.predict_p(new), standard.predict_p(new), 13


def _split_regressor(kind):
    X, t, new = kind.first(40), kind.t[:40], kind.after(40, M)
    reg = SplitConformalRegressor(SpyRegressor(kind.regressor), calibration_size=0.4, **HOW).fit(X, t)
    return reg.predict_interval(new, LEVEL), split_interval(kind.regressor, X, t, new, split_of(40, 0.4)), 24


def _cv_plus(kind):
    X, t, new = kind.first(40), kind.t[:40], kind.after(40, M)
    reg = CVPlusRegressor(SpyRegressor(kind.regressor), cv=4, **HOW).fit(X, t)
    assert [seen for method, seen, _ in SEEN if method == "fit"][-1] is X  # all rows are X itself
    return reg.predict_interval(new, LEVEL), cv_plus_interval(kind.regressor, X, t, new, folds_of(40, 4)), 40


def _jackknife_plus(kind):
    X, t, new = kind.first(12), kind.t[:12], kind.after(12, M)
    reg = JackknifePlusRegressor(SpyRegressor(kind.regressor), **HOW).fit(X, t)
    return reg.predict_interval(new, LEVEL), cv_plus_interval(kind.regressor, X, t, new, each_of(12)), 12


def _after_bootstrap(kind):
    X, t, new = kind.first(30), kind.t[:30], kind.after(30, M)
    reg = JackknifeAfterBootstrapRegressor(SpyRegressor(kind.regressor), n_resamplings=12, **HOW).fit(X, t)
    return reg.predict_interval(new, LEVEL), after_bootstrap_interval(kind.regressor, X, t, new, 12), 30


def _full_regressor(kind):
    reg = FullConformalRegressor(SpyRegressor(kind.regressor), **HOW).fit(kind.first(12), kind.t[:12])
    tried = np.array([-2.0, 0.5, 1.0, 5.0])
    found = [reg.predict_p(rows(kind.after(12, 2), [t]), [y])[0] for t in (0, 1) for y in tried]
    return np.array(found), np.array([full_target_p(kind, 12, t, y) for t in (0, 1) for y in tried]), 13


CLASSIFIED = {
    "split": _split,
    "cross": _cross,
    "aggregated": _aggregated,
    "full": _full,
    "sequence": _sequence,
    "inductive Venn-Abers": _inductive,
    "cross Venn-Abers": _cross_venn,
    "bootstrap, split": _bootstrap,
    "bootstrap, full": _full_bootstrap,
}
PREDICTED = {
    "split": _split_regressor,
    "CV+": _cv_plus,
    "jackknife+": _jackknife_plus,
    "jackknife+ after bootstrap": _after_bootstrap,
    "full": _full_regressor,
}
ROUNDED = {"inductive Venn-Abers", "cross Venn-Abers", "jackknife+ after bootstrap"}  # means, in another order


def _table(predictors, slow):
    """Return all pairs: split CP with every kind, all others with one, and the rest for the slow lane."""
    is_quick = {
        (name, kind): kind == "texts" or (name == "split" and kind != slow) for name in predictors for kind in KINDS
    }
    return [pytest.param(*pair, marks=() if quick else pytest.mark.slow) for pair, quick in is_quick.items()]


def _check(predictors, name, kind):
    found, expected, most = predictors[name](KINDS[kind])
    if name in ROUNDED:
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, expected)
    assert np.ptp(expected) > 0
    _check_seen(KINDS[kind], most)


@pytest.mark.parametrize(("name", "kind"), _table(CLASSIFIED, "gaps and categories"))
def test_classifiers(name, kind):
    _check(CLASSIFIED, name, kind)


@pytest.mark.parametrize(("name", "kind"), _table(PREDICTED, None))
def test_regressors(name, kind):
    _check(PREDICTED, name, kind)


@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("name", kinds(of=DETECTABLE))
def test_detectors(name, cv):
    kind = KINDS[name]
    X, new = kind.first(40), kind.after(40, M)
    detector = ConformalAnomalyDetector(SpyDetector(kind.detector), cv=cv, **HOW).fit(X)
    counts = []
    for fitting, out in split_of(40) if cv is None else folds_of(40, cv):
        fitted = fitted_on(kind.detector, X, kind.y, fitting)
        counts.append((at_least(-fitted.score_samples(rows(X, out)), -fitted.score_samples(new), 0.0), out.size))
    np.testing.assert_array_equal(detector.predict_p(new), summed_p(counts))
    _check_seen(kind, 20 if cv is None else 30)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pandas", "polars", "texts", "csr array", "images"])
def test_ends_of_full_intervals(name):
    kind, measure = KINDS[name], ModelResidual(KINDS[name].regressor, bisections=30)
    reg = FullConformalRegressor(measure, **HOW).fit(kind.first(12), kind.t[:12])
    for t, ends in enumerate(reg.predict_interval(kind.after(12, 2), LEVEL)):
        for end, outwards in zip(ends, (-1e-6, 1e-6), strict=True):
            assert full_target_p(kind, 12, t, end + outwards) <= 0.2 < full_target_p(kind, 12, t, end - outwards)


@pytest.mark.parametrize("name", kinds())
def test_calibration_examples_of_ones_own(name):
    kind = KINDS[name]
    X, own, new = kind.first(30), kind.after(30, 20), kind.after(50, M)
    parts = [(np.arange(30), np.arange(30, 50))]
    clf = SplitConformalClassifier(SpyClassifier(kind.classifier), **HOW).fit(X, kind.y[:30], own, kind.y[30:50])
    reg = SplitConformalRegressor(SpyRegressor(kind.regressor), **HOW).fit(X, kind.t[:30], own, kind.t[30:50])
    assert [X is seen for method, seen, _ in SEEN if method == "fit"] == [True, True]
    assert sum(own is seen for _, seen, _ in SEEN) == 2
    p = summed_p(label_counts(kind.classifier, kind.first(50), kind.y, new, parts))
    np.testing.assert_array_equal(clf.predict_p(new), p)
    expected = split_interval(kind.regressor, kind.first(50), kind.t, new, parts)
    np.testing.assert_array_equal(reg.predict_interval(new, LEVEL), expected)
