from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from exactcp import CVPlusRegressor, FullConformalClassifier, FullConformalRegressor, SplitConformalRegressor
from exactcp._percent import percent
from exactcp.inspection import (
    CalibrationCurveDisplay,
    IntervalWidthDisplay,
    PredictionIntervalDisplay,
    PredictiveDistributionDisplay,
)
from exactcp.measures import KNNResidual, RidgeResidual

matplotlib = pytest.importorskip("matplotlib")
X, Y = load_diabetes(return_X_y=True)


@pytest.fixture(autouse=True)
def _no_windows():
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def regressor():
    return FullConformalRegressor(RidgeResidual(rho=0.01)).fit(X[:300], Y[:300])


class TestIntervals:
    def test_marks_the_targets_outside(self, regressor):
        display = PredictionIntervalDisplay.from_estimator(regressor, X[300:], Y[300:], feature=2, confidence_level=0.7)
        intervals = regressor.predict_interval(X[300:], 0.7)
        outside = (Y[300:] < intervals[:, 0]) | (Y[300:] > intervals[:, 1])
        drawn = {line.get_label(): line.get_xydata() for line in display.ax_.lines}
        np.testing.assert_array_equal(drawn["target outside"], np.column_stack([X[300:, 2], Y[300:]])[outside])
        np.testing.assert_array_equal(drawn["prediction"][:, 1], regressor.predict(X[300:]))
        assert len(display.ax_.collections[0].get_segments()) == len(intervals)
        assert percent(1 - outside.mean()) in display.ax_.get_title()
        assert display.figure_ is display.ax_.figure

    def test_names_columns_of_frames(self):
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
        reg = FullConformalRegressor(KNNResidual(k=3)).fit(frame[:100], Y[:100])
        display = PredictionIntervalDisplay.from_estimator(reg, frame[100:120], feature="c3")
        assert display.ax_.get_xlabel() == "c3"
        np.testing.assert_array_equal(display.x, frame["c3"][100:120])
        with pytest.raises(ValueError, match="no column"):
            PredictionIntervalDisplay.from_estimator(reg, frame, feature="c30")

    def test_infinite_ends_are_drawn_to_the_border(self):
        display = PredictionIntervalDisplay.from_predictions([0.0, 1.0], [[-np.inf, np.inf], [2.0, 3.0]], y=[2.5, 0.0])
        segments = display.ax_.collections[0].get_segments()
        assert np.isfinite(segments).all()
        assert display.ax_.get_ylim() == pytest.approx((-0.15, 3.15))
        nothing = PredictionIntervalDisplay.from_predictions([0.0], [[-np.inf, np.inf]])
        assert np.isfinite(nothing.ax_.get_ylim()).all()

    def test_draws_into_given_axes(self):
        import matplotlib.pyplot as plt

        _, ax = plt.subplots()
        assert PredictionIntervalDisplay.from_predictions([0.0], [[1.0, 2.0]], ax=ax).ax_ is ax

    def test_refuses_other_shapes(self):
        with pytest.raises(ValueError, match="expected"):
            PredictionIntervalDisplay([0.0, 1.0], [[1.0, 2.0]])


class TestCalibration:
    def test_regressors_with_and_without_p_values(self, regressor):
        levels = [0.5, 0.8, 0.9]
        display = CalibrationCurveDisplay.from_estimator(regressor, X[300:], Y[300:], levels=levels)
        for level, coverage in zip(levels, display.coverages, strict=True):
            low, high = regressor.predict_interval(X[300:], level).T
            assert coverage == ((low <= Y[300:]) & (Y[300:] <= high)).mean()
        without = CVPlusRegressor(KNNResidual(k=3), random_state=0).fit(X[:20], Y[:20])
        assert not hasattr(without, "predict_p")
        other = CalibrationCurveDisplay.from_estimator(without, X[300:], Y[300:], levels=[0.5, 0.99], ax=display.ax_)
        low, high = without.predict_interval(X[300:], 0.5).T
        assert list(other.coverages) == [((low <= Y[300:]) & (Y[300:] <= high)).mean(), 1.0]
        labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert labels == ["95 % by chance", "FullConformalRegressor", "CVPlusRegressor"]

    def test_classifiers(self):
        X_iris, y_iris = load_iris(return_X_y=True)
        names = np.array(["a", "b", "c"])[y_iris]
        clf = FullConformalClassifier().fit(X_iris[::2], names[::2])
        display = CalibrationCurveDisplay.from_estimator(clf, X_iris[1::2], names[1::2], levels=[0.6, 0.9])
        expected = [clf.predict_set(X_iris[1::2], level)[np.arange(75), y_iris[1::2]].mean() for level in (0.6, 0.9)]
        np.testing.assert_array_equal(display.coverages, expected)

    def test_band_is_that_of_chance(self):
        p = np.random.default_rng(0).uniform(size=400)
        display = CalibrationCurveDisplay.from_predictions(p)
        band = display.ax_.collections[0].get_paths()[0].vertices
        at_half = band[np.isclose(band[:, 0], 0.5), 1]
        assert at_half.min() == pytest.approx(0.45, abs=0.01)
        assert at_half.max() == pytest.approx(0.55, abs=0.01)

    def test_refuses_other_shapes(self):
        with pytest.raises(ValueError, match="p_values"):
            CalibrationCurveDisplay.from_predictions(np.ones((3, 2)))
        with pytest.raises(ValueError, match="levels"):
            CalibrationCurveDisplay([0.5, 0.9], [0.5], 3)


class TestWidths:
    def test_shares(self):
        intervals = {
            "one": np.array([[0.0, 1.0], [0.0, 3.0], [1.0, 3.0]]),
            "two": np.array([[0.0, np.inf], [0.0, 2.0]]),
        }
        display = IntervalWidthDisplay.from_predictions(intervals)
        one, two = display.ax_.lines
        assert one.get_label() == "one"
        assert two.get_label() == "two (1 infinite)"
        np.testing.assert_allclose(one.get_xydata()[1:4], [[1, 1 / 3], [2, 2 / 3], [3, 1]])
        np.testing.assert_allclose(two.get_ydata(), [0.0, 0.5, 0.5])

    def test_levels(self, regressor):
        display = IntervalWidthDisplay.from_estimator(regressor, X[300:320], confidence_level=(0.5, 0.9))
        assert list(display.widths) == ["level 0.5", "level 0.9"]
        alike = IntervalWidthDisplay.from_estimator(regressor, X[300:320], Y[300:320], confidence_level=0.5)
        np.testing.assert_array_equal(alike.widths["level 0.5"], display.widths["level 0.5"])
        assert (display.widths["level 0.5"] < display.widths["level 0.9"]).all()

    def test_refuses_no_intervals(self):
        with pytest.raises(ValueError, match="expected"):
            IntervalWidthDisplay({"none": []})


class TestDistributions:
    def test_steps_are_the_distribution_function(self):
        reg = SplitConformalRegressor(KNNResidual(k=3), random_state=0).fit(X[:60], Y[:60])
        display = PredictiveDistributionDisplay.from_estimator(reg, X[300:303], Y[300:303])
        found = reg.predict_distribution(X[300:303])
        curves = [line for line in display.ax_.lines if line.get_drawstyle() == "steps-post"]
        assert [line.get_label() for line in curves] == ["0", "1", "2"]
        for i, line in enumerate(curves):
            x, height = line.get_data()
            np.testing.assert_array_equal(x[1:], found.points[i])
            between = np.concatenate([[x[0] - 1.0], 0.5 * (x[1:-1] + x[2:]), [x[-1] + 1.0]])
            np.testing.assert_allclose(found[i].cdf(between[None])[0], height, rtol=1e-12)
            assert (np.diff(height) > 0).all()
        marks = [line.get_ydata()[0] for line in display.ax_.lines if line.get_marker() == "o"]
        np.testing.assert_array_equal(marks, found.cdf(Y[300:303]))

    def test_eight_at_most_and_names(self):
        reg = SplitConformalRegressor(KNNResidual(k=3)).fit(X[:60], Y[:60])
        found = reg.predict_distribution(X[300:320])
        assert len(PredictiveDistributionDisplay.from_predictions(found).ax_.lines) == 8
        named = PredictiveDistributionDisplay.from_predictions(found[:2], names=["Ann", "Bob"])
        assert [text.get_text() for text in named.ax_.get_legend().get_texts()] == ["Ann", "Bob"]
        with pytest.raises(ValueError, match="y has 3 values for 20 distributions: expected one for each"):
            PredictiveDistributionDisplay(found, Y[:3])
