"""Progressive validation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.naive_bayes import GaussianNB

from exactcp import ConformalAnomalyDetector, CrossConformalClassifier, FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN, LSSVM, KNNResidual, SimplifiedKNN
from exactcp.online import progressive


@pytest.fixture
def labelled(rng):
    y = rng.integers(0, 3, 60)
    return rng.normal(size=(60, 2)) + 2.0 * y[:, None], np.array(["a", "b", "c"])[y]


class TestClassifiers:
    @pytest.mark.parametrize("mondrian", [None, "label"])
    def test_equals_a_fresh_fit_at_each_step(self, labelled, mondrian):
        X, y = labelled
        make = lambda: FullConformalClassifier(KNN(k=3), mondrian=mondrian)  # noqa: E731
        result = progressive(make(), (X, y), confidence_level=0.8, n_initial=10)
        assert result.n_initial == 10
        assert len(result) == 50
        for t in (0, 7, 49):
            fresh = make().fit(X[: 10 + t], y[: 10 + t])
            p = fresh.predict_p(X[10 + t : 11 + t])[0]
            true = fresh.classes_ == y[10 + t]
            assert result.p[t] == p[true][0]
            assert result.error[t] == (p[true][0] <= 0.2)
            assert result.size[t] == (p > 0.2).sum()
            assert result.excess[t] == p[~true].sum()

    def test_the_predictor_knows_the_stream_afterwards(self, labelled):
        X, y = labelled
        clf = FullConformalClassifier(KNN(k=3))
        progressive(clf, zip(X, y, strict=True))
        np.testing.assert_array_equal(clf.predict_p(X), FullConformalClassifier(KNN(k=3)).fit(X, y).predict_p(X))

    def test_running_means_records_and_frames(self, labelled):
        result = progressive(FullConformalClassifier(KNN(k=3)), labelled, confidence_level=0.9)
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
        X = rng.normal(size=(9, 1))
        y = np.array([0, 1, 0, 1, 0, 1, 2, 2, 0])
        clf = FullConformalClassifier(KNN(k=1))
        result = progressive(clf, (X, y), confidence_level=0.5)
        assert result.n_initial == 2
        assert np.isnan(result.p[4])
        assert result.error[4]
        assert np.isfinite(result.p[5:]).all()
        assert result.errors_at(0.01)[4]
        np.testing.assert_array_equal(clf.classes_, [0, 1, 2])

    def test_declared_classes_need_one_example(self, labelled):
        X, y = labelled
        result = progressive(FullConformalClassifier(KNN(k=3)), (X, y), classes=["a", "b", "c"])
        assert result.n_initial == 1
        assert np.isfinite(result.p).all()
        fitted = FullConformalClassifier(KNN(k=3)).fit(X[:30], y[:30])
        assert progressive(fitted, (X[30:], y[30:])).n_initial == 0

    def test_smoothed_errors_have_the_frequency_epsilon(self):
        rng, errors, steps = np.random.default_rng(1), 0, 0
        for s in range(40):
            y = rng.integers(0, 2, 26)
            X = rng.normal(size=(26, 1)) + y[:, None]
            clf = FullConformalClassifier(SimplifiedKNN(k=2), smoothed=True, random_state=s)
            result = progressive(clf, (X, y), confidence_level=0.7, classes=[0, 1])
            errors, steps = errors + int(result.error.sum()), steps + len(result)
        assert binomtest(errors, steps, 0.3).pvalue > 1e-3

    def test_each_object_has_its_own_tau(self, rng):
        # all scores tie, so that the p-value is tau itself
        clf = FullConformalClassifier(LSSVM(rho=1e300), smoothed=True, random_state=0)
        result = progressive(clf, (rng.normal(size=(20, 1)), np.arange(20) % 2), n_initial=4)
        assert len(set(result.p.round(12))) == 16

    def test_refusals(self, labelled):
        X, y = labelled
        clf = FullConformalClassifier(KNN(k=3))
        with pytest.raises(TypeError, match="cannot learn one example at a time"):
            progressive(CrossConformalClassifier(GaussianNB()), labelled)
        with pytest.raises(TypeError, match="neither a classifier nor a regressor"):
            progressive(ConformalAnomalyDetector(), labelled)
        with pytest.raises(ValueError, match="before FullConformalClassifier could predict"):
            progressive(clf, (X, np.full(60, "a")))
        with pytest.raises(ValueError, match="the stream has 60"):
            progressive(clf, labelled, n_initial=99)
        with pytest.raises(ValueError, match="expected a y for each row"):
            progressive(clf, (X, y[:3]))
        for n_initial in (-1, 2.5, "3", True):
            with pytest.raises(ValueError, match="is not a number of examples: use an integer of at least 0 or None"):
                progressive(clf, labelled, n_initial=n_initial)
        with pytest.raises(ValueError, match="not a probability"):
            progressive(clf, labelled, confidence_level=95)


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
        assert result.n_initial == 9  # the smallest p-value is then 1/10
        assert result.epsilon == 0.1
        assert len(result) == 51
        assert np.isfinite(result.p).all()
        if not smoothed:
            fresh = FullConformalRegressor(KNNResidual(k=3)).fit(X[:40], y[:40])
            low, high = fresh.predict_interval(X[40:41], confidence_level=0.9)[0]
            t = 40 - result.n_initial
            assert result.size[t] == pytest.approx(high - low, rel=1e-9)
            assert result.p[t] == fresh.predict_p(X[40:41], y[40:41])[0]
            assert result.error[t] == (result.p[t] <= result.epsilon)
        assert binomtest(int(result.error.sum()), 51, 0.1, alternative="greater").pvalue > 1e-4

    def test_intervals_without_p_values(self, rng):
        X, y = rng.normal(size=(50, 1)), rng.normal(size=50)
        result = progressive(MeanRegressor(), (X, y), confidence_level=0.5, n_initial=5)
        low, high = np.quantile(y[:20], [0.25, 0.75])
        assert result.error[15] == (not low <= y[20] <= high)
        assert result.size[15] == high - low
        with pytest.raises(ValueError, match="need p-values"):
            result.errors_at(0.2)
