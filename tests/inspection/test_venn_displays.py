from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_iris

from exactcp import ConformalSequencePredictor, ExchangeabilitySelector, VennAbersPredictor, VennPredictor
from exactcp.inspection import FeatureMartingaleDisplay, SequenceLatticeDisplay, VennReliabilityDisplay
from exactcp.measures import KNN

matplotlib = pytest.importorskip("matplotlib")
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture(autouse=True)
def pyplot():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


class TestVennReliability:
    @pytest.mark.parametrize("predictor", [VennPredictor(k=5), VennAbersPredictor()])
    def test_from_estimator(self, predictor):
        predictor.fit(X_IRIS[::2], NAMES[Y_IRIS[::2]])
        display = VennReliabilityDisplay.from_estimator(
            predictor, X_IRIS[1::2], NAMES[Y_IRIS[1::2]], label="versicolor"
        )
        interval = predictor.predict_proba_interval(X_IRIS[1::2])[:, 1]
        weights = display.counts / display.counts.sum()
        assert display.counts.sum() == 75
        assert display.lower @ weights == pytest.approx(interval[:, 0].mean())
        assert display.upper @ weights == pytest.approx(interval[:, 1].mean())
        assert display.frequency @ weights == pytest.approx((Y_IRIS[1::2] == 1).mean())
        assert "versicolor" in display.ax_.get_xlabel()
        assert display.figure_ is display.ax_.figure

    def test_bins_and_bars(self, pyplot):
        interval = np.array([[0.0, 0.1], [0.0, 0.1], [0.42, 0.44], [0.9, 1.0], [1.0, 1.0]])
        _, ax = pyplot.subplots()
        display = VennReliabilityDisplay.from_predictions([0, 1, 1, 1, 1], interval, n_bins=10, ax=ax)
        assert display.ax_ is ax
        np.testing.assert_array_equal(display.counts, [2, 1, 2])
        np.testing.assert_allclose(display.frequency, [0.5, 1, 1])
        np.testing.assert_allclose(display.lower, [0, 0.42, 0.95])
        (bars,) = [c for c in ax.containers if hasattr(c, "has_yerr")]
        segments = bars[2][0].get_segments()
        exact = [binomtest(k, n).proportion_ci() for k, n in [(1, 2), (1, 1), (2, 2)]]
        np.testing.assert_allclose([s[:, 1] for s in segments], [[ci.low, ci.high] for ci in exact], atol=1e-9)

    def test_last_label_and_bad_input(self):
        clf = VennPredictor(k=5).fit(X_IRIS, Y_IRIS)
        assert VennReliabilityDisplay.from_estimator(clf, X_IRIS, Y_IRIS).label == 2
        with pytest.raises(ValueError, match="label=7 is not known: use one of 0, 1, 2"):
            VennReliabilityDisplay.from_estimator(clf, X_IRIS, Y_IRIS, label=7)
        with pytest.raises(ValueError, match=r"interval has shape \(3, 3\) for 3 outcomes"):
            VennReliabilityDisplay.from_predictions([0, 1, 1], np.zeros((3, 3)))


class TestSequenceLattice:
    @pytest.fixture
    def model(self, rng):
        y = np.repeat(["a", "b", "a", "b"], 20)
        return ConformalSequencePredictor(KNN(k=3)).fit((y == "b")[:, None] * 2 + rng.normal(size=(80, 1)), y)

    def test_from_estimator(self, model):
        x = np.array([[0.0], [1.0], [2.0], [2.5]])
        true = np.array(["a", "a", "b", "b"])
        display = SequenceLatticeDisplay.from_estimator(model, x, confidence_level=0.6, n_paths=2, true=true)
        np.testing.assert_array_equal(display.sets, model.predict_set([x], confidence_level=0.6)[0])
        np.testing.assert_array_equal(display.p_values, model.predict_p([x])[0])
        names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert names == [*(f"candidate {i + 1}" for i in range(len(display.paths))), "true"]
        assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["a", "b"]
        inside, outside = display.ax_.collections[:2]
        assert len(inside.get_offsets()) == display.sets.sum()
        assert len(outside.get_offsets()) == (~display.sets).sum()

    def test_from_predictions(self, pyplot):
        p = np.array([[0.5, 0.1], [0.0, 0.0]])
        _, ax = pyplot.subplots()
        display = SequenceLatticeDisplay.from_predictions(p, p > 0.05, [0, 1], ax=ax)
        assert display.ax_ is ax
        assert ax.get_legend() is None
        with pytest.raises(ValueError, match=r"expected \(T, l\), \(T, l\) and \(l,\)"):
            SequenceLatticeDisplay.from_predictions(p, p > 0.05, [0, 1, 2])


class TestFeatureMartingales:
    def test_from_estimator(self, rng):
        X = rng.normal(size=(200, 3))
        X[100:, 1] += 4
        selector = ExchangeabilitySelector().fit(X)
        display = FeatureMartingaleDisplay.from_estimator(selector)
        names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert names == ["kept", "x1 dropped", "threshold"]
        (path,) = [line for line in display.ax_.lines if line.get_label() == "x1 dropped"]
        np.testing.assert_allclose(path.get_ydata()[1:], selector.log_martingales_[:, 1] / np.log(10))
        assert path.get_ydata()[0] == 0

    def test_from_predictions(self, pyplot):
        paths = np.cumsum(np.linspace(0, 1, 30).reshape(10, 3), axis=0)
        _, ax = pyplot.subplots()
        display = FeatureMartingaleDisplay.from_predictions(paths, 100.0, ["u", "v", "w"], ax=ax)
        assert display.ax_ is ax
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["kept", "threshold"]
        with pytest.raises(ValueError, match="2 names for 3 features"):
            FeatureMartingaleDisplay.from_predictions(paths, 1.0, ["u", "v"])
