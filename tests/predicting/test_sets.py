"""Prediction sets that know their labels, and how results look in a notebook."""

import copy
import pickle

import numpy as np
import pytest

from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN
from exactcp.metrics import coverage_by_group
from exactcp.predicting.sets import PredictionSets
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


def test_lists_are_the_labels_that_are_inside(classifier, objects):
    sets = classifier.predict_set(objects, 0.8)
    assert sets.dtype == bool
    assert sets.to_list() == [LABELS[row].tolist() for row in np.asarray(sets)]
    np.testing.assert_array_equal(sets.sizes, [len(labels) for labels in sets.to_list()])
    np.testing.assert_array_equal(sets, classifier.predict_p(objects) > 0.2)


def test_frames(classifier, objects):
    sets = classifier.predict_set(objects, [0.8, 0.9])
    frame = sets.to_frame(index=range(100, 125))
    assert list(frame) == ["set_0.8", "set_text_0.8", "set_0.9", "set_text_0.9"]
    assert frame.index[0] == 100
    assert list(frame["set_text_0.9"]) == ["|".join(labels) for labels in sets.at(0.9).to_list()]
    assert sets.at("0.90").confidence_levels == [0.9]
    one = classifier.predict_set(objects, 0.9).to_frame(library="polars")
    assert one.columns == ["set", "set_text"]
    assert one["set"].to_list() == sets.at(0.9).to_list()


def test_what_is_computed_is_plain(classifier, objects):
    sets = classifier.predict_set(objects, 0.8)
    for made in (
        ~sets,
        sets & True,
        sets.sum(axis=1),
        sets.mean(axis=0),
        sets[:, 1],
        sets[:, ::-1],
        sets[0],
        sets.any(),
    ):
        assert type(made) in (np.ndarray, np.bool_)
    assert type(sets[0, 0]) is np.bool_
    with pytest.raises(ValueError, match="do not know their labels any more"):
        sets.T.to_list()


def test_rows_and_copies_keep_their_labels(classifier, objects):
    sets = classifier.predict_set(objects, 0.8)
    whole = sets.to_list()
    assert sets[3:5].to_list() == whole[3:5]
    assert sets[sets.sizes == 1].to_list() == [labels for labels in whole if len(labels) == 1]
    for again in (sets.copy(), copy.deepcopy(sets), pickle.loads(pickle.dumps(sets))):
        assert isinstance(again, PredictionSets)
        assert again.to_list() == whole
    mine = sets.copy()
    mine[:] = False
    assert sets.to_list() == whole


def test_several_levels_want_a_choice(classifier, objects):
    sets = classifier.predict_set(objects, [0.8, 0.9])
    with pytest.raises(ValueError, match=r"2 levels: choose one, such as sets.at\(0.9\).to_list\(\)"):
        sets.to_list()
    with pytest.raises(ValueError, match=r"no sets at confidence_level=0.95: expected 0.8, 0.9"):
        sets.at(0.95)


def test_notebooks_show_chips(classifier, objects):
    html = classifier.predict_set(objects, 0.8)._repr_html_()
    assert "a&lt;b&gt;" in html
    assert "a<b>" not in html
    assert "set, 0.8" in html
    assert "the first 20 of 25 rows" in html
    assert classifier.predict_set(objects, 0.8).T._repr_html_() is None
    none = classifier.predict_set(objects, 0.8)[:0]
    assert none.to_list() == []
    assert "<table>" in none._repr_html_()
    empty = PredictionSets.of(np.zeros((1, 3), bool), LABELS, [0.8])
    assert "empty" in empty._repr_html_()
    many = PredictionSets.of(np.ones((1, 40), bool), np.arange(40), [0.8])
    assert "and 28 more" in many._repr_html_()


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
