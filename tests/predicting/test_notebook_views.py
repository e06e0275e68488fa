"""How results look in a notebook, and what sets are: plain arrays."""

import numpy as np
import pytest

from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN
from exactcp.metrics import coverage_by_group
from exactcp.regions import Region, Regions
from exactcp.regression import PredictiveDistribution

LABELS = np.array(["a<b>", "b", "c"])


@pytest.fixture(scope="module")
def classifier():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 2)) + codes[:, None]
    return FullConformalClassifier(KNN(k=3)).fit(X, LABELS[codes])


@pytest.fixture(scope="module")
def objects():
    return np.random.default_rng(1).normal(size=(25, 2)) + 1


def test_sets_are_plain_arrays_and_a_frame_has_their_labels(classifier, objects):
    sets = classifier.predict_set(objects, 0.8)
    assert type(sets) is np.ndarray
    assert sets.dtype == bool
    np.testing.assert_array_equal(sets, classifier.predict_p(objects) > 0.2)
    frame = classifier.predict_frame(objects, 0.8)
    assert [list(labels) for labels in frame["set"]] == [LABELS[row].tolist() for row in sets]


def test_notebooks_show_confidence_and_regions(classifier, objects):
    html = classifier.predict_confidence(objects)._repr_html_()
    assert html.count("<tr>") == 21
    assert "credibility" in html
    two = Region(np.array([[0.0, 1.0], [3.0, np.inf]]))._repr_html_()
    assert "[0, 1] or [3, inf]" in two
    assert two.count("hsl(210") == 2
    assert "empty" in Region(np.empty((0, 2)))._repr_html_()


def test_regions_of_a_regressor_have_a_picture():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 1))
    regions = FullConformalRegressor().fit(X, X[:, 0]).predict_region(X, 0.9)
    assert "<code>[" in regions[0]._repr_html_()
    assert regions == list(regions)
    html = regions._repr_html_()
    assert html.count("<code>[") == 20
    assert "the first 20 of 40 rows" in html
    assert regions[:2]._repr_html_().count("<code>[") == 2
    assert "<table>" in regions[:0]._repr_html_()


def test_notebooks_show_distributions_and_coverage():
    found = PredictiveDistribution((np.array([1.0, 2.0, 4.0]), np.linspace(0, 100, 99)))
    html = found._repr_html_()
    assert "[-inf, inf]" in html  # of three points
    assert "[4.0816, 95.918]" in html
    assert html.count("<tr>") == 3
    assert "<table>" in found[:0]._repr_html_()
    html = coverage_by_group([[0.0, 1.0]] * 3, [0.5, 2.0, 0.5], ["a<b>", "a<b>", "c"])._repr_html_()
    assert "a&lt;b&gt;" in html
    assert "50\N{NO-BREAK SPACE}%" in html
    assert "0.013 to 0.987" in html


def test_regions_are_drawn_on_one_scale():
    narrow, wide = Region(np.array([[0.0, 1.0]])), Region(np.array([[-4.0, 5.0], [6.0, np.inf]]))
    html = Regions([narrow, wide])._repr_html_()
    assert "left:41.7%;width:max(2px, 8.3%)" in html  # 0 and 1 on a track from -5 to 7
    assert "left:41.7%" not in narrow._repr_html_()
