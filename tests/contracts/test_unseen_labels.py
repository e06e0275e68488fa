"""Labels that no example has: `classes=` knows them, a warning estimates them, metrics count them as errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

from exactcp import (
    AggregatedConformalClassifier,
    CrossConformalClassifier,
    FullConformalClassifier,
    SplitConformalClassifier,
    ValidityWarning,
    VennAbersPredictor,
    VennPredictor,
)
from exactcp.dask import DaskFullConformalClassifier
from exactcp.measures import KDE, KNN, LSSVM, SimplifiedKNN
from exactcp.metrics import coverage, efficiency_summary, evaluate
from slices import both_lanes

LABELS = np.arange(60)
SHARES = 1 / np.arange(1, 61)
SHARES /= SHARES.sum()
PREDICTORS = [
    FullConformalClassifier(KNN(3)),
    FullConformalClassifier(SimplifiedKNN(2)),
    SplitConformalClassifier(GaussianNB(), random_state=0),
    CrossConformalClassifier(GaussianNB(), cv=3, random_state=0),
]
pytestmark = pytest.mark.filterwarnings("ignore:The number of unique classes")


def _draw(rng, n):
    """Objects of 60 labels that are as frequent as words are."""
    y = rng.choice(60, n, p=SHARES)
    return rng.normal(size=(n, 2)) + np.column_stack([y % 8, y // 8]) * 2.0, y


def _covered(predictor, repetitions, **how):
    """Whether the set of each test object, after 50 examples of its own, has its label."""
    rng, found = np.random.default_rng(0), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ValidityWarning)
        for _ in range(repetitions):
            X, y = _draw(rng, 51)
            sets = predictor.fit(X[:50], y[:50], **how).predict_set(X[50:], confidence_level=0.9)
            found.append(coverage(sets, y[50:], classes=predictor.classes_) if y[50] in predictor.classes_ else 0.0)
    return int(sum(found))


@both_lanes(150, 1000)
@pytest.mark.parametrize("predictor", PREDICTORS)
def test_declared_labels_keep_the_guarantee(predictor, repetitions):
    lost = _covered(predictor, repetitions)
    assert binomtest(lost, repetitions, 0.9, alternative="less").pvalue < 1e-4  # so that it matters
    kept = _covered(predictor, repetitions, classes=LABELS)
    assert binomtest(kept, repetitions, 0.9, alternative="less").pvalue > 1e-4


@pytest.mark.parametrize("predictor", [*PREDICTORS, AggregatedConformalClassifier(GaussianNB(), n_splits=2)])
def test_many_labels_of_one_example_are_told_once(predictor):
    X, y = _draw(np.random.default_rng(1), 50)
    predictor.fit(X, y)
    with pytest.warns(ValidityWarning, match=r"fit\(X, y, classes="):
        predictor.predict_set(X, confidence_level=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ValidityWarning)
        predictor.predict_set(X, confidence_level=0.9)
        predictor.fit(X, y, classes=LABELS).predict_set(X, confidence_level=0.9)


@pytest.mark.parametrize("predictor", PREDICTORS)
def test_an_empty_list_of_labels_is_refused(predictor):
    with pytest.raises(ValueError, match=r"give all labels in classes=\."):
        predictor.fit(np.eye(4), np.arange(4), classes=[])


def test_the_share_decides():
    y = np.repeat(np.arange(10), 10)
    X = np.random.default_rng(0).normal(size=(100, 2)) + y[:, None]
    alone = y.copy()
    alone[:5] = 100 + np.arange(5)  # 5 of 100 examples are alone with their label
    clf = FullConformalClassifier(KNN(1)).fit(X, alone)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ValidityWarning)
        clf.predict_set(X, confidence_level=0.9)
        clf.fit(X, y).predict_set(X, confidence_level=0.95)
    with pytest.warns(ValidityWarning, match="5 of 100 examples"):
        clf.fit(X, alone).predict_set(X, confidence_level=[0.8, 0.91])


def test_examples_that_come_later_count():
    X, y = _draw(np.random.default_rng(2), 40)
    clf = FullConformalClassifier(KNN(1)).fit(X, y)
    with pytest.warns(ValidityWarning):
        clf.predict_set(X, 0.9)
    clf.partial_fit(X + 0.1, y)  # now every label has two examples
    with warnings.catch_warnings():
        warnings.simplefilter("error", ValidityWarning)
        clf.predict_set(X, 0.9)


class TestDeclared:
    @pytest.mark.parametrize("measure", [KNN(2), SimplifiedKNN(2), KDE(), LSSVM(), GaussianNB()])
    @pytest.mark.parametrize("kind", [FullConformalClassifier, SplitConformalClassifier])
    def test_a_label_without_examples_has_a_p_value(self, kind, measure):
        X, y = np.random.default_rng(0).normal(size=(12, 2)), np.array(list("ab") * 6)
        predictor = kind(measure)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            p = predictor.fit(X, y, classes=["a", "b", "never"]).predict_p(X[:2])
        assert predictor.classes_.tolist() == ["a", "b", "never"]
        assert p.shape == (2, 3)
        assert ((p > 0) & (p <= 1)).all()

    def test_fit_is_as_partial_fit(self):
        X, y = _draw(np.random.default_rng(3), 30)
        first = FullConformalClassifier(KNN(2)).fit(X, y, classes=LABELS)
        other = FullConformalClassifier(KNN(2)).partial_fit(X, y, classes=LABELS)
        assert (first.predict_p(X) == other.predict_p(X)).all()
        split = SplitConformalClassifier(KNN(2), random_state=0).partial_fit(X, y, classes=LABELS)
        assert split.classes_.size == 60

    def test_dask_and_venn(self):
        X, y = _draw(np.random.default_rng(4), 30)
        many = DaskFullConformalClassifier(KNN(2)).fit(X, y, classes=LABELS)
        assert (many.predict_p(X) == FullConformalClassifier(KNN(2)).fit(X, y, classes=LABELS).predict_p(X)).all()
        assert many.to_local().classes_.size == 60
        assert many.partial_fit(X[:5] + 0.1, y[:5]).classes_.size == 60
        with pytest.raises(ValueError, match="classes="):
            many.fit(X, y, classes=[0, 1])
        assert VennPredictor(2).fit(X, y, classes=LABELS).predict_proba(X).shape == (30, 60)

    @pytest.mark.parametrize("method", ["full", "inductive", "cross"])
    def test_venn_abers(self, method):
        X, y = _draw(np.random.default_rng(4), 30)
        predictor = VennAbersPredictor(None if method == "full" else GaussianNB(), method=method)
        bounds = predictor.fit(X, y, classes=LABELS).predict_proba_interval(X)
        assert bounds.shape == (30, 60, 2)
        never = np.setdiff1d(LABELS, y)
        assert (bounds[:, never, 0] == 0).all()
        assert (bounds[:, never, 1] > 0).all()
        with pytest.raises(ValueError, match="give all labels in classes="):
            predictor.fit(X, y, classes=[0, 1])

    @pytest.mark.parametrize("predictor", PREDICTORS)
    def test_a_label_that_was_not_declared_is_refused(self, predictor):
        X, y = _draw(np.random.default_rng(5), 30)
        with pytest.raises(ValueError, match="give all labels in classes="):
            predictor.fit(X, y, classes=[0, 1])

    def test_a_frozen_model_knows_its_labels(self):
        X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
        model = FrozenEstimator(GaussianNB().fit(X, y))
        for kind in (FullConformalClassifier, SplitConformalClassifier):
            with pytest.raises(ValueError, match="labels that the model knows"):
                kind(model).fit(X, y, classes=[0, 1, 2])


class TestMetrics:
    SETS = np.array([[True, False], [True, True], [False, True]])

    def test_an_unseen_label_is_an_error(self):
        y = np.array(["a", "b", "new"])
        assert coverage(self.SETS, y, classes=["a", "b"]) == pytest.approx(2 / 3)
        assert efficiency_summary(self.SETS.astype(float), y, classes=["a", "b"]).observed_excess == pytest.approx(
            2 / 3
        )

    def test_other_names_of_all_labels_are_refused(self):
        with pytest.raises(ValueError, match="classes_"):
            coverage(self.SETS, ["x", "y", "z"], classes=["a", "b"])
        with pytest.raises(ValueError, match="classes="):
            coverage(self.SETS, [0, 1, 2])

    def test_evaluate(self):
        X, y = _draw(np.random.default_rng(6), 90)
        clf = FullConformalClassifier(KNN(2)).fit(X[:50], y[:50])
        known = np.isin(y[50:], clf.classes_)
        with pytest.warns(ValidityWarning):
            table = evaluate(clf, X[50:], y[50:], [0.9])
        inside = coverage(clf.predict_set(X[50:][known], 0.9), y[50:][known], classes=clf.classes_)
        assert table["coverage"][0] == pytest.approx(inside * known.mean())
        assert known.mean() < 1
