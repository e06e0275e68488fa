"""`exactcp drift`: what columns are, and the constants that make numbers of them; every format of files."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from exactcp import ExchangeabilityTest
from exactcp.cli import app
from exactcp.cli._drift_columns import HASHED_PLACES, ColumnSample, Wishes, category_place, decide_columns
from exactcp.cli._drift_rows import Reading, StreamExamples
from exactcp.exchangeability._watched import Column
from exactcp.measures import KNN, KNNResidual, RidgeResidual

N = 60
WISHES = Wishes(None, None, [], [], keep_ids=False, decimal=".")


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": 100 + 10 * rng.normal(size=N).round(2), "b": rng.normal(size=N).round(3)})
    table["town"] = rng.choice(["Ulm", "Bonn", "Trier"], N)
    table["price"] = (table["b"] + rng.normal(size=N)).round(2)
    monkeypatch.chdir(tmp_path)
    table[["a", "b"]].to_csv("numbers.csv", index=False)
    table.to_csv("all.csv", index=False)
    return table


def run(*arguments, text=None):
    return CliRunner().invoke(app, ["drift", *arguments], input=text)


def steps(*arguments, text=None):
    result = run(*arguments, "--json", text=text)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def p_values(*arguments, text=None):
    return [row["p"] for row in steps(*arguments, "--seed", "0", text=text)]


def expected(X, y=None, measure=None):
    return ExchangeabilityTest(measure, random_state=0).update_many(np.asarray(X), y)


class TestConstants:
    def test_of_a_reference_file(self, table):
        reference = table[["a", "b"]][:25]
        reference.to_csv("reference.csv", index=False)
        X = (table[["a", "b"]] - reference.mean()) / reference.std(ddof=0)
        (column, _) = decide_columns(["a", "b"], ColumnSample(["a", "b"], reference.to_numpy().tolist(), "r"), WISHES)
        assert column.centre == pytest.approx(reference["a"].mean(), rel=1e-14)
        assert column.scale == pytest.approx(reference["a"].std(ddof=0), rel=1e-14)
        found = p_values("numbers.csv", "--scale-by", "reference.csv")
        np.testing.assert_array_equal(found, expected(X))
        assert found != p_values("numbers.csv")

    @pytest.mark.parametrize("factor", [1e-200, 1.0, 1e150])
    def test_at_every_scale(self, factor, table):
        values = [[value * factor] for value in (1.0, 2.0, 4.0, 5.0)]
        (column,) = decide_columns(["a"], ColumnSample(["a"], values, "r"), WISHES)
        assert column.centre == pytest.approx(3 * factor)
        assert column.scale == pytest.approx(np.sqrt(2.5) * factor)

    def test_a_column_that_never_changes_is_not_divided(self):
        (column,) = decide_columns(["a"], ColumnSample(["a"], [[7], [7]], "r"), WISHES)
        assert column == Column("a", "number", 7.0, 1.0)

    def test_missing_cells_of_a_reference_are_left_out(self):
        rows = [["1"], [""], ["NA"], ["3"], [None], [float("nan")]]
        (column,) = decide_columns(["a"], ColumnSample(["a"], rows, "r"), WISHES)
        assert column == Column("a", "number", 2.0, 1.0)


class TestCategories:
    def test_of_a_reference_file_have_a_column_each_and_others_share_one(self, table):
        table[["a", "town"]][:20].replace("Bonn", "Ulm").to_csv("reference.csv", index=False)
        table[["a", "town"]].to_csv("stream.csv", index=False)
        reference = table["a"][:20]
        X = np.column_stack(
            [(table["a"] - reference.mean()) / reference.std(ddof=0)]
            + [table["town"] == town for town in ("Trier", "Ulm", "Bonn")]
        ).astype(float)
        np.testing.assert_array_equal(p_values("stream.csv", "--scale-by", "reference.csv"), expected(X))

    def test_without_one_have_places_by_a_hash_which_no_row_changes(self, table):
        table[["a", "town"]].to_csv("stream.csv", index=False)
        places = {town: category_place(town, Column("town", "category")) for town in ("Ulm", "Bonn", "Trier")}
        assert len(set(places.values())) == 3
        X = np.column_stack([table["a"], np.eye(HASHED_PLACES)[table["town"].map(places)]])
        np.testing.assert_array_equal(p_values("stream.csv"), expected(X))
        np.testing.assert_array_equal(p_values("stream.csv"), expected(X[:, [0, *(1 + np.array([*places.values()]))]]))
        assert "column 'town' has text, and is taken as categories." in run("stream.csv").stderr

    def test_numbers_that_are_names(self, table):
        table.assign(code=np.arange(N) % 3)[["a", "code"]].to_csv("stream.csv", index=False)
        X = np.column_stack([table["a"], np.eye(3)[np.arange(N) % 3]])
        np.testing.assert_array_equal(p_values("stream.csv", "--categorical", "code"), expected(X))

    def test_too_many_are_refused(self, table):
        table.assign(text=[f"t{i}" for i in range(N)] * 1).to_csv("stream.csv", index=False)
        pd.DataFrame({"text": [f"t{i}" for i in range(101)]}).to_csv("reference.csv", index=False)
        result = run(
            "stream.csv", "--scale-by", "reference.csv", *(f"--ignore={c}" for c in ("a", "b", "town", "price"))
        )
        assert "has 101 different texts" in result.stderr

    def test_a_missing_one_is_told(self):
        result = run("-", text="a,town\n1,u\n2,\n")
        assert result.exit_code == 1
        assert "row 2 has no value in column 'town': expected a category" in result.stderr


class TestLeftOut:
    @pytest.mark.parametrize("date", ["2026-01-31", "2026-01-31 12:00:05", "31.1.2026", "12:30"])
    def test_dates_and_ids(self, date, table):
        dated = table[["a", "b"]].assign(when=date, customer_id=np.arange(N), Id=[f"x{i}" for i in range(N)])
        dated.to_csv("stream.csv", index=False)
        result = run("stream.csv", "--seed", "0", "--json")
        assert [json.loads(line)["p"] for line in result.stdout.splitlines()] == p_values("numbers.csv")
        assert "column 'when' has dates and is left out" in result.stderr
        assert "column 'customer_id' is an ID and is left out" in result.stderr
        assert "column 'Id' is an ID and is left out" in result.stderr
        with_ids = p_values("stream.csv", "--keep-ids", "--ignore", "Id")
        np.testing.assert_array_equal(with_ids, expected(dated[["a", "b", "customer_id"]]))

    def test_dates_of_parquet_and_names_that_come_again(self, table):
        dated = table[["a", "b"]].assign(when=pd.Timestamp("2026-01-31"))
        dated.to_parquet("stream.parquet")
        assert p_values("stream.parquet") == p_values("numbers.csv")
        repeated = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0, 5.0], "id": [1, 2, 1, 2, 1]})
        columns = decide_columns(["a", "id"], ColumnSample(["a", "id"], repeated.to_numpy().tolist(), "r"), WISHES)
        assert [column.kind for column in columns] == ["number", "number"]  # fewer than half of them differ
        fraction = decide_columns(["no"], ColumnSample(["no"], [["0.53"]]), WISHES)
        assert fraction == [Column("no", "number")]


class TestNames:
    def test_columns_without_a_name(self, table):
        numbered = table[["a", "b"]].copy()
        numbered.to_csv("numbered.csv")  # with row numbers, as pandas writes them
        result = run("numbered.csv", "--seed", "0", "--json")
        assert [json.loads(line)["p"] for line in result.stdout.splitlines()] == p_values("numbers.csv")
        assert "column 'Unnamed: 0' is an ID and is left out" in result.stderr
        lines = Path("numbers.csv").read_text(encoding="utf-8").splitlines()
        ending = run("-", "--seed", "0", "--json", text="\n".join(f"{line},," for line in lines))
        assert ending.stdout == result.stdout
        assert "column 'Unnamed: 2' has no values and is left out." in ending.stderr

    def test_another_separator_is_asked_for(self):
        text = Path("numbers.csv").read_text(encoding="utf-8").replace(",", ";")
        result = run("-", text=text)
        assert result.exit_code == 2
        assert "the first line is one column, 'a;b': say with --separator" in result.stderr
        assert p_values("-", "--separator", ";", text=text) == p_values("numbers.csv")


class TestTargets:
    def test_numbers(self, table):
        table[["a", "b", "price"]].to_csv("stream.csv", index=False)
        X, y = table[["a", "b"]].to_numpy(), table["price"].to_numpy()
        np.testing.assert_array_equal(p_values("stream.csv", "--target", "price"), expected(X, y, KNNResidual()))
        found = p_values("stream.csv", "--target", "price", "--measure", "ridge", "--option", "rho=0.5")
        np.testing.assert_array_equal(found, expected(X, y, RidgeResidual(rho=0.5)))
        found = p_values("stream.csv", "--target", "price", "--measure", "knn", "--option", "k=3")
        np.testing.assert_array_equal(found, expected(X, y, KNNResidual(k=3)))

    def test_whole_numbers_are_a_label_or_a_quantity(self, table):
        whole = table[["a", "b"]].assign(rooms=np.arange(N) % 3 + 1)
        whole.to_csv("stream.csv", index=False)
        result = run("stream.csv", "--target", "rooms")
        assert result.exit_code == 2
        assert "is 1 in the first row, a label or a quantity: say --task" in result.stderr
        X, y = table[["a", "b"]].to_numpy(), (np.arange(N) % 3 + 1)
        labels = p_values("stream.csv", "--target", "rooms", "--task", "classification")
        np.testing.assert_array_equal(labels, expected(X, [str(one) for one in y], KNN()))
        assert p_values("stream.csv", "--target", "rooms", "--measure", "nn") != labels  # nn is for labels
        numbers = p_values("stream.csv", "--target", "rooms", "--task", "regression")
        np.testing.assert_array_equal(numbers, expected(X, y.astype(float), KNNResidual()))
        scaled = p_values("stream.csv", "--target", "rooms", "--scale-by", "stream.csv")
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        np.testing.assert_array_equal(scaled, expected(Z, [str(one) for one in y], KNN()))

    def test_an_alarm_where_only_the_target_changes(self, table):
        rng = np.random.default_rng(3)
        x = rng.normal(size=300)
        y = np.where(np.arange(300) < 150, x, -x) + 0.1 * rng.normal(size=300)
        pd.DataFrame({"x": x, "y": y}).to_csv("stream.csv", index=False)
        result = run("stream.csv", "--target", "y", "--seed", "0", "--alarm", "cusum")
        first = result.stdout.splitlines()[0]
        assert 150 < int(first.removeprefix("row ").partition(":")[0]) < 200
        assert run("stream.csv", "--ignore", "y", "--seed", "0").stdout == ""


class TestFormats:
    @pytest.fixture
    def files(self, table):
        text = Path("all.csv").read_text(encoding="utf-8")
        table.to_csv("s.tsv", sep="\t", index=False)
        table.to_json("s.jsonl", orient="records", lines=True, double_precision=15)
        table.to_parquet("s.parquet")
        table.to_excel("s.xlsx", index=False)
        Path("s.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        Path("s.csv.bz2").write_bytes(bz2.compress(text.encode()))
        Path("s.csv.xz").write_bytes(lzma.compress(text.encode()))
        Path("s.jsonl.gz").write_bytes(gzip.compress(Path("s.jsonl").read_bytes(), mtime=0))
        with zipfile.ZipFile("s.csv.zip", "w") as archive:
            archive.writestr("s.csv", text)
        return sorted(path.name for path in Path().glob("s.*"))

    def test_every_kind_of_file_gives_the_same(self, files):
        wanted = p_values("all.csv", "--target", "price")
        assert len(files) == 9
        for name in files:
            assert p_values(name, "--target", "price") == wanted, name
        for name in ("s.jsonl", "s.csv.gz", "s.parquet", "s.xlsx"):
            assert p_values("-", "--target", "price", text=Path(name).read_bytes()) == wanted, name

    def test_packed_by_zstandard(self, table):
        zstandard = pytest.importorskip("zstandard")
        Path("s.csv.zst").write_bytes(zstandard.compress(Path("all.csv").read_bytes()))
        assert p_values("s.csv.zst") == p_values("all.csv")

    @pytest.mark.parametrize(
        ("name", "content", "sentence"),
        [
            ("a.csv.gz", b"a,b\n1,2\n", "cannot be unpacked"),
            ("b.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 999, mtime=0)[:-20], "cannot be unpacked"),
            ("a.csv.zip", b"a,b\n1,2\n", "cannot be unpacked"),
            ("a.csv.tar", b"a,b\n1,2\n", "use .gz, .bz2, .xz, .zip or .zst"),
            ("a.xlsx", b"a,b\n1,2\n", "cannot be read as an Excel file"),
            ("a.jsonl", b"a,b\n1,2\n", "the first line is not JSON"),
            ("b.jsonl", b'{"a": 1}\n[2]\n', "row 2 is [2]: expected an object"),
            ("c.jsonl", b'{"a": 1}\n{"a": 2, "c": 3}\n', "row 2 has the key 'c', which the first row lacks"),
            ("d.jsonl", b'{"a": 1}\n{"b": 2}\n', "row 2 has the key 'b'"),
            ("e.jsonl", b'{"a": 1, "b": 2}\n{"a": 2}\n', "row 2 has no value in column 'b'"),
            ("f.jsonl", b'{"a": [1, 2]}\n', "has cells with several values, such as [1, 2]"),
            ("g.csv", b"a,a\n1,2\n", "two columns called 'a'"),
            ("h.csv", b"a,b\n1,\n", "row 1 has no value in column 'b'"),
            ("i.csv", b'a,b\n1,"2,5"\n', "row 1 has '2,5' in column 'b': expected a finite number; use --decimal ,"),
            ("j.csv", b"a,b\n$1,2\n", "row 1 has '$1' in column 'a': expected a finite number"),
            ("k.csv", b"when,id\n2026-01-01,1\n", "no column but the target and those left out"),
        ],
    )
    def test_a_sentence_each(self, name, content, sentence):
        Path(name).write_bytes(content)
        result = run(name)
        assert result.exit_code == 1
        assert sentence in result.stderr.splitlines()[-1]

    def test_bad_lines_of_json_can_be_left_out(self):
        text = '{"a": 1}\nnot JSON\n{"a": 2}\n{"a": 3, "b": 1}\n{"a": 4}\n'
        result = run("-", "--skip-bad", "--json", text=text)
        assert len(result.stdout.splitlines()) == 3
        assert "left out: row 2 is not JSON" in result.stderr

    def test_the_first_row_that_is_whole_tells_what_columns_are(self):
        result = run("-", "--skip-bad", "--json", text="a,town\n1,\n2,u\n3,v\n")
        assert len(result.stdout.splitlines()) == 2
        assert "left out: row 1 has no value in column 'town'" in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--categorical", "twn"], "--categorical twn is not a column: the stream has a, b, town, price. Did you mean"),
        (["--task", "regression"], "say which column has it with --target"),
        (["--task", "regression", "--target", "price", "--mondrian", "label"], "leave one out"),
        (["--task", "regression", "--target", "price", "--measure", "kde"], "is for classification"),
        (["--forget", "all"], "say how many rows it has with --window"),
        (["--measure", "ridge"], "is for regression"),
    ],
)
def test_what_was_typed_wrong_has_exit_code_2(options, sentence):
    result = run("all.csv", *options)
    assert result.exit_code == 2
    assert sentence in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        ("a,b\n", "has column names but no rows"),
        ("a\n1\n", "reference.csv lacks b, which the stream has"),
        ("a,b\n1\n", "row 1 of reference.csv has 1 cells, not 2"),
        ("a,b\n1,2\n2,x\n3,4\n", "row 2 of reference.csv has 'x' in column 'b': expected a finite number"),
        ("a,b\n1,\n2,\n", "column 'b' of reference.csv has no values at all"),
        ("", "reference.csv is empty"),
    ],
)
def test_references_that_tell_nothing(reference, sentence):
    Path("reference.csv").write_text(reference, encoding="utf-8")
    result = run("numbers.csv", "--scale-by", "reference.csv")
    assert result.exit_code == 1
    assert sentence in result.stderr


def test_text_targets_of_regression_are_told():
    result = run("-", "--target", "y", "--json", text="a,y\n1,2.5\n2,x\n")
    assert result.exit_code == 1
    assert "row 2 has 'x' as its target 'y': expected a finite number" in result.stderr


def test_a_sliding_window_says_what_it_is_worth():
    assert "the bound on false alarms holds approximately" in run("numbers.csv", "--window", "9").stderr
    assert "approximately" not in run("numbers.csv", "--window", "9", "--forget", "all").stderr


def test_each_row_is_encoded_by_constants_alone():
    """Whatever comes before and after a row, its numbers are the same."""
    rows = [["1", "u"], ["2", "v"], ["3", "w"]]
    columns = [Column("a", "number", 1.0, 2.0), Column("t", "category")]
    reading = Reading(WISHES, has_header=True, skip_bad=False)

    def encoded(some):
        return [
            example.x.tolist() for example in StreamExamples(iter([["a", "t"], *some]), reading, lambda names: columns)
        ]

    assert encoded(rows[::-1]) == encoded(rows)[::-1]
    assert encoded(rows[1:2]) == encoded(rows)[1:2]
