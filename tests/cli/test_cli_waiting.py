"""What one waits for is told beforehand: a long prediction, and kernels that are compiled for the first time."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from exactcp import _compiling
from exactcp.cli import app

N = 40


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=N), "z": rng.normal(size=N)})
    table.assign(kind=np.where(table["x"] > 0, "a", "b")).to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)


def run(*options):
    words = ["predict", "data.csv", "--target", "kind", "--measure", "knn", "--option", "k=2", "--json", *options]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(("seconds", "is_told"), [(75.0, True), (9.0, False), (math.nan, False)])
@pytest.mark.parametrize("parts", [["--holdout", "0.5"], ["--folds", "2"]])
def test_a_long_prediction_is_told_before_and_while_it_runs(seconds, is_told, parts, monkeypatch):
    asked = []

    def expect(predictor, X, y, folds, question, *, enough):
        assert enough < 1
        asked.append([(training.size, test.size) for training, test in folds])
        tried = question(predictor, X, y, (folds[0][0][:10], folds[0][1][:5]))
        assert tried.fit_seconds > 0
        assert tried.predict_seconds > 0
        return seconds

    monkeypatch.setattr("exactcp.cli._pilot.expect_seconds", expect)
    monkeypatch.setattr("exactcp.cli._waiting.WORTH_TRYING", 1)
    said = run(*parts).stderr
    rows = N if parts[0] == "--folds" else N // 2
    assert (f"exactcp: predicting {rows} rows takes about 75 s." in said) == is_told
    assert ("done" in said) == is_told  # a line of progress, where there is no terminal
    assert asked == [[(20, 20)] * (2 if parts[0] == "--folds" else 1)]


def test_short_predictions_are_not_tried(monkeypatch):
    monkeypatch.setattr("exactcp.cli._pilot.expect_seconds", pytest.fail)
    run("--holdout", "0.5")


@pytest.mark.parametrize(("seconds", "is_told"), [(75.0, True), (9.0, False)])
@pytest.mark.parametrize("method", ["full", "split"])
def test_a_long_fit_is_told_before_it_begins(seconds, is_told, method, monkeypatch):
    monkeypatch.setattr("exactcp.cli._pilot.expect_seconds", lambda *_, **__: seconds)
    monkeypatch.setattr("exactcp.cli._waiting.WORTH_FITTING", 1)
    words = ["fit", "data.csv", "--target", "kind", "--measure", "knn", "--option", "k=2", "--method", method]
    result = CliRunner().invoke(app, [*words, "--save", "model.exactcp"])
    assert result.exit_code == 0, result.output
    assert ("exactcp: learning from 40 rows takes about 75 s." in result.stderr) == is_told


def test_a_saved_model_is_asked_about_few_rows_first(monkeypatch):
    words = ["fit", "data.csv", "--target", "kind", "--measure", "knn", "--option", "k=2", "--save", "model.exactcp"]
    assert CliRunner().invoke(app, words).exit_code == 0
    monkeypatch.setattr("exactcp.cli._waiting.WORTH_ASKING", 1)
    monkeypatch.setattr("exactcp.cli._waiting._timed", lambda _, X: (None, 2.0 + len(X)))
    result = CliRunner().invoke(app, ["predict", "--model", "model.exactcp", "data.csv"])
    assert "predicting 40 rows takes about 42 s." in result.stderr  # 2 and 1 for each


@pytest.mark.parametrize(("loaded", "expected"), [(0, 0.2), (1, 0.1)])
def test_a_try_in_which_kernels_were_loaded_is_timed_again(loaded, expected, monkeypatch):
    from exactcp.cli import _waiting

    seconds = iter([0.2, 0.1])

    def timed(work):
        work()
        return "done", next(seconds)

    def work():
        _compiling.STOPWATCH.loaded += loaded

    monkeypatch.setattr(_waiting, "_timed", timed)
    assert _waiting._timed_warm(work) == ("done", expected)


@pytest.mark.parametrize(("each", "times"), [(0.7, 1), (0.1, 0)])
def test_compiling_is_told_once_if_one_waits_for_it(each, times, monkeypatch, capsys):
    from exactcp.cli._waiting import telling_of_compiling

    now = [100.0]
    monkeypatch.setattr(_compiling.NOTICE, "was_given", False)
    monkeypatch.setattr(_compiling.time, "perf_counter", lambda: now[0])
    watch = _compiling.STOPWATCH
    with telling_of_compiling():
        for _ in range(5):
            now[0] += 50  # of work, which is not compiling
            watch.begin()
            watch.begin()  # a kernel that the first one calls
            now[0] += each
            watch.end()
            now[0] += each
            watch.end()
    assert capsys.readouterr().err.count("compiling what is used for the first time, once") == times
    assert watch.listener is _compiling.NOTICE
    assert _compiling.NOTICE.was_given == bool(times)  # it is not said again
