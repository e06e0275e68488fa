"""Taxonomies: columns, functions of X or of X and y, categories beside the data, bins."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, train_test_split

from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    CrossConformalClassifier,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
)
from exactcp.measures import KNN, KNNResidual, SimplifiedKNN
from exactcp.predicting.taxonomy import Taxonomy
from exactcp.taxonomies import bins
from public_estimators import public_classes

RNG = np.random.default_rng(0)
N, M = 90, 25
NUMBERS = RNG.normal(size=(N + M, 3))
SITE = np.array(["north", "south", "west"])[RNG.integers(0, 3, N + M)]
WARD = RNG.integers(0, 2, N + M)
FRAME = pd.DataFrame(NUMBERS, columns=["a", "b", "c"]).assign(site=SITE, ward=WARD)
LABELS = (NUMBERS[:, 0] + 0.5 * RNG.normal(size=N + M) > 0).astype(int)
TARGETS = NUMBERS[:, 0] + 0.3 * RNG.normal(size=N + M)
CLASSIFIERS = [
    lambda **how: FullConformalClassifier(KNN(k=3), **how),
    lambda **how: SplitConformalClassifier(KNN(k=3), random_state=0, **how),
    lambda **how: CrossConformalClassifier(KNN(k=3), cv=3, random_state=0, **how),
    lambda **how: AggregatedConformalClassifier(KNN(k=3), n_splits=2, random_state=0, **how),
    lambda **how: SplitConformalClassifier(LogisticRegression(), random_state=0, **how),
]
REGRESSORS = [
    lambda **how: FullConformalRegressor(KNNResidual(k=3), **how),
    lambda **how: SplitConformalRegressor(KNNResidual(k=3), random_state=0, **how),
    lambda **how: SplitConformalRegressor(LinearRegression(), random_state=0, **how),
]


@pytest.fixture(params=range(len(CLASSIFIERS)), ids=["full", "split", "cross", "aggregated", "model"])
def classifier(request):
    return CLASSIFIERS[request.param]


@pytest.fixture(params=range(len(REGRESSORS)), ids=["full", "split", "model"])
def regressor(request):
    return REGRESSORS[request.param]


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    return FRAME if request.param == "pandas" else pl.from_pandas(FRAME)


def answers(predictor, X, y, **beside):
    """Return what a predictor says of the last M objects."""
    fitted = predictor.fit(X[:N], y[:N], **{name: value[:N] for name, value in beside.items()})
    later = {name: value[N:] for name, value in beside.items()}
    if hasattr(fitted, "classes_"):
        return fitted.predict_p(X[N:], **later)
    return fitted.predict_interval(X[N:], 0.8, **later)


class TestAllSayTheSame:
    def test_labels(self, classifier, frame):
        expected = answers(classifier(mondrian=lambda X, y: site_of(X)), NUMBERS, LABELS)
        columns = frame[["a", "b", "c", "site"]]
        np.testing.assert_array_equal(answers(classifier(mondrian="site"), columns, LABELS), expected)
        np.testing.assert_array_equal(answers(classifier(), NUMBERS, LABELS, categories=SITE), expected)

    def test_targets(self, regressor, frame):
        expected = answers(regressor(mondrian=site_of), NUMBERS, TARGETS)
        columns = frame[["a", "b", "c", "site"]]
        # a model is given the frame itself, whose columns lie otherwise in memory: its sums have other last bits
        np.testing.assert_allclose(answers(regressor(mondrian="site"), columns, TARGETS), expected, rtol=1e-12)
        np.testing.assert_array_equal(answers(regressor(), NUMBERS, TARGETS, categories=SITE), expected)

    def test_several_columns_are_their_pairs(self, classifier, frame):
        pairs = np.char.add(SITE, WARD.astype(str))
        expected = answers(classifier(), NUMBERS, LABELS, categories=pairs)
        np.testing.assert_array_equal(answers(classifier(mondrian=["site", "ward"]), frame, LABELS), expected)
        both = FRAME[["site", "ward"]]
        np.testing.assert_array_equal(answers(classifier(), NUMBERS, LABELS, categories=both), expected)

    def test_a_function_gets_the_frame(self, classifier, frame):
        seen = []

        def look(X):
            seen.append(type(X))
            return X["ward"]

        columns = frame[["a", "b", "c", "ward"]]
        kept = answers(classifier(mondrian=look), columns, LABELS)
        assert set(seen) == {type(frame)}
        named = answers(classifier(mondrian="ward", mondrian_columns="keep"), columns, LABELS)
        np.testing.assert_array_equal(kept, named)


def site_of(X):
    """Return the sites of rows of numbers."""
    places = {value: i for i, value in enumerate(NUMBERS[:, 0].tolist())}
    return SITE[[places[value] for value in X[:, 0].tolist()]]


def is_low(X):
    """Tell which objects have a small third value."""
    return np.asarray(X["c"]) < 0


def glued(X, y):
    """Return label, site and whether the third value is small, as one text."""
    return [f"{label} {site} {low}" for label, site, low in zip(y, X["site"], is_low(X), strict=True)]


class TestSeveralThings:
    """A category is what an example has of each: as those of a function that glues these into one text."""

    WITH_SITE = FRAME[["a", "b", "c", "site"]]
    THINGS = ["label", "site", is_low]

    @pytest.mark.parametrize("smoothed", [False, True])
    def test_labels(self, classifier, smoothed, frame):
        def found(mondrian, X, **beside):
            made = classifier(mondrian=mondrian, smoothed=smoothed).set_params(random_state=0)
            return answers(made, X, LABELS, **beside)

        def in_one_text(X, y):
            return glued(self.WITH_SITE.iloc[[places[value] for value in X["a"]]], y)

        numbers, places = FRAME[["a", "b", "c"]], {value: i for i, value in enumerate(FRAME["a"])}
        expected = found(in_one_text, numbers)
        np.testing.assert_array_equal(found(self.THINGS, frame[["a", "b", "c", "site"]]), expected)
        np.testing.assert_array_equal(found(("label", is_low), numbers, categories=SITE), expected)
        by_label = found("label", numbers)
        np.testing.assert_array_equal(found(["label"], numbers), by_label)
        assert not np.array_equal(expected, by_label)

    def test_targets(self, regressor, frame):
        numbers, glue = FRAME[["a", "b", "c"]], np.array(glued(FRAME, np.zeros(N + M)))
        expected = answers(regressor(), numbers, TARGETS, categories=glue)
        found = answers(regressor(mondrian=["site", is_low]), frame[["a", "b", "c", "site"]], TARGETS)
        np.testing.assert_allclose(found, expected, rtol=1e-12)  # a model's sums, as above
        found = answers(regressor(mondrian=is_low), numbers, TARGETS, categories=SITE)
        np.testing.assert_array_equal(found, expected)

    def test_objects(self, frame):
        columns, glue = frame[["a", "b", "c", "site"]], np.array(glued(FRAME, np.zeros(N + M)))
        beside = ConformalAnomalyDetector(SimplifiedKNN(k=3)).fit(NUMBERS[:N], categories=glue[:N])
        several = ConformalAnomalyDetector(SimplifiedKNN(k=3), mondrian=["site", is_low]).fit(columns[:N])
        expected = beside.predict_p(NUMBERS[N:], categories=glue[N:])
        np.testing.assert_array_equal(several.predict_p(columns[N:]), expected)

    def test_the_standard_algorithm_learning_and_forgetting(self):
        X = self.WITH_SITE
        changed = FullConformalClassifier(KNN(k=3), mondrian=self.THINGS).fit(X[:60], LABELS[:60])
        changed.partial_fit(X[60:N], LABELS[60:N]).unlearn([3, 70])
        kept = np.delete(np.arange(N), [3, 70])
        slow = FullConformalClassifier(KNN(k=3), mondrian=self.THINGS, algorithm="standard")
        slow.fit(X.iloc[kept], LABELS[kept])
        again = pickle.loads(pickle.dumps(changed))
        for one in (changed, again, clone(changed).fit(X.iloc[kept], LABELS[kept])):
            np.testing.assert_array_equal(one.predict_p(X[N:]), slow.predict_p(X[N:]))
            pd.testing.assert_frame_equal(one.predict_frame(X[N:], 0.5), slow.predict_frame(X[N:], 0.5))

    def test_a_missing_value_is_a_category_of_its_own(self):
        nothing = np.where(np.arange(N + M) % 2, None, np.nan)
        X = self.WITH_SITE.assign(site=np.where(SITE == "west", nothing, SITE))
        made = FullConformalClassifier(KNN(k=3), mondrian=self.THINGS)
        expected = answers(clone(made), self.WITH_SITE, LABELS)
        np.testing.assert_array_equal(answers(clone(made), X, LABELS), expected)

    @pytest.mark.parametrize(
        ("wrong", "sentence"),
        [
            (["label", 3], r"use None, 'label', .*, or a list of these.* 3 in the list is none of these"),
            (["label", ["site"]], r"\['site'\] in the list is none of these"),
            ([], "or a list of these"),
            (pd.Series([0, 1, 1]), "or a list of these .the default is None.. Give the categories of examples"),
            ([0, 1, 1], "Give the categories of examples beside them"),
            (["label", "sit"], "mondrian='sit' is not a column of X, which has a, b, c, site. Did you mean 'site'"),
            (["site", lambda X: X["a"] > X["a"].median()], "expected a function of each row"),
        ],
    )
    def test_mistakes(self, wrong, sentence):
        with pytest.raises(ValueError, match=sentence):
            FullConformalClassifier(mondrian=wrong).fit(self.WITH_SITE[:N], LABELS[:N])

    @pytest.mark.parametrize("mondrian", [None, "label", "site", ["site", "ward"], is_low, glued])
    def test_what_version_0_1_0_has_saved(self, mondrian):
        function = mondrian if callable(mondrian) else None
        columns = [mondrian] if mondrian == "site" else mondrian if isinstance(mondrian, list) else []
        old = Taxonomy.__new__(Taxonomy)
        old.__setstate__(
            {
                "is_trivial": False,
                "is_by_label": mondrian == "label",
                "_columns": columns,
                "_function": function,
                "_asks_for_label": mondrian is glued,
                "_beside": mondrian is None,
                "_numbers": [],
            }
        )
        assert vars(old) == vars(Taxonomy(mondrian, beside=mondrian is None))


class TestDetectors:
    DETECTORS = [SimplifiedKNN(k=3), EllipticEnvelope(), IsolationForest(n_estimators=5, random_state=0)]

    @pytest.mark.parametrize("how", [{}, {"smoothed": True}])
    @pytest.mark.parametrize("detector", DETECTORS, ids=["full", "split", "forest"])
    def test_each_category_is_a_detector_of_its_own_scores(self, detector, how, frame):
        made = lambda **more: ConformalAnomalyDetector(detector, random_state=0, **how, **more)  # noqa: E731
        columns = frame[["a", "b", "c", "site"]]
        named = made(mondrian="site").fit(columns[:N]).predict_p(columns[N:])
        beside = made().fit(frame[["a", "b", "c"]][:N], categories=SITE[:N])
        np.testing.assert_array_equal(beside.predict_p(frame[["a", "b", "c"]][N:], categories=SITE[N:]), named)
        if how:
            return
        if hasattr(beside, "calibration_scores_"):
            _, calibrating = train_test_split(np.arange(N), test_size=0.5, random_state=0)
            groups, training = SITE[np.sort(calibrating)], beside.calibration_scores_
            own = beside.measure_.score(frame[["a", "b", "c"]][N:], None)
            expected = [
                ((training >= s)[groups == site].sum() + 1) / ((groups == site).sum() + 1)
                for s, site in zip(own, SITE[N:], strict=True)
            ]
        else:
            counts = textbook_counts(NUMBERS[:N], NUMBERS[N:])
            expected = [
                (counts[t][SITE[:N] == site].sum() + 1) / ((SITE[:N] == site).sum() + 1)
                for t, site in enumerate(SITE[N:])
            ]
        np.testing.assert_array_equal(named, expected)

    def test_folds_add_within_categories(self):
        detector = ConformalAnomalyDetector(EllipticEnvelope(), cv=3, random_state=0, mondrian=lambda X: X[:, 1] > 0)
        together = ConformalAnomalyDetector(EllipticEnvelope(), cv=3, random_state=0).fit(NUMBERS[:N])
        p = detector.fit(NUMBERS[:N]).predict_p(NUMBERS[N:])
        parts = []
        for fold, (_, out) in enumerate(KFold(3, shuffle=True, random_state=0).split(NUMBERS[:N])):
            measure = together.measures_[fold]
            same = (NUMBERS[out, 1] > 0) == (NUMBERS[N:, 1] > 0)[:, None]
            own = measure.score(NUMBERS[N:], None)
            parts.append(((measure.score(NUMBERS[out], None) >= own[:, None]) & same).sum(axis=1))
        sizes = ((NUMBERS[:N, 1] > 0) == (NUMBERS[N:, 1] > 0)[:, None]).sum(axis=1)
        np.testing.assert_array_equal(p, (np.sum(parts, axis=0) + 1) / (sizes + 1))


def textbook_counts(X, asked):
    """Return which of the training scores of SimplifiedKNN(3) are at least as large as each object's, (m, n)."""
    rows = []
    for x in asked:
        D = np.linalg.norm(np.vstack([X, x])[:, None] - np.vstack([X, x]), axis=2)
        np.fill_diagonal(D, np.inf)
        scores = np.sort(D, axis=1)[:, :3].sum(axis=1)
        rows.append(scores[:-1] >= scores[-1])
    return np.array(rows)


class TestChanges:
    @pytest.mark.parametrize(
        ("predictor", "y"),
        [(FullConformalClassifier(KNN(k=3)), LABELS), (ConformalAnomalyDetector(SimplifiedKNN(k=3)), None)],
    )
    def test_learning_and_forgetting_keep_categories_in_step(self, predictor, y):
        def examples(some):
            return (NUMBERS[some],) if y is None else (NUMBERS[some], y[some])

        changed = clone(predictor).fit(*examples(slice(60)), categories=SITE[:60])
        changed.partial_fit(*examples(slice(60, N)), categories=SITE[60:N]).unlearn([3, 70])
        kept = np.delete(np.arange(N), [3, 70])
        fresh = clone(predictor).fit(*examples(kept), categories=SITE[kept])
        found, expected = (one.predict_p(NUMBERS[N:], categories=SITE[N:]) for one in (changed, fresh))
        np.testing.assert_array_equal(found, expected)

    def test_a_category_that_nobody_has_excludes_nothing(self, classifier):
        clf = classifier().fit(NUMBERS[:N], LABELS[:N], categories=SITE[:N])
        assert (clf.predict_p(NUMBERS[N:], categories=np.full(M, "east")) == 1).all()

    def test_missing_values_are_one_category(self):
        site = np.where(SITE == "west", None, SITE)
        other = np.where(SITE == "west", "unknown", SITE)
        first = answers(FullConformalClassifier(KNN(k=3)), NUMBERS, LABELS, categories=site)
        np.testing.assert_array_equal(
            first, answers(FullConformalClassifier(KNN(k=3)), NUMBERS, LABELS, categories=other)
        )


class TestBadInput:
    def test_the_only_column(self):
        with pytest.raises(ValueError, match="which has no other column"):
            FullConformalClassifier(KNN(k=3), mondrian="a").fit(FRAME[["a"]], LABELS)

    def test_categories_forgotten_or_not_asked_for(self, classifier):
        clf = classifier().fit(NUMBERS[:N], LABELS[:N], categories=SITE[:N])
        with pytest.raises(ValueError, match="this call has none"):
            clf.predict_p(NUMBERS[N:])
        with pytest.raises(ValueError, match="for 25 examples"):
            clf.predict_set(NUMBERS[N:], categories=SITE[:3])
        clf = classifier().fit(NUMBERS[:N], LABELS[:N])
        with pytest.raises(ValueError, match="given here and not in fit"):
            clf.predict(NUMBERS[N:], categories=SITE[N:])

    @pytest.mark.parametrize("wrong", ["label", lambda X, y: y, ["site", "label"]])
    def test_categories_of_targets(self, regressor, wrong):
        with pytest.raises(ValueError, match="cannot depend on what is predicted"):
            regressor(mondrian=wrong).fit(NUMBERS[:N], TARGETS[:N])


class TestBins:
    def test_a_column_a_model_a_function_and_a_number(self, frame):
        expected = np.searchsorted([-0.5, 0.5], NUMBERS[:, 0], side="right")
        model = LinearRegression().fit(NUMBERS, NUMBERS[:, 0])
        np.testing.assert_array_equal(bins("a", [-0.5, 0.5])(frame), expected)
        np.testing.assert_array_equal(bins(0, [-0.5, 0.5])(NUMBERS), expected)
        np.testing.assert_array_equal(bins(model, [-0.5, 0.5])(NUMBERS), expected)
        np.testing.assert_array_equal(bins(lambda X: X[:, 0], [-0.5, 0.5])(NUMBERS), expected)

    def test_as_many_objects_in_each(self):
        sizes = np.bincount(bins(0, n_bins=5, X=NUMBERS)(NUMBERS))
        assert sizes.tolist() == [23] * 5

    def test_missing_values_have_a_bin_of_their_own(self):
        assert bins("a", [0.0])(pd.DataFrame({"a": [np.nan, -1.0, 0.0]})).tolist() == [2, 0, 1]

    def test_in_predictors_and_pickled(self, regressor):
        by_first = bins(0, [-0.5, 0.5])
        expected = answers(regressor(), NUMBERS, TARGETS, categories=by_first(NUMBERS))
        reg = regressor(mondrian=pickle.loads(pickle.dumps(by_first)))
        np.testing.assert_array_equal(answers(reg, NUMBERS, TARGETS), expected)

    @pytest.mark.parametrize(
        ("given", "sentence"),
        [
            ({}, "give one of them"),
            ({"edges": [1, 1]}, "numbers that ascend"),
            ({"edges": []}, "numbers that ascend"),
            ({"n_bins": 3}, "give X="),
            ({"n_bins": 1, "X": NUMBERS}, "an integer of at least 2"),
        ],
    )
    def test_bad_bins(self, given, sentence):
        with pytest.raises(ValueError, match=sentence):
            bins(0, **given)

    def test_bad_columns(self):
        with pytest.raises(ValueError, match="X has no column 'z' to bin: it has a, b"):
            bins("z", [0.0])(FRAME)
        with pytest.raises(TypeError, match="a fitted model, or a function"):
            bins(3.5, [0.0])(FRAME)


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_whoever_is_asked_by_category_learns_by_category(cls):
    asked = [name for name in dir(cls) if name.startswith("predict")]
    asked = [name for name in asked if "categories" in inspect.signature(getattr(cls, name)).parameters]
    assert not asked or "mondrian" in inspect.signature(cls).parameters, asked
