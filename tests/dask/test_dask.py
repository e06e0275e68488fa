"""Predictors whose examples lie in shards say what the plain ones say, here with threads instead of a cluster."""

from __future__ import annotations

import pickle
from functools import partialmethod

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
from exactcp.measures import KNN, RidgeResidual, SimplifiedKNN
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._shards import ShardedNeighbours
from hostile import KINDS, hostile
from shards import cuts
from slices import slow_but

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


@pytest.mark.parametrize("kind", slow_but(["grid", "tiny scale", "huge scale"], KINDS))
def test_shards_answer_like_the_plain_classifier(kind):
    number = KINDS.index(kind)
    X, y, T = problem(kind, seed=number)
    if number % 2:
        order = np.argsort(y, kind="stable")  # a label in one shard only
        X, y = X[order], y[order]
    measure = (KNN(3), SimplifiedKNN(2))[number % 2]
    one = FullConformalClassifier(measure).fit(X, y)
    many = DaskFullConformalClassifier(measure).fit(*chunked(X, y, cuts(y.size, 1 + number % 9, number)))
    assert_same_answers(one, many, T)


def right_half(X):
    """A taxonomy of objects."""
    return X[:, 0] > 1


def some_labels(X, y):
    """A taxonomy of examples."""
    return np.where(np.isin(y, ["ant", "bee"]), "first", "last")


@pytest.mark.parametrize("mondrian", [None, "label", right_half, some_labels])
@pytest.mark.parametrize("smoothed", [False, True])
def test_categories_and_smoothing_are_those_of_the_plain_classifier(mondrian, smoothed):
    X, y, T = problem("duplicates")
    how = {"mondrian": mondrian, "smoothed": smoothed, "random_state": 5}
    one = FullConformalClassifier(KNN(2), **how).fit(X, y)
    many = DaskFullConformalClassifier(KNN(2), **how).fit(*chunked(X, y, [0, 1, 30, 70]))
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))


@pytest.mark.parametrize("levels", [0.8, [0.5, 0.9]])
def test_predictions_come_as_frames(levels):
    X, y, T = problem("grid")
    asked = pd.DataFrame(T, columns=list("abc"), index=np.arange(T.shape[0]) * 2)
    one = FullConformalClassifier(KNN(3)).fit(pd.DataFrame(X, columns=list("abc")), y)
    parts = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(y=y), npartitions=3)
    many = DaskFullConformalClassifier(KNN(3)).fit(parts.drop(columns="y"), parts["y"])
    expected = one.predict_frame(asked, levels)
    pd.testing.assert_frame_equal(many.predict_frame(asked, levels), expected)
    lazy = many.predict_frame(dd.from_pandas(asked, npartitions=2), levels)
    assert lazy.npartitions == 2
    assert lazy.columns.tolist() == expected.columns.tolist()
    pd.testing.assert_frame_equal(lazy.compute(), expected)
    plain = DaskFullConformalClassifier(KNN(3)).fit(X, y).predict_frame(T, levels)
    pd.testing.assert_frame_equal(plain, FullConformalClassifier(KNN(3)).fit(X, y).predict_frame(T, levels))


def test_targets_come_as_frames_and_regions():
    X, _, T = problem("grid")
    y = X.sum(axis=1) + np.arange(70) % 3
    one = FullConformalRegressor().fit(X, y)
    many = DaskFullConformalRegressor().fit(*chunked(X, y, [0, 20, 70]))
    pd.testing.assert_frame_equal(many.predict_frame(T, [0.5, 0.8]), one.predict_frame(T, [0.5, 0.8]))
    lazy = many.predict_frame(da.from_array(T, chunks=(9, -1)), 0.8).compute()
    pd.testing.assert_frame_equal(lazy.reset_index(drop=True), one.predict_frame(T, 0.8))
    assert many.predict_region(T, 0.8) == one.predict_region(T, 0.8)
    with pytest.raises(TypeError, match=r"give X\.compute\(\)"):
        many.predict_region(da.from_array(T, chunks=(9, -1)))
    with pytest.raises(ValueError, match=r"to_local\(\)\.predict_region"):
        DaskFullConformalRegressor(RidgeResidual()).fit(*chunked(X, y, [0, 20, 70])).predict_region(T)


def test_a_frame_may_hold_the_categories():
    X, y, T = problem()
    frame, asked = (pd.DataFrame(rows, columns=list("abc")).assign(kind=rows[:, 0].astype(int) % 2) for rows in (X, T))
    one = FullConformalClassifier(KNN(2), mondrian="kind").fit(frame, y)
    parts = dd.from_pandas(frame.assign(y=y), npartitions=3)
    many = DaskFullConformalClassifier(KNN(2), mondrian="kind").fit(parts.drop(columns="y"), parts["y"])
    expected = one.predict_p(asked)
    np.testing.assert_array_equal(many.predict_p(asked), expected)
    lazy = many.predict_p(dd.from_pandas(asked, npartitions=2))
    assert np.isnan(lazy.shape[0])
    np.testing.assert_array_equal(lazy.compute(), expected)
    assert many.feature_names_in_.tolist() == list("abc")


def test_examples_come_and_go():
    X, y, T = problem(n=60)
    one = FullConformalClassifier(KNN(3)).fit(X[:40], y[:40])
    many = DaskFullConformalClassifier(KNN(3)).fit(*chunked(X[:40], y[:40], [0, 10, 12, 40]))
    for predictor in (one, many):
        predictor.unlearn([10, 11, -1, 3])
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))
    for predictor in (one, many):
        predictor.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))
    assert many.n_examples_ == one.n_examples_ == 56
    np.testing.assert_array_equal(many.to_local().predict_p(T), one.predict_p(T))


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
        one.fit(np.delete(X, [4, 31, 89, 62], axis=0), np.delete(y, [4, 31, 89, 62]))
        np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))
        np.testing.assert_array_equal(many.to_local().predict_p(T), one.predict_p(T))
        many.partial_fit(X[:20], y[:20]).unlearn(80)
        rows = np.delete(np.r_[np.delete(np.arange(90), [4, 31, 89, 62]), :20], 80)
        np.testing.assert_array_equal(many.predict_p(T), one.fit(X[rows], y[rows]).predict_p(T))


@pytest.mark.parametrize("kind", slow_but(["grid", "constant"], KINDS))
def test_places_are_another_layout_of_the_same_examples(kind):
    number = KINDS.index(kind)
    X, y, T = problem(kind, seed=number)
    how = {"mondrian": right_half, "smoothed": True, "random_state": 3}
    one = FullConformalClassifier(KNN(3), **how).fit(X, y)
    many = DaskFullConformalClassifier(KNN(3), layout="place", **how)
    many.fit(*chunked(X, y, cuts(y.size, 2 + number % 8, number)))
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))
    for predictor in (one, many):
        predictor.unlearn([0, 5, -2])
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))


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
    assert not hasattr(fresh, "classes_") or pytest.fail("a clone is not fitted")
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


def test_without_a_client_threads_do_the_work():
    X, y, _ = problem()
    assert DaskFullConformalClassifier(KNN(3)).fit(X, y).client_ is None


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
    states = [many._shards.known[one.key] for one in many._shards.states]
    directory = states[0]._place.path
    from pathlib import Path

    assert len(list(Path(directory).iterdir())) == 3  # the states, and nothing that they were made of
    np.testing.assert_array_equal(many.predict_p(T), FullConformalClassifier(KNN(3)).fit(X, y).predict_p(T))
    assert len(list(Path(directory).iterdir())) == 3
    del states, many
    assert not Path(directory).exists()


def bad_inputs():
    """Return what users may get wrong: how, the error, and what it says."""
    X, y, _ = problem()
    dX, dy = chunked(X, y, [0, 30, 70])
    frame = pd.DataFrame(X, columns=list("abc"))
    holed = X.copy()
    holed[50, 1] = np.nan
    parts = dd.from_pandas(frame.assign(y=y), npartitions=2)
    categorical = dd.from_pandas(frame.assign(a=pd.Categorical(frame["a"].astype(str) + "x"), y=y), npartitions=2)
    unknown = dX[dX[:, 0] > 0]
    nobody = DaskFullConformalClassifier(KNN(2))
    return {
        "unknown chunk sizes": (lambda: nobody.fit(unknown, dy), ValueError, r"X\.compute_chunk_sizes\(\)"),
        "no rows": (
            lambda: nobody.fit(dX.rechunk(((30, 0, 40), -1)), dy.rechunk(((30, 0, 40),))),
            ValueError,
            "chunk 1 of X has no rows",
        ),
        "an empty partition": (
            lambda: nobody.fit(
                *(dd.concat([one, one.loc[-1:-1]], interleave_partitions=False) for one in (parts[["a"]], parts["y"]))
            ),
            ValueError,
            "part 2 of X and y has no rows",
        ),
        "an empty partition of a question": (
            lambda: (
                nobody.fit(parts.drop(columns="y"), parts["y"]).predict_p(parts[list("abc")][parts["a"] > 99]).compute()
            ),
            ValueError,
            r"a part of X has no rows.* X\.repartition",
        ),
        "something delayed": (lambda: nobody.fit(dask.delayed(X), y), TypeError, "X is a Dask Delayed"),
        "labels in memory": (lambda: nobody.fit(dX, y), ValueError, r"dask\.array\.from_array\(y, X\.chunks\[0\]\)"),
        "other chunks": (lambda: nobody.fit(dX, dy.rechunk(((20, 50),))), ValueError, r"y\.rechunk\(X\.chunks"),
        "other partitions": (
            lambda: nobody.fit(parts.drop(columns="y"), parts["y"].repartition(npartitions=1)),
            ValueError,
            "X has 2 parts and y has 1",
        ),
        "a category column": (
            lambda: nobody.fit(categorical.drop(columns="y"), categorical["y"]),
            ValueError,
            r"part \d of X and y: .* not numbers",
        ),
        "NaN": (lambda: nobody.fit(*chunked(holed, y, [0, 30, 70])), ValueError, "part 1 of X and y: .*NaN"),
        "a bag of Dask": (
            lambda: nobody.fit(pytest.importorskip("dask.bag").from_sequence([1]), dy),
            TypeError,
            "Dask Bag",
        ),
        "three dimensions": (lambda: nobody.fit(dX[:, :, None], dy), ValueError, "3 dimensions"),
        "a client that is none": (
            lambda: DaskFullConformalClassifier(client="localhost:8786").fit(dX, dy),
            TypeError,
            "is not a client: use a distributed.Client",
        ),
        "places without distances": (
            lambda: DaskFullConformalClassifier(KNN(2, metric="manhattan"), layout="place").fit(dX, dy),
            ValueError,
            "layout='place' needs the Euclidean distances",
        ),
        "a limit that is none": (
            lambda: DaskFullConformalClassifier(memory_limit="much").fit(dX, dy),
            ValueError,
            "memory_limit='much' is not a size of memory",
        ),
        "a measure that needs all": (
            lambda: DaskFullConformalClassifier(GaussianNB()).fit(dX, dy),
            ValueError,
            "ModelScore needs all examples in one place",
        ),
        "the plain classifier": (
            lambda: FullConformalClassifier().fit(dX, dy),
            TypeError,
            r"exactcp\.dask\.DaskFullConformalClassifier",
        ),
        "the plain regressor": (
            lambda: FullConformalRegressor().fit(X, da.zeros(70)),
            TypeError,
            r"exactcp\.dask\.DaskFullConformalRegressor",
        ),
        "a question to a plain one": (
            lambda: FullConformalClassifier(KNN(2)).fit(X, y).predict_p(dX),
            TypeError,
            r"X\.compute\(\)",
        ),
    }


@pytest.mark.parametrize("name", list(bad_inputs()))
def test_mistakes_get_a_sentence(name):
    make, error, said = bad_inputs()[name]
    with pytest.raises(error, match=said):
        make()


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
