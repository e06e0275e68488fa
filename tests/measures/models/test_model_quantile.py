"""Conformalised quantile regression in split, CV+, jackknife+ and full CP."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, QuantileRegressor, Ridge
from sklearn.model_selection import KFold

from exactcp import CVPlusRegressor, FullConformalRegressor, JackknifePlusRegressor, SplitConformalRegressor
from exactcp.measures import ModelQuantile, ModelResidual
from exactcp.pvalues import threshold

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(40, 2))
Y = X[:, 0] + RNG.normal(size=40) * np.where(X[:, 1] > 0, 1.0, 0.2)
X_TEST = RNG.uniform(-1, 1, size=(5, 2))
LOWER, UPPER = (QuantileRegressor(quantile=q, alpha=0.0) for q in (0.1, 0.9))


class Both(RegressorMixin, BaseEstimator):
    """Two quantiles from one estimator."""

    def fit(self, X, y, sample_weight=None):
        """Learn both."""
        self.models_ = [clone(one).fit(X, y, sample_weight=sample_weight) for one in (LOWER, UPPER)]
        return self

    def predict(self, X):
        """Return two columns."""
        return np.column_stack([model.predict(X) for model in self.models_])


def by_hand(train, fold, x, count, method):
    """Return the interval of one object by CV+ of quantiles, as it is defined."""
    models = {f: train(X[fold != f], Y[fold != f]) for f in np.unique(fold)}
    bands = np.array([models[f].predict(X[i : i + 1])[0] for i, f in enumerate(fold)])
    scores = np.maximum(bands[:, 0] - Y, Y - bands[:, 1])
    here = np.array([models[f].predict(x[None])[0] for f in fold])
    if method == "minmax":
        widest = np.sort(scores)[-count]
        return here[:, 0].min() - widest, here[:, 1].max() + widest
    return np.sort(here[:, 0] - scores)[count - 1], np.sort(here[:, 1] + scores)[-count]


class TestEqualsByHand:
    @pytest.mark.parametrize("measure", [ModelQuantile(LOWER, UPPER), ModelQuantile(Both())], ids=["two", "one"])
    def test_split(self, measure):
        reg = SplitConformalRegressor(measure).fit(X[:20], Y[:20], X[20:], Y[20:])
        said = Both().fit(X[:20], Y[:20])
        band = said.predict(X[20:])
        scores = np.maximum(band[:, 0] - Y[20:], Y[20:] - band[:, 1])
        np.testing.assert_array_equal(reg.calibration_scores_, scores)
        moved = np.sort(scores)[-int(threshold(0.2, 20))]
        np.testing.assert_array_equal(
            reg.predict_interval(X_TEST, 0.8), said.predict(X_TEST) + np.array([-moved, moved])
        )
        np.testing.assert_array_equal(reg.predict(X_TEST), said.predict(X_TEST).mean(axis=1))

    @pytest.mark.parametrize("method", ["plus", "minmax"])
    @pytest.mark.parametrize("folds", [5, 40])
    def test_left_out(self, method, folds):
        one_each = JackknifePlusRegressor(ModelQuantile(LOWER, UPPER), method=method)
        reg = one_each if folds == 40 else CVPlusRegressor(ModelQuantile(LOWER, UPPER), method=method, cv=KFold(folds))
        found = reg.fit(X, Y).predict_interval(X_TEST, 0.8)
        fold, count = np.arange(40) * folds // 40, int(threshold(0.2, 40))
        expected = [by_hand(lambda A, b: Both().fit(A, b), fold, x, count, method) for x in X_TEST[:1]]
        np.testing.assert_allclose(found[:1], expected, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("residual", ["ordinary", "deleted"])
    def test_full(self, residual):
        reg = FullConformalRegressor(ModelQuantile(LOWER, UPPER, residual=residual)).fit(X[:12], Y[:12])
        for target in (-1.0, 0.2, 2.0):
            A, b = np.vstack([X[:12], X_TEST[:1]]), np.append(Y[:12], target)
            scores = []
            for i in range(13):
                rest = np.ones(13, bool) if residual == "ordinary" else np.arange(13) != i
                low, high = Both().fit(A[rest], b[rest]).predict(A[i : i + 1])[0]
                scores.append(max(low - b[i], b[i] - high))
            expected = (np.sum(np.array(scores[:-1]) >= scores[-1] - 1e-9) + 1) / 13
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                assert reg.predict_p(X_TEST[:1], [target])[0] == expected

    def test_full_warns_and_has_intervals(self):
        measure = ModelQuantile(LOWER, UPPER, residual="deleted", bisections=2)
        reg = FullConformalRegressor(measure).fit(X[:12], Y[:12])
        with pytest.warns(UserWarning, match=r"ModelQuantile fits QuantileRegressor anew .*: 144 to 1,056 refits"):
            low, high = reg.predict_interval(X_TEST[:1], 0.7)[0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert (reg.predict_p(np.repeat(X_TEST[:1], 2, axis=0), [low - 1e-6, high + 1e-6]) <= 0.3).all()
            assert reg.predict_p(X_TEST[:1], [0.5 * (low + high)])[0] > 0.3


class TestParameters:
    def test_weights_reach_both_models_and_go_with_the_rows(self):
        weights = RNG.uniform(size=40)
        reg = SplitConformalRegressor(ModelQuantile(LOWER, UPPER), random_state=0).fit(X, Y, sample_weight=weights)
        plain = SplitConformalRegressor(ModelQuantile(LOWER, UPPER), random_state=0).fit(X, Y)
        one = SplitConformalRegressor(ModelQuantile(Both()), random_state=0).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(reg.predict_interval(X_TEST, 0.8), one.predict_interval(X_TEST, 0.8))
        assert (reg.predict(X_TEST) != plain.predict(X_TEST)).any()
        fold = CVPlusRegressor(ModelQuantile(LOWER, UPPER), cv=KFold(4)).fit(X, Y, sample_weight=weights).measures_[1]
        rest = np.r_[0:10, 20:40]
        expected = Both().fit(X[rest], Y[rest], sample_weight=weights[rest]).predict(X_TEST)
        np.testing.assert_array_equal(fold.band(X_TEST), expected)

    def test_routing(self):
        weights = RNG.uniform(size=40)
        with sklearn.config_context(enable_metadata_routing=True):
            asking = LOWER.__class__(quantile=0.1, alpha=0.0).set_fit_request(sample_weight=True)
            silent = QuantileRegressor(quantile=0.9, alpha=0.0).set_fit_request(sample_weight=False)
            measure = ModelQuantile(asking, silent).fit(X, Y, sample_weight=weights)
            single = ModelResidual(Ridge().set_fit_request(sample_weight=True)).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(measure.lower_.coef_, clone(LOWER).fit(X, Y, sample_weight=weights).coef_)
        np.testing.assert_array_equal(measure.upper_.coef_, clone(UPPER).fit(X, Y).coef_)
        np.testing.assert_array_equal(single.estimator_.coef_, Ridge().fit(X, Y, sample_weight=weights).coef_)

    def test_what_is_fixed(self):
        frozen = [FrozenEstimator(clone(one).fit(X, Y)) for one in (LOWER, UPPER)]
        assert ModelQuantile(*frozen).is_fixed
        assert ModelQuantile("precomputed").is_fixed
        assert not ModelQuantile(frozen[0], UPPER).is_fixed
        assert not ModelQuantile(LOWER, UPPER).is_fixed


@pytest.mark.parametrize(
    ("measure", "error", "message"),
    [
        (ModelQuantile(Both(), UPPER), ValueError, r"Both\.predict returned shape \(40, 2\).*expected one number"),
        (ModelQuantile("precomputed", UPPER), ValueError, "lower='precomputed' says that X are both quantiles"),
        (ModelQuantile(LogisticRegression(), UPPER), TypeError, "LogisticRegression predicts labels"),
        (
            ModelQuantile(LOWER, GradientBoostingRegressor),
            TypeError,
            "GradientBoostingRegressor is a class: give an instance",
        ),
    ],
)
def test_bad_parameters_get_a_sentence(measure, error, message):
    with pytest.raises(error, match=message):
        measure.fit(X, Y)
