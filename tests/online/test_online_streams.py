"""What a stream may be: labels that come late or never, texts, dicts, iterators; and who may predict it."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactcp import (
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennPredictor,
)
from exactcp.measures import KNN, KNNResidual
from exactcp.online import AdaptiveLevel, progressive
from exactcp.online._judging import Step
from exactcp.pipeline import make_pipeline as conformal_pipeline


@pytest.fixture
def labelled(rng):
    y = rng.integers(0, 2, 50)
    return rng.normal(size=(50, 2)) + 2.0 * y[:, None], y


def _knn():
    return FullConformalClassifier(KNN(k=3))


def _same(found, wanted):
    np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())
    np.testing.assert_array_equal(found.position, wanted.position)


class TestLateLabels:
    @pytest.mark.parametrize("delay", [1, 5, 100])
    def test_equals_a_fresh_fit_on_what_is_known_by_then(self, delay, labelled):
        X, y = labelled
        clf = _knn()
        result = progressive(clf, (X, y), n_initial=10, delay=delay)
        assert len(result) == 40
        for t in (0, 1, 7, 39):
            known = max(10, 10 + t - delay)
            fresh = _knn().fit(X[:known], y[:known])
            assert result.p[t] == fresh.predict_p(X[10 + t : 11 + t])[0, y[10 + t]]
        np.testing.assert_array_equal(clf.predict_p(X), _knn().fit(X, y).predict_p(X))  # all have come by the end

    def test_of_none_is_as_before(self, labelled):
        _same(progressive(_knn(), labelled, delay=0), progressive(_knn(), labelled))


class TestLabelsThatNeverCome:
    def test_are_predicted_and_neither_scored_nor_learned(self, labelled):
        X, y = labelled
        some = y.astype(object)
        some[[3, 12, 13, 40]] = None
        seen = []
        clf = _knn()
        result = progressive(clf, (X, some), n_initial=10, on_step=seen.append)
        known = np.array([label is not None for label in some])
        assert result.n_initial == 10  # the first eleven but one
        assert [step.position for step in seen] == list(range(11, 50))
        assert [step.position for step in seen if step.error is None] == [12, 13, 40]
        np.testing.assert_array_equal(result.position, np.flatnonzero(known)[10:])
        assert result.to_frame().index.tolist() == result.position.tolist()
        without = progressive(_knn(), (X[known], y[known]), n_initial=10)
        np.testing.assert_array_equal(result.to_numpy(), without.to_numpy())
        step = next(step for step in seen if step.position == 12)
        fresh = _knn().fit(X[:12][known[:12]], y[:12][known[:12]]).predict_p(X[12:13])
        assert step.size == (fresh > 0.05).sum()
        assert math.isnan(step.p)
        np.testing.assert_array_equal(clf.predict_p(X), _knn().fit(X[known], y[known]).predict_p(X))

    @pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
    def test_targets(self, missing, rng):
        X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
        answers = [missing if i == 30 else target for i, target in enumerate(y)]
        seen = []
        regressor = FullConformalRegressor(KNNResidual(k=2))
        result = progressive(regressor, zip(X, answers, strict=True), confidence_level=0.8, on_step=seen.append)
        assert len(result) == len(seen) - 1 == 40 - 4 - 1
        step = seen[30 - 4]
        fresh = FullConformalRegressor(KNNResidual(k=2)).fit(X[:30], y[:30])
        low, high = fresh.predict_interval(X[30:31], confidence_level=0.8)[0]
        assert step == Step(30, step.p, None, high - low, high - low, low, high)

    def test_a_delay_counts_examples_and_not_labels(self, labelled):
        X, y = labelled
        some = [None if i % 3 == 0 else label for i, label in enumerate(y.tolist())]
        result = progressive(_knn(), (X, some), n_initial=10, delay=4)
        assert result.position[0] == 16  # ten labels came with the first fifteen, and the next did not
        position = 31
        known = [i for i in range(position - 4) if some[i] is not None]
        fresh = _knn().fit(X[known], y[known])
        p = fresh.predict_p(X[position : position + 1])[0, y[position]]
        assert result.p[result.position.tolist().index(position)] == p


class TestRuns:
    def test_a_callback_sees_every_step_and_may_end_the_run(self, labelled):
        X, y = labelled
        seen = []

        def look(step):
            seen.append(step)
            return step.position == 30

        clf = _knn()
        result = progressive(clf, (X, y), n_initial=10, delay=3, on_step=look)
        assert len(result) == len(seen) == 21
        np.testing.assert_array_equal(result.p, [step.p for step in seen])
        np.testing.assert_array_equal(clf.predict_p(X), _knn().fit(X[:31], y[:31]).predict_p(X))

    def test_an_interrupted_run_goes_on_with_the_same_iterator(self, labelled):
        X, y = labelled
        stream, clf, seen = iter(zip(X, y, strict=True)), _knn(), []

        def interrupt(step):
            seen.append(step)
            if step.position == 25:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            progressive(clf, stream, n_initial=10, on_step=interrupt)
        rest = progressive(clf, stream)
        whole = progressive(_knn(), (X, y), n_initial=10)
        np.testing.assert_array_equal([*(step.p for step in seen), *rest.p], whole.p)

    def test_an_endless_stream_can_be_ended(self, rng):
        def endless():
            while True:
                yield rng.normal(size=2), int(rng.integers(0, 2))

        assert len(progressive(_knn(), endless(), classes=[0, 1], on_step=lambda step: step.position == 20)) == 20

    def test_of_nothing(self, labelled):
        fitted = _knn().fit(*labelled)
        assert len(progressive(fitted, iter([]))) == 0
        assert len(progressive(fitted, (labelled[0][:0], labelled[1][:0])).to_frame()) == 0


class TestRows:
    def test_of_every_kind_are_the_same(self, labelled):
        X, y = labelled
        wanted = progressive(_knn(), (X, y))
        frame = pd.DataFrame(X, columns=["a", "b"])
        dicts = [{"a": a, "b": b} if i % 2 else {"b": b, "a": a} for i, (a, b) in enumerate(X.tolist())]
        dicts[0] = dict(zip("ab", X[0].tolist(), strict=True))
        for stream in (
            (X.tolist(), y.tolist()),
            (frame, pd.Series(y)),
            zip(X.tolist(), y.tolist(), strict=True),
            ((frame.iloc[[i]], y[i]) for i in range(50)),
            zip(dicts, y, strict=True),
            list(zip(dicts, y, strict=True)),
            (dicts, y),
            tuple(zip(X, y, strict=True)),
        ):
            _same(progressive(_knn(), stream), wanted)

    def test_two_pairs_are_two_examples(self):
        fitted = FullConformalClassifier(KNN(k=1)).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
        assert len(progressive(fitted, (([0.5], 0), ([1.5], 1)))) == 2

    def test_texts(self, rng):
        words = np.array([["good", "fine", "nice"], ["bad", "poor", "awful"]])
        y = np.arange(40) % 2
        texts = [" ".join(rng.choice(words[label], 3)) for label in y]
        model = make_pipeline(HashingVectorizer(n_features=64), LogisticRegression()).fit(texts[:16], y[:16])
        results = []
        for stream in ((texts[16:], y[16:]), zip(texts[16:], y[16:], strict=True)):
            clf = FullConformalClassifier(FrozenEstimator(model))
            results.append(progressive(clf, stream, confidence_level=0.8, n_initial=10))
            assert results[-1].size.sum() > 0
        _same(*results)

    def test_sparse_rows(self, labelled):
        X, y = labelled
        model = LogisticRegression().fit(X, y)
        results = [
            progressive(FullConformalClassifier(FrozenEstimator(model)), (objects, y), n_initial=10)
            for objects in (X, sparse.csr_matrix(X))
        ]
        _same(*results)

    def test_dicts_go_to_models_as_they_are(self, rng):
        y = np.arange(40) % 2
        dicts = [{"colour": ("red", "blue")[label], f"word {i}": 1.0} for i, label in enumerate(y)]
        model = make_pipeline(DictVectorizer(), LogisticRegression()).fit(dicts, y)
        results = []
        for stream in ((dicts, y), zip(dicts, y, strict=True)):
            results.append(progressive(FullConformalClassifier(FrozenEstimator(model)), stream, n_initial=20))
            assert not results[-1].error.any()
        _same(*results)

    def test_dicts_with_other_keys_are_refused(self):
        stream = [({"a": 1.0, "b": 2.0}, 0), ({"a": 1.5, "b": 2.5}, 1), ({"a": 1.0}, 1)]
        with pytest.raises(ValueError, match=r"lacks the keys \['b'\]: expected those of the first example"):
            progressive(_knn(), stream)
        with pytest.raises(ValueError, match=r"has the new keys \['c'\]"):
            progressive(_knn(), [*stream[:2], ({"a": 1.0, "b": 0.0, "c": 1.0}, 1)])
        with pytest.raises(ValueError, match="'b': 'red', which is not a number"):
            progressive(_knn(), [*stream[:2], ({"a": 1.0, "b": "red"}, 1)])


def _pipeline():
    return conformal_pipeline(StandardScaler(), _knn())


class TestPredictors:
    def test_split_classifiers_grow_their_calibration_set(self, labelled):
        X, y = labelled
        clf = SplitConformalClassifier(GaussianNB(), random_state=0).fit(X[:20], y[:20])
        result = progressive(clf, (X[20:], y[20:]), confidence_level=0.9)
        assert len(result) == 30
        assert clf.calibration_scores_.shape[0] == 10 + 30
        by_hand = SplitConformalClassifier(GaussianNB(), random_state=0).fit(X[:20], y[:20])
        by_hand.partial_fit(X[20:35], y[20:35])
        assert result.p[15] == by_hand.predict_p(X[35:36])[0, y[35]]

    def test_split_predictors_that_are_not_fitted_split_the_first_examples(self, labelled, rng):
        clf = SplitConformalClassifier(GaussianNB(), random_state=0)
        assert progressive(clf, labelled, confidence_level=0.9).n_initial == 18
        X = rng.normal(size=(60, 1))
        reg = SplitConformalRegressor(LinearRegression(), random_state=0)
        result = progressive(reg, (X, X[:, 0] + rng.normal(size=60)), confidence_level=0.9)
        assert (result.n_initial, len(result)) == (18, 42)
        assert np.isfinite(result.size).all()
        assert np.isfinite(result.p).all()
        np.testing.assert_array_equal(result.error, result.p <= 0.1)

    def test_venn_predictors(self, labelled):
        X, y = labelled
        venn = VennPredictor(k=3)
        result = progressive(venn, (X, y), n_initial=10)
        fresh = VennPredictor(k=3).fit(X[:30], y[:30])
        proba, bounds = fresh.predict_proba(X[30:31])[0], fresh.predict_proba_interval(X[30:31])[0]
        best = int(proba.argmax())
        assert result.error[20] == (best != y[30])
        assert (result.lower[20], result.upper[20]) == tuple(bounds[best])
        assert result.size[20] == bounds[best, 1] - bounds[best, 0]
        assert result.excess[20] == pytest.approx(-math.log(proba[y[30]]), rel=1e-12)
        assert np.isnan(result.p).all()
        assert math.isnan(result.epsilon)
        assert {"lower", "upper"} <= set(result.to_frame().columns)
        with pytest.raises(ValueError, match="VennPredictor has no levels"):
            progressive(VennPredictor(), (X, y), confidence_level=0.9)

    def test_a_label_that_a_venn_predictor_has_never_seen_has_a_finite_loss(self, rng):
        X, y = rng.normal(size=(12, 1)), np.array([0, 1] * 5 + [2, 2])
        result = progressive(VennPredictor(k=2), (X, y))
        assert result.error[8]
        assert result.excess[8] == pytest.approx(-math.log(np.finfo(float).eps))
        assert (result.excess[9:] < 36).all()

    @pytest.mark.filterwarnings("ignore:the pipeline's steps:exactcp.ValidityWarning")
    def test_pipelines(self, labelled):
        X, y = labelled
        fitted = progressive(_pipeline().fit(X[:20], y[:20]), (X[20:], y[20:]))
        fresh = progressive(_pipeline(), (X, y), n_initial=20)
        scale = StandardScaler().fit(X[:20]).transform
        wanted = progressive(_knn(), (scale(X), y), n_initial=20)
        np.testing.assert_array_equal(fitted.p, wanted.p)
        _same(fresh, wanted)
        with pytest.raises(ValueError, match="say in n_initial on how many"):
            progressive(_pipeline(), labelled)
        with pytest.raises(ValueError, match="takes them from the examples that it is fitted on"):
            progressive(_pipeline(), labelled, n_initial=20, classes=[0, 1])

    @pytest.mark.filterwarnings("ignore:the pipeline's steps:exactcp.ValidityWarning")
    def test_adaptive_levels_around_pipelines(self, labelled):
        X, y = labelled
        pipeline = _pipeline().fit(X[:20], y[:20])
        before = pipeline.predict_p(X)
        adaptive = AdaptiveLevel(pipeline)
        result = progressive(adaptive, (X[20:], y[20:]))
        np.testing.assert_array_equal(pipeline.predict_p(X), before)  # a copy has learned
        from_start = progressive(AdaptiveLevel(_pipeline()), (X, y), n_initial=20)
        np.testing.assert_array_equal(from_start.to_numpy(), result.to_numpy())
