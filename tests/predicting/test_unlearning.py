"""Examples are forgotten by position, from the end, by a mask or by name: always the state of a fit on the rest."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError

from exactcp import ConformalAnomalyDetector, FullConformalClassifier, FullConformalRegressor, VennPredictor
from exactcp._validation import check_indices
from exactcp.measures import KDE, KNN, LSSVM, KNNResidual, LassoResidual, RandomForest
from exactcp.predicting.names import Names

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
LABELS, TARGETS = np.arange(12) % 2, RNG.normal(size=12)
X_TEST = RNG.normal(size=(4, 2))
NAMES = [f"patient {i}" for i in range(12)]

PREDICTORS = {
    "classifier": (lambda: FullConformalClassifier(KNN(2)), LABELS),
    "regressor": (lambda: FullConformalRegressor(KNNResidual(2)), TARGETS),
    "Venn": (lambda: VennPredictor(2), LABELS),
    "anomaly": (ConformalAnomalyDetector, None),
}


def _answers(predictor):
    """Return what tells the state of a predictor."""
    if isinstance(predictor, VennPredictor):
        return predictor.predict_proba_interval(X_TEST)
    if isinstance(predictor, FullConformalRegressor):
        return predictor.predict_p(X_TEST, np.zeros(4))
    return predictor.predict_p(X_TEST)


def _fitted(new, y, rows, **how):
    return new().fit(X[rows], *(() if y is None else (y[rows],)), **how)


@pytest.fixture(params=PREDICTORS)
def case(request):
    """A way to make a predictor, and what it learns."""
    return PREDICTORS[request.param]


class TestPositions:
    @pytest.mark.parametrize(
        "indices",
        [-1, [-12, 3], [0, -1], np.array([5, -3]), np.isin(np.arange(12), [1, 4]), pd.Series(np.arange(12) == 7)],
        ids=str,
    )
    def test_from_the_end_and_by_mask(self, case, indices):
        new, y = case
        kept = np.delete(np.arange(12), np.asarray(indices))
        unlearned = _fitted(new, y, np.arange(12)).unlearn(indices)
        assert unlearned.n_examples_ == kept.size
        np.testing.assert_array_equal(_answers(unlearned), _answers(_fitted(new, y, kept)))

    def test_an_empty_mask(self, case):
        new, y = case
        predictor = _fitted(new, y, np.arange(12))
        expected = _answers(predictor)
        for nothing in (np.zeros(12, bool), []):
            np.testing.assert_array_equal(_answers(predictor.unlearn(nothing)), expected)

    @pytest.mark.parametrize(
        ("indices", "error", "said"),
        [
            (
                np.ones(11, bool),
                ValueError,
                r"a mask of shape \(11,\): expected one boolean for each of the 12 examples",
            ),
            (True, ValueError, r"a mask of shape \(1,\)"),
            (np.ones((12, 1), bool), ValueError, r"a mask of shape \(12, 1\)"),
            ([True, 3.5], TypeError, "are not positions"),
            ("patient 3", TypeError, "are not positions"),
            (
                12,
                IndexError,
                "index 12 is not there: the 12 examples have the positions 0 to 11, or from the end -1 to -12",
            ),
            (-13, IndexError, "index -13 is not there"),
            (2**70, IndexError, "is not there"),
            ([0, -12], ValueError, "name an example twice"),
        ],
    )
    def test_refusals_change_nothing(self, case, indices, error, said):
        new, y = case
        predictor = _fitted(new, y, np.arange(12))
        with pytest.raises(error, match=said):
            predictor.unlearn(indices)
        np.testing.assert_array_equal(_answers(predictor), _answers(_fitted(new, y, np.arange(12))))

    @given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(-n, n - 1)))))
    def test_as_python_counts(self, drawn):
        n, indices = drawn
        expected = [list(range(n))[i] for i in indices]
        if len(set(expected)) < len(expected):
            with pytest.raises(ValueError, match="twice"):
                check_indices(indices, n)
        else:
            assert check_indices(indices, n).tolist() == expected


class TestNames:
    def test_by_name(self, case):
        new, y = case
        predictor = _fitted(new, y, np.arange(9), ids=NAMES[:9])
        answers = () if y is None else (y[9:],)
        predictor.partial_fit(X[9:], *answers, ids=np.array(NAMES[9:])).unlearn(ids=["patient 10", "patient 2"])
        predictor.unlearn(ids="patient 0").unlearn(-1).unlearn([0])
        kept = np.array([3, 4, 5, 6, 7, 8, 9])
        assert predictor.ids_ == [NAMES[i] for i in kept]
        assert predictor.n_examples_ == 7
        np.testing.assert_array_equal(_answers(predictor), _answers(_fitted(new, y, kept)))
        again = pickle.loads(pickle.dumps(predictor)).unlearn(ids=["patient 4"])
        assert "patient 4" not in again.ids_
        assert "patient 4" in predictor.ids_

    def test_first_examples_of_partial_fit(self, case):
        new, y = case
        predictor = new().partial_fit(X, *(() if y is None else (y,)), ids=range(100, 112))
        assert predictor.unlearn(ids=[111, 100]).ids_ == list(range(101, 111))
        assert predictor.unlearn(ids=np.int64(101)).n_examples_ == 9

    def test_a_name_that_is_free_again(self, case):
        new, y = case
        predictor = _fitted(new, y, np.arange(12), ids=NAMES).unlearn(ids=NAMES[0])
        predictor.partial_fit(X[:1], *(() if y is None else (y[:1],)), ids=NAMES[:1])
        assert predictor.ids_ == [*NAMES[1:], NAMES[0]]
        assert predictor.unlearn(ids=NAMES[0]).ids_ == NAMES[1:]

    def test_ids_are_optional(self, case):
        new, y = case
        predictor = _fitted(new, y, np.arange(12))
        assert not hasattr(predictor, "ids_")
        assert not hasattr(new(), "n_examples_")
        with pytest.raises(NotFittedError):
            new().unlearn(ids=["a"])
        named = _fitted(new, y, np.arange(12), ids=NAMES)
        assert not hasattr(named.fit(X, *(() if y is None else (y,))), "ids_")

    @pytest.mark.parametrize(
        ("ids", "error", "said"),
        [
            (NAMES[:11], ValueError, "ids has 11 values for 12 examples"),
            ([*NAMES[:11], NAMES[0]], ValueError, "'patient 0' twice"),
            ([1, True, *range(2, 12)], ValueError, "True twice"),
            ([*NAMES[:11], None], ValueError, r"missing value, ids\[11\]=None"),
            ([*range(11), float("nan")], ValueError, r"missing value, ids\[11\]"),
            ([[i] for i in range(12)], TypeError, r"ids\[0\]=\[0\] is of type list, which cannot be looked up"),
            ("abcdefghijkl", TypeError, "is of type str: expected a list or array"),
            (12, TypeError, "is of type int: expected a list or array"),
        ],
    )
    def test_bad_ids(self, case, ids, error, said):
        new, y = case
        with pytest.raises(error, match=said):
            _fitted(new, y, np.arange(12), ids=ids)

    def test_all_or_none(self, case):
        new, y = case
        more = (X[:1], *(() if y is None else (y[:1],)))
        named, unnamed = _fitted(new, y, np.arange(12), ids=NAMES), _fitted(new, y, np.arange(12))
        before = [_answers(named), _answers(unnamed)]
        with pytest.raises(ValueError, match="fit got ids=, and this call has none"):
            named.partial_fit(*more)
        with pytest.raises(ValueError, match="'patient 3', which an example has that was learned before"):
            named.partial_fit(*more, ids=["patient 3"])
        with pytest.raises(ValueError, match="ids= was given here and not in fit"):
            unnamed.partial_fit(*more, ids=["new"])
        with pytest.raises(ValueError, match="unlearn got ids=, and fit got none"):
            unnamed.unlearn(ids=["new"])
        with pytest.raises(KeyError, match="no example has the id 'nobody'"):
            named.unlearn(ids=["patient 1", "nobody"])
        with pytest.raises(ValueError, match="'patient 1' twice"):
            named.unlearn(ids=["patient 1", "patient 1"])
        with pytest.raises(TypeError, match="both indices and ids"):
            named.unlearn([0], ids=["patient 1"])
        with pytest.raises(TypeError, match="neither indices nor ids"):
            named.unlearn()
        assert named.ids_ == NAMES
        np.testing.assert_array_equal([_answers(named), _answers(unnamed)], before)

    def test_too_many(self, case):
        new, y = case
        named = _fitted(new, y, np.arange(12), ids=NAMES)
        with pytest.raises(ValueError, match="unlearning"):
            named.unlearn(ids=NAMES)
        if y is LABELS:
            with pytest.raises(ValueError, match="would leave 6 of 1 class"):
                named.unlearn(range(0, 12, 2))
        assert named.ids_ == NAMES

    def test_a_detector_cannot(self):
        with pytest.raises(ValueError, match="a detector cannot unlearn the objects that they name"):
            ConformalAnomalyDetector(IsolationForest()).fit(X, ids=NAMES)

    @settings(max_examples=50)
    @given(st.lists(st.one_of(st.lists(st.integers(0, 20), unique=True), st.sets(st.integers(0, 9)))))
    def test_histories(self, history):
        """Lists are learned, sets are positions to forget; a plain list of names says where each is."""
        plain = ["first"]
        names = Names(plain, 1)
        for step in history:
            if isinstance(step, list):
                new = [one for one in step if one not in plain]
                names, plain = names.joined(new, len(new)), plain + new
            else:
                gone = [i for i in step if i < len(plain)]
                names = names.without(np.array(gone, dtype=np.int64))
                plain = [one for i, one in enumerate(plain) if i not in gone]
            assert names.ids == plain
            assert names.positions(plain[::-1]).tolist() == list(range(len(plain)))[::-1]


_MEASURES = (KNN(2), KDE(), LSSVM(kernel="rbf"), RandomForest(3), RandomForest(3, resampling="bernoulli"))


@pytest.mark.parametrize(
    "new",
    [
        *(lambda measure=measure: FullConformalClassifier(measure) for measure in _MEASURES),
        *(lambda measure=measure: FullConformalRegressor(measure) for measure in (KNNResidual(2), LassoResidual(0.1))),
        lambda: VennPredictor(2),
        ConformalAnomalyDetector,
    ],
)
def test_a_pickle_has_nothing_of_a_forgotten_example(new) -> None:
    def count_traces(predictor):
        stored = pickle.dumps(predictor)
        return sum(number.tobytes() in stored for number in X[3])

    predictor = new().fit(X, LABELS)
    assert count_traces(predictor) == 2
    assert count_traces(predictor.unlearn(3)) == 0
