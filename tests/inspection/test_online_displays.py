"""Pictures of streams and clusters: what they draw."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from exactcp import ConformalClusterer, ExchangeabilityTest, FullConformalClassifier, VennPredictor
from exactcp.inspection import ClusterDisplay, MartingaleDisplay, ProgressiveDisplay
from exactcp.measures import KNN, SimplifiedKNN
from exactcp.online import progressive

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def shifted():
    X = np.random.default_rng(0).normal(size=(800, 5))
    X[500:] += 1.0
    test = ExchangeabilityTest(random_state=0)
    test.update_many(X)
    return test


class TestMartingale:
    def test_the_path_the_alarms_and_the_histogram(self, shifted):
        display = MartingaleDisplay.from_estimator(shifted, change=500)
        path, histogram = display.ax_
        assert display.figure_ is path.figure
        lines = {line.get_label(): line for line in path.get_lines()}
        np.testing.assert_allclose(lines["martingale"].get_ydata(), shifted.log_martingale_ / np.log(10))
        np.testing.assert_allclose(lines["threshold 100"].get_ydata(), [2.0, 2.0])
        np.testing.assert_array_equal(lines["change"].get_xdata(), [500, 500])
        red = [line.get_xdata()[0] for line in path.get_lines() if line.get_color() == "tab:red"]
        np.testing.assert_array_equal(red, shifted.alarms_ + 1)
        assert red[0] > 500
        assert sum(bar.get_height() * bar.get_width() for bar in histogram.patches) == pytest.approx(1.0)

    def test_the_statistic_is_drawn_only_where_it_differs(self, shifted):
        labels = {line.get_label() for line in MartingaleDisplay.from_estimator(shifted).ax_[0].get_lines()}
        assert "alarm statistic" in labels
        quiet = ExchangeabilityTest(random_state=0)
        quiet.update_many(np.random.default_rng(1).normal(size=(40, 2)))
        labels = {line.get_label() for line in MartingaleDisplay.from_estimator(quiet).ax_[0].get_lines()}
        assert "alarm statistic" not in labels

    def test_on_axes_of_ones_own(self, shifted):
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(2, 1)
        display = MartingaleDisplay.from_predictions(shifted.p_values_, shifted.log_martingale_, ax=axes)
        assert display.figure_ is figure
        assert axes[0].get_ylabel() == "wealth (log scale)"

    def test_of_nothing(self):
        MartingaleDisplay.from_estimator(ExchangeabilityTest()).figure_.canvas.draw()


class TestProgressive:
    def test_cumulative_errors_and_what_epsilon_allows(self):
        X, y = load_iris(return_X_y=True)
        shuffled = np.random.default_rng(0).permutation(150)
        stream = (X[shuffled], y[shuffled])
        result = progressive(FullConformalClassifier(KNN(k=3)), stream, confidence_level=0.9)
        display = ProgressiveDisplay.from_predictions(result)
        assert display.epsilons == pytest.approx((0.05, 0.1, 0.2))
        solid, dashed = display.ax_.get_lines()[2:4]
        np.testing.assert_array_equal(solid.get_ydata(), result.cumulative_errors)
        np.testing.assert_allclose(dashed.get_ydata(), result.epsilon * np.arange(1, len(result) + 1))
        again = ProgressiveDisplay.from_estimator(FullConformalClassifier(KNN(k=3)), stream, confidence_level=0.9)
        np.testing.assert_array_equal(again.result.p, result.p)


class TestClusters:
    def test_field_outline_and_objects(self):
        X, _ = load_iris(return_X_y=True)
        clusterer = ConformalClusterer(SimplifiedKNN(k=5), n_grid=30).fit(X)
        display = ClusterDisplay.from_estimator(clusterer, X)
        field, outline, inside, outside = display.ax_.collections
        np.testing.assert_array_equal(field.get_array().reshape(30, 30), clusterer.p_values_.T)
        assert len(inside.get_offsets()) == (clusterer.labels_ >= 0).sum()
        assert len(outside.get_offsets()) == (clusterer.labels_ == -1).sum()
        kept = np.pad(clusterer.cells_ >= 0, 1)
        edges = (kept[1:] != kept[:-1]).sum() + (kept[:, 1:] != kept[:, :-1]).sum()
        assert len(outline.get_segments()) == edges
        assert "2 clusters" in display.ax_.get_title()
        display.figure_.canvas.draw()

    def test_three_dimensions_have_no_picture(self):
        with pytest.raises(ValueError, match="expected 2, which a picture has"):
            ClusterDisplay([np.arange(3)] * 3, np.zeros((3, 3, 3)), 0.1)


class TestVenn:
    def test_errors_are_drawn_against_what_probabilities_say(self):
        X, y = load_iris(return_X_y=True)
        order = np.random.default_rng(0).permutation(150)
        result = progressive(VennPredictor(5), (X[order], y[order]), classes=[0, 1, 2])
        display = ProgressiveDisplay.from_predictions(result)
        (line,) = [line for line in display.ax_.get_lines() if len(line.get_xdata())]
        np.testing.assert_array_equal(line.get_ydata(), result.cumulative_errors)
        (band,) = display.ax_.collections
        assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(np.sum(1 - result.lower))
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts == [f"wrong labels: {result.running_error[-1]:.3f}", "as their probabilities say"]

    def test_it_has_no_levels(self):
        X, y = load_iris(return_X_y=True)
        result = progressive(VennPredictor(5), (X[::5], y[::5]), classes=[0, 1, 2])
        with pytest.raises(ValueError, match="need p-values, and the predictor gave none: a Venn predictor has no"):
            ProgressiveDisplay.from_predictions(result, [0.1])
