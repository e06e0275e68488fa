"""`exactcp drift`: rows as they come, equal to what the library says, and a sentence for a bad one."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from exactcp import ExchangeabilityTest
from exactcp.cli import app
from exactcp.measures import KNN, SimplifiedKNN


@pytest.fixture
def stream(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    X[60:] += 3
    table = pd.DataFrame(X, columns=["a", "b"])
    table.to_csv(tmp_path / "stream.csv", index=False)
    table.to_parquet(tmp_path / "stream.parquet")
    table.assign(kind=np.where(rng.uniform(size=120) < 0.5, "u", "v")).to_csv(tmp_path / "labelled.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return pd.read_csv("stream.csv").to_numpy()


def run(*arguments, text=None):
    return CliRunner().invoke(app, ["drift", *arguments], input=text)


def steps(*arguments, text=None):
    result = run(*arguments, "--json", text=text)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def assert_same(found, test):
    assert [row["step"] for row in found] == list(range(1, test.p_values_.size + 1))
    assert all(set(row) == {"step", "p", "log_martingale", "alarm"} for row in found)
    np.testing.assert_array_equal([row["p"] for row in found], test.p_values_)
    np.testing.assert_array_equal([row["log_martingale"] for row in found], test.log_martingale_)
    assert [row["step"] - 1 for row in found if row["alarm"]] == test.alarms_.tolist()


def test_one_object_a_row_for_scripts(stream):
    test = ExchangeabilityTest(random_state=0)
    test.update_many(stream)
    assert test.alarms_.size
    assert_same(steps("stream.csv", "--seed", "0"), test)


def test_a_parquet_file_and_standard_input_give_the_same(stream):
    expected = steps("stream.csv", "--seed", "0")
    assert steps("stream.parquet", "--seed", "0") == expected
    with open("stream.csv", encoding="utf-8") as file:
        text = file.read()
    assert steps("-", "--seed", "0", text=text) == expected
    without_names = text.partition("\n")[2]
    assert steps("-", "--seed", "0", "--no-header", text=without_names) == expected


def test_alarms_for_people(stream):
    result = run("stream.csv", "--seed", "0")
    test = ExchangeabilityTest(random_state=0)
    test.update_many(stream)
    lines = result.stdout.splitlines()
    assert len(lines) == test.alarms_.size
    assert lines[0].startswith(f"row {test.alarms_[0] + 1}: alarm, martingale 10^2.")
    assert f"120 rows, {test.alarms_.size} alarm" in result.stderr


def test_every_option_reaches_the_test(stream):
    options = ["--betting", "plugin", "--alarm", "cusum", "--threshold", "20", "--window", "50", "--restart"]
    found = steps("stream.csv", "--seed", "1", "--option", "k=3", *options)
    how = {"betting": "plugin", "alarm": "cusum", "threshold": 20, "window": 50, "restart": "all"}
    test = ExchangeabilityTest(SimplifiedKNN(3), random_state=1, **how)
    test.update_many(stream)
    assert_same(found, test)


@pytest.mark.parametrize("mondrian", [None, "label"])
def test_labels(mondrian, stream):
    labels = pd.read_csv("labelled.csv")["kind"].tolist()
    options = [] if mondrian is None else ["--mondrian", mondrian]
    found = steps("labelled.csv", "--target", "kind", "--seed", "0", "--measure", "knn", "--option", "k=4", *options)
    test = ExchangeabilityTest(KNN(4), random_state=0, mondrian=mondrian)
    test.update_many(stream, labels)
    assert_same(found, test)
    assert_same(steps("labelled.csv", "--ignore", "kind", "--seed", "0"), _unlabelled(stream))


def _unlabelled(X):
    test = ExchangeabilityTest(random_state=0)
    test.update_many(X)
    return test


@pytest.mark.parametrize(
    ("names", "row"),
    [
        pytest.param("a,b\n", "{0},-{0}\n", id="CSV"),
        pytest.param("", '{{"a": {0}, "b": -{0}}}\n', id="JSON lines"),
    ],
)
@pytest.mark.slow  # a process for each; one that is asked to end has answered row after row
def test_a_row_is_answered_before_the_next_one_comes(names, row, stream):
    command = [sys.executable, "-m", "exactcp", "drift", "-", "--json", "--seed", "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(names)
        for step in (1, 2, 3):
            process.stdin.write(row.format(step))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["step"] == step  # would wait for ever otherwise
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_a_reader_that_has_seen_enough_is_no_error(stream):
    command = f"{sys.executable} -m exactcp drift stream.csv --json --seed 0 | head -n 1"
    result = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=True)
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 1


BROKEN = {
    "empty": ("", 1, "is empty"),
    "names only": ("a,b\n", 1, "no rows"),
    "numbers as names": ("1,2\n3,4\n", 1, "use --no-header"),
    "missing": ("a,b\n1,2\n3,\n", 1, "row 2 has no value in column 'b'"),
    "nan": ("a,b\n1,2\nnan,4\n", 1, "row 2 has 'nan' in column 'a'"),
    "infinite": ("a,b\n1,2\n3,inf\n", 1, "row 2 has 'inf'"),
    "text": ("a,b\n1,2\n3,x\n", 1, "row 2 has 'x' in column 'b': expected a finite number"),
    "ragged": ("a,b\n1,2\n3,4,5\n", 1, "row 2 has 3 cells: expected 2"),
    "quotes": ('a,b\n1,2\n"3,4\n', 1, "row 2 has 1 cells: expected 2"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_streams_get_one_sentence_with_the_row(name, stream, tmp_path):
    text, code, sentence = BROKEN[name]
    (tmp_path / "broken.csv").write_text(text, encoding="utf-8")
    for result in (run("broken.csv"), run("-", text=text)):
        assert result.exit_code == code
        assert sentence in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_rows_before_a_bad_one_have_been_answered(stream):
    result = run("-", "--json", text="a,b\n1,2\n3,4\nx,5\n")
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2


def test_bad_rows_can_be_left_out(stream):
    result = run("-", "--json", "--skip-bad", "--seed", "0", text="a,b\n1,2\nx,4\n5,6\n7\n9,1\n")
    assert result.exit_code == 0
    assert [json.loads(line)["step"] for line in result.stdout.splitlines()] == [1, 2, 3]
    assert "left out: row 2 has 'x'" in result.stderr
    assert "left out: row 4 has 1 cells" in result.stderr


def test_a_missing_label_is_told(stream):
    result = run("-", "--target", "k", text="a,k\n1,u\n2,\n")
    assert result.exit_code == 1
    assert "row 2 has no label in column 'k'" in result.stderr


def test_files_that_are_not_streams(stream, tmp_path):
    (tmp_path / "text.parquet").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "bytes.csv").write_bytes(b"a,b\n\xff\xfe\x00,1\n")
    for path, sentence in [
        ("nothing.csv", "No such file"),
        ("text.parquet", "is not a Parquet file"),
        ("bytes.csv", "UTF-8"),
        (str(tmp_path), "is a directory"),
    ]:
        result = run(path)
        assert result.exit_code == 1
        assert sentence in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--target", "zzz"], "--target zzz is not a column: the stream has a, b."),
        (["--ignore", "zzz"], "--ignore zzz is not a column"),
        (["--mondrian", "label"], "--target"),
        (["--measure", "nonsense"], "is not a measure"),
        (["--measure", "ridge"], "is for regression"),
        (["--option", "q=1"], "SimplifiedKNN has no such option"),
        (["--threshold", "0.5"], "use a number above 1"),
        (["--separator", "ab"], "is not one character"),
    ],
)
def test_what_was_typed_wrong_has_exit_code_2(options, sentence, stream):
    result = run("stream.csv", *options)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_what_the_library_refuses_has_the_row(stream):
    result = run("stream.csv", "--option", "k=0")
    assert result.exit_code == 1
    assert "row 1: k=0" in result.stderr
