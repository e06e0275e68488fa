"""JackknifeAfterBootstrapRegressor: equal to the definition, to MAPIE's given the samples, and valid."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from exactcp import JackknifeAfterBootstrapRegressor
from exactcp._rows import take_rows
from exactcp.measures import ModelResidual
from exactcp.regression import _resampled_models
from golden import MODELS, golden, parts
from slices import sliced

RNG = np.random.default_rng(0)
X_ALL = RNG.normal(size=(130, 3))
Y_ALL = 50 + X_ALL[:, 0] + 0.3 * RNG.normal(size=130)
X, Y, X_TEST = X_ALL[:50], Y_ALL[:50], X_ALL[100:110]
GRID = np.random.default_rng(1).integers(0, 3, (24, 2)).astype(float)
PROBLEMS = {
    "normal": (X, Y, X_TEST),
    "even": (X[:49], Y[:49], X_TEST),
    "ties": (GRID, np.repeat([1.0, 2.0, 2.0], 8), GRID[:7]),
    "three": (X[:3], Y[:3], X_TEST),
    "tiny": (1e-9 * X, 1e-9 * Y, 1e-9 * X_TEST),
}
FEW = "ignore:.* are in all of the .* sample"


class Mean(RegressorMixin, BaseEstimator):
    """The weighted mean of the targets; it keeps what it was given."""

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_ = X, y
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def textbook(said, samples, y, said_of_test, level, aggregate, method):
    """Return the intervals as the paper writes them, one example and one test object at a time.

    What each model said of an example or a test object is a row of `said` or `said_of_test`.
    """
    n, phi = len(y), {"mean": np.mean, "median": np.median}[aggregate]
    lacking = [[b for b, sample in enumerate(samples) if i not in sample] for i in range(n)]

    def left_out(i, row):
        return phi([row[b] for b in lacking[i]]) if lacking[i] else phi([y[j] for j in range(n) if j != i])

    R = np.array([abs(y[i] - left_out(i, said[i])) for i in range(n)])
    m = next(m for m in range(n + 2) if round((m + 1) / (n + 1), 12) > round(1 - level, 12))
    ends = []
    for row in said_of_test:
        mu = np.array([left_out(i, row) for i in range(n)])
        if m == 0:
            ends.append([-np.inf, np.inf])
        elif method == "plus":
            ends.append([np.sort(mu - R)[m - 1], np.sort(mu + R)[-m]])
        else:
            ends.append([mu.min() - np.sort(R)[-m], mu.max() + np.sort(R)[-m]])
    return np.array(ends), R


def samples_of(reg):
    """Return the samples as sets of positions, from what the models lack."""
    return [np.flatnonzero(~lacks) for lacks in reg._models.lacks.T]


@pytest.mark.filterwarnings(FEW)
@pytest.mark.filterwarnings("ignore:confidence_level=.* needs at least")
class TestTextbook:
    @pytest.mark.parametrize(
        ("n_resamplings", "method", "aggregate", "problem"),
        sliced(2, [1, 2, 8, 30], ["plus", "minmax"], ["mean", "median"], PROBLEMS),
    )
    def test_samples(self, problem, aggregate, method, n_resamplings):
        X, y, X_test = PROBLEMS[problem]
        parameters = {"n_resamplings": n_resamplings, "aggregate": aggregate, "method": method}
        reg = JackknifeAfterBootstrapRegressor(Ridge(alpha=0.1), random_state=5, **parameters).fit(X, y)
        generator = np.random.RandomState(5)
        drawn = generator.binomial(n_resamplings, (1 - 1 / (len(y) + 1)) ** len(y))
        samples = [generator.randint(0, len(y), len(y)) for _ in range(drawn)]
        assert reg.n_resamplings_ == len(reg.estimators_) == drawn
        models = [Ridge(alpha=0.1).fit(X[sample], y[sample]) for sample in samples]
        said, said_of_test = ([[m.predict(x[None])[0] for m in models] for x in rows] for rows in (X, X_test))
        for level in (0.5, 0.8, 0.9):
            expected, residuals = textbook(said, samples, y, said_of_test, level, aggregate, method)
            np.testing.assert_allclose(reg.predict_interval(X_test, level), expected, rtol=1e-10)
        np.testing.assert_allclose(reg.residuals_, residuals, rtol=1e-10, atol=1e-12 * np.abs(y).max())
        phi = np.mean if aggregate == "mean" else np.median
        points = [phi(row) if models else phi(y) for row in said_of_test]
        np.testing.assert_allclose(reg.predict(X_test), points, rtol=1e-12)


ENSEMBLES = {
    "forest": RandomForestRegressor(20, max_depth=3),
    "half": RandomForestRegressor(20, max_depth=3, max_samples=0.5),
    "extra": ExtraTreesRegressor(20, max_depth=3, bootstrap=True, max_samples=20),
    "bagging": BaggingRegressor(Ridge(), 20),
    "features": BaggingRegressor(DecisionTreeRegressor(), 20, max_features=2, bootstrap_features=True),
}
LARGE = [name for name in PROBLEMS if name != "three"]  # of which 20 are not drawn


@pytest.mark.parametrize(
    ("name", "method", "aggregate", "problem"), sliced(3, ENSEMBLES, ["plus", "minmax"], ["mean", "median"], LARGE)
)
def test_an_ensembles_own_samples(problem, aggregate, method, name):
    ensemble, (X, y, X_test) = ENSEMBLES[name], PROBLEMS[problem]
    reg = JackknifeAfterBootstrapRegressor(ensemble, aggregate=aggregate, method=method, random_state=5).fit(X, y)
    size = {None: len(y), 1.0: len(y), 0.5: len(y) // 2, 20: 20}[ensemble.max_samples]
    chance = (1 - 1 / (len(y) + 1)) ** size
    drawn = np.random.RandomState(5).binomial(round(20 / chance), chance)
    assert reg.n_resamplings_ == drawn
    own = clone(ensemble).set_params(n_estimators=drawn)
    seeds = {name: 5 for name in own.get_params() if name.split("__")[-1] == "random_state"}
    own = own.set_params(**seeds).fit(X, y)
    columns = getattr(own, "estimators_features_", [np.arange(X.shape[1])] * drawn)
    said, said_of_test = (
        np.array([m.predict(rows[:, c]) for m, c in zip(own.estimators_, columns, strict=True)]).T
        for rows in (X, X_test)
    )
    for level in (0.5, 0.9):
        expected, residuals = textbook(said, own.estimators_samples_, y, said_of_test, level, aggregate, method)
        np.testing.assert_allclose(reg.predict_interval(X_test, level), expected, rtol=1e-10)
    np.testing.assert_allclose(reg.residuals_, residuals, rtol=1e-10, atol=1e-12 * np.abs(y).max())
    if aggregate == "mean":
        np.testing.assert_allclose(reg.predict(X_test), own.predict(X_test), rtol=1e-12)


@pytest.mark.parametrize("method", ["plus", "minmax"])
@pytest.mark.parametrize("aggregate", ["mean", "median"])
def test_equals_mapie_given_the_samples(aggregate, method, monkeypatch):
    entry = golden("mapie")[f"diabetes jab {aggregate} {method}"]
    rows = [np.array(sample) for sample in golden("mapie")[entry["resamples"]]]
    monkeypatch.setattr(_resampled_models, "draw_samples", lambda *_: rows)
    data = parts(entry)
    reg = JackknifeAfterBootstrapRegressor(MODELS[entry["model"]], aggregate=aggregate, method=method)
    reg.fit(data.X, data.y)
    for level, intervals in entry["intervals"].items():
        np.testing.assert_allclose(reg.predict_interval(data.X_test, float(level)), intervals, rtol=1e-9)
    if "residuals" in entry:
        np.testing.assert_allclose(reg.residuals_, np.abs(entry["residuals"]), rtol=1e-9)


@pytest.mark.parametrize(("method", "factor"), [("plus", 2), ("minmax", 1)])
@pytest.mark.parametrize("n_resamplings", [3, pytest.param(12, marks=pytest.mark.slow)])  # thousands of fits more
@pytest.mark.filterwarnings(FEW)
def test_coverage_at_n_9(method, factor, n_resamplings):
    """An error has probability 2 epsilon at most for plus, epsilon for minmax: an exact binomial test."""
    rng, errors, repetitions = np.random.default_rng(0), 0, 250
    for s in range(repetitions):
        X = rng.normal(size=(10, 1))
        y = 20 + X[:, 0] + rng.standard_t(3, size=10)
        reg = JackknifeAfterBootstrapRegressor(
            LinearRegression(), n_resamplings=n_resamplings, method=method, random_state=s, n_jobs=1
        ).fit(X[:9], y[:9])
        lower, upper = reg.predict_interval(X[9:], 0.79)[0]
        errors += not lower <= y[9] <= upper
    assert binomtest(errors, repetitions, 0.21 * factor, alternative="greater").pvalue > 1e-4
    assert errors > 0


class TestModels:
    def test_each_has_a_sample_and_a_seed_of_its_own(self):
        tree = DecisionTreeRegressor(max_features=1)
        reg = JackknifeAfterBootstrapRegressor(tree, random_state=0).fit(X, Y)
        assert len({model.random_state for model in reg.estimators_}) == reg.n_resamplings_
        reg = JackknifeAfterBootstrapRegressor(clone(tree).set_params(random_state=4), random_state=0).fit(X, Y)
        assert {model.random_state for model in reg.estimators_} == {4}
        again = clone(reg).fit(X, Y)
        np.testing.assert_array_equal(again.predict_interval(X_TEST, 0.8), reg.predict_interval(X_TEST, 0.8))
        assert len({tuple(sample) for sample in samples_of(reg)}) == reg.n_resamplings_

    def test_weights_go_with_the_rows(self):
        weights = np.arange(1.0, 51.0)
        reg = JackknifeAfterBootstrapRegressor(Mean(), random_state=0).fit(X, Y, sample_weight=weights)
        for model in reg.estimators_:
            rows = np.array([np.flatnonzero((x == X).all(axis=1))[0] for x in np.asarray(model.X_)])
            np.testing.assert_array_equal(model.y_, Y[rows])
            assert model.mean_ == np.average(Y[rows], weights=weights[rows])
        weighted = JackknifeAfterBootstrapRegressor(RandomForestRegressor(5), random_state=0)
        plain = clone(weighted).fit(X, Y).predict(X_TEST)
        assert not np.array_equal(weighted.fit(X, Y, sample_weight=weights).predict(X_TEST), plain)

    def test_a_residual_is_the_model_that_it_holds(self):
        held = JackknifeAfterBootstrapRegressor(ModelResidual(Ridge()), random_state=0).fit(X, Y)
        bare = JackknifeAfterBootstrapRegressor(Ridge(), random_state=0).fit(X, Y)
        np.testing.assert_array_equal(held.predict_interval(X_TEST, 0.8), bare.predict_interval(X_TEST, 0.8))

    def test_rows_of_anything(self):
        words = [" ".join(RNG.choice(["red", "green", "blue"], 6)) for _ in range(50)]
        weights = TfidfVectorizer().fit_transform(words)
        for objects, model in (
            (words, make_pipeline(TfidfVectorizer(), Ridge())),
            (weights, Ridge()),
            (np.where(X > 1, np.nan, X), HistGradientBoostingRegressor(max_iter=5, random_state=0)),
            (pl.from_numpy(X, schema=["u", "v", "w"]), RandomForestRegressor(5, random_state=0)),
        ):
            reg = JackknifeAfterBootstrapRegressor(model, random_state=0).fit(objects, Y)
            if hasattr(model, "n_estimators"):
                said = [tree.predict(X) for tree in reg.estimators_]
            else:
                generator = np.random.RandomState(0)
                drawn = generator.binomial(30, (1 - 1 / 51) ** 50)
                samples = [generator.randint(0, 50, 50) for _ in range(drawn)]
                fitted = [clone(model).fit(take_rows(objects, sample), Y[sample]) for sample in samples]
                said = [one.predict(objects) for one in fitted]
            np.testing.assert_allclose(reg.predict(objects), np.mean(said, axis=0), rtol=1e-12)

    def test_frames_of_a_forest(self):
        names = ["u", "v", "w"]
        frame, test = pd.DataFrame(X, columns=names), pd.DataFrame(X_TEST, columns=names)
        reg = JackknifeAfterBootstrapRegressor(RandomForestRegressor(10), random_state=0)
        expected = clone(reg).fit(X, Y).predict_interval(X_TEST, 0.8)
        np.testing.assert_array_equal(reg.fit(frame, Y).predict_interval(test, 0.8), expected)

    @pytest.mark.parametrize("ensemble", [RandomForestRegressor(6), BaggingRegressor(Ridge(), 6, max_features=2)])
    def test_an_ensemble_takes_sparse_matrices_and_lists(self, ensemble):
        rows, test = sparse.csc_array(X), sparse.csc_array(X_TEST)
        fit = _resampled_models.ResampledModels.of_ensemble
        of_sparse, of_lists = (fit(ensemble, X, Y, {}, seed=0) for X in (rows, X_ALL[:50].tolist()))
        own = clone(ensemble).set_params(n_estimators=len(of_sparse.models))
        own.set_params(**{name: 0 for name in own.get_params() if name.split("__")[-1] == "random_state"})
        expected = clone(own).fit(rows, Y).predict(test)
        np.testing.assert_allclose(of_sparse.answers(test).mean(axis=1), expected, rtol=1e-12)
        expected = own.fit(X, Y).predict(X_TEST)
        np.testing.assert_allclose(of_lists.answers(X_TEST.tolist()).mean(axis=1), expected, rtol=1e-12)


class TestRefusals:
    @pytest.mark.parametrize(
        ("estimator", "sentence"),
        [
            (GaussianNB(), "GaussianNB predicts labels"),
            (KMeans(), "KMeans finds clusters"),
            (Ridge, r"is a class: give an instance, Ridge\(\)"),
            (ModelResidual(Ridge(), difficulty=Ridge()), "A difficulty is not estimated here"),
            (ModelResidual(GaussianNB()), "GaussianNB predicts labels"),
            ("ridge", "is not a regressor to resample"),
            (None, "is not a regressor to resample"),
        ],
    )
    def test_what_is_no_regressor(self, estimator, sentence):
        with pytest.raises(TypeError, match=sentence):
            JackknifeAfterBootstrapRegressor(estimator).fit(X, Y)

    def test_how_many_samples(self):
        with pytest.raises(ValueError, match="n_resamplings=9 would have no effect: RandomForestRegressor draws"):
            JackknifeAfterBootstrapRegressor(RandomForestRegressor(), n_resamplings=9).fit(X, Y)
        subsampled = JackknifeAfterBootstrapRegressor(
            BaggingRegressor(bootstrap=False), n_resamplings=9, random_state=0
        )
        assert subsampled.fit(X, Y).n_resamplings_ <= 9

    def test_few_samples_are_told_of(self):
        with pytest.warns(UserWarning, match=r"50 of 50 examples are in all of the 0 sample.*Use more n_resamplings"):
            reg = JackknifeAfterBootstrapRegressor(Ridge(), n_resamplings=1, random_state=5).fit(X, Y)
        np.testing.assert_allclose(reg.predict(X_TEST), Y.mean(), rtol=1e-12)

    def test_several_targets_of_a_model(self):
        class Pairs(Mean):
            def predict(self, X):
                return np.zeros((len(X), 2))

        with pytest.raises(ValueError, match=r"Pairs.predict returned shape \(50, 2\) for 50 objects"):
            JackknifeAfterBootstrapRegressor(Pairs()).fit(X, Y)
