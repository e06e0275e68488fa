"""Rows of anything keep their type, and objects that are equal have equal words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from exactcp._rows import copy_rows, count_rows, drop_rows, join_rows, row_words, take_parameters, take_rows
from exactcp.pvalues import tau_of_objects

FRAME = pd.DataFrame(
    {
        "age": [1, 2, 3, 1],
        "town": ["x", None, "y", "x"],
        "kind": pd.Categorical(["u", "v", "u", "u"]),
        "weight": [0.5, np.nan, -0.0, 0.5],
    },
    index=[7, 5, 3, 1],
)
DENSE = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
OBJECTS = {
    "pandas": FRAME,
    "polars": pl.from_pandas(FRAME),
    "pandas series": FRAME["town"],
    "polars series": pl.Series("town", ["x", None, "y", "x"]),
    "arrow": pa.table(pl.from_pandas(FRAME).to_dict(as_series=False)),
    "csr": sparse.csr_matrix(DENSE),
    "csc array": sparse.csc_array(DENSE),
    "coo": sparse.coo_matrix(DENSE),
    "matrix": DENSE,
    "images": np.arange(32.0).reshape(4, 2, 4)[[0, 1, 2, 0]],
    "texts": ["a", "b", "c", "a"],
    "array of texts": np.array(["a", "b", "c", "a"]),
    "objects": np.array(["a", 1, None, "a"], dtype=object),
    "tuple": ("a", "b", "c", "a"),
    "dicts": [{"a": 1}, {"b": 2}, {"a": 2}, {"a": 1}],
    "ragged": [[1.0], [1.0, 2.0], [], [1.0]],
}


@pytest.fixture(params=list(OBJECTS))
def objects(request):
    return OBJECTS[request.param]


def listed(X):
    if sparse.issparse(X):
        return X.toarray().tolist()
    if isinstance(X, pa.Table):
        return [repr(row) for row in X.to_pylist()]
    return [repr(row) for row in (X.to_numpy().tolist() if isinstance(X, pd.DataFrame | pl.DataFrame) else list(X))]


def test_rows_are_taken_joined_and_dropped_in_the_type_that_they_have(objects):
    taken = take_rows(objects, np.array([2, 0]))
    joined = join_rows(take_rows(objects, np.array([0, 1])), take_rows(objects, np.array([2, 3])))
    for made, places in ((taken, [2, 0]), (joined, [0, 1, 2, 3]), (drop_rows(objects, np.array([1, 2])), [0, 3])):
        assert type(made) is type(objects)
        assert listed(made) == [listed(objects)[i] for i in places]
    assert getattr(taken, "format", None) == getattr(objects, "format", None)
    assert take_rows(objects, np.arange(4)) is objects  # all rows are not copied


def test_dtypes_columns_and_index_stay():
    taken = take_rows(FRAME, np.array([2, 0]))
    assert taken.dtypes.equals(FRAME.dtypes)
    assert taken.index.tolist() == [3, 7]


def test_a_copy_stays_what_it_is():
    for original in (DENSE.copy(), ["a", "b"], FRAME.copy()):
        copied = copy_rows(original)
        before = listed(copied)
        if isinstance(original, pd.DataFrame):
            original.iloc[0, 0] = 99
        else:
            original[0] = original[1]
        assert listed(copied) == before


def test_equal_objects_have_equal_numbers_whatever_is_beside_them(objects):
    numbers = tau_of_objects(3, objects)
    assert numbers[0] == numbers[3]
    assert np.unique(numbers).size == 3
    assert [tau_of_objects(3, take_rows(objects, np.array([i])))[0] for i in range(4)] == numbers.tolist()


def test_numbers_are_their_own_words_in_a_matrix_a_list_and_both_kinds_of_frames():
    expected = tau_of_objects(0, DENSE)
    frame = pd.DataFrame(DENSE, columns=["a", "b"])
    for same in (DENSE.tolist(), frame, pl.from_pandas(frame), DENSE.astype(np.float32)):
        assert (tau_of_objects(0, same) == expected).all()


def test_equal_rows_of_frames_and_of_sparse_matrices_have_equal_words():
    assert row_words(FRAME).tobytes() == row_words(OBJECTS["polars"]).tobytes()
    stored = sparse.csr_matrix((np.array([3.0, 0.0, 1.0]), np.array([1, 2, 0]), np.array([0, 3])), shape=(1, 4))
    assert row_words(stored).tobytes() == row_words(sparse.csr_matrix(stored.toarray())).tobytes()


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ((i for i in range(3)), "list\\(X\\)"),
        (3.0, "float"),
        (np.array(3.0), "row for each object"),
        ("one text", "\\[X\\]"),
        ({"a": [1]}, "pandas.DataFrame"),
        ({1, 2}, "order"),
        (None, "NoneType"),
        (pl.LazyFrame({"a": [1]}), "collect"),
    ],
)
def test_what_has_no_rows_is_refused_with_the_remedy(wrong, word):
    with pytest.raises(TypeError, match=word):
        count_rows(wrong)


def test_parameters_that_have_a_row_for_each_example_go_with_the_rows():
    taken = take_parameters(
        {"sample_weight": FRAME["age"], "groups": None, "name": "four", "scale": 2.0, "two": [1, 2], "grid": DENSE},
        np.array([3, 1]),
        4,
    )
    assert taken["sample_weight"].tolist() == [1, 2]
    assert taken["grid"].tolist() == [[0.0, 1.0], [2.0, 0.0]]
    assert (taken["groups"], taken["name"], taken["scale"], taken["two"]) == (None, "four", 2.0, [1, 2])
