"""The adapters, with river itself."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.stats import binomtest

from exactcp import FullConformalClassifier, FullConformalRegressor, SplitConformalClassifier, VennPredictor
from exactcp.measures import KNN, KNNResidual, RidgeResidual
from exactcp.online import progressive
from exactcp.online.river import RiverClassifier, RiverRegressor

river = pytest.importorskip("river")
base, evaluate, metrics, preprocessing, conf = (
    pytest.importorskip(f"river.{name}") for name in ("base", "evaluate", "metrics", "preprocessing", "conf")
)


SPECIES = ["setosa", "versicolor", "virginica"]


def _flowers(rng, n=80):
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, 2)) + 2.0 * y[:, None]
    names = np.array(SPECIES)[y].tolist()
    return [({"length": a, "width": b}, name) for (a, b), name in zip(X.tolist(), names, strict=True)]


def _prices(rng, n=80):
    X = rng.normal(size=(n, 2))
    y = X.sum(axis=1) + 0.3 * rng.normal(size=n)
    return [({"rooms": a, "age": b}, target) for (a, b), target in zip(X.tolist(), y.tolist(), strict=True)]


def _arrays(stream):
    return np.array([list(x.values()) for x, _ in stream]), np.array([y for _, y in stream])


def _learned(model, stream):
    for example in stream:
        model.learn_one(*example)
    return model


class TestClassifier:
    def test_river_evaluates_it(self, rng):
        stream = _flowers(rng)
        model = RiverClassifier(FullConformalClassifier(KNN(k=3)))
        assert isinstance(model, base.Classifier)
        metric = evaluate.progressive_val_score(stream, model, metrics.Accuracy())
        X, y = _arrays(stream)
        first = next(i for i in range(2, 80) if len(set(y[:i])) == 2)  # as soon as there are two labels
        clf, right = FullConformalClassifier(KNN(k=3)).fit(X[:first], y[:first]), 0
        for i in range(first, 80):
            right += clf.predict(X[i : i + 1])[0] == y[i]
            clf.partial_fit(X[i : i + 1], y[i : i + 1])
        assert metric.get() == pytest.approx(right / (80 - first))

    def test_behind_a_scaler_with_late_labels(self, rng):
        model = preprocessing.StandardScaler() | RiverClassifier(FullConformalClassifier(KNN(k=3)))
        metric = evaluate.progressive_val_score(_flowers(rng), model, metrics.MacroF1(), delay=3)
        assert metric.get() > 0.6

    def test_sets_and_p_values_are_those_of_the_predictor(self, rng):
        stream = _flowers(rng)
        model = RiverClassifier(FullConformalClassifier(KNN(k=3)), confidence_level=0.8)
        x = stream[-1][0]
        assert (model.predict_one(x), model.predict_p_one(x), model.predict_set_one(x)) == (None, {}, set())
        _learned(model, stream[:-1])
        X, y = _arrays(stream)
        clf = FullConformalClassifier(KNN(k=3)).fit(X[:-1], y[:-1])
        p = clf.predict_p(X[-1:])[0]
        assert model.predict_p_one(x) == dict(zip(clf.classes_.tolist(), p.tolist(), strict=True))
        assert model.predict_set_one(x) == set(clf.classes_[clf.predict_set(X[-1:], confidence_level=0.8)[0]].tolist())
        assert model.predict_p_one(dict(reversed(x.items()))) == model.predict_p_one(x)
        fresh = model.clone()
        assert fresh.confidence_level == 0.8
        assert fresh.predict_one(x) is None

    def test_probabilities_are_for_venn_predictors(self, rng):
        stream = _flowers(rng)
        loss = evaluate.progressive_val_score(stream, RiverClassifier(VennPredictor(k=3)), metrics.CrossEntropy())
        assert 0.0 < loss.get() < 1.5
        with pytest.raises(NotImplementedError, match="gives p-values and no probabilities"):
            RiverClassifier(FullConformalClassifier()).predict_proba_one(stream[0][0])

    def test_declared_classes_and_a_number_of_first_examples(self, rng):
        stream = _flowers(rng)
        model = RiverClassifier(FullConformalClassifier(KNN(k=1)), classes=SPECIES)
        with pytest.raises(ValueError, match="NaN"):  # a first example that is refused is not kept
            model.learn_one({"length": float("nan"), "width": 1.0}, "setosa")
        model.learn_one(*stream[0])
        assert set(model.predict_p_one(stream[1][0])) == set(SPECIES)
        split = RiverClassifier(SplitConformalClassifier(KNN(k=1), random_state=0), n_initial=20)
        for i, (x, y) in enumerate(stream[:30]):
            assert (split.predict_one(x) is None) == (i < 20)
            split.learn_one(x, y)

    def test_other_keys_are_refused_and_change_nothing(self, rng):
        stream = _flowers(rng)
        model = _learned(RiverClassifier(FullConformalClassifier(KNN(k=3))), stream[:20])
        before = model.predict_p_one(stream[20][0])
        for x, sentence in (
            ({"length": 1.0}, r"lacks the keys \['width'\]"),
            ({"length": 1.0, "width": 1.0, "colour": 1.0}, r"has the new keys \['colour'\]"),
            ({"length": 1.0, "width": "wide"}, "is not a number"),
            ({"length": 1.0, "width": float("nan")}, "NaN"),
        ):
            with pytest.raises(ValueError, match=sentence):
                model.learn_one(x, "setosa")
            assert model.predict_p_one(stream[20][0]) == before
        with pytest.raises(TypeError, match="expected a dict"):
            model.learn_one([1.0, 2.0], "setosa")


class TestRegressor:
    def test_river_evaluates_it(self, rng):
        stream = _prices(rng)
        model = RiverRegressor(FullConformalRegressor(RidgeResidual()), confidence_level=0.9)
        assert isinstance(model, base.Regressor)
        metric = evaluate.progressive_val_score(stream, model, metrics.MAE())
        X, y = _arrays(stream)
        reg, misses = FullConformalRegressor(RidgeResidual()).fit(X[:9], y[:9]), []
        for i in range(9, 80):
            misses.append(abs(reg.predict(X[i : i + 1])[0] - y[i]))
            reg.partial_fit(X[i : i + 1], y[i : i + 1])
        assert metric.get() == pytest.approx(np.mean(misses), rel=1e-9)

    def test_intervals_in_the_loop_of_rivers_documentation(self, rng):
        model = preprocessing.StandardScaler() | RiverRegressor(FullConformalRegressor(KNNResidual(k=3)), 0.8)
        inside = []
        for x, y in _prices(rng, 120):
            interval = model.predict_one(x, with_interval=True)
            if interval is not None:
                assert isinstance(interval, conf.Interval)
                inside.append(y in interval)
            model.learn_one(x, y)
        assert len(inside) == 116
        assert binomtest(sum(inside), len(inside), 0.8).pvalue > 1e-3

    def test_intervals_and_p_values_are_those_of_the_predictor(self, rng):
        stream = _prices(rng)
        model = RiverRegressor(FullConformalRegressor(KNNResidual(k=3)), confidence_level=0.9)
        x, y = stream[-1]
        assert (model.predict_one(x), model.predict_p_one(x, y)) == (None, 1.0)
        assert model.predict_interval_one(x).width == np.inf
        _learned(model, stream[:-1])
        X, targets = _arrays(stream)
        reg = FullConformalRegressor(KNNResidual(k=3)).fit(X[:-1], targets[:-1])
        interval = model.predict_interval_one(x)
        assert [interval.lower, interval.upper] == reg.predict_interval(X[-1:], confidence_level=0.9)[0].tolist()
        assert model.predict_p_one(x, y) == reg.predict_p(X[-1:], targets[-1:])[0]


def test_a_dataset_of_river_in_progressive():
    datasets = pytest.importorskip("river.datasets")
    clf = FullConformalClassifier(KNN(k=3))
    result = progressive(clf, datasets.Phishing().take(120), confidence_level=0.9)
    assert len(result) + result.n_initial == 120
    assert binomtest(int(result.error.sum()), len(result), 0.1, alternative="greater").pvalue > 1e-4


def test_without_river_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ImportError, match=r"needs river, which is not installed: run .*exactcp\[river\]"):
        RiverClassifier(FullConformalClassifier())
