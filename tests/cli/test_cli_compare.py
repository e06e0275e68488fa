"""`exactcp compare`: what it prints is what the library says, and wrong commands get one sentence."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

import exactcp
from exactcp.cli import _compare as command
from exactcp.cli import app


@pytest.fixture(autouse=True)
def one_thread_of_openmp():
    """Boosting spins on busy machines."""
    with threadpool_limits(1, user_api="openmp"):
        yield


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    n = 60
    kind = rng.integers(0, 2, size=n)
    table = pd.DataFrame(
        {
            "id": range(n),
            "x": kind + rng.normal(size=n),
            "y": 100 * rng.normal(size=n),
            "colour": rng.choice(["red", "green"], size=n),
            "kind": np.array(["ant", "bee"])[kind],
        }
    )
    table.to_csv(tmp_path / "kinds.csv", index=False)
    table.drop(columns=["colour", "kind", "id"]).assign(price=table["x"] * 3 + rng.normal(size=n)).to_csv(
        tmp_path / "prices.csv", index=False
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def compared(*arguments):
    result = run("compare", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.filterwarnings("ignore:The choice among")
def test_json_is_what_the_library_says(folder):
    said = compared("kinds.csv", "--target", "kind", "--folds", "2", "--seed", "3")
    table = pd.read_csv("kinds.csv")
    frame = exactcp.compare(table[["x", "y", "colour"]], table["kind"], cv=2, random_state=3)
    assert [row["predictor"] for row in said["rows"]] == frame.index.tolist()
    for name in ("coverage", "coverage_low", "coverage_high", "set_size", "fuzziness", "best"):
        assert [row[name] for row in said["rows"]] == frame[name].tolist()
    assert said["best"] == frame.attrs["best"]
    assert said["python"] == frame.attrs["python"]
    assert said["guarantee"] == frame.attrs["guarantee"]


@pytest.mark.slow  # it fits all predictors, and then the best again
def test_the_commands_of_the_best_run(folder):
    said = compared("prices.csv", "--target", "price", "--folds", "2", "--confidence", "0.8")
    program, *words = shlex.split(said["command"])
    assert program == "exactcp"
    assert words[1] == "prices.csv"
    pd.read_csv("prices.csv")[:5].to_csv("NEW", index=False)
    result = run(*words, "--output", "out.csv")
    assert result.exit_code == 0, result.output
    assert {"lower", "upper"} <= set(pd.read_csv("out.csv").columns)
    assert run(*shlex.split(said["fit_command"])[1:]).exit_code == 0
    assert (folder / "model.exactcp").exists()


def test_the_table_is_for_people(folder, monkeypatch):
    known = exactcp.compare(
        *_numbers(),
        {"a [b]": exactcp.FullConformalRegressor(), "bad": exactcp.FullConformalRegressor(n_jobs="x")},
        cv=2,
        random_state=0,
    )
    monkeypatch.setattr("exactcp.comparing.compare", lambda *_, **__: known)
    result = run("compare", "prices.csv", "--target", "price", "--ignore", "y")
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "a [b] is the best of 2 predictors, at 90 % confidence." in told
    assert "* a [b]" in told
    assert "bad: failed: n_jobs='x'" in told
    assert "In Python: a [b]" in told
    assert "On the command line" not in told  # which has no predictors of one's own
    assert "may be a little lower" in told


def test_the_best_can_be_kept_by_the_commands_that_are_printed(folder, monkeypatch):
    X, y = _numbers()
    known = exactcp.compare(X, y, {"full KNNResidual": exactcp.FullConformalRegressor()}, 0.8, cv=2, random_state=0)
    monkeypatch.setattr("exactcp.comparing.compare", lambda *_, **__: known)
    compare = ("compare", "prices.csv", "--target", "price", "--confidence", "0.8", "--ignore", "y")
    printed = run(*compare).stdout.split("To keep a model of it for rows to come\n")[1].splitlines()
    said = json.loads(run(*compare, "--json").stdout)
    assert printed[0] == said["fit_command"]
    pd.read_csv("prices.csv")[:5].to_csv("NEW", index=False)
    for line in (*printed[:2], said["command"]):
        program, *words = shlex.split(line)
        assert program == "exactcp"
        result = run(*words)
        assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 6


def _numbers():
    table = pd.read_csv("prices.csv")
    return table[["x", "y"]].to_numpy(), table["price"].to_numpy()


def test_the_command_reads_the_file_alike():
    options = {
        "impute": (True, False),
        "categorical": (["a", "b c"], None),
        "ignore": ([], None),
        "decimal": (",", "."),
    }
    assert command._typed_options(options) == " --impute --categorical a --categorical 'b c' --decimal ,"


def test_missing_values_are_filled_without_targets(folder):
    table = pd.read_csv("kinds.csv")
    table.loc[[0, 7], "x"] = np.nan
    table.loc[3, "colour"] = np.nan
    table.to_csv("holes.csv", index=False)
    assert "column 'x'" in run("compare", "holes.csv", "--target", "kind").stderr
    problem = command._read_one_file(
        folder / "holes.csv",
        command.Columns("kind", ignore=["id"]),
        task="auto",
        encoding={"scale": "none", "impute": True, "categorical": ("y",)},
        marks=command.Marks(),
    )
    filled = command._objects(problem, ["y"], impute=True)
    assert filled["x"].to_list()[:8:7] == [table["x"].median()] * 2
    assert filled["colour"][3] == "missing"
    assert filled["y"].map(type).eq(str).all()


WRONG = {
    "no column": (
        ["kinds.csv", "--target", "kinds"],
        2,
        "--target kinds is not a column of DATA",
        "Did you mean kind?",
    ),
    "level": (["kinds.csv", "--target", "kind", "--confidence", "90"], 2, "--confidence 90.0 is not a probability", ""),
    "time": (["kinds.csv", "--target", "kind", "--max-seconds", "0"], 2, "--max-seconds 0 is no time", ""),
    "no file": (["none.csv", "--target", "kind"], 1, "none.csv: No such file", ""),
    "folds": (["kinds.csv", "--target", "kind", "--folds", "70"], 1, "cv=70 folds of 60 rows", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_commands_get_one_sentence(folder, name):
    arguments, code, sentence, remedy = WRONG[name]
    result = run("compare", *arguments)
    assert result.exit_code == code, result.output
    told = [line for line in result.stderr.splitlines() if line.startswith("exactcp: ") and "warning" not in line]
    assert len(told) == 1
    assert sentence in told[0]
    assert remedy in told[0]
    assert "TRAIN" not in told[0]
    assert not result.stdout
