"""Tables of every kind that `exactcp predict` reads and writes, by name and through pipes."""

from __future__ import annotations

import gzip
import json
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from exactcp.cli import app

N = 40
BIG = 2**60 + 1  # a label that float64 has not


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=N), "color": rng.choice(["red", "blue"], size=N)})
    table["code"] = np.where(table["x"] + rng.normal(size=N) > 0, BIG, BIG + 1)
    table.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(name, *arguments, given=None):
    words = ["predict", name, "--target", "code", "--holdout", "0.5", "--measure", "knn", "--option", "k=3"]
    return CliRunner().invoke(app, [*words, *[str(a) for a in arguments]], input=given)


def expected():
    result = run("data.csv", "--output", "expected.csv")
    assert result.exit_code == 0, result.output
    return pd.read_csv("expected.csv")


def save(name):
    table = pd.read_csv("data.csv")
    if ".jsonl" in name:
        table.to_json(name, orient="records", lines=True, double_precision=15)
        text = "".join(json.dumps(row) + "\n" for row in table.to_dict("records"))
        with gzip.open(name, "wt") if name.endswith("gz") else open(name, "w", encoding="utf-8") as file:
            file.write(text)
    elif ".tsv" in name:
        table.to_csv(name, sep="\t", index=False)
    elif name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
        table.astype({"code": str}).to_excel(name, index=False)
    else:
        table.to_csv(name, index=False)


@pytest.mark.parametrize(
    "name", ["data.tsv", "data.tsv.gz", "data.jsonl", "data.jsonl.gz", "data.csv.bz2", "data.csv.xz", "data.xlsx"]
)
def test_every_kind_of_file_gives_the_same_rows(name):
    save(name)
    result = run(name, "--output", "out.csv")
    assert result.exit_code == 0, result.output
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), expected())


@pytest.mark.parametrize("name", ["out.tsv", "out.tsv.gz", "out.jsonl", "out.ndjson", "out.jsonl.xz", "out.xlsx"])
def test_every_kind_of_file_is_written(name):
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    assert run("data.csv", "--output", name).exit_code == 0
    if "json" in name:
        found = pd.read_json(name, lines=True, precise_float=True)
        assert ["|".join(map(str, labels)) for labels in found.pop("set")] == found["set_text"].astype(str).tolist()
    else:
        found = pd.read_excel(name) if name.endswith("xlsx") else pd.read_csv(name, sep="\t")
    rows = expected()
    if name.endswith("xlsx"):  # which has 15 digits
        rows, found = (one.drop(columns=["code", "prediction", "set_text"]) for one in (rows, found))
    pd.testing.assert_frame_equal(found, rows, check_dtype=False, rtol=1e-14)


def test_json_lines_keep_numbers_exactly_and_say_what_json_cannot():
    prices = pd.read_csv("data.csv").assign(price=lambda t: 2 * t["x"] + 0.1)
    prices.loc[0, "color"] = np.nan
    prices.to_csv("prices.csv", index=False)
    words = ["predict", "prices.csv", "--target", "price", "--folds", "2", "--impute", "--ignore", "code"]
    words += ["--confidence", "0.99"]
    assert CliRunner().invoke(app, [*words, "--output", "out.jsonl"]).exit_code == 0
    with open("out.jsonl", encoding="utf-8") as file:
        rows = [json.loads(line, parse_constant=pytest.fail) for line in file]
    assert [row["x"] for row in rows] == prices["x"].tolist()
    assert rows[0]["color"] is None
    assert {row["lower"] for row in rows} == {"-inf"}  # 20 rows are too few for the level


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
def test_standard_input_is_what_its_first_bytes_say(kind, folder):
    if kind == "parquet":
        pd.read_csv("data.csv").to_parquet("data.parquet")
    elif kind != "csv":
        save(f"data.{kind}")
    result = run("-", "--output", "-", given=(folder / f"data.{kind}").read_bytes())
    assert result.exit_code == 0, result.output
    expected()
    assert result.stdout == (folder / "expected.csv").read_text(encoding="utf-8")


def test_a_page_goes_to_standard_output(folder):
    result = run("data.csv", "--output", "out.csv", "--report", "-")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("<!doctype html>")
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-", "-", "--target", "code"], "standard input can be read once"),
        (["data.csv", "--target", "code", "--folds", "2", "--report", "-"], "would share standard output"),
        (["data.csv", "--target", "code", "--folds", "2", "--report", "-", "--json"], "would share standard output"),
    ],
)
def test_streams_that_cannot_be_shared(arguments, sentence):
    result = CliRunner().invoke(app, ["predict", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b"", "a.jsonl is empty: expected one JSON object"),
        ("a.jsonl", b'{"x": 1, "code": 2}\nx,y\n', "line 2 of a.jsonl is not JSON"),
        ("a.jsonl", b"[1, 2]\n", "line 1 of a.jsonl is [1, 2]: expected an object"),
        ("a.jsonl", b"\xff\xfe\n", "a.jsonl is not text in UTF-8"),
        ("a.jsonl.gz", b'{"x": 1, "code": 2}\n', "a.jsonl.gz cannot be unpacked"),
        ("a.jsonl.zip", b"PK", "JSON lines in .zip files are not read"),
        ("a.xls", b"x,code\n1,2\n", "xls"),
    ],
)
def test_broken_files_get_one_sentence(name, content, sentence, folder):
    (folder / name).write_bytes(content)
    result = run(name)
    assert (result.exit_code, result.stdout) == (1, "")
    assert sentence in result.stderr
    assert "unexpected" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("given", [b"", gzip.compress(b"x,code\n1,2\n" * 99, mtime=0)[:40]])
def test_standard_input_that_is_no_table(given):
    result = run("-", given=given)
    assert result.exit_code == 1
    assert "standard input is" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["data.xlsx"], ["data.csv", "--output", "out.xlsx"]])
def test_what_excel_needs_is_said(arguments, folder, monkeypatch):
    (folder / "data.xlsx").write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    result = run(*arguments)
    assert result.exit_code == 1
    assert 'needs openpyxl, which is not installed: run python -m pip install "exactcp[excel]".' in result.stderr


def test_a_broken_workbook_gets_one_sentence(folder):
    pytest.importorskip("openpyxl")
    (folder / "data.xlsx").write_bytes(b"PK\x03\x04 and nothing else")
    result = run("data.xlsx")
    assert result.exit_code == 1
    assert "data.xlsx cannot be read as an Excel file" in result.stderr
