"""ConformalClusterer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import homogeneity_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from exactcp import ConformalAnomalyDetector, ConformalClusterer, clustering, textbook
from exactcp.measures import KDE, KNN, LSSVM, SimplifiedKNN
from slices import both_lanes


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, centers=[[0, 0], [6, 0], [0, 6]], cluster_std=0.7, random_state=0)


class TestGrid:
    @pytest.mark.parametrize("measure", [None, SimplifiedKNN(k=3), KDE(0.5)])
    def test_p_values_are_those_of_algorithm_1(self, measure, blobs):
        X = blobs[0][:25]
        fitted = ConformalClusterer(measure, n_grid=4).fit(X)
        score = fitted.measure_.twin()
        points = np.array([[a, b] for a in fitted.axes_[0] for b in fitted.axes_[1]])
        rule = {"floor": fitted.measure_.tie_floor, "tolerance": fitted.measure_.tie_tolerance}
        counts = textbook.counts(score, X, np.zeros(25), points, np.zeros(1), **rule)
        np.testing.assert_array_equal(fitted.p_values_.ravel(), (counts.greater + counts.equal + 1)[:, 0] / 26)

    def test_blocks_and_threads_do_not_matter(self, blobs, monkeypatch):
        expected = ConformalClusterer(n_grid=30).fit(blobs[0])
        monkeypatch.setattr(clustering, "GRID_BLOCK", 37)
        for n_jobs in (1, 2):
            again = ConformalClusterer(n_grid=30, n_jobs=n_jobs).fit(blobs[0])
            np.testing.assert_array_equal(again.p_values_, expected.p_values_)
            np.testing.assert_array_equal(again.labels_, expected.labels_)

    @pytest.mark.parametrize("p", [1, 2, 3])
    def test_cells_are_the_connected_parts_of_what_is_not_strange(self, p, rng):
        X = np.concatenate([rng.normal(size=(40, p)), rng.normal(size=(40, p)) + 9.0])
        identity = None if p < 3 else PCA(3)
        fitted = ConformalClusterer(SimplifiedKNN(k=5), n_grid=15, transformer=identity).fit(X)
        assert fitted.p_values_.shape == (15,) * p
        np.testing.assert_array_equal(fitted.cells_ >= 0, fitted.p_values_ > 0.1)
        assert fitted.n_clusters_ == 2
        # neighbours that share a face have the same cluster
        for axis in range(p):
            a, b = (np.take(fitted.cells_, range(i, 14 + i), axis=axis) for i in (0, 1))
            both = (a >= 0) & (b >= 0)
            np.testing.assert_array_equal(a[both], b[both])

    def test_adjacency(self):
        """Three objects on each of two diagonal cells, which touch in one point only, and one in each outer corner."""
        X = np.array([[0.0, 0.0], [1.0, 1.0]] * 3 + [[-1.0, -1.0], [2.0, 2.0]])
        for adjacency, expected in (("face", 2), ("full", 1)):
            fitted = ConformalClusterer(SimplifiedKNN(k=2), epsilon=0.5, n_grid=4, adjacency=adjacency).fit(X)
            np.testing.assert_array_equal(np.argwhere(fitted.p_values_ > 0.5), [[1, 1], [2, 2]])
            assert fitted.n_clusters_ == expected

    @pytest.mark.parametrize("measure", [SimplifiedKNN(k=3), KDE(0.5)])
    @pytest.mark.parametrize("p", [1, 2, 3])
    def test_p_is_at_most_epsilon_on_the_border(self, p, measure, rng):
        X = rng.normal(size=(20, p))
        fitted = ConformalClusterer(measure, epsilon=0.05, n_grid=12, transformer=FunctionTransformer()).fit(X)
        inner = np.pad(np.ones((10,) * p, bool), 1)
        assert (fitted.p_values_[~inner] <= 0.05).all()
        for axis, column in zip(fitted.axes_, X.T, strict=True):
            assert axis.size == 12
            assert axis[0] < column.min() < column.max() < axis[-1]

    def test_a_grid_with_a_border_of_small_p_values_is_the_range_of_the_objects(self, rng):
        X = np.concatenate([rng.normal(size=(30, 2)), [[-9.0, -9.0], [9.0, 9.0], [-9.0, 9.0], [9.0, -9.0]]])
        fitted = ConformalClusterer(SimplifiedKNN(k=3), epsilon=0.2, n_grid=10).fit(X)
        np.testing.assert_array_equal(fitted.axes_, [np.linspace(-9.0, 9.0, 10)] * 2)

    def test_no_grid_is_wide_enough_for_epsilon_below_every_p_value(self, rng):
        X = rng.normal(size=(18, 2))
        fitted = ConformalClusterer(SimplifiedKNN(k=3), epsilon=0.05).fit(X)
        ends = [[axis[0], axis[-1]] for axis in fitted.axes_]
        np.testing.assert_array_equal(ends, np.column_stack([X.min(axis=0), X.max(axis=0)]))
        assert (fitted.cells_ == 0).all()
        np.testing.assert_array_equal(fitted.predict([[0.0, 0.0], [0.0, 99.0], [1e300, 0.0]]), 0)

    def test_a_side_that_stays_open_ends_with_the_objects(self, rng):
        """One object lies so far to the right that its distance above and below the others is no stranger."""
        X = np.concatenate([rng.normal(size=(19, 2)), [[1000.0, 0.0]]])
        fitted = ConformalClusterer(SimplifiedKNN(k=3), epsilon=0.05, n_grid=20).fit(X)
        assert (fitted.axes_[1][0], fitted.axes_[1][-1]) == (X[:, 1].min(), X[:, 1].max())
        assert fitted.axes_[0][0] < -900
        np.testing.assert_array_equal(fitted.predict([[0.0, 500.0], [0.0, -500.0], [0.0, 5000.0]]), [0, 0, -1])


class TestLabels:
    def test_blobs_are_found(self, blobs):
        X, y = blobs
        fitted = ConformalClusterer(SimplifiedKNN(k=5)).fit(X)
        assert fitted.n_clusters_ == 3
        assert homogeneity_score(y[fitted.labels_ >= 0], fitted.labels_[fitted.labels_ >= 0]) == 1.0
        assert 0 < (fitted.labels_ == -1).mean() < 0.25
        np.testing.assert_array_equal(fitted.predict(X), fitted.labels_)
        np.testing.assert_array_equal(fitted.fit_predict(X), fitted.labels_)
        np.testing.assert_array_equal(fitted.predict([[3.0, 3.0], [1e6, 0.0], [-1e300, 0.0]]), -1)

    def test_an_object_takes_its_nearest_grid_point(self, blobs):
        fitted = ConformalClusterer(n_grid=20).fit(blobs[0])
        places = [np.abs(axis - x[:, None]).argmin(axis=1) for axis, x in zip(fitted.axes_, blobs[0].T, strict=True)]
        np.testing.assert_array_equal(fitted.labels_, fitted.cells_[tuple(places)])
        points = np.column_stack([axis[i] for axis, i in zip(fitted.axes_, places, strict=True)])
        p = ConformalAnomalyDetector(fitted.measure_).fit(blobs[0]).predict_p(points)
        np.testing.assert_array_equal(fitted.labels_ >= 0, p > 0.1)

    def test_more_dimensions_go_through_a_transformer(self):
        X, y = load_iris(return_X_y=True)
        plain = ConformalClusterer(SimplifiedKNN(k=5), epsilon=0.2).fit(X)
        assert plain.p_values_.shape == (50, 50)
        assert homogeneity_score(y[plain.labels_ >= 0], plain.labels_[plain.labels_ >= 0]) > 0.5
        pca = ConformalClusterer(SimplifiedKNN(k=5), epsilon=0.2, transformer=PCA(2, svd_solver="full")).fit(X)
        np.testing.assert_array_equal(plain.labels_, pca.labels_)
        scaled = ConformalClusterer(n_grid=10, transformer=make_pipeline(StandardScaler(), PCA(3))).fit(X)
        assert scaled.p_values_.shape == (10, 10, 10)
        assert scaled.predict(X).shape == (150,)

    def test_a_constant_feature(self, rng):
        X = np.column_stack([np.append(rng.normal(size=30), rng.normal(size=30) + 20.0), np.full(60, 2.0)])
        fitted = ConformalClusterer(SimplifiedKNN(k=5), n_grid=50).fit(X)
        assert fitted.n_clusters_ == 2
        assert (fitted.labels_ >= 0).mean() > 0.7
        np.testing.assert_array_equal(fitted.axes_[1], 2.0)
        here, there = fitted.predict([[0.0, 2.0], [20.0, 2.0]])
        assert {here, there} == {0, 1}
        # their own p-values decide about objects that differ in it
        others = fitted.predict([[0.0, 2.1], [20.0, 1.9], [0.0, 9.0], [20.0, -9.0]])
        np.testing.assert_array_equal(others, [here, there, -1, -1])
        point = ConformalClusterer(SimplifiedKNN(k=3), n_grid=5).fit(np.full((20, 2), 3.0))  # all are constant
        np.testing.assert_array_equal(point.labels_, 0)
        np.testing.assert_array_equal(point.predict([[3.0, 3.0], [3.0, 4.0]]), [0, -1])

    @both_lanes(300, 1500)
    @pytest.mark.parametrize("law", ["standard_normal", "standard_cauchy"])
    @pytest.mark.parametrize("measure", [SimplifiedKNN(k=3), SimplifiedKNN(), KDE(0.5)])
    def test_new_objects_fall_outside_with_probability_epsilon(self, measure, law, repetitions):
        """With 20 objects p <= 0.05 has probability 1/21; Cauchy objects are often beyond the grid."""
        rng, outside = np.random.default_rng(1), 0
        for _ in range(repetitions):
            X = getattr(rng, law)((21, 2))
            fitted = ConformalClusterer(measure, epsilon=0.05, n_grid=60).fit(X[:20])
            outside += int(fitted.predict(X[20:])[0] == -1)
        # measured with 6,000 objects, the resolution of such grids moves the share by less than 0.001
        assert binomtest(outside, repetitions, 0.05, alternative="greater").pvalue > 1e-4
        assert binomtest(outside, repetitions, 1 / 21, alternative="less").pvalue > 1e-4

    def test_beyond_the_grid_the_own_p_value_decides(self):
        rng, beyond = np.random.default_rng(2), []
        for _ in range(20):
            X, far = rng.standard_cauchy((20, 2)), 30.0 * rng.standard_cauchy((200, 2))
            fitted = ConformalClusterer(SimplifiedKNN(k=3), epsilon=0.05, n_grid=30).fit(X)
            low, high = ([axis[end] for axis in fitted.axes_] for end in (0, -1))
            step = np.subtract(high, low) / 29
            far = far[((far < low - step) | (far > high + step)).any(axis=1)]
            p = ConformalAnomalyDetector(SimplifiedKNN(k=3)).fit(X).predict_p(far)
            np.testing.assert_array_equal(fitted.predict(far) >= 0, p > 0.05)
            beyond.extend(p > 0.05)
        assert 100 < sum(beyond) < len(beyond) - 100

    def test_a_clusterer_of_an_earlier_release_says_outlier_beyond_its_grid(self, rng):
        X = rng.normal(size=(18, 2))
        fitted = ConformalClusterer(epsilon=0.05).fit(X)
        assert fitted.predict([[0.0, 99.0]])[0] == 0
        del vars(fitted)["_bag"]  # which release 0.1.0 did not keep
        np.testing.assert_array_equal(fitted.predict([[0.0, 99.0], [0.0, 0.0]]), [-1, 0])


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_grid": 20_000}, "cells: use a smaller grid"),
        ({"measure": LSSVM(kernel="precomputed", fit_intercept=False)}, "grid points have none"),
        ({"measure": SimplifiedKNN(metric="precomputed")}, "need the square matrix"),
        ({"measure": SimplifiedKNN(metric="precomputed"), "transformer": PCA(2)}, "has nothing to transform"),
        ({"measure": GaussianNB()}, "is a classifier"),
    ],
)
def test_refusals(parameters, sentence, blobs):
    with pytest.raises(ValueError, match=sentence):
        ConformalClusterer(**parameters).fit(blobs[0])


def test_a_measure_of_several_classes_is_told(blobs):
    with pytest.warns(UserWarning, match="p-values tell nothing"):
        ConformalClusterer(KNN(), n_grid=3).fit(blobs[0])
