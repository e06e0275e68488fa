"""Arrays in files are read part by part, and what was read is let go."""

from __future__ import annotations

import numpy as np
import pytest

from exactcp import FullConformalClassifier
from exactcp.dask import DaskFullConformalClassifier
from exactcp.dask._mapped import brought_in, mapping_of
from exactcp.measures import KNN


@pytest.fixture
def mapped(tmp_path):
    """A function that maps a file with objects, in some mode."""
    X = np.random.default_rng(0).integers(0, 5, (60, 3)).astype(float)
    np.save(tmp_path / "X.npy", X)
    return lambda mode: np.load(tmp_path / "X.npy", mmap_mode=mode)


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_what_is_brought_in_has_memory_of_its_own(mapped, mode):
    X = mapped(mode)
    part = np.asarray(X[10:20])
    assert mapping_of(part) is mapping_of(X) is not None
    rows = brought_in(part, X[10:20])
    assert mapping_of(rows) is None
    np.testing.assert_array_equal(rows, X[10:20])
    other = np.array(part)
    assert brought_in(other, X) is other


def test_changes_that_no_file_has_are_kept(mapped):
    X = mapped("c")
    X[0] = 7.0
    assert mapping_of(X) is None
    assert brought_in(X, X) is X
    assert (X[0] == 7.0).all()


def test_a_map_is_learned_part_by_part(mapped, monkeypatch):
    monkeypatch.setattr("exactcp.dask._parts.SHARD_ROWS", 25)
    X, y = mapped("r"), np.arange(60) % 3
    many = DaskFullConformalClassifier(KNN(3)).fit(X, y)
    assert many._shards.sizes == [25, 25, 10]
    parts = [many._sources.tasks[one.key][1] for one in many._sources.X]
    assert all(mapping_of(part) is mapping_of(X) for part in parts)  # nothing was copied
    np.testing.assert_array_equal(many.predict_p(X[:9]), FullConformalClassifier(KNN(3)).fit(X, y).predict_p(X[:9]))
