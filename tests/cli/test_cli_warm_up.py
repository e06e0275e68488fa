"""`exactcp warm-up`: after it, the first call of a process compiles nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from exactcp import _kernel_cache, _warming
from exactcp._warming import JOBS, Warmed
from exactcp.cli import app

PREAMBLE = """
import numpy as np, pandas as pd
from exactcp import *
from exactcp.measures import *
from exactcp._compiling import STOPWATCH
rng = np.random.default_rng(1)
X = rng.normal(size=(300, 4))
targets = X[:, 0] + rng.normal(size=300)
y = np.where(targets > 0, "a", "b")
many, labels = np.tile(X, (6, 1)), np.tile(y, 6)  # so many that screened products answer
wide = np.tile(many, 20).astype(np.float32)
"""
# what users of a family begin with
FIRST_CALLS = {
    "anomaly": "ConformalAnomalyDetector().fit(X).predict(X[:7])",
    "clustering": "ConformalClusterer(n_grid=20).fit(X[:100, :2])",
    "forest": "FullConformalClassifier(RandomForest(random_state=1)).fit(X[:100], y[:100]).predict_set(X[:2])",
    "kde": "FullConformalClassifier(KDE(bandwidth=0.5)).fit(X, y).predict_p(X[:7])",
    "knn": "FullConformalClassifier().fit(pd.DataFrame(many), labels).predict_set(pd.DataFrame(many), 0.9)",
    "knn-float32": "FullConformalClassifier().fit(wide, labels).predict_p(wide)",
    "knn-labels": "FullConformalClassifier().fit(many, np.arange(1800) % 60).predict_p(many)",
    "knn-metrics": "FullConformalClassifier(KNN(metric='cosine')).fit(many, labels).predict_p(many)",
    "knn-trees": "FullConformalClassifier(KNN(search='tree')).fit(X, y).predict_p(X[:1])",
    "knn-regression": "FullConformalRegressor().fit(X, targets).predict_interval(X[:7])",
    "lasso": "FullConformalRegressor(LassoResidual(0.2)).fit(X, targets).predict_interval(X[:7])",
    "lssvm": "FullConformalClassifier(LSSVM(rho=2.0)).fit(X, y).predict_p(X[:7])",
    "ridge": "FullConformalRegressor(RidgeResidual()).fit(X, targets).predict_interval(X[:7])",
    "split": "SplitConformalClassifier().fit(X, y).predict_set(X[:7])",
    "stream": "ExchangeabilityTest().update_many(X)",
    "venn": "VennPredictor().fit(X, y).predict_proba(X[:7])",
}


def run(*words):
    return CliRunner().invoke(app, ["warm-up", *words])


def test_every_family_is_listed_and_tried_below():
    result = run("--list")
    assert result.exit_code == 0
    assert result.stdout.split() == sorted(JOBS) == sorted(FIRST_CALLS)


def test_families_are_warmed_once_and_the_cache_is_told(tmp_path, monkeypatch):
    def warm(families, processes):
        assert (families, processes) == (["kde", "knn"], 3)
        yield Warmed("knn", 40, 9.5)
        (folder / "kernel").write_bytes(bytes(1_234_567))
        yield Warmed("kde", 2, 1.0)

    folder = tmp_path / "cache" / ("0" * 32)
    monkeypatch.setattr(_kernel_cache, "FOLDER", folder)
    monkeypatch.setattr(_warming, "warm_families", warm)
    result = run("kde", "knn", "kde", "--jobs", "3")
    assert result.exit_code == 0
    assert result.stdout == f"compiled 42 kernels; {folder} holds 1.2 MB.\n"
    lines = ["knn: 40 kernels in 9.5 s", "kde: 2 kernels in 1.0 s"]
    assert [line for line in result.stderr.splitlines() if "kernels" in line] == lines


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["knm"], "there is no family 'knm'. Did you mean knn?"),
        (["zebra"], "there is no family 'zebra'. Use some of anomaly, clustering,"),
        (["--jobs", "0"], "--jobs 0 is too few: use 1 or more."),
    ],
)
def test_what_cannot_be_meant_is_a_sentence(words, sentence):
    result = run(*words)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_where_nothing_can_be_written_it_says_so(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(_kernel_cache, "FOLDER", tmp_path / "file" / "folder")
    monkeypatch.setattr(_warming, "warm_families", pytest.fail)
    result = run("kde")
    assert result.exit_code == 1
    assert "set NUMBA_CACHE_DIR to a folder that can be written." in result.stderr


def test_a_job_that_dies_is_told(monkeypatch):
    monkeypatch.setattr(_warming.sys, "executable", "false")
    with pytest.raises(RuntimeError, match="the kernels of kde were not compiled: it ended with 1"):
        list(_warming.warm_families(["kde"], 1))


@pytest.mark.slow  # it compiles
@pytest.mark.parametrize("family", sorted(JOBS))
def test_after_it_the_first_call_of_a_process_compiles_nothing(family, tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def say(*words):
        return subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, check=True).stdout

    program = f"{PREAMBLE}{FIRST_CALLS[family]}\nprint(STOPWATCH.kernels)"
    told = say("-m", "exactcp", "warm-up", family)
    assert re.fullmatch(r"compiled \d+ kernels?; (.*) holds \d+\.\d MB\.\n", told)
    assert say("-c", program) == "0\n"
    assert say("-m", "exactcp", "warm-up", family).startswith("nothing was left to compile; ")
