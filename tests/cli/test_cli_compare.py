"""`exactcp compare`: what it prints is what the library returns, and its commands can be pasted."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import exactcp
from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.cli._compare import command_lines, options_of
from exactcp.measures import LSSVM

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture(autouse=True)
def one_thread_of_openmp():
    """Boosting spins on busy machines."""
    with threadpool_limits(1, user_api="openmp"):
        yield


@pytest.mark.filterwarnings("ignore:The choice among")
def test_json_is_what_the_library_returns(summary, monkeypatch):
    calls, compare = [], exactcp.compare

    def few(X, y, predictors, *more, **options):
        calls.append((X, y, predictors, *more))
        predictors = {"full KNN": FullConformalClassifier(), "full LSSVM linear": FullConformalClassifier(LSSVM())}
        return compare(X.drop(columns="color"), y, predictors, *more, **options)

    monkeypatch.setattr(exactcp, "compare", few)
    said = summary("compare train.csv -t kind --ignore price --folds 2 --seed 3 -c 0.8")
    ((X, y, predictors, *more),) = calls
    assert (predictors, more) == (None, [0.8, 2, 3])
    table = pd.read_csv("train.csv")
    assert [*X.columns] == ["x", "z", "paid", "color"]
    np.testing.assert_array_equal(X[["x", "z"]], table[["x", "z"]])
    assert y.tolist() == table["kind"].tolist()
    frame = few(X, y, None, 0.8, 2, 3)
    assert [row["predictor"] for row in said["rows"]] == frame.index.tolist()
    for name in ("coverage", "coverage_low", "coverage_high", "set_size", "fuzziness", "best"):
        assert [row[name] for row in said["rows"]] == frame[name].tolist()
    assert {name: said[name] for name in ("best", "python", "guarantee", "task")} == {
        name: frame.attrs[name] for name in ("best", "python", "guarantee", "task")
    }


@pytest.mark.filterwarnings("ignore:The choice among")
def test_the_table_is_for_people_and_its_commands_run(done, run, monkeypatch):
    table = pd.read_csv("prices_train.csv")
    predictors = {"full KNNResidual": FullConformalRegressor(), "bad": FullConformalRegressor(n_jobs="x")}
    frame = exactcp.compare(table[["x", "z"]].to_numpy(), table["price"], predictors, cv=2, random_state=0)
    monkeypatch.setattr(exactcp, "compare", lambda *_, **__: frame)
    command = "compare train.csv --target price --ignore kind -c 0.8"
    told = done(command).stdout
    expected = ("coverage_low", "interval_score", "bad: failed: n_jobs='x'", "in Python: full KNN", "may be a little")
    assert [words for words in expected if words not in told] == []
    commands = [line for line in told.splitlines() if line.startswith("exactcp ")]
    said = json.loads(done(f"{command} --json").stdout)
    assert commands == [said["command"], said["fit_command"]]
    pd.read_csv("new.csv").to_csv("NEW.csv", index=False)
    for line in commands:
        assert run(shlex.split(line)[1:]).exit_code == 0, line
    expected = done("predict train.csv NEW.csv -t price --ignore kind --seed 0 -c 0.8").stdout
    assert run(shlex.split(commands[0])[1:]).stdout == expected


def test_commands_read_the_file_alike():
    typed = {"target": "my target", "task": "regression", "seed": 4, "impute": True, "drop_missing_target": False}
    typed |= {"categorical": ["a", "b c"], "ignore": None, "separator": ";", "decimal": ",", "confidence": 0.9}
    predict, fit = command_lines("full RidgeResidual rbf", Path("my file.csv"), typed, "regression")
    use = "--method full --measure ridge --option kernel=rbf --seed 4 --task regression --impute"
    options = f"--target 'my target' {use} --categorical a --categorical 'b c' --separator ';' --decimal ,"
    assert predict == f"exactcp predict 'my file.csv' NEW.csv {options} --confidence 0.9"
    assert fit == f"exactcp fit 'my file.csv' {options} --save model.exactcp"
    assert command_lines("mine [b]", Path("my file.csv"), typed, "regression") is None  # a predictor of one's own


@pytest.mark.slow  # it fits all predictors
@pytest.mark.filterwarnings("ignore:The choice among")
@pytest.mark.parametrize("task", ["kind", "price"])
def test_every_candidate_that_has_a_command_can_be_used(task, run):
    table = pd.read_csv("train.csv")
    frame = exactcp.compare(table[["x", "z"]], table[task], cv=2, random_state=0, max_seconds=60)
    kind = "classification" if task == "kind" else "regression"
    options = {name: options_of(name, kind) for name in frame.index}
    assert {name for name, use in options.items() if use is None} <= {
        "split CQR HistGradientBoosting", "split HistGradientBoosting difficulty knn",
    }  # fmt: skip
    table[:2].to_csv("few.csv", index=False)
    for use in filter(None, options.values()):
        if "random-forest" not in use:
            result = run(f"predict {task}s_train.csv few.csv -t {task} --seed 0 {use}")
            assert result.exit_code == 0, result.output


def test_missing_values_are_filled_without_targets(run, monkeypatch):
    table = pd.read_csv("train.csv")
    table.loc[[0, 7], "x"] = np.nan
    table.loc[3, "color"] = np.nan
    table.to_csv("holes.csv", index=False)
    assert "column 'x' (2 such rows): fill it, or use --impute" in run("compare holes.csv -t kind").stderr
    seen = []
    monkeypatch.setattr(exactcp, "compare", lambda X, *_, **__: seen.append(X))
    run("compare holes.csv -t kind --ignore price --impute")
    assert seen[0]["x"].to_list()[:8:7] == [table["x"].median()] * 2
    assert seen[0]["color"][3] == "missing"
