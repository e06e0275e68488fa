"""Set sizes, uniform numbers, coverage of groups; and what all displays share."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import exactcp.inspection
from exactcp import FullConformalClassifier, SplitConformalRegressor
from exactcp.inspection import (
    GroupCoverageDisplay,
    PredictionIntervalDisplay,
    SetSizeDisplay,
    UniformityDisplay,
)
from exactcp.inspection._display import Display
from exactcp.measures import KNN
from exactcp.metrics import coverage_by_group

matplotlib = pytest.importorskip("matplotlib")
IRIS, SPECIES = load_iris(return_X_y=True)
X, Y = load_diabetes(return_X_y=True)


@pytest.fixture(autouse=True)
def _no_windows():
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def classifier():
    return FullConformalClassifier(KNN(k=3)).fit(IRIS[::2], SPECIES[::2])


@pytest.fixture(scope="module")
def regressor():
    return SplitConformalRegressor(random_state=0).fit(X[:300], Y[:300])


def test_every_display_has_words():
    for name in exactcp.inspection.__all__:
        cls = getattr(exactcp.inspection, name)
        assert issubclass(cls, Display), name
        assert cls.alt_text is not Display.alt_text, name


def test_sizes_of_sets(classifier):
    display = SetSizeDisplay.from_estimator(classifier, IRIS[1::2], confidence_level=[0.5, 0.9])
    sizes = classifier.predict_set(IRIS[1::2], 0.5).sizes
    present = [int(label.get_text()) for label in display.ax_.get_xticklabels()]
    heights = [bar.get_height() for bar in display.ax_.containers[0]]
    assert heights == [np.mean(sizes == size) for size in present]
    assert f"{sizes.mean():.2f} labels on average" in display.alt_text
    alike = SetSizeDisplay.from_estimator(classifier, IRIS[1::2], SPECIES[1::2], confidence_level=0.5)
    assert list(alike.sizes) == ["level 0.5"]
    with pytest.warns(FutureWarning, match=r"now confidence_level=.* goes in release 0\.3"):
        old = SetSizeDisplay.from_estimator(classifier, IRIS[1::2], confidence_levels=[0.5, 0.9])
    assert list(old.sizes) == list(display.sizes)
    with pytest.raises(ValueError, match=r"the sizes of 'mine' have shape \(0,\)"):
        SetSizeDisplay({"mine": []})


def test_p_values_and_pit(classifier, regressor):
    y = SPECIES[1::2]
    display = UniformityDisplay.from_estimator(classifier, IRIS[1::2], y)
    np.testing.assert_array_equal(display.values, classifier.predict_p(IRIS[1::2])[np.arange(y.size), y])
    assert sum(bar.get_height() for bar in display.ax_.patches[:20]) == pytest.approx(20)
    pit = UniformityDisplay.from_estimator(regressor, X[300:], Y[300:], kind="pit")
    np.testing.assert_array_equal(pit.values, regressor.predict_distribution(X[300:]).cdf(Y[300:]))
    assert pit.ax_.get_xlabel() == "probability integral transform"
    targets = UniformityDisplay.from_estimator(regressor, X[300:], Y[300:])
    np.testing.assert_array_equal(targets.values, regressor.predict_p(X[300:], Y[300:]))
    with pytest.raises(ValueError, match="outside of"):
        UniformityDisplay([0.5, 1.5])
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


def test_intervals_over_the_prediction(regressor):
    display = PredictionIntervalDisplay.from_estimator(regressor, X[300:], feature="prediction")
    np.testing.assert_array_equal(display.x, regressor.predict(X[300:]))
    assert display.ax_.get_xlabel() == "prediction"
    assert display.alt_text == "Prediction intervals of 142 test objects against prediction."


def test_ink_follows_the_page(classifier):
    import matplotlib.pyplot as plt

    with plt.style.context("dark_background"):
        display = UniformityDisplay.from_estimator(classifier, IRIS[1::2], SPECIES[1::2])
    assert matplotlib.colors.to_rgb(display.ax_.lines[0].get_color()) == (1.0, 1.0, 1.0)


def test_every_legend_has_its_place():
    # "best" searches all of the data for a free corner, and warns of itself on a slow machine
    for path in sorted(Path(exactcp.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "legend":
                given = {word.arg: word.value for word in node.keywords}
                where = given.get("loc", given.get(None))  # `None`: a dictionary of options
                assert where is not None, f"{path.name}, line {node.lineno}"
                assert getattr(where, "value", None) != "best", f"{path.name}, line {node.lineno}"
