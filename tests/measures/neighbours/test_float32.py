"""Objects in float32 are kept as they are, and every answer is that of the same numbers in float64."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

import exactcp
from exactcp import (
    ConformalAnomalyDetector,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    VennAbersPredictor,
    VennPredictor,
)
from exactcp.geometry.objects import NARROW_FROM
from exactcp.measures import KDE, KNN, LSSVM, NN, KNNResidual, RandomForest, RidgeResidual, SimplifiedKNN
from families import are_equal
from hostile import KINDS, hostile
from slices import slow_but

pytestmark = pytest.mark.filterwarnings("ignore:X is in float")  # on purpose

OUT_OF_RANGE = ("tiny scale", "huge scale", "finer than float64")  # of float32
SCALES = {"normal": 1.0, "near the largest": 1e38, "below the smallest normal": 1e-40}
FAMILIES = {
    "NN": FullConformalClassifier(NN()),
    "KNN": FullConformalClassifier(KNN(k=3)),
    "SimplifiedKNN": FullConformalClassifier(SimplifiedKNN(k=3)),
    "Venn": VennPredictor(k=3),
    "KNNResidual": FullConformalRegressor(KNNResidual(k=3)),
}
HERE = [("plain", "KNN"), ("plain", "KNNResidual")]  # of all paths, in the normal lane; others compile for long


def problem(kind: str, p: int, *, scale: float = 1.0, n: int = 90, labels: str = "two"):
    """Return objects in float32, labels, and test objects in float64, of which half fit into float32."""
    X, y, asked = hostile(kind, labels, 1, n, p)
    with np.errstate(over="ignore", under="ignore"):
        X = (X * scale).astype(np.float32)
        X = np.nan_to_num(X)
        asked = np.clip(asked * scale, -1e140, 1e140)
    asked[::2] = X[: asked[::2].shape[0]]
    return X, y, asked


def answers(predictor, asked):
    """Return everything that depends on distances."""
    if isinstance(predictor, VennPredictor):
        return [predictor.predict_proba_interval(asked)]
    if isinstance(predictor, FullConformalRegressor):
        return [predictor.predict_p(asked, np.zeros(len(asked))), predictor.predict_interval(asked, 0.8)]
    return list(predictor._bag.label_counts(asked))


def assert_alike(one, other, asked):
    for here, there in zip(answers(one, asked), answers(other, asked), strict=True):
        np.testing.assert_array_equal(here, there)


def dtype_of(predictor):
    return predictor._bag.search.store.objects.dtype


def fitted(name, X, y):
    return clone(FAMILIES[name]).fit(X, y)


CASES = [
    pytest.param(path, name, marks=[pytest.mark.slow] * ((path, name) not in HERE))
    for path in ("plain", "screened", "sketched", "tree")
    for name in FAMILIES
]


class TestAnswers:
    @pytest.mark.parametrize("kind", slow_but(["grid", "outliers"], [one for one in KINDS if one not in OUT_OF_RANGE]))
    @pytest.mark.parametrize(("path", "name"), CASES, indirect=["path"])
    def test_on_every_path(self, path, name, kind):
        self.compare(name, *problem(kind, 65))

    @pytest.mark.parametrize("p", slow_but([63, 64], [63, 64, 65, 384]))
    @pytest.mark.parametrize("scale", SCALES)
    @pytest.mark.parametrize(("path", "name"), CASES, indirect=["path"])
    def test_at_the_ends_of_float32(self, path, name, scale, p):
        X, y, asked = problem("normal", p, scale=SCALES[scale])
        assert scale == "normal" or not 1e-30 < np.abs(X).max() < 1e30
        self.compare(name, X, y, asked)

    def compare(self, name, X, y, asked):
        narrow, wide = fitted(name, X, y), fitted(name, X.astype(np.float64), y)
        assert dtype_of(narrow) == (np.float32 if X.shape[1] >= NARROW_FROM else np.float64)
        assert dtype_of(wide) == np.float64
        fitting = X[:: max(1, len(X) // 9)]
        assert_alike(narrow, wide, fitting)  # in float32
        assert_alike(narrow, wide, fitting.astype(np.float64))  # fits into it
        with np.errstate(over="ignore", under="ignore"):
            assert not np.array_equal(asked.astype(np.float32), asked) or np.ptp(X) == 0
        assert_alike(narrow, wide, asked)  # does not

    def test_are_those_of_algorithm_1(self):
        X, y, asked = problem("grid", 64, n=30)
        asked = asked.astype(np.float32)
        slow = FullConformalClassifier(KNN(k=3), algorithm="standard").fit(X, y)
        np.testing.assert_array_equal(fitted("KNN", X, y).predict_p(asked), slow.predict_p(asked))

    def test_a_test_object_is_not_rounded(self):
        X = np.zeros((40, 64), np.float32)
        X[20:] = 1.0
        y = np.arange(40) // 20
        middle = np.full((2, 64), 0.5)
        middle[0] -= 1e-12
        middle[1] += 1e-12  # float32 does not tell them apart
        assert fitted("NN", X, y).predict(middle).tolist() == [0, 1]

    def test_smoothing_and_categories_do_not_depend_on_the_precision(self):
        X, y, _ = problem("normal", 64)
        X[::3, 0] = 0.1  # as a float64, it is more than 0.1
        for mondrian in (lambda X: X[:, 0] > 0.1, None, "label"):
            clf = FullConformalClassifier(KNN(k=3), mondrian=mondrian, smoothed=True, random_state=0)
            narrow = clf.fit(X, y).predict_p(X)
            np.testing.assert_array_equal(narrow, clf.fit(X.astype(np.float64), y).predict_p(X.astype(np.float64)))

    @pytest.mark.parametrize(
        "predictor",
        [
            SplitConformalClassifier(KNN(k=3), random_state=0),
            JackknifePlusRegressor(KNNResidual(k=3)),
            FullConformalClassifier(KDE()),
            FullConformalClassifier(LSSVM()),
            FullConformalClassifier(RandomForest(n_estimators=3, random_state=0)),
            FullConformalRegressor(RidgeResidual()),
            FullConformalClassifier(KNN(k=3, metric="manhattan")),
            FullConformalClassifier(KNN(k=3, metric="cosine")),
            FullConformalClassifier(KNN(k=3, metric=lambda a, b: float(np.abs(a - b).sum()))),
            VennAbersPredictor(),
            ConformalAnomalyDetector(SimplifiedKNN(k=3)),
        ],
        ids=lambda one: f"{type(one).__name__} {type(one.measure).__name__}",  # a function's is random
    )
    def test_of_all_others(self, predictor):
        X, y, asked = problem("normal", 64, n=40)
        X *= 0.1
        said = []
        for objects in (X, X.astype(np.float64)):
            predictor.fit(objects, y)
            question = next(one for one in ("predict_p", "predict_proba", "predict") if hasattr(predictor, one))
            ask = getattr(predictor, question)
            is_regression = isinstance(predictor, FullConformalRegressor)
            said.append(ask(asked, np.zeros(len(asked))) if is_regression else ask(asked))
        np.testing.assert_array_equal(*said)


class TestChanges:
    @pytest.mark.parametrize("name", slow_but(["KNN"], FAMILIES))
    @pytest.mark.parametrize("m", [1, 5, 40])
    @pytest.mark.filterwarnings("ignore:About 100% of the examples")
    def test_float64_widens_what_is_kept(self, name, m):
        X, y, asked = problem("normal", 64, n=80 + m)
        new = X[80:].astype(np.float64)
        new[-1, 0] += 1e-12
        predictor = fitted(name, X[:80], y[:80])
        before = pickle.loads(pickle.dumps(predictor))
        predictor.partial_fit(X[70:80], y[70:80])  # as it is
        assert dtype_of(predictor) == np.float32
        predictor.unlearn(np.arange(70, 80))
        predictor.partial_fit(new, y[80:])
        assert dtype_of(predictor) == np.float64
        everything = np.concatenate([X[:70], X[70:80], new])
        assert everything.dtype == np.float64
        assert_alike(predictor, fitted(name, everything, y), asked)
        predictor.unlearn([0, 79, 79 + m])
        rest = np.delete(np.arange(80 + m), [0, 79, 79 + m])
        assert_alike(predictor, fitted(name, everything[rest], y[rest]), asked)
        assert_alike(before, fitted(name, X[:80], y[:80]), asked)

    @pytest.mark.parametrize("m", [1, 40])
    @pytest.mark.parametrize("kept", [np.float32, np.float64])
    def test_what_comes_takes_the_precision_of_what_is_kept(self, m, kept):
        X, y, asked = problem("normal", 64, n=80 + m)
        came = np.float64 if kept == np.float32 else np.float32
        predictor = fitted("KNN", X[:80].astype(kept), y[:80]).partial_fit(X[80:].astype(came), y[80:])
        assert dtype_of(predictor) == kept
        assert_alike(predictor, fitted("KNN", X, y), asked)

    @pytest.mark.parametrize("together", slow_but([False], [True, False]))
    def test_of_a_stream(self, together):
        X, y, _ = problem("normal", 64, n=60)
        other = X[40:].astype(np.float64)
        other[5] += 1e-12
        narrow, wide = (ExchangeabilityTest(KNN(k=3), random_state=0) for _ in range(2))
        narrow.update_many(X[:40], y[:40])
        assert dtype_of(narrow) == np.float32
        size = 20 if together else 1
        for i in range(0, 20, size):
            narrow.update_many(other[i : i + size], y[40 + i : 40 + i + size])
        assert dtype_of(narrow) == np.float64
        wide.update_many(np.concatenate([X[:40], other]), y)
        np.testing.assert_array_equal(narrow.p_values_, wide.p_values_)

    def test_survives_a_pickle_and_a_file(self, tmp_path):
        pytest.importorskip("skops.io")
        X, y, asked = problem("normal", 64)
        predictor = fitted("KNN", X, y)
        exactcp.save(predictor, tmp_path / "model.skops")
        for copy in (pickle.loads(pickle.dumps(predictor)), exactcp.load(tmp_path / "model.skops")):
            assert dtype_of(copy) == np.float32
            assert are_equal(answers(copy, asked), answers(predictor, asked))


class TestMemory:
    def test_is_that_of_the_objects_and_of_their_screen(self):
        n, p = 4000, 384
        X = np.random.default_rng(0).normal(size=(n, p)).astype(np.float32)
        y = np.arange(n) % 2
        fitted("KNN", X[:1200], y[:1200])  # compiles
        tracemalloc.start()
        predictor = FullConformalClassifier(KNN(k=15), n_jobs=1).fit(X, y)
        kept, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert kept < 2.5 * X.nbytes
        assert peak < 3.0 * X.nbytes
        assert dtype_of(predictor) == np.float32
