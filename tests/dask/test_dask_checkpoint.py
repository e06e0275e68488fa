"""States of shards in files: written once, verified, read by another fit, by a pickle, by another process."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from test_dask import chunked, problem

from exactcp import FullConformalClassifier
from exactcp.dask import DaskFullConformalClassifier
from exactcp.measures import KNN
from exactcp.measures.neighbours._shards import ShardedNeighbours


@pytest.fixture
def fitted(tmp_path):
    """A predictor with a checkpoint, its files, and what it should say."""
    X, y, T = problem()
    given = chunked(X, y, [0, 20, 45, 70])
    many = DaskFullConformalClassifier(KNN(3)).fit(*given, checkpoint=tmp_path / "states")
    return (
        many,
        given,
        sorted((tmp_path / "states").iterdir()),
        T,
        FullConformalClassifier(KNN(3)).fit(X, y).predict_p(T),
    )


def test_states_are_read_from_files(fitted):
    many, _, files, T, expected = fitted
    assert len(files) == 3
    assert all(file.suffix == ".shard" for file in files)
    np.testing.assert_array_equal(many.predict_p(T), expected)


def test_another_fit_reads_what_is_there(fitted, monkeypatch):
    _, given, files, T, expected = fitted
    written = [file.stat().st_mtime_ns for file in files]

    def fails(*_):
        pytest.fail("what is there was made again")

    monkeypatch.setattr(ShardedNeighbours, "_fill_plain", fails)
    again = DaskFullConformalClassifier(KNN(3)).fit(*given, checkpoint=files[0].parent)
    assert [file.stat().st_mtime_ns for file in files] == written
    np.testing.assert_array_equal(again.predict_p(T), expected)


def test_other_parameters_have_other_files(fitted):
    _, given, files, _, _ = fitted
    DaskFullConformalClassifier(KNN(4)).fit(*given, checkpoint=files[0].parent)
    assert len(list(files[0].parent.iterdir())) == 6


def test_what_is_missing_is_made_again(fitted):
    _, given, files, T, expected = fitted
    files[1].unlink()
    again = DaskFullConformalClassifier(KNN(3)).fit(*given, checkpoint=files[0].parent)
    assert sorted(files[0].parent.iterdir()) == files
    np.testing.assert_array_equal(again.predict_p(T), expected)


@pytest.mark.parametrize("where", ["memory://states", None])
def test_large_arrays_are_written(where, tmp_path):
    X, y, T = problem()
    wide = [np.hstack([rows, np.zeros((rows.shape[0], 500))]) for rows in (X, T)]  # pickles write such arrays at once
    many = DaskFullConformalClassifier(KNN(3)).fit(*chunked(wide[0], y, [0, 35, 70]), checkpoint=where or tmp_path)
    assert len(many._shards.written) == 2
    expected = FullConformalClassifier(KNN(3)).fit(wide[0], y).predict_p(wide[1])
    np.testing.assert_array_equal(many.predict_p(wide[1]), expected)


@pytest.mark.parametrize("place", [5, 60, -1])
def test_a_damaged_file_is_refused(fitted, place):
    many, _, files, T, _ = fitted
    data = bytearray(files[2].read_bytes())
    data[place] ^= 1
    files[2].write_bytes(data)
    with pytest.raises(ValueError, match=r"damaged|begins with"):
        many.predict_p(T)


def test_a_file_that_was_cut_is_refused(fitted):
    many, _, files, T, _ = fitted
    files[0].write_bytes(files[0].read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged"):
        many.predict_p(T)


def test_pickles_know_the_files(fitted):
    many, _, _, T, expected = fitted
    data = pickle.dumps(many)
    assert len(data) < 10_000
    np.testing.assert_array_equal(pickle.loads(data).predict_p(T), expected)


def test_changes_are_kept_in_files_too(fitted):
    many, _, files, T, _ = fitted
    many.unlearn([0, 69])
    assert len(list(files[0].parent.iterdir())) == 6
    local = many.to_local()
    np.testing.assert_array_equal(many.predict_p(T), local.predict_p(T))


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    X, y, _ = problem()
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be written"):
        DaskFullConformalClassifier(KNN(3)).fit(X, y, checkpoint=tmp_path / "file" / "states")
    with pytest.raises(ValueError, match="cannot be written"):
        DaskFullConformalClassifier(KNN(3)).fit(X, y, checkpoint="nowhere://states")
