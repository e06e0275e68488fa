"""What the columns of a table are: pandas decides, and a sentence says what else to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from exactcp.cli._options import Options
from exactcp.cli._spec import TableSpec, choose_task, labels_of

N = 40
LABELS = ["a", "b"] * (N // 2)


def spec(columns, target=LABELS, **options):
    table = pd.DataFrame({**columns, "t": target})
    return TableSpec.learn({"TRAIN": table}, Options(target="t", **options))


def refused(columns, target=LABELS, **options):
    with pytest.raises(ValueError, match=r"\.$|\?$") as caught:
        spec(columns, target, **options)
    return str(caught.value)


X = {"x": np.arange(N) / 7}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (np.arange(N), "number"),
        (np.arange(N) / 3, "number"),
        ([True, False] * (N // 2), "number"),
        ([True, None] * (N // 2), "number"),
        (np.array([1, None] * (N // 2), dtype=object), "category"),
        (["u", "v"] * (N // 2), "category"),
        (["1", "2"] * (N // 2), "category"),
        (pd.Categorical([1, 2] * (N // 2)), "category"),
        (pd.array([1, None] * (N // 2), dtype="Int64"), "number"),
    ],
)
def test_numbers_and_booleans_are_numbers_and_all_else_categories(cells, kind):
    found = spec({"c": cells, **X}, impute=True)
    assert ("c" in found.numbers, "c" in found.categories) == (kind == "number", kind == "category")
    objects = found.objects(pd.DataFrame({"c": cells, **X}))
    assert (objects["c"].dtype == float) == (kind == "number")
    made = found.encoder(scale=True, impute=True).fit_transform(objects)
    assert np.isfinite(np.asarray(made, dtype=float)).all()


def test_numbers_that_are_names():
    found = spec({"c": [1.0, 2.0] * (N // 2), **X}, categorical=("c",))
    assert found.categories == {"c": ["1", "2"]}
    assert found.objects(pd.DataFrame({"c": [2, 1], "x": [0.0, 1.0]}))["c"].tolist() == ["2", "1"]


def test_a_table_of_its_own_kind_goes_to_dict_and_back():
    found = spec({"c": LABELS, "id": range(N), **X})
    again = TableSpec.from_dict(found.to_dict())
    assert again.to_dict() == {**found.to_dict(), "reason": ""}
    assert (again.numbers, again.categories, again.left_out) == (("x",), {"c": ["a", "b"]}, {"id": "row ID"})


@pytest.mark.parametrize("name", ["Unnamed: 0", "id", "customer_id", "PassengerId", "index", "rownames", "row_number"])
def test_row_ids_are_left_out_and_told(name, capsys):
    for cells, is_id in ((np.arange(N), True), ([f"n{i}" for i in range(N)], True), ([1, 2] * (N // 2), False)):
        assert (spec({name: cells, **X}).left_out == {name: "row ID"}) == is_id
        assert (f"column {name!r} looks like a row ID; ignored." in capsys.readouterr().err) == is_id


@pytest.mark.parametrize("name", ["acid", "x", "idea", "grid"])
def test_what_are_no_row_ids(name):
    assert spec({name: np.arange(N), **X}).left_out == {}


def test_missing_values():
    cells = [1.0, np.nan, np.nan, *range(N - 3)]
    assert refused({"my c": cells, **X}).endswith("(2 such rows): fill it, or use --impute or --ignore 'my c'.")
    assert "my c" in spec({"my c": cells, **X}, impute=True).numbers
    assert "column 'c' has no values at all: use --ignore c." in refused({"c": [np.nan] * N, **X}, impute=True)


def test_too_many_categories_name_all_remedies():
    names = [f"{i},5" for i in range(150)]
    target = ["a", "b"] * 75
    said = refused({"a c": names, "x": range(150)}, target)
    assert "column 'a c' has 150 different texts, such as '0,5'" in said
    for remedy in ("--ignore 'a c'", "--categorical 'a c'", "--decimal ','"):
        assert remedy in said
    assert len(spec({"a c": names, "x": range(150)}, target, categorical=("a c",)).categories["a c"]) == 150


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (pd.date_range("2026-01-01", periods=N), "has dates: make numbers of them"),
        ([[1, 2]] * N, "has cells with several values"),
        ([np.inf] + [1.0] * (N - 1), "row 1 of TRAIN has 'inf' in column 'c': expected a finite number up to 1e+150"),
        ([1e200] + [1.0] * (N - 1), "row 1 of TRAIN has '1e+200'"),
        (np.arange(N) + 2**53, "has whole numbers beyond 2**53, which float64 rounds: correct it, or use --ignore c"),
    ],
)
def test_columns_that_are_refused(cells, sentence):
    assert sentence in refused({"c": cells, **X})


def test_whole_numbers_beyond_float64_can_be_names():
    found = spec({"c": np.repeat([2**60, 2**60 + 1], N // 2), **X}, categorical=("c",))
    assert found.categories["c"] == [str(2**60), str(2**60 + 1)]


def test_tables_must_agree():
    train, test = pd.DataFrame({**X, "t": LABELS}), pd.DataFrame({"x": ["1", "abc"]})
    with pytest.raises(ValueError, match="row 2 of TEST has 'abc' in column 'x': expected a finite number"):
        TableSpec.learn({"TRAIN": train, "TEST": test}, Options(target="t"))
    with pytest.raises(ValueError, match=r"TEST lacks column 'x' of TRAIN: .* use --ignore x. Did you mean X\?"):
        TableSpec.learn({"TRAIN": train, "TEST": test.rename(columns={"x": "X"})}, Options(target="t"))
    train["c"], test = LABELS, pd.DataFrame({"x": [0.0], "c": ["z"]})
    assert TableSpec.learn({"TRAIN": train, "TEST": test}, Options(target="t")).categories == {"c": ["a", "b", "z"]}


def test_new_rows_for_what_was_learned(capsys):
    found = spec({"c": LABELS, **X})
    good = pd.DataFrame({"extra": [1], "c": ["blue"], "x": [3]})
    found.check(good, "NEW", impute=False)
    told = capsys.readouterr().err
    assert "ignoring extra: not in the model." in told
    assert "column 'c' of NEW has categories that the model has not seen: blue." in told
    for change, sentence in (
        ({"x": ["abc"]}, "row 1 of NEW has 'abc' in column 'x': expected a finite number"),
        ({"x": [1e200]}, "row 1 of NEW has '1e+200' in column 'x'"),
        ({"x": [None]}, "fill it, or fit the model again with --impute"),
    ):
        with pytest.raises(ValueError, match=sentence.replace("+", r"\+")):
            found.check(good.assign(**change), "NEW", impute=False)
    with pytest.raises(ValueError, match="NEW lacks column 'c', which was learned from: add it, or learn with --ig"):
        found.check(good.drop(columns="c"), "NEW", impute=False)


# --- targets


@pytest.mark.parametrize(
    ("target", "task"),
    [
        (["a", "b"] * 10, "classification"),
        ([True, False] * 10, "classification"),
        ([0, 1] * 10, "classification"),
        ([1.0, 2.0] * 10, "classification"),
        ([0.5, 1.5] * 10, "regression"),
        (list(range(20)), "regression"),
        ([*range(15), *range(5)], "regression"),
    ],
)
def test_the_task_that_a_target_suggests(target, task):
    assert choose_task(pd.Series(target), Options(target="t"), "TRAIN")[0] == task
    for said in ("classification", "regression"):
        assert choose_task(pd.Series(target), Options(target="t", task=said), "TRAIN") == (said, "as requested")


def test_labels_match_whatever_their_type():
    assert labels_of(pd.Series([1, 2])) == labels_of(pd.Series([1.0, 2.0])) == labels_of(pd.Series(["1", "2"]))
    found = spec(X, [0, 1] * (N // 2))
    y = found.training_targets(pd.DataFrame({"t": [0, 1, 1]}), "TRAIN")
    assert (y.dtype.kind, y.tolist()) == ("i", [0, 1, 1])
    for cells in ([0.0, np.nan, 1.0], ["0", None, "1"]):
        assert found.known_targets(pd.DataFrame({"t": cells}), "TEST").tolist() == ["0", None, "1"]
    assert found.known_targets(pd.DataFrame({"t": [None]}), "TEST") is None
    assert found.known_targets(pd.DataFrame({"x": [None]}), "TEST") is None
    assert spec(X).training_targets(pd.DataFrame({"t": ["a", "1"]}), "TRAIN").tolist() == ["a", "1"]
    large = pd.DataFrame({"t": [2**60, 2**60 + 1]})
    assert found.training_targets(large, "TRAIN").tolist() == large["t"].tolist()
    with pytest.raises(ValueError, match=r"beyond 2\*\*53 that were rounded: write these labels as text"):
        found.training_targets(pd.DataFrame({"t": [2.0**60, 1.0]}), "TRAIN")


@pytest.mark.parametrize(
    ("target", "options", "sentence"),
    [
        (["a"] * N, {}, "the target 't' of TRAIN has one label only, a: expected two at least."),
        (["a|b", "b"] * (N // 2), {}, "the label 'a|b' contains |, which joins the labels of a set: rename it."),
        ([f"{i},5" for i in range(N)], {}, "has 40 different labels in 40 rows: expected labels that repeat."),
        (["a", "b"] * (N // 2), {"task": "regression"}, "row 1 of TRAIN has 'a' in column 't'"),
        ([np.inf, 1.5] * (N // 2), {}, "row 1 of TRAIN has 'inf' in column 't': expected a finite number up to 1e+150"),
        ([None, *LABELS[1:]], {}, "has no value in column 't': fill it, or leave such rows out with --drop-missing"),
    ],
)
def test_targets_that_are_refused(target, options, sentence):
    table = pd.DataFrame({**X, "t": target})
    with pytest.raises(ValueError, match=r"\.$") as caught:
        TableSpec.learn({"TRAIN": table}, Options(target="t", **options)).training_targets(table, "TRAIN")
    assert sentence in str(caught.value)


def test_groups():
    assert "TRAIN has no column to learn from but the target" in refused({"x": LABELS}, mondrian=("x",))
    found = spec({"g": [1, 2] * (N // 2), "h": LABELS, **X}, mondrian=("g", "h"))
    assert found.features == ["x"]
    assert found.group_names(pd.DataFrame({"g": [1.0], "h": ["a"]}), "TEST").tolist() == ["1 & a"]
    with pytest.raises(ValueError, match="row 1 of TEST has no value in column 'g'"):
        found.group_names(pd.DataFrame({"g": [None], "h": ["a"]}), "TEST")
