"""Progressive validation: what a stream may be, when its labels come, who may predict it, and what is recorded."""

from __future__ import annotations

import math
from itertools import count

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactcp import (
    ConformalAnomalyDetector,
    CrossConformalClassifier,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennPredictor,
)
from exactcp.measures import KNN, KNNResidual, SimplifiedKNN
from exactcp.online import AdaptiveLevel, progressive
from exactcp.online._judging import Step
from exactcp.pipeline import make_pipeline as conformal_pipeline


@pytest.fixture
def labelled(rng):
    y = rng.integers(0, 3, 60)
    return rng.normal(size=(60, 2)) + 2.0 * y[:, None], y


def _knn(**how):
    return FullConformalClassifier(KNN(k=3), **how)


def _same(found, wanted):
    np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())
    np.testing.assert_array_equal(found.position, wanted.position)


class TestClassifiers:
    @pytest.mark.parametrize(("mondrian", "delay"), [(None, 0), ("label", 0), (None, 1), ("label", 5), (None, 100)])
    def test_equals_a_fresh_fit_on_what_is_known_by_then(self, labelled, mondrian, delay):
        X, y = labelled[0], np.array(["a", "b", "c"])[labelled[1]]
        clf = _knn(mondrian=mondrian)
        result = progressive(clf, (X, y), confidence_level=0.8, n_initial=10, delay=delay)
        assert result.n_initial == 10
        assert len(result) == 50
        for t in (0, 1, 7, 49):
            known = max(10, 10 + t - delay)
            fresh = _knn(mondrian=mondrian).fit(X[:known], y[:known])
            p = fresh.predict_p(X[10 + t : 11 + t])[0]
            true = fresh.classes_ == y[10 + t]
            assert result.p[t] == p[true][0]
            assert result.error[t] == (p[true][0] <= 0.2)
            assert result.size[t] == (p > 0.2).sum()
            assert result.excess[t] == p[~true].sum()
        # all labels have come by the end
        np.testing.assert_array_equal(clf.predict_p(X), _knn(mondrian=mondrian).fit(X, y).predict_p(X))

    def test_running_means_records_and_frames(self, labelled):
        result = progressive(_knn(), labelled, confidence_level=0.9)
        records = result.to_numpy()
        assert records.dtype.names == ("p", "error", "size", "excess")
        np.testing.assert_array_equal(result.cumulative_errors, np.cumsum(records["error"]))
        np.testing.assert_allclose(result.running_error[-1], records["error"].mean(), rtol=1e-12)
        np.testing.assert_allclose(result.running_size[9], records["size"][:10].mean(), rtol=1e-12)
        np.testing.assert_allclose(result.running_excess[-1], records["excess"].mean(), rtol=1e-12)
        frame = result.to_frame()
        assert isinstance(frame, pd.DataFrame)
        assert frame.index[0] == result.n_initial
        assert frame["running_size"].iloc[-1] == result.running_size[-1]
        np.testing.assert_array_equal(result.errors_at(0.3), ~(result.p > 0.3))  # nan: a label never seen
        np.testing.assert_array_equal(result.errors_at(result.epsilon), result.error)

    def test_a_label_never_seen_is_an_error_and_becomes_a_class(self, rng):
        clf = FullConformalClassifier(KNN(k=1))
        result = progressive(clf, (rng.normal(size=(9, 1)), [0, 1, 0, 1, 0, 1, 2, 2, 0]), confidence_level=0.5)
        assert result.n_initial == 2
        assert np.isnan(result.p[4])
        assert result.error[4]
        assert np.isfinite(result.p[5:]).all()
        assert result.errors_at(0.01)[4]
        np.testing.assert_array_equal(clf.classes_, [0, 1, 2])

    def test_declared_classes_need_one_example(self, labelled):
        X, y = labelled
        result = progressive(_knn(), labelled, classes=[0, 1, 2])
        assert result.n_initial == 1
        assert np.isfinite(result.p).all()
        assert progressive(_knn().fit(X[:30], y[:30]), (X[30:], y[30:])).n_initial == 0

    def test_smoothed_errors_have_the_frequency_epsilon(self):
        rng, errors, steps = np.random.default_rng(1), 0, 0
        for s in range(40):
            y = rng.integers(0, 2, 26)
            X = rng.normal(size=(26, 1)) + y[:, None]
            clf = FullConformalClassifier(SimplifiedKNN(k=2), smoothed=True, random_state=s)
            result = progressive(clf, (X, y), confidence_level=0.7, classes=[0, 1])
            errors, steps = errors + int(result.error.sum()), steps + len(result)
        assert binomtest(errors, steps, 0.3).pvalue > 1e-3


class MeanRegressor(RegressorMixin, BaseEstimator):
    """Intervals without p-values."""

    def fit(self, X, y):
        self.seen_ = np.asarray(y)
        return self

    def partial_fit(self, X, y):
        self.seen_ = np.append(getattr(self, "seen_", []), y)
        return self

    def predict_interval(self, X, confidence_level):
        low, high = np.quantile(self.seen_, [(1 - confidence_level) / 2, (1 + confidence_level) / 2])
        return np.array([[low, high]])


class TestRegressors:
    @pytest.mark.parametrize("smoothed", [False, True])
    def test_full(self, smoothed, rng):
        X = rng.normal(size=(60, 2))
        y = X.sum(axis=1) + 0.3 * rng.normal(size=60)
        regressor = FullConformalRegressor(KNNResidual(k=3), smoothed=smoothed, random_state=0)
        result = progressive(regressor, (X, y), confidence_level=0.9, verbose=1)
        assert len(result) == 51
        if not smoothed:
            fresh = FullConformalRegressor(KNNResidual(k=3)).fit(X[:40], y[:40])
            low, high = fresh.predict_interval(X[40:41], confidence_level=0.9)[0]
            t = 40 - result.n_initial
            assert result.size[t] == pytest.approx(high - low, rel=1e-9)
            assert result.p[t] == fresh.predict_p(X[40:41], y[40:41])[0]
        assert binomtest(int(result.error.sum()), 51, 0.1, alternative="greater").pvalue > 1e-4

    def test_intervals_without_p_values(self, rng):
        X, y = rng.normal(size=(50, 1)), rng.normal(size=50)
        result = progressive(MeanRegressor(), (X, y), confidence_level=0.5, n_initial=5)
        low, high = np.quantile(y[:20], [0.25, 0.75])
        assert result.error[15] == (not low <= y[20] <= high)
        assert result.size[15] == high - low
        with pytest.raises(ValueError, match="need p-values"):
            result.errors_at(0.2)


class TestLabelsThatNeverCome:
    def test_are_predicted_and_neither_scored_nor_learned(self, labelled):
        X, y = labelled
        some = y.astype(object)
        some[[3, 12, 13, 40]] = None
        seen, clf = [], _knn()
        result = progressive(clf, (X, some), n_initial=10, on_step=seen.append)
        known = np.array([label is not None for label in some])
        assert result.n_initial == 10  # the first eleven but one
        assert [step.position for step in seen] == list(range(11, 60))
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
        seen, regressor = [], FullConformalRegressor(KNNResidual(k=2))
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
        known = [i for i in range(31 - 4) if some[i] is not None]
        p = _knn().fit(X[known], y[known]).predict_p(X[31:32])[0, y[31]]
        assert result.p[result.position.tolist().index(31)] == p


class TestRuns:
    def test_a_callback_sees_every_step_and_may_end_the_run(self, labelled):
        X, y = labelled
        seen, clf = [], _knn()

        def look(step):
            seen.append(step)
            return step.position == 30

        endless = ((X[i % 60], y[i % 60]) for i in count())
        result = progressive(clf, endless, n_initial=10, delay=3, on_step=look)
        assert len(result) == len(seen) == 21
        np.testing.assert_array_equal(result.p, [step.p for step in seen])
        np.testing.assert_array_equal(clf.predict_p(X), _knn().fit(X[:31], y[:31]).predict_p(X))

    def test_an_interrupted_run_goes_on_with_the_same_iterator(self, labelled):
        stream, clf, seen = iter(zip(*labelled, strict=True)), _knn(), []

        def interrupt(step):
            seen.append(step)
            if step.position == 25:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            progressive(clf, stream, n_initial=10, on_step=interrupt)
        rest = progressive(clf, stream)
        whole = progressive(_knn(), labelled, n_initial=10)
        np.testing.assert_array_equal([*(step.p for step in seen), *rest.p], whole.p)

    def test_of_nothing(self, labelled):
        fitted = _knn().fit(*labelled)
        assert len(progressive(fitted, iter([]))) == 0
        assert len(progressive(fitted, (labelled[0][:0], labelled[1][:0])).to_frame()) == 0


class TestRows:
    def test_of_every_kind_are_the_same(self, labelled):
        X, y = labelled
        frame = pd.DataFrame(X, columns=["a", "b"])
        dicts = [{"a": a, "b": b} if i % 2 == 0 else {"b": b, "a": a} for i, (a, b) in enumerate(X.tolist())]
        for stream in (
            (X.tolist(), y.tolist()),
            (frame, pd.Series(y)),
            zip(X.tolist(), y.tolist(), strict=True),
            ((frame.iloc[[i]], y[i]) for i in range(60)),
            zip(dicts, y, strict=True),
            list(zip(dicts, y, strict=True)),
            (dicts, y),
            tuple(zip(X, y, strict=True)),
        ):
            _same(progressive(_knn(), stream, classes=[0, 1, 2]), progressive(_knn(), (X, y), classes=[0, 1, 2]))

    def test_two_pairs_are_two_examples(self):
        fitted = FullConformalClassifier(KNN(k=1)).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
        assert len(progressive(fitted, (([0.5], 0), ([1.5], 1)))) == 2

    @pytest.mark.parametrize("kind", ["texts", "dicts", "sparse"])
    def test_go_to_models_as_they_are(self, kind, rng):
        y = np.arange(40) % 2
        words = np.array([["good", "fine", "nice"], ["bad", "poor", "awful"]])
        X, transformer = {
            "texts": ([" ".join(rng.choice(words[label], 3)) for label in y], HashingVectorizer(n_features=64)),
            "dicts": ([{"mood": words[label][0], f"word {i}": 1.0} for i, label in enumerate(y)], DictVectorizer()),
            "sparse": (sparse.csr_matrix(rng.normal(size=(40, 2)) + 9.0 * y[:, None]), "passthrough"),
        }[kind]
        model = FrozenEstimator(make_pipeline(transformer, LogisticRegression()).fit(X, y))
        together = progressive(FullConformalClassifier(model), (X, y), n_initial=20)
        assert together.error.mean() < 0.2
        singles = X.toarray() if kind == "sparse" else X
        _same(progressive(FullConformalClassifier(model), zip(singles, y, strict=True), n_initial=20), together)


def _pipeline():
    return conformal_pipeline(StandardScaler(), _knn())


class TestPredictors:
    def test_split_classifiers_grow_their_calibration_set(self, labelled):
        X, y = labelled
        clf, by_hand = (SplitConformalClassifier(GaussianNB(), random_state=0).fit(X[:20], y[:20]) for _ in range(2))
        result = progressive(clf, (X[20:], y[20:]), confidence_level=0.9)
        assert len(result) == 40
        assert clf.calibration_scores_.shape[0] == 10 + 40
        assert result.p[15] == by_hand.partial_fit(X[20:35], y[20:35]).predict_p(X[35:36])[0, y[35]]

    def test_split_predictors_that_are_not_fitted_split_the_first_examples(self, labelled, rng):
        clf = SplitConformalClassifier(GaussianNB(), random_state=0)
        assert progressive(clf, labelled, confidence_level=0.9).n_initial == 18
        X = rng.normal(size=(60, 1))
        reg = SplitConformalRegressor(LinearRegression(), random_state=0)
        result = progressive(reg, (X, X[:, 0] + rng.normal(size=60)), confidence_level=0.9)
        assert (result.n_initial, len(result)) == (18, 42)
        assert np.isfinite(result.size).all()
        np.testing.assert_array_equal(result.error, result.p <= 0.1)

    def test_venn_predictors(self, labelled):
        X, y = labelled
        result = progressive(VennPredictor(k=3), (X, y), n_initial=10)
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

    def test_a_label_that_a_venn_predictor_has_never_seen_has_a_finite_loss(self, rng):
        result = progressive(VennPredictor(k=2), (rng.normal(size=(12, 1)), [0, 1] * 5 + [2, 2]))
        assert result.error[8]
        assert result.excess[8] == pytest.approx(-math.log(np.finfo(float).eps))
        assert (result.excess[9:] < 36).all()

    @pytest.mark.filterwarnings("ignore:the pipeline's steps:exactcp.ValidityWarning")
    def test_pipelines_and_adaptive_levels_around_them(self, labelled):
        X, y = labelled
        rest, pipeline = (X[20:], y[20:]), _pipeline().fit(X[:20], y[:20])
        before = pipeline.predict_p(X)
        adaptive = progressive(AdaptiveLevel(pipeline), rest)
        np.testing.assert_array_equal(pipeline.predict_p(X), before)  # a copy has learned
        from_start = progressive(AdaptiveLevel(_pipeline()), (X, y), n_initial=20)
        np.testing.assert_array_equal(from_start.to_numpy(), adaptive.to_numpy())
        scale = StandardScaler().fit(X[:20]).transform
        wanted = progressive(_knn(), (scale(X), y), n_initial=20)
        np.testing.assert_array_equal(progressive(pipeline, rest).p, wanted.p)
        _same(progressive(_pipeline(), (X, y), n_initial=20), wanted)


TWO = [({"a": 1.0, "b": 2.0}, 0), ({"a": 1.5, "b": 2.5}, 1)]
NO_NUMBER = "is not a number of examples: use an integer of at least 0 or None"
REFUSED = [
    (CrossConformalClassifier(GaussianNB()), None, {}, TypeError, "cannot learn one example at a time"),
    (ConformalAnomalyDetector(), None, {}, TypeError, "neither a classifier nor a regressor"),
    (_knn(), (np.zeros((9, 1)), ["a"] * 9), {}, ValueError, "before FullConformalClassifier could predict"),
    (_knn(), None, {"n_initial": 99}, ValueError, "the stream has 60"),
    (_knn(), (np.zeros((9, 1)), [0] * 3), {}, ValueError, "expected a y for each row"),
    *((_knn(), None, {"n_initial": number}, ValueError, NO_NUMBER) for number in (-1, 2.5, "3", True)),
    (_knn(), [*TWO, ({"a": 1.0}, 1)], {}, ValueError, r"lacks the keys \['b'\]: expected those of the first example"),
    (_knn(), [*TWO, ({"a": 1.0, "b": 0.0, "c": 1.0}, 1)], {}, ValueError, r"has the new keys \['c'\]"),
    (_knn(), [*TWO, ({"a": 1.0, "b": "red"}, 1)], {}, ValueError, "'b': 'red', which is not a number"),
    (VennPredictor(), None, {"confidence_level": 0.9}, ValueError, "VennPredictor has no levels"),
    (_pipeline(), None, {}, ValueError, "say in n_initial on how many"),
    (_pipeline(), None, {"n_initial": 20, "classes": [0, 1]}, ValueError, "takes them from the examples that it is"),
]


@pytest.mark.parametrize(("predictor", "stream", "how", "error", "sentence"), REFUSED)
def test_refusals(predictor, stream, how, error, sentence, labelled):
    with pytest.raises(error, match=sentence):
        progressive(predictor, labelled if stream is None else stream, **how)
