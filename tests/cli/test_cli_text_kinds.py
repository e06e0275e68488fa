"""What columns of text hold is told of each different text once, and is what looking at every cell tells."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from exactcp.cli import _text_kinds
from exactcp.cli._patterns import plain_number
from exactcp.cli._tables import Marks, read_table
from exactcp.cli._text_kinds import has_dates, nested, otherwise_written, plain_numbers

AS_TEXT = [lambda cells: pd.Series(cells, dtype=object), lambda cells: pd.Series(cells, dtype="string")]


@pytest.mark.parametrize("column_of", AS_TEXT)
def test_numbers_in_text_are_those_of_every_cell(column_of):
    cells = ["1", "a", None, "2.5", "1", " 7 ", "1e400", "-3"] * 3
    column = column_of(cells).set_axis(range(5, 29))
    found = plain_numbers(column)
    assert found.index.tolist() == column.index.tolist()
    np.testing.assert_array_equal(found.to_numpy(float)[:8], [1, np.nan, np.nan, 2.5, 1, 7, np.inf, -3])
    np.testing.assert_array_equal(plain_numbers(column_of(["1,5", "1.5", "x"]), ","), [1.5, np.nan, np.nan])


@pytest.mark.parametrize("column_of", [*AS_TEXT, lambda cells: pd.Series(cells, dtype="category")])
def test_numbers_in_text_are_read_to_the_last_digit(column_of):
    # with pandas 2, to_numeric reads about a quarter of such texts as a neighbour of the nearest float64
    expected = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(-50, 50).repeat(10)
    texts = [repr(number) for number in expected.tolist()]
    np.testing.assert_array_equal(plain_numbers(column_of(texts)), expected)
    mixed = pd.Series([*texts, 0.5, None], dtype=object)
    np.testing.assert_array_equal(plain_numbers(mixed).to_numpy(float), [*expected, 0.5, np.nan])


def test_a_target_of_numbers_is_read_to_the_last_digit(tmp_path):
    expected = np.random.default_rng(1).normal(size=1000) * 1e-3
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["y", *map(repr, expected.tolist())]), encoding="utf-8")
    np.testing.assert_array_equal(read_table(path, Marks(), "y")["y"].to_numpy(), expected)


WRITINGS = [
    "1",
    "+1",
    "-.5",
    "1.",
    "1e5",
    "1E-5",
    "inf",
    "-Infinity",
    "1e-400",
    "x",
    "",
    "1e",
    "--1",
    "1_0",
    "0x1",
    "\u0661",
]


@pytest.mark.parametrize("text", [*WRITINGS, " 2 ", "True", "1 2", "1,5", ".", "e5", "None", "+ 1", "1d5"])
def test_the_texts_that_are_numbers_are_those_of_pandas(text):
    np.testing.assert_equal(plain_number(text), float(pd.to_numeric(pd.Series([text]), errors="coerce").iloc[0]))


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
