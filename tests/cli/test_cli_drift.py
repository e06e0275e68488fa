"""`exactcp drift`: rows as they come, by constants that no row of the stream changes, and a verdict in words."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from exactcp import ExchangeabilityTest
from exactcp.measures import KNN, KNNResidual, RidgeResidual, SimplifiedKNN


@pytest.fixture
def stream(tmp_path, monkeypatch):
    """A stream of 120 rows whose mean changes after the 60th, in several kinds of files; its numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    X[60:] += 3
    table = pd.DataFrame(X, columns=["a", "b"])
    monkeypatch.chdir(tmp_path)
    table.to_csv("stream.csv", index=False)
    table.to_parquet("stream.parquet")
    table.to_json("stream.jsonl", orient="records", lines=True, double_precision=15)
    kind = np.where(rng.uniform(size=120) < 0.5, "u", "v")
    table.assign(kind=kind, price=X[:, 0] + rng.normal(size=120)).to_csv("labelled.csv", index=False)
    before = pd.DataFrame(rng.normal(size=(50, 2)) * [1, 100], columns=["a", "b"])
    before.assign(color=rng.choice(["red", "green"], 50)).to_csv("before.csv", index=False)
    return X


@pytest.fixture
def steps(done):
    """A function that returns what is printed for each row."""

    def call(command, text=None):
        return [json.loads(line) for line in done(f"drift {command} --json", text=text).stdout.splitlines()]

    return call


def assert_same(found, test):
    assert [row["step"] for row in found] == list(range(1, test.p_values_.size + 1))
    assert all(set(row) == {"step", "p", "log_martingale", "alarm"} for row in found)
    np.testing.assert_array_equal([row["p"] for row in found], test.p_values_)
    np.testing.assert_array_equal([row["log_martingale"] for row in found], test.log_martingale_)
    assert [row["step"] - 1 for row in found if row["alarm"]] == test.alarms_.tolist()


def streamed(X, y=None, measure=None, **options):
    test = ExchangeabilityTest(measure, random_state=0, **options)
    test.update_many(X, y)
    return test


def test_numbers_as_they_are_from_any_file_and_from_a_pipe(stream, steps, tmp_path):
    expected = streamed(stream)
    assert expected.alarms_.size
    assert_same(steps("stream.csv --seed 0"), expected)
    assert_same(steps("stream.parquet --seed 0"), expected)
    assert_same(steps("- --seed 0", (tmp_path / "stream.csv").read_text()), expected)
    assert_same(steps("- --seed 0 --separator ;", (tmp_path / "stream.csv").read_text().replace(",", ";")), expected)
    lines = "".join(json.dumps(dict(zip("ab", row, strict=True))) + "\n" for row in stream.tolist())
    assert_same(steps("- --seed 0", lines), expected)
    (tmp_path / "lines.jsonl").write_text(lines)
    assert_same(steps("lines.jsonl --seed 0"), expected)
    commas = "\n".join(";".join(map(str, row)).replace(".", ",") for row in stream.tolist())
    assert_same(steps("- --seed 0 --separator ; --decimal ,", f"a;b\n{commas}\n"), expected)


def test_the_verdict_in_words(stream, done, tmp_path):
    first = streamed(stream).alarms_[0] + 1
    assert done("drift stream.csv --seed 0").stdout == (
        f"The rows are not exchangeable since about row {first} of 120; a false alarm has probability at most 1 %.\n"
    )
    piped = done("drift - --seed 0", text=(tmp_path / "stream.csv").read_text()).stdout.splitlines()
    assert (piped[0], len(piped)) == (f"alarm at row {first}.", 2)
    pd.read_csv("stream.csv")[:50].to_csv("calm.csv", index=False)
    calm = done("drift calm.csv --seed 0 --threshold 20").stdout
    assert calm.startswith("No evidence against exchangeability in 50 rows (martingale up to 10^")
    assert calm.endswith("a false alarm has probability at most 5 %.\n")
    late = done("drift stream.csv --seed 0 --alarm cusum --threshold 50 --window 40").stdout
    assert "false alarms are at least 50 rows apart on average (approximately, since the window slides)." in late


def test_every_option_reaches_the_test(stream, steps):
    found = steps("stream.csv --seed 0 --option k=3 --alarm cusum --threshold 20 --window 50")
    assert_same(found, streamed(stream, None, SimplifiedKNN(3), alarm="cusum", threshold=20, window=50))


def test_labels_and_targets(stream, steps, tmp_path):
    table = pd.read_csv("labelled.csv")
    for command, y, measure in (
        ("-t kind --ignore price --option k=4", table["kind"].tolist(), KNN(4)),
        ("-t price --ignore kind", table["price"], KNNResidual()),
        ("-t price --task regression --ignore kind -m ridge", table["price"], RidgeResidual()),
    ):
        expected = streamed(stream, y, measure)
        assert_same(steps(f"labelled.csv --seed 0 {command}"), expected)
        if "--task" in command or "kind --" in command:
            assert_same(steps(f"- --seed 0 {command}", (tmp_path / "labelled.csv").read_text()), expected)


def test_a_reference_scales_and_encodes(stream, steps, tmp_path):
    before = pd.read_csv("before.csv")
    table = pd.DataFrame(stream, columns=["a", "b"]).assign(color=["red", "green", "blue"] * 40)
    table.to_csv("colored.csv", index=False)
    scaled = StandardScaler().fit(before[["a", "b"]]).transform(table[["a", "b"]])
    X = np.column_stack([table["color"] == "green", table["color"] == "red", scaled]).astype(float)
    expected = streamed(X)
    found = steps("colored.csv --reference before.csv --seed 0")
    np.testing.assert_allclose([row["p"] for row in found], expected.p_values_)
    piped = steps("- --reference before.csv --seed 0", (tmp_path / "colored.csv").read_text())
    assert piped == found


def test_no_row_changes_what_others_become(stream, steps, tmp_path):
    table = pd.read_csv("stream.csv")
    other = table.copy()
    other.loc[60:, "a"] *= 1e6
    other.to_csv("other.csv", index=False)
    for options in ("", "--reference before.csv --ignore color"):
        first, second = (steps(f"{name} --seed 0 {options}")[:60] for name in ("stream.csv", "other.csv"))
        assert first == second


@pytest.mark.slow  # a process for each; one that is asked to end has answered row after row
@pytest.mark.parametrize(("names", "row"), [("a,b\n", "{0},-{0}\n"), ("", '{{"a": {0}, "b": -{0}}}\n')])
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


BROKEN = {
    "names only": ("a,b\n", "has column names but no rows", "the stream has no rows"),
    "missing": ("a,b\n1,2\n3,\n", "row 2 of the stream has no value in column 'b'", None),
    "infinite": ("a,b\n1,2\n3,inf\n", "row 2 of the stream has 'inf' in column 'b': expected a finite number", None),
    "text": ("a,b\n1,2\n3,x\n", "row 2 of the stream has 'x' in column 'b'", None),
    "ragged": ("a,b\n1,2\n3,4,5\n", "cannot be read as CSV", "row 2 has 3 cells: expected 2, one for each column."),
    "text alone": ("a\nx\n", "use --ignore a, --reference FILE for text, or --decimal ','", None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_streams_get_one_sentence(name, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, of_file, of_pipe = BROKEN[name]
    (tmp_path / "broken.csv").write_text(text, encoding="utf-8")
    for result, sentence in ((run("drift broken.csv"), of_file), (run("drift -", text=text), of_pipe or of_file)):
        assert result.exit_code == 1
        assert sentence in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_rows_before_a_bad_one_have_been_answered(run):
    result = run("drift - --json", text='{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n[5]\n')
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 2
    assert "row 3 is [5]: expected a JSON object" in result.stderr


def test_row_ids_are_ignored(run):
    text = "id,a\n" + "".join(f"{i},{(i * 7) % 5}\n" for i in range(30))
    result = run("drift - --json", text=text)
    assert "column 'id' looks like a row ID; ignored." in result.stderr
    found, expected = (run(f"drift - --json --seed 0 {more}", text=text) for more in ("", "--ignore id"))
    assert found.stdout == expected.stdout


def test_whole_numbers_from_a_pipe_may_be_labels_or_quantities(run):
    result = run("drift - -t n", text="a,n\n1.5,1\n2.5,2\n")
    assert result.exit_code == 2
    assert "use --task classification or --task regression." in result.stderr
    assert "row 2 of the stream has no value in column 'k'" in run("drift - -t k", text="a,k\n1,u\n2,\n").stderr
