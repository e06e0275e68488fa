"""`exactcp drift --state`: several runs are as one, bit for bit; and a sentence where they cannot be."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import exactcp
from exactcp import FullConformalClassifier
from exactcp.cli import _drift_state, app

pytest.importorskip("skops.io")
N = 100


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    X[50:] += 3
    table = pd.DataFrame(X, columns=["a", "b"])
    table["kind"] = np.where(rng.uniform(size=N) < 0.5, "u", "v")
    table["y"] = table["a"] + rng.normal(size=N)
    monkeypatch.chdir(tmp_path)
    table.to_csv("all.csv", index=False)
    table[:40].to_csv("first.csv", index=False)
    table[40:].to_csv("second.csv", index=False)
    return table


def run(*arguments, text=None):
    return CliRunner().invoke(app, ["drift", *arguments], input=text)


def steps(*arguments, text=None):
    result = run(*arguments, "--json", text=text)
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def refused(*arguments, code=1, text=None):
    result = run(*arguments, text=text)
    assert result.exit_code == code, result.output
    return result.stderr.splitlines()[-1]


NUMBERS = ["--ignore", "kind", "--ignore", "y"]
KINDS = {
    "numbers": NUMBERS,
    "categories by a hash": ["--ignore", "y"],
    "labels": ["--target", "kind", "--ignore", "y", "--mondrian", "label"],
    "targets": ["--target", "y", "--ignore", "kind"],
    "ridge": ["--target", "y", "--ignore", "kind", "--measure", "ridge"],
    "constants": [*NUMBERS, "--constants", "a=1,2"],
    "reference": ["--scale-by", "first.csv", "--target", "y"],
    "sliding": [*NUMBERS, "--window", "15", "--betting", "plugin", "--alarm", "cusum", "--threshold", "20"],
    "emptied": [*NUMBERS, "--window", "15", "--forget", "all", "--restart"],
    "kde": [*NUMBERS, "--measure", "kde", "--option", "bandwidth=0.7"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_are_as_one(kind):
    how = [*KINDS[kind], "--seed", "3"]
    expected = steps("all.csv", *how)
    found = steps("first.csv", *how, "--state", "s.skops") + steps("second.csv", *how, "--state", "s.skops")
    assert found == expected
    assert len(found) == N
    one = steps("all.csv", *how, "--state", "other.skops")
    assert one == expected
    again, whole = exactcp.load("s.skops"), exactcp.load("other.skops")
    assert (again.n_rows, again.digest, again.columns) == (whole.n_rows, whole.digest, whole.columns)
    np.testing.assert_array_equal(again.test.alarms_, whole.test.alarms_)
    assert [row["step"] - 1 for row in found if row["alarm"]] == again.test.alarms_.tolist()


def test_options_need_not_be_said_again_and_the_seed_is_kept():
    first = steps("first.csv", *NUMBERS, "--window", "20", "--state", "s.skops")
    second = steps("second.csv", "--state", "s.skops")
    test = exactcp.load("s.skops").test
    assert test.window == 20
    assert test.random_state is None
    np.testing.assert_array_equal([row["p"] for row in first + second], test.p_values_)


def test_row_by_row_from_standard_input(table):
    expected = steps("all.csv", *NUMBERS, "--seed", "0")[:6]
    found = []
    for i in range(6):
        text = table[i : i + 1].to_csv(index=False)
        found += steps("-", *NUMBERS, "--seed", "0", "--state", "s.skops", text=text)
    assert found == expected


def test_a_file_that_has_grown():
    expected = steps("all.csv", *NUMBERS, "--seed", "0")
    how = ["--state", "s.skops", "--seen", "skip"]
    found = steps("first.csv", *NUMBERS, "--seed", "0", *how)
    assert found + steps("all.csv", *how) == expected
    assert steps("all.csv", *how) == []
    nothing_new = run("all.csv", *how)
    assert nothing_new.exit_code == 0
    assert "0 rows, no alarms (100 rows and" in nothing_new.stderr


def test_rows_that_come_again_are_known():
    steps("first.csv", *NUMBERS, "--seed", "0", "--state", "s.skops")
    before = Path("s.skops").read_bytes()
    text = Path("all.csv").read_text(encoding="utf-8")
    for result in (run("all.csv", "--state", "s.skops"), run("-", "--state", "s.skops", text=text)):
        assert result.exit_code == 1
        assert "begins with the 5 rows that the state began with: use --seen skip" in result.stderr
        assert Path("s.skops").read_bytes() == before
    assert run("all.csv", "--state", "s.skops", "--json").stdout == ""  # a file is looked at before it is answered
    assert steps("all.csv", "--state", "s.skops", "--seen", "new")[0]["step"] == 41


def test_skipping_what_was_not_seen_is_refused():
    steps("first.csv", *NUMBERS, "--seed", "0", "--state", "s.skops")
    before = Path("s.skops").read_bytes()
    how = ["--state", "s.skops", "--seen", "skip"]
    assert "begins with 40 rows that are not those" in refused("second.csv", *how)
    pd.read_csv("first.csv")[:7].to_csv("short.csv", index=False)
    assert "has 7 rows, and the state has seen 40" in refused("short.csv", *how)
    assert Path("s.skops").read_bytes() == before


def test_the_rows_before_a_bad_one_are_kept():
    expected = steps("all.csv", *NUMBERS, "--seed", "0")
    lines = Path("all.csv").read_text(encoding="utf-8").splitlines()
    broken = "\n".join([*lines[:31], "x,1,u,2", *lines[31:]])
    result = run("-", *NUMBERS, "--seed", "0", "--state", "s.skops", "--json", text=broken)
    assert result.exit_code == 1
    assert "row 31 has 'x'" in result.stderr
    assert exactcp.load("s.skops").n_rows == 30
    found = [json.loads(line) for line in result.stdout.splitlines()]
    rest = "\n".join([lines[0], *lines[31:]])
    assert found + steps("-", "--state", "s.skops", text=rest) == expected


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_a_request_to_end_keeps_what_was_answered(number, code):
    command = [sys.executable, "-m", "exactcp", "drift", "-", "--json", "--seed", "0", "--state", "s.skops"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write("a,b\n")
        for step in (1, 2, 3):
            process.stdin.write(f"{step},-{step}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["step"] == step  # before the next row comes
        process.send_signal(number)
        assert process.wait(timeout=60) == code
    assert exactcp.load("s.skops").n_rows == 3


def test_an_interruption_between_two_lines_loses_no_row(monkeypatch):
    """Raised after the test has taken a row, and before the state has."""
    expected = steps("all.csv", *NUMBERS, "--seed", "0")
    real, calls = _drift_state.Keeper.take, []

    def interrupted(self, watched):
        calls.append(watched.n_rows)
        if calls.count(12) == 1 and watched.n_rows == 12:
            raise KeyboardInterrupt
        real(self, watched)

    monkeypatch.setattr(_drift_state.Keeper, "take", interrupted)
    assert run("all.csv", *NUMBERS, "--seed", "0", "--state", "s.skops").exit_code == 130
    assert exactcp.load("s.skops").n_rows == 13
    assert steps("all.csv", "--state", "s.skops", "--seen", "skip") == expected[13:]


def test_it_is_saved_now_and_then(monkeypatch):
    monkeypatch.setattr(_drift_state, "EVERY", -1.0)
    saved = []
    monkeypatch.setattr(exactcp, "save", lambda watched, path: saved.append(watched.n_rows))
    steps("first.csv", *NUMBERS, "--state", "s.skops")
    assert saved == [*range(6, 41), 40]


def test_a_state_that_cannot_be_written_stays(monkeypatch):
    steps("first.csv", *NUMBERS, "--state", "s.skops")
    before = Path("s.skops").read_bytes()
    real = zipfile.ZipFile.writestr

    def full(self, name, *rest):
        if str(getattr(name, "filename", name)).endswith(".npy"):
            raise OSError(28, "No space left on device")
        return real(self, name, *rest)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    assert refused("second.csv", "--state", "s.skops") == "exactcp: s.skops: No space left on device."
    assert Path("s.skops").read_bytes() == before
    assert sorted(path.name for path in Path().iterdir()) == ["all.csv", "first.csv", "s.skops", "second.csv"]


class TestRefusals:
    @pytest.fixture(autouse=True)
    def state(self, table):
        steps("first.csv", "--ignore", "kind", "--target", "y", "--state", "s.skops", "--constants", "a=1,2")

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (["--threshold", "50"], "--threshold 50.0 was given, and s.skops was begun with 100.0"),
            (["--betting", "power"], "--betting power was given, and s.skops was begun with composite"),
            (["--window", "9"], "--window 9 was given, and s.skops was begun with the default"),
            (["--restart"], "--restart was given, and s.skops was begun with statistic"),
            (["--seed", "1"], "--seed 1 was given"),
            (["--measure", "ridge"], "--measure ridge was given, and s.skops was begun with KNNResidual()"),
            (["--option", "k=3"], "--option k=3 was given"),
            (["--target", "b"], "--target b was given, and that of s.skops is y"),
            (["--ignore", "a"], "--ignore a was given, and it is number in s.skops"),
            (["--categorical", "a"], "--categorical a was given, and it is number in s.skops"),
            (["--task", "classification"], "--task classification for y was given, and it is target in s.skops"),
            (["--constants", "a=1,3"], "--constants a was given, and s.skops has a=1,2"),
        ],
    )
    def test_other_options(self, options, sentence):
        before = Path("s.skops").read_bytes()
        assert sentence in refused("second.csv", "--state", "s.skops", *options, code=2)
        assert Path("s.skops").read_bytes() == before

    def test_the_same_options_are_no_others(self):
        how = ["--measure", "knn", "--target", "y", "--threshold", "100", "--ignore", "kind", "--constants", "a=1,2"]
        assert len(steps("second.csv", "--state", "s.skops", *how)) == 60

    def test_other_columns(self, table):
        table[40:].rename(columns={"b": "c"}).to_csv("other.csv", index=False)
        assert "the stream lacks b, which that of s.skops had" in refused("other.csv", "--state", "s.skops")
        table[40:].assign(c=1.0).to_csv("more.csv", index=False)
        assert "the stream has c, which that of s.skops lacked" in refused("more.csv", "--state", "s.skops")
        assert len(steps("more.csv", "--state", "s.skops", "--ignore", "c")) == 60

    def test_another_order_of_columns_is_the_same_stream(self, table):
        Path("t.skops").write_bytes(Path("s.skops").read_bytes())
        table[40:][["y", "b", "a"]].to_csv("turned.csv", index=False)
        assert steps("turned.csv", "--state", "t.skops") == steps("second.csv", "--state", "s.skops")

    def test_another_reference(self):
        sentence = "second.csv gives other constants than s.skops has"
        assert sentence in refused("second.csv", "--state", "s.skops", "--scale-by", "second.csv", "--target", "y")

    def test_files_that_are_no_states(self, table):
        Path("text.skops").write_text("nothing", encoding="utf-8")
        assert "is damaged, or no file of exactcp.save" in refused("second.csv", "--state", "text.skops")
        Path("cut.skops").write_bytes(Path("s.skops").read_bytes()[:-200])
        assert "is damaged" in refused("second.csv", "--state", "cut.skops")
        exactcp.save(FullConformalClassifier().fit(table[["a", "b"]], table["kind"]), "model.skops")
        before = Path("model.skops").read_bytes()
        assert "holds a FullConformalClassifier: expected the state" in refused("second.csv", "--state", "model.skops")
        assert Path("model.skops").read_bytes() == before
        assert "is STREAM, which would be lost" in refused("second.csv", "--state", "second.csv", code=2)
        assert "does not exist" in refused("second.csv", "--state", "no/where.skops", code=2)

    def test_seen_needs_a_state(self):
        assert "name its file with --state" in refused("second.csv", "--seen", "skip", code=2)
