"""Predictors whose examples lie in shards say what the plain ones say, here with threads instead of a cluster.

Every measure that takes shards is asked once; nearest neighbours stand for all in the other tests.
"""

from __future__ import annotations

import pickle
from functools import partialmethod
from itertools import product
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.dask import DaskFullConformalClassifier, DaskFullConformalRegressor
from exactcp.dask._parts import QUESTION_ROWS
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    NN,
    Bootstrap,
    KNNResidual,
    LassoResidual,
    RandomForest,
    RidgeResidual,
    SimplifiedKNN,
)
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._shards import ShardedNeighbours
from hostile import KINDS, hostile
from shards import cuts
from slices import slow_but

QUICK = [("grid", "auto"), ("tiny scale", "auto"), ("huge scale", "auto"), ("grid", "place"), ("constant", "place")]
NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])


def chunked(X, y, bounds):
    """Return examples as Dask arrays, cut at these bounds."""
    sizes = tuple(np.diff(bounds).tolist())
    return da.from_array(X, chunks=(sizes, -1)), da.from_array(y, chunks=(sizes,))


def problem(kind="grid", labels="five", n=70, seed=0):
    """Return hostile examples with names for labels, and objects."""
    X, y, T = hostile(kind, labels, seed, n, p=3)
    return X, NAMES[y], T


def assert_same_answers(one, many, T):
    """Compare all answers of the plain predictor and of shards, bit for bit, asked at once and lazily."""
    np.testing.assert_array_equal(many.classes_, one.classes_)
    lazy = da.from_array(T, chunks=(7, -1))
    for method, arguments in (
        ("predict_p", ()),
        ("predict", ()),
        ("predict_set", (0.8,)),
        ("predict_set", ([0.5, 0.9],)),
    ):
        expected = np.asarray(getattr(one, method)(T, *arguments))
        np.testing.assert_array_equal(getattr(many, method)(T, *arguments), expected)
        asked = getattr(many, method)(lazy, *arguments)
        assert isinstance(asked, da.Array)
        assert asked.chunks[0] == lazy.chunks[0]
        assert asked.shape == expected.shape
        assert asked.dtype == expected.dtype
        np.testing.assert_array_equal(asked.compute(), expected)


def right_half(X):
    """A taxonomy of objects."""
    return X[:, 0] > 1


def some_labels(X, y):
    """A taxonomy of examples."""
    return np.where(np.isin(y, ["ant", "bee"]), "first", "last")


@pytest.mark.parametrize("case", slow_but(QUICK, product(KINDS, ["auto", "place"])), ids=", ".join)
def test_shards_answer_like_the_plain_classifier(case):
    kind, layout = case
    number = KINDS.index(kind)
    X, y, T = problem(kind, seed=number)
    if number % 2:
        order = np.argsort(y, kind="stable")  # a label in one shard only
        X, y = X[order], y[order]
    measure = (KNN(3), SimplifiedKNN(2))[number % 2]
    how = {"mondrian": right_half, "smoothed": True, "random_state": 3} if layout == "place" else {}
    one = FullConformalClassifier(measure, **how).fit(X, y)
    many = DaskFullConformalClassifier(measure, layout=layout, **how)
    many.fit(*chunked(X, y, cuts(y.size, 1 + number % 9, number)))
    assert_same_answers(one, many, T)
    for predictor in (one, many):
        predictor.unlearn([0, 5, -2])
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))


LABEL_MEASURES = [NN(), KNN(3), SimplifiedKNN(2), KDE(), LSSVM(), RandomForest(5, random_state=0)]
TARGET_MEASURES = [KNNResidual(3), RidgeResidual()]
SMOOTHED = {"smoothed": True, "random_state": 5}
ROUNDING = 1e-13  # of the ends of intervals, where a factorisation is put together from those of shards


@pytest.mark.parametrize("measure", LABEL_MEASURES, ids=repr)
@pytest.mark.parametrize("mondrian", [None, "label", right_half, some_labels, ["label", right_half]])
@pytest.mark.parametrize("how", [{}, SMOOTHED], ids=list)
def test_p_values_of_labels(measure, mondrian, how):
    X, y, T = problem("grid")
    one = FullConformalClassifier(measure, mondrian=mondrian, **how).fit(X, y)
    many = DaskFullConformalClassifier(measure, mondrian=mondrian, **how).fit(*chunked(X, y, [0, 1, 30, 70]))
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))


@pytest.mark.parametrize("measure", TARGET_MEASURES, ids=repr)
@pytest.mark.parametrize("how", [{}, {"mondrian": right_half}, SMOOTHED], ids=list)
def test_answers_about_targets(measure, how):
    X, _, T = problem("normal")
    y = X[:, 0] + np.arange(70) % 3
    one = FullConformalRegressor(measure, **how).fit(X, y)
    many = DaskFullConformalRegressor(measure, **how).fit(*chunked(X, y, [0, 25, 50, 70]))
    np.testing.assert_array_equal(many.predict_p(T, T[:, 0]), one.predict_p(T, T[:, 0]))
    for method, arguments in (("predict", ()), ("predict_interval", (0.8,)), ("predict_interval", ([0.5, 0.8],))):
        expected = getattr(one, method)(T, *arguments)
        for asked in (T, da.from_array(T, chunks=(5, -1))):
            found = np.asarray(getattr(many, method)(asked, *arguments))
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=ROUNDING)


@pytest.mark.parametrize("levels", [0.8, [0.5, 0.9]])
def test_predictions_come_as_frames(levels):
    X, y, T = problem("grid")
    frame, asked = (pd.DataFrame(rows, columns=list("abc")).assign(kind=rows[:, 0].astype(int) % 2) for rows in (X, T))
    asked.index *= 2
    parts = dd.from_pandas(frame.assign(y=y), npartitions=3)
    one = FullConformalClassifier(KNN(3), mondrian="kind").fit(frame, y)  # a frame may hold the categories
    many = DaskFullConformalClassifier(KNN(3), mondrian="kind").fit(parts.drop(columns="y"), parts["y"])
    assert many.feature_names_in_.tolist() == list("abc")
    expected = one.predict_frame(asked, levels)
    pd.testing.assert_frame_equal(many.predict_frame(asked, levels), expected)
    later = dd.from_pandas(asked, npartitions=2)
    lazy, p = many.predict_frame(later, levels), many.predict_p(later)
    assert lazy.npartitions == 2
    assert lazy.columns.tolist() == expected.columns.tolist()
    pd.testing.assert_frame_equal(lazy.compute(), expected)
    assert np.isnan(p.shape[0])
    np.testing.assert_array_equal(p.compute(), one.predict_p(asked))


def test_answers_about_arrays_come_as_frames_and_regions():
    X, y, T = problem("grid")
    plain = DaskFullConformalClassifier(KNN(3)).fit(X, y).predict_frame(T)
    pd.testing.assert_frame_equal(plain, FullConformalClassifier(KNN(3)).fit(X, y).predict_frame(T))
    y = X.sum(axis=1) + np.arange(70) % 3
    one = FullConformalRegressor().fit(X, y)
    many = DaskFullConformalRegressor().fit(*chunked(X, y, [0, 20, 70]))
    pd.testing.assert_frame_equal(many.predict_frame(T, [0.5, 0.8]), one.predict_frame(T, [0.5, 0.8]))
    lazy = many.predict_frame(da.from_array(T, chunks=(9, -1)), 0.8).compute()
    pd.testing.assert_frame_equal(lazy.reset_index(drop=True), one.predict_frame(T, 0.8))
    assert many.predict_region(T, 0.8) == one.predict_region(T, 0.8)


@pytest.mark.parametrize("mondrian", [None, some_labels])
def test_known_shards_do_not_meet_again(mondrian, monkeypatch):
    X, y, T = problem("duplicates", n=70)
    many = DaskFullConformalClassifier(KNN(3), mondrian=mondrian).fit(*chunked(X[:50], y[:50], [0, 20, 30, 50]))
    taken, met = [], []
    for name, calls in (("arrange", taken), ("meet", met)):
        original = getattr(ShardedNeighbours, name)
        monkeypatch.setattr(ShardedNeighbours, name, partialmethod(noting, original, calls))
    many.partial_fit(X[50:], y[50:])
    assert (len(taken), len(met)) == (1, 4)  # with each of three known shards, one of them in two parts
    one = FullConformalClassifier(KNN(3), mondrian=mondrian).fit(X, y)
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))
    many.partial_fit(X[:5], y[:5])
    many.unlearn([0, 52])
    rows = np.delete(np.r_[:70, :5], [0, 52])
    one.fit(X[rows], y[rows])
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))


@pytest.mark.parametrize("mondrian", [None, some_labels])
def test_few_that_are_forgotten_are_not_a_new_fit(mondrian, monkeypatch):
    X, y, T = problem("duplicates", n=90)
    one = FullConformalClassifier(KNN(3), mondrian=mondrian).fit(X, y)
    for layout in ("given", "place"):
        many = DaskFullConformalClassifier(KNN(3), mondrian=mondrian, layout=layout)
        many.fit(*chunked(X, y, [0, 30, 50, 90]))
        with monkeypatch.context() as patch:
            patch.setattr(ShardedNeighbours, "fill", None)
            many.unlearn([-1, 4, 31])
            many.unlearn(60)
        rows = np.delete(np.arange(90), [4, 31, 89, 62])
        one.fit(X[rows], y[rows])
        assert many.n_examples_ == one.n_examples_ == 86
        np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))
        np.testing.assert_array_equal(many.to_local().predict_p(T), one.predict_p(T))
        many.partial_fit(X[:20], y[:20]).unlearn(80)
        rows = np.delete(np.r_[rows, :20], 80)
        np.testing.assert_array_equal(many.predict_p(T), one.fit(X[rows], y[rows]).predict_p(T))


def test_places_are_taken_where_they_pay(monkeypatch):
    X, y, T = problem("normal", n=90)
    assert not DaskFullConformalClassifier(KNN(3)).fit(*chunked(X, y, [0, 40, 90]))._shards.made.positions
    monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(trees_from=30))
    many = DaskFullConformalClassifier(KNN(3)).fit(*chunked(X, y, [0, 40, 90]))
    assert len(many._shards.made.positions) == 2
    np.testing.assert_array_equal(many.predict_p(T), FullConformalClassifier(KNN(3)).fit(X, y).predict_p(T))
    same = np.zeros_like(X)  # all in one place
    assert not DaskFullConformalClassifier(KNN(3)).fit(*chunked(same, y, [0, 40, 90]))._shards.made.positions


def noting(self, original, calls, *arguments):
    """Note a call."""
    calls.append(arguments)
    return original(self, *arguments)


def test_a_new_label_may_come_with_a_new_shard():
    X, y, T = problem("normal", labels="two")
    one, many = FullConformalClassifier(KNN(3)).fit(X, y), DaskFullConformalClassifier(KNN(3)).fit(X, y)
    for predictor in (one, many):
        predictor.partial_fit(X[:3] + 1, ["zebra", "ant", "zebra"])
    assert many.classes_.tolist() == ["ant", "bee", "zebra"]
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))


def test_a_change_that_fails_changes_nothing():
    X, y, T = problem()
    many = DaskFullConformalClassifier(KNN(3)).fit(*chunked(X, y, [0, 20, 70]))
    before = many.predict_p(T)
    broken = X.copy()
    broken[25, 1] = np.nan
    for change in (lambda: many.partial_fit(broken, y), lambda: many.fit(broken, y), lambda: many.unlearn(range(70))):
        with pytest.raises(ValueError, match=r"NaN|would leave none"):
            change()
        np.testing.assert_array_equal(many.predict_p(T), before)
    assert many.n_examples_ == 70
    assert many.client_ is None  # threads do the work


def test_pickles_and_clones():
    X, y, T = problem()
    many = DaskFullConformalClassifier(KNN(3), smoothed=True, random_state=1).fit(*chunked(X, y, [0, 20, 70]))
    again = pickle.loads(pickle.dumps(many))
    np.testing.assert_array_equal(again.predict_p(T), many.predict_p(T))
    # a scheduler that has what one of them made would take what the other brings for something else
    assert not set(again._shards.known) & set(many._shards.known)
    assert set(pickle.loads(pickle.dumps(again))._shards.known) == set(again._shards.known)
    with pytest.raises(ValueError, match="was pickled"):
        again.to_local()
    fresh = clone(many)
    assert not hasattr(fresh, "classes_")
    assert fresh.get_params()["measure__k"] == 3


def test_equal_parts_are_as_many_answers():
    X, y, T = problem("grid")
    same, labels = np.tile(X, (3, 1)), np.tile(y, 3)
    one = FullConformalClassifier(KNN(3)).fit(same, labels)
    many = DaskFullConformalClassifier(KNN(3)).fit(*chunked(same, labels, [0, 70, 140, 210]))
    asked = np.tile(T[:1], (QUESTION_ROWS * 2 + 5, 1))  # in blocks that have one name
    np.testing.assert_array_equal(many.predict_p(asked), one.predict_p(asked))
    assert len(many.predict_frame(asked)) == asked.shape[0]
    np.testing.assert_array_equal(many.to_local().predict_p(T), one.predict_p(T))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(many)).predict_p(T), one.predict_p(T))


def test_a_limit_of_memory_makes_shards_small(tmp_path):
    X, y, T = problem(n=70)
    rows = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    rows[:] = X
    many = DaskFullConformalClassifier(KNN(3), memory_limit="100 kB").fit(rows, y)
    assert len(many._shards.sizes) > 1
    np.testing.assert_array_equal(many.predict_p(T), FullConformalClassifier(KNN(3)).fit(X, y).predict_p(T))
    cut = DaskFullConformalClassifier(KNN(3), memory_limit="100 kB").fit(da.from_array(X, chunks=(70, -1)), y)
    assert cut._shards.sizes == many._shards.sizes


def test_large_results_lie_in_files_until_nobody_needs_them(monkeypatch):
    monkeypatch.setattr("exactcp.dask._aside.LARGE_RESULT", 0)
    X, y, T = problem()
    many = DaskFullConformalClassifier(KNN(3)).fit(*chunked(X, y, [0, 20, 40, 70]))
    directory = Path(many._shards.known[many._shards.states[0].key]._place.path)
    assert len(list(directory.iterdir())) == 3  # the states, and nothing that they were made of
    np.testing.assert_array_equal(many.predict_p(T), FullConformalClassifier(KNN(3)).fit(X, y).predict_p(T))
    assert len(list(directory.iterdir())) == 3
    del many
    assert not directory.exists()


X, Y, T = problem()
DX, DY = chunked(X, Y, [0, 30, 70])
HOLED = np.where(np.arange(70)[:, None] == 50, np.nan, X)
FRAME = pd.DataFrame(X, columns=list("abc"))
PARTS = dd.from_pandas(FRAME.assign(y=Y), npartitions=2)
WORDS = dd.from_pandas(FRAME.assign(a=pd.Categorical(FRAME["a"].astype(str) + "x"), y=Y), npartitions=2)
NOBODY = DaskFullConformalClassifier(KNN(2))
MANHATTAN, SQUARES = KNN(2, metric="manhattan"), RidgeResidual()
NO_CLIENT = "is not a client: use a distributed.Client"
NEEDS_ALL = "needs all examples in one place, since"


def shards_of(*measure, **how):
    """Return a classifier whose shards have learned."""
    return DaskFullConformalClassifier(*measure, **how).fit(DX, DY)


def target_shards_of(*measure):
    """Return a regressor whose shards have learned."""
    return DaskFullConformalRegressor(*measure).fit(DX, DX[:, 0])


def emptied(part):
    """Return a frame with an empty partition behind the others."""
    return dd.concat([part, part.loc[-1:-1]], interleave_partitions=False)


def by_parts(parts):
    """Return a classifier that has learned the columns of a frame."""
    return NOBODY.fit(parts[list("abc")], parts["y"])


@pytest.mark.parametrize(
    ("ask", "error", "sentence"),
    [
        (lambda: NOBODY.fit(DX[DX[:, 0] > 0], DY), ValueError, r"X\.compute_chunk_sizes\(\)"),
        (
            lambda: NOBODY.fit(DX.rechunk(((30, 0, 40), -1)), DY.rechunk(((30, 0, 40),))),
            ValueError,
            "chunk 1 of X has no rows",
        ),
        (lambda: NOBODY.fit(emptied(PARTS[["a"]]), emptied(PARTS["y"])), ValueError, "part 2 of X and y has no rows"),
        (
            lambda: by_parts(PARTS).predict_p(PARTS[list("abc")][PARTS["a"] > 99]).compute(),
            ValueError,
            r"a part of X has no rows.* X\.repartition",
        ),
        (lambda: NOBODY.fit(dask.delayed(X), Y), TypeError, "X is a Dask Delayed"),
        (lambda: NOBODY.fit(DX, Y), ValueError, r"dask\.array\.from_array\(y, X\.chunks\[0\]\)"),
        (lambda: NOBODY.fit(DX, DY.rechunk(((20, 50),))), ValueError, r"y\.rechunk\(X\.chunks"),
        (lambda: NOBODY.fit(PARTS[["a"]], PARTS["y"].repartition(npartitions=1)), ValueError, "2 parts and y has 1"),
        (lambda: by_parts(WORDS), ValueError, r"part \d of X and y: .* not numbers"),
        (lambda: NOBODY.fit(*chunked(HOLED, Y, [0, 30, 70])), ValueError, "part 1 of X and y: .*NaN"),
        (lambda: NOBODY.fit(pytest.importorskip("dask.bag").from_sequence([1]), DY), TypeError, "Dask Bag"),
        (lambda: NOBODY.fit(DX[:, :, None], DY), ValueError, "3 dimensions"),
        (lambda: shards_of(client="localhost:8786"), TypeError, NO_CLIENT),
        (lambda: shards_of(MANHATTAN, layout="place"), ValueError, "layout='place' needs the Euclidean distances"),
        (lambda: shards_of(memory_limit="much"), ValueError, "memory_limit='much' is not a size of memory"),
        (lambda: shards_of(GaussianNB()), ValueError, "ModelScore needs all examples in one place"),
        (lambda: shards_of(Bootstrap(KNN())), ValueError, NEEDS_ALL),
        (lambda: target_shards_of(LassoResidual()), ValueError, NEEDS_ALL),
        (lambda: target_shards_of().predict_region(DX), TypeError, r"give X\.compute\(\)"),
        (lambda: target_shards_of(SQUARES).predict_region(T), ValueError, r"to_local\(\)\.predict_region"),
        (lambda: FullConformalClassifier().fit(DX, DY), TypeError, r"exactcp\.dask\.DaskFullConformalClassifier"),
        (lambda: FullConformalRegressor().fit(X, DY), TypeError, r"exactcp\.dask\.DaskFullConformalRegressor"),
        (lambda: FullConformalClassifier(KNN(2)).fit(X, Y).predict_p(DX), TypeError, r"X\.compute\(\)"),
    ],
)
def test_mistakes_get_a_sentence(ask, error, sentence):
    with pytest.raises(error, match=sentence):
        ask()


def test_what_only_plain_predictors_do_is_told():
    X, y, T = problem("grid")
    many = DaskFullConformalClassifier(KNN(3)).fit(*chunked(X, y, [0, 20, 70]))
    targets = DaskFullConformalRegressor()
    assert not hasattr(targets, "predict_distribution")
    with pytest.raises(AttributeError, match=r"use to_local\(\)\.predict_distribution, which brings all examples"):
        targets.predict_distribution(T)
    with pytest.raises(AttributeError, match=r"use predict_frame, .* or to_local\(\)\.predict_confidence"):
        many.predict_confidence(T)
    np.testing.assert_array_equal(many.to_local().predict_confidence(T).confidence, many.predict_frame(T)["confidence"])
    for missing in ("predict_proba", "ids_", "_predict_distribution"):
        with pytest.raises(AttributeError, match=f"object has no attribute '{missing}'"):
            getattr(many, missing)
    with pytest.raises(NotFittedError, match="not fitted"):  # not that there is no such attribute
        _ = targets.n_examples_


def test_too_few_examples_for_a_level_are_told_once():
    X, y, T = problem(n=30)
    many = DaskFullConformalClassifier(KNN(2)).fit(*chunked(X, y, [0, 10, 30]))
    with pytest.warns(UserWarning, match="needs at least 99 examples"):
        many.predict_set(T, 0.99)
    many.predict_set(T, 0.99)
