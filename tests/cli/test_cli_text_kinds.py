"""What columns of text hold is told of each different text once, and is what looking at every cell tells."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from exactcp.cli import _text_kinds
from exactcp.cli._text_kinds import has_dates, nested, otherwise_written, plain_numbers

AS_TEXT = [lambda cells: pd.Series(cells, dtype=object), lambda cells: pd.Series(cells, dtype="string")]


@pytest.mark.parametrize("column_of", AS_TEXT)
def test_numbers_in_text_are_those_of_every_cell(column_of):
    cells = ["1", "a", None, "2.5", "1", " 7 ", "1e400", "-3"] * 3
    column = column_of(cells).set_axis(range(5, 29))
    found = plain_numbers(column)
    assert found.index.tolist() == column.index.tolist()
    beyond = np.nan if pd.__version__ < "3" else np.inf  # what pandas makes of numbers that float64 does not hold
    np.testing.assert_array_equal(found.to_numpy(float)[:8], [1, np.nan, np.nan, 2.5, 1, 7, beyond, -3])
    np.testing.assert_array_equal(plain_numbers(column_of(["1,5", "1.5", "x"]), ","), [1.5, np.nan, np.nan])


@pytest.mark.parametrize("column_of", AS_TEXT)
def test_shares_count_cells_and_not_different_texts(column_of):
    assert has_dates(column_of(["2024-05-01"] * 3 + ["a", "b"]))
    assert not has_dates(column_of(["2024-05-01", "2024-05-02"] + ["a"] * 3))
    assert otherwise_written(column_of(["1,5"] * 3 + ["a", "b"]), ".") is not None
    assert otherwise_written(column_of(["1,5", "2,5"] + ["a"] * 3), ".") is None


def test_cells_of_other_kinds_are_looked_at_one_by_one():
    assert has_dates(pd.Series(["a", dt.date(2024, 5, 1), "b"], dtype=object))
    assert nested(pd.Series(["a", [1, 2], "b"], dtype=object)) == [1, 2]
    assert nested(pd.Series(["a", None, "b"])) is None
    np.testing.assert_array_equal(_text_kinds._matches(pd.Series(["5", 5, [5]], dtype=object), r"\d"), [1, 1, 0])
