"""Displays: what each draws is what the predictor says; one table has what all of them share."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_diabetes, load_iris

import exactcp.inspection
from exactcp import (
    ConformalClusterer,
    CVPlusRegressor,
    ExchangeabilitySelector,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalRegressor,
    VennAbersPredictor,
    VennPredictor,
)
from exactcp._percent import percent
from exactcp.inspection import (
    CalibrationCurveDisplay,
    ClusterDisplay,
    GroupCoverageDisplay,
    IntervalWidthDisplay,
    MartingaleDisplay,
    PredictionIntervalDisplay,
    PredictiveDistributionDisplay,
    ProgressiveDisplay,
    SetSizeDisplay,
    UniformityDisplay,
    VennReliabilityDisplay,
)
from exactcp.measures import KNN, KNNResidual, RidgeResidual, SimplifiedKNN
from exactcp.metrics import coverage_by_group
from exactcp.online import progressive

matplotlib = pytest.importorskip("matplotlib")
IRIS, SPECIES = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
X, Y = load_diabetes(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(150)


@pytest.fixture(autouse=True)
def plt():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def classifier():
    return FullConformalClassifier(KNN(k=3)).fit(IRIS[::2], SPECIES[::2])


@pytest.fixture(scope="module")
def regressor():
    return SplitConformalRegressor(random_state=0).fit(X[:300], Y[:300])


@pytest.fixture(scope="module")
def ridge():
    return FullConformalRegressor(RidgeResidual(rho=0.01)).fit(X[:300], Y[:300])


@pytest.fixture(scope="module")
def shifted():
    stream = np.random.default_rng(0).normal(size=(800, 5))
    stream[500:] += 1.0
    test = ExchangeabilityTest(random_state=0)
    test.update_many(stream)
    return test


@pytest.fixture(scope="module")
def selector():
    features = np.random.default_rng(0).normal(size=(200, 3))
    features[100:, 1] += 4
    return ExchangeabilitySelector().fit(features)


P = [0.1, 0.4, 0.6, 0.9]
ENDS = [[0.0, 1.0], [0.5, 2.0], [2.0, 3.0], [0.0, 4.0]]
MADE = {  # from_predictions of each: the arguments
    CalibrationCurveDisplay: lambda: (P,),
    ClusterDisplay: lambda: ([np.arange(3.0), np.arange(2.0)], np.full((3, 2), 0.5), 0.1),
    GroupCoverageDisplay: lambda: (ENDS, [0.5, 3.0, 2.5, 1.0], ["old", "old", "new", "new"]),
    IntervalWidthDisplay: lambda: ({"one": ENDS},),
    MartingaleDisplay: lambda: (None, np.linspace(0, 3, 20)),
    PredictionIntervalDisplay: lambda: (P, ENDS),
    PredictiveDistributionDisplay: lambda: (
        SplitConformalRegressor(KNNResidual(k=3), random_state=0).fit(X[:60], Y[:60]).predict_distribution(X[300:303]),
    ),
    ProgressiveDisplay: lambda: (
        progressive(FullConformalClassifier(KNN(k=3)), (IRIS[ORDER[:40]], SPECIES[ORDER[:40]])),
    ),
    SetSizeDisplay: lambda: ({"one": [[True, False], [True, True]]},),
    UniformityDisplay: lambda: (P,),
    VennReliabilityDisplay: lambda: ([0, 1, 1], [[0.1, 0.2], [0.6, 0.8], [0.9, 1.0]]),
}


@pytest.mark.parametrize("cls", MADE, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_what_all_displays_share(cls, style, plt):
    with plt.style.context(style):
        own = cls.from_predictions(*MADE[cls]())
        figure, ax = plt.subplots()
        given = cls.from_predictions(*MADE[cls](), ax=ax)
    assert (given.ax_, given.figure_) == (ax, figure)
    assert own.figure_ is own.ax_.figure is not figure
    assert given.alt_text == own.alt_text
    assert own.alt_text.endswith(".")
    assert own.plot() is own
    own.figure_.canvas.draw()


def test_every_display_is_in_the_table():
    assert {cls.__name__ for cls in MADE} == set(exactcp.inspection.__all__)


def test_sizes_of_sets(classifier):
    display = SetSizeDisplay.from_estimator(classifier, IRIS[1::2], confidence_level=[0.5, 0.9])
    sizes = np.asarray(classifier.predict_set(IRIS[1::2], 0.5)).sum(axis=1)
    present = [int(label.get_text()) for label in display.ax_.get_xticklabels()]
    heights = [bar.get_height() for bar in display.ax_.containers[0]]
    assert heights == [np.mean(sizes == size) for size in present]
    assert f"{sizes.mean():.2f} labels on average" in display.alt_text
    alike = SetSizeDisplay.from_estimator(classifier, IRIS[1::2], SPECIES[1::2], confidence_level=0.5)
    assert list(alike.values) == ["level 0.5"]


def test_p_values_and_pit(classifier, regressor):
    y = SPECIES[1::2]
    display = UniformityDisplay.from_estimator(classifier, IRIS[1::2], y)
    np.testing.assert_array_equal(display.values, classifier.predict_p(IRIS[1::2])[np.arange(y.size), y])
    heights = np.histogram(display.values, bins=5, range=(0, 1), density=True)[0]
    np.testing.assert_allclose([bar.get_height() for bar in display.ax_.patches[:5]], heights, rtol=1e-12)
    pit = UniformityDisplay.from_estimator(regressor, X[300:], Y[300:], kind="pit")
    np.testing.assert_array_equal(pit.values, regressor.predict_distribution(X[300:]).cdf(Y[300:]))
    assert pit.ax_.get_xlabel() == "probability integral transform"
    targets = UniformityDisplay.from_estimator(regressor, X[300:], Y[300:])
    np.testing.assert_array_equal(targets.values, regressor.predict_p(X[300:], Y[300:]))
    with pytest.raises(ValueError, match="kind='q' is not known"):
        UniformityDisplay.from_estimator(regressor, X, Y, kind="q")


def test_coverage_of_groups(classifier, regressor):
    groups = np.where(IRIS[1::2, 0] > 5.8, "long", "short")
    display = GroupCoverageDisplay.from_estimator(
        classifier, IRIS[1::2], SPECIES[1::2], groups, confidence_level=0.9, name="sepal"
    )
    table = coverage_by_group(classifier.predict_set(IRIS[1::2], 0.9), SPECIES[1::2], groups)
    np.testing.assert_array_equal(display.ax_.lines[0].get_xdata(), table.coverage)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [
        f"{name} ({n})" for name, n in zip(table.group, table.n, strict=True)
    ]
    assert "where 90\N{NO-BREAK SPACE}% were asked for" in display.alt_text
    bins = GroupCoverageDisplay.from_estimator(regressor, X[300:], Y[300:], X[300:, 2], confidence_level=0.9)
    assert " to " in bins.ax_.get_yticklabels()[0].get_text()


def test_ink_follows_the_page(classifier):
    import matplotlib.pyplot as plt

    with plt.style.context("dark_background"):
        display = UniformityDisplay.from_estimator(classifier, IRIS[1::2], SPECIES[1::2])
    assert matplotlib.colors.to_rgb(display.ax_.lines[0].get_color()) == (1.0, 1.0, 1.0)


def test_targets_outside_are_marked(ridge):
    display = PredictionIntervalDisplay.from_estimator(ridge, X[300:], Y[300:], feature=2, confidence_level=0.7)
    intervals = ridge.predict_interval(X[300:], 0.7)
    outside = (Y[300:] < intervals[:, 0]) | (Y[300:] > intervals[:, 1])
    drawn = {line.get_label(): line.get_xydata() for line in display.ax_.lines}
    np.testing.assert_array_equal(drawn["target outside"], np.column_stack([X[300:, 2], Y[300:]])[outside])
    np.testing.assert_array_equal(drawn["prediction"][:, 1], ridge.predict(X[300:]))
    assert len(display.ax_.collections[0].get_segments()) == len(intervals)
    assert percent(1 - outside.mean()) in display.ax_.get_title()
    assert display.figure_ is display.ax_.figure


def test_a_feature_is_a_column_of_a_frame_or_the_prediction(regressor):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    reg = FullConformalRegressor(KNNResidual(k=3)).fit(frame[:100], Y[:100])
    display = PredictionIntervalDisplay.from_estimator(reg, frame[100:120], feature="c3")
    assert display.ax_.get_xlabel() == "c3"
    np.testing.assert_array_equal(display.x, frame["c3"][100:120])
    with pytest.raises(ValueError, match="no column"):
        PredictionIntervalDisplay.from_estimator(reg, frame, feature="c30")
    display = PredictionIntervalDisplay.from_estimator(regressor, X[300:], feature="prediction")
    np.testing.assert_array_equal(display.x, regressor.predict(X[300:]))
    assert display.alt_text == "Prediction intervals of 142 test objects against prediction."


def test_infinite_ends_are_drawn_to_the_border():
    display = PredictionIntervalDisplay.from_predictions([0.0, 1.0], [[-np.inf, np.inf], [2.0, 3.0]], y=[2.5, 0.0])
    segments = display.ax_.collections[0].get_segments()
    assert np.isfinite(segments).all()
    assert display.ax_.get_ylim() == pytest.approx((-0.15, 3.15))
    nothing = PredictionIntervalDisplay.from_predictions([0.0], [[-np.inf, np.inf]])
    assert np.isfinite(nothing.ax_.get_ylim()).all()


def test_calibration_of_regressors_with_and_without_p_values(ridge):
    levels = [0.5, 0.8, 0.9]
    display = CalibrationCurveDisplay.from_estimator(ridge, X[300:], Y[300:], levels=levels)
    for level, coverage in zip(levels, display.coverages, strict=True):
        low, high = ridge.predict_interval(X[300:], level).T
        assert coverage == ((low <= Y[300:]) & (Y[300:] <= high)).mean()
    without = CVPlusRegressor(KNNResidual(k=3), random_state=0).fit(X[:20], Y[:20])
    assert not hasattr(without, "predict_p")
    other = CalibrationCurveDisplay.from_estimator(without, X[300:], Y[300:], levels=[0.5, 0.99], ax=display.ax_)
    low, high = without.predict_interval(X[300:], 0.5).T
    assert list(other.coverages) == [((low <= Y[300:]) & (Y[300:] <= high)).mean(), 1.0]
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["95 % by chance", "FullConformalRegressor", "CVPlusRegressor"]


def test_band_is_that_of_chance():
    p = np.random.default_rng(0).uniform(size=400)
    display = CalibrationCurveDisplay.from_predictions(p)
    band = display.ax_.collections[0].get_paths()[0].vertices
    at_half = band[np.isclose(band[:, 0], 0.5), 1]
    assert at_half.min() == pytest.approx(0.45, abs=0.01)
    assert at_half.max() == pytest.approx(0.55, abs=0.01)


def test_shares_of_widths():
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


def test_widths_at_levels(ridge):
    display = IntervalWidthDisplay.from_estimator(ridge, X[300:320], confidence_level=(0.5, 0.9))
    assert list(display.values) == ["level 0.5", "level 0.9"]
    assert (display.values["level 0.5"] < display.values["level 0.9"]).all()


def test_steps_are_the_distribution_function():
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


def test_eight_at_most_and_names():
    reg = SplitConformalRegressor(KNNResidual(k=3)).fit(X[:60], Y[:60])
    found = reg.predict_distribution(X[300:320])
    assert len(PredictiveDistributionDisplay.from_predictions(found).ax_.lines) == 8
    named = PredictiveDistributionDisplay.from_predictions(found[:2], names=["Ann", "Bob"])
    assert [text.get_text() for text in named.ax_.get_legend().get_texts()] == ["Ann", "Bob"]


def test_martingale_alarms_and_histogram(shifted):
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
    assert sum(bar.get_height() * bar.get_width() for bar in histogram.patches[:20]) == pytest.approx(1.0)


def test_the_statistic_is_drawn_only_where_it_differs(shifted):
    quiet = ExchangeabilityTest(random_state=0)
    quiet.update_many(np.random.default_rng(1).normal(size=(40, 2)))
    for test, is_drawn in ((shifted, True), (quiet, False), (ExchangeabilityTest(), False)):
        display = MartingaleDisplay.from_estimator(test)
        display.figure_.canvas.draw()
        assert ("alarm statistic" in {line.get_label() for line in display.ax_[0].get_lines()}) == is_drawn


def test_martingale_on_given_axes(shifted, plt):
    figure, axes = plt.subplots(2, 1)
    display = MartingaleDisplay.from_predictions(shifted.p_values_, shifted.log_martingale_, ax=axes)
    assert display.figure_ is figure
    assert axes[0].get_ylabel() == "wealth (log scale)"


def test_cumulative_errors_and_what_epsilon_allows():
    stream = (IRIS[ORDER], SPECIES[ORDER])
    result = progressive(FullConformalClassifier(KNN(k=3)), stream, confidence_level=0.9)
    display = ProgressiveDisplay.from_predictions(result)
    assert display.epsilons == pytest.approx((0.05, 0.1, 0.2))
    solid, dashed = display.ax_.get_lines()[2:4]
    np.testing.assert_array_equal(solid.get_ydata(), result.cumulative_errors)
    np.testing.assert_allclose(dashed.get_ydata(), result.epsilon * np.arange(1, len(result) + 1))
    again = ProgressiveDisplay.from_estimator(FullConformalClassifier(KNN(k=3)), stream, confidence_level=0.9)
    np.testing.assert_array_equal(again.result.p, result.p)


def test_clusters():
    clusterer = ConformalClusterer(SimplifiedKNN(k=5), n_grid=30).fit(IRIS)
    display = ClusterDisplay.from_estimator(clusterer, IRIS)
    field, outline, inside, outside = display.ax_.collections
    np.testing.assert_array_equal(field.get_array().reshape(30, 30), clusterer.p_values_.T)
    assert len(inside.get_offsets()) == (clusterer.labels_ >= 0).sum()
    assert len(outside.get_offsets()) == (clusterer.labels_ == -1).sum()
    kept = np.pad(clusterer.cells_ >= 0, 1)
    edges = (kept[1:] != kept[:-1]).sum() + (kept[:, 1:] != kept[:, :-1]).sum()
    assert len(outline.get_segments()) == edges
    assert "2 clusters" in display.ax_.get_title()
    display.figure_.canvas.draw()


def test_errors_are_drawn_against_what_probabilities_say():
    result = progressive(VennPredictor(5), (IRIS[ORDER], SPECIES[ORDER]), classes=[0, 1, 2])
    display = ProgressiveDisplay.from_predictions(result)
    (line,) = [line for line in display.ax_.get_lines() if len(line.get_xdata())]
    np.testing.assert_array_equal(line.get_ydata(), result.cumulative_errors)
    (band,) = display.ax_.collections
    assert band.get_paths()[0].vertices[:, 1].max() == pytest.approx(np.sum(1 - result.lower))
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [f"wrong labels: {result.running_error[-1]:.3f}", "as their probabilities say"]
    with pytest.raises(ValueError, match="need p-values, and the predictor gave none: a Venn predictor has no"):
        ProgressiveDisplay.from_predictions(result, [0.1])


def test_martingales_of_features(selector, plt):
    display = MartingaleDisplay.from_estimator(selector, ax=plt.subplots()[1])
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["below the threshold", "x1", "threshold 60"]
    (path,) = [line for line in display.ax_.lines if line.get_label() == "x1"]
    np.testing.assert_allclose(path.get_ydata()[1:], selector.log_martingales_[:, 1] / np.log(10))
    assert path.get_ydata()[0] == 0
    (mark,) = [line for line in display.ax_.lines if line.get_marker() == "o"]
    assert mark.get_xdata()[0] == np.argmax(selector.log_martingales_[:, 1] >= selector.log_threshold_) + 1
    assert display.alt_text == "Martingales of 3 features over 200 examples; 1 cross the threshold."
    none = MartingaleDisplay.from_predictions(None, selector.log_martingales_[:90], names=["u", "v", "w"])
    assert [text.get_text() for text in none.ax_.get_legend().get_texts()] == ["below the threshold"]


@pytest.mark.parametrize("predictor", [VennPredictor(k=5), VennAbersPredictor()])
def test_venn_reliability(predictor):
    predictor.fit(IRIS[::2], NAMES[SPECIES[::2]])
    display = VennReliabilityDisplay.from_estimator(predictor, IRIS[1::2], NAMES[SPECIES[1::2]], label="versicolor")
    interval = predictor.predict_proba_interval(IRIS[1::2])[:, 1]
    weights = display.counts / display.counts.sum()
    assert display.counts.sum() == 75
    assert display.lower @ weights == pytest.approx(interval[:, 0].mean())
    assert display.upper @ weights == pytest.approx(interval[:, 1].mean())
    assert display.frequency @ weights == pytest.approx((SPECIES[1::2] == 1).mean())
    assert "versicolor" in display.ax_.get_xlabel()
    assert VennReliabilityDisplay.from_estimator(predictor, IRIS, NAMES[SPECIES]).label == "virginica"
    with pytest.raises(ValueError, match="label=7 is not known: use one of 'setosa', "):
        VennReliabilityDisplay.from_estimator(predictor, IRIS, SPECIES, label=7)


def test_bins_and_bars(plt):
    interval = np.array([[0.0, 0.1], [0.0, 0.1], [0.42, 0.44], [0.9, 1.0], [1.0, 1.0]])
    _, ax = plt.subplots()
    display = VennReliabilityDisplay.from_predictions([0, 1, 1, 1, 1], interval, n_bins=10, ax=ax)
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.counts, [2, 1, 2])
    np.testing.assert_allclose(display.frequency, [0.5, 1, 1])
    np.testing.assert_allclose(display.lower, [0, 0.42, 0.95])
    bars = next(c for c in ax.containers if c.get_label() == "frequency")
    segments = bars[2][0].get_segments()
    exact = [binomtest(k, n).proportion_ci() for k, n in [(1, 2), (1, 1), (2, 2)]]
    np.testing.assert_allclose([s[:, 1] for s in segments], [[ci.low, ci.high] for ci in exact], atol=1e-9)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: PredictionIntervalDisplay([0.0, 1.0], [[1.0, 2.0]]), r"expected \(m,\) and \(m, 2\)"),
        (lambda: CalibrationCurveDisplay.from_predictions(np.ones((3, 2))), r"p_values have shape \(3, 2\)"),
        (lambda: CalibrationCurveDisplay([0.5, 0.9], [0.5], 3), "expected one coverage for each level"),
        (lambda: UniformityDisplay([0.5, 1.5]), "outside of"),
        (lambda: PredictiveDistributionDisplay(*MADE[PredictiveDistributionDisplay](), Y[:2]), "y has 2 values for 3"),
        (lambda: IntervalWidthDisplay({"none": []}), r"the widths of 'none' have shape \(0,\): expected"),
        (lambda: ClusterDisplay([np.arange(3)] * 3, np.zeros((3, 3, 3)), 0.1), "expected 2, which a picture has"),
        (lambda: VennReliabilityDisplay.from_predictions([0, 1, 1], np.zeros((3, 3))), r"\(3, 3\) for 3 outcomes"),
        (lambda: MartingaleDisplay(None, np.zeros((5, 3)), names=["u", "v"]), "2 names for 3 features"),
    ],
)
def test_mistakes_get_a_sentence(call, match):
    with pytest.raises(ValueError, match=match):
        call()
