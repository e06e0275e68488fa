"""The app itself: help, errors, interruptions, the demo, warming up, and the page about it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import typer
from sklearn.datasets import load_iris

import exactcp
from exactcp import _compiling, _kernel_cache
from exactcp.__main__ import start
from exactcp._parallel import progress
from exactcp.cli import _warming, app

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
COMMANDS = ("compare", "predict", "fit", "inspect", "drift", "demo", "reproduce")


def test_help_lists_seven_commands_and_version(run):
    text = run("--help").output
    assert tuple(re.findall(rf"^\W*({'|'.join(COMMANDS)}|warm-up) ", text, re.MULTILINE)) == COMMANDS
    for word in ("--debug", "--version", "--install-completion"):
        assert word in text
    assert run("warm-up --help").exit_code == 0
    assert run("--version").output == f"exactcp {exactcp.__version__}\n"
    nothing = run("")
    assert (nothing.exit_code, "Usage: root [OPTIONS] COMMAND" in nothing.output) == (2, True)


def test_names_complete():
    named = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # not guessed from running processes
    script = subprocess.run(
        [sys.executable, "-m", "exactcp", "--show-completion", "bash"],
        capture_output=True, text=True, check=False, env=named,
    )  # fmt: skip
    assert "_EXACTCP_COMPLETE" in script.stdout


def test_an_error_is_one_sentence_and_debug_shows_where(run):
    command = "predict nothing.csv nothing.csv --target y"
    result = run(command)
    assert (result.exit_code, result.stderr) == (1, "exactcp: nothing.csv: No such file or directory.\n")
    for with_debug in (f"--debug {command}", f"{command} --debug"):
        shown = run(with_debug)
        assert shown.exit_code == 1
        assert shown.stderr.startswith("Traceback")
        assert shown.stderr.endswith(result.stderr)


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ValueError("k=0 is too small:\n  use 1."), 1, "exactcp: k=0 is too small: use 1.\n"),
        (KeyError("x"), 1, "exactcp: KeyError: 'x' (unexpected: run again with --debug to see where).\n"),
        (MemoryError("12 GiB"), 1, "exactcp: not enough memory (12 GiB): use fewer rows or columns.\n"),
        (KeyboardInterrupt(), 130, "exactcp: interrupted.\n"),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_whatever_goes_wrong_there_is_no_traceback(error, code, sentence, run, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("exactcp.experiments.demo.run_demo", fail)
    monkeypatch.setattr("exactcp.cli._app._close_standard_output", lambda: None)  # that of the tests
    result = run("demo")
    assert (result.exit_code, result.stderr) == (code, sentence)


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_says_what_to_install(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as caught:
        start()
    assert caught.value.code == (
        f'exactcp: The command line needs {package}, which is not installed: run python -m pip install "exactcp[cli]".'
    )


@pytest.mark.parametrize(
    "package", ["sklearn", *(pytest.param(other, marks=pytest.mark.slow) for other in ("typer", "numba", "pandas"))]
)
def test_an_interruption_while_importing_is_no_traceback(package, folder):
    shadow = folder / "shadow"
    shadow.mkdir()
    (shadow / f"{package}.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    paths = os.pathsep.join([str(shadow), os.environ.get("PYTHONPATH", "")])
    words = ["predict", "kinds_train.csv", "kinds_new.csv", "-t", "kind"]
    result = subprocess.run(
        [sys.executable, "-m", "exactcp", *words], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (130, "exactcp: interrupted.\n")


def test_a_program_that_imports_the_package_keeps_its_own_interruptions():
    code = "import signal, exactcp.cli; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"


def test_progress_needs_no_package(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert list(progress(iter("abc"), 3, 1, "reading")) == ["a", "b", "c"]
    assert capsys.readouterr().err == "reading: 3/3, done\n"


def test_compiling_is_told_once_and_only_where_it_is_wanted(monkeypatch):
    monkeypatch.setattr(_compiling, "NOTICE_AFTER", -1.0)
    told, watch = [], _compiling.Stopwatch()
    with _compiling.shown(told.append):
        for _ in range(3):
            watch.begin("exactcp.measures.forest.kernels.cuts", "here")
            watch.begin()
            watch.end()
            watch.end()
    assert (told, watch.kernels) == (["Compiling random-forest kernels (once; cached in here)."], 6)


# --- the demo


def test_the_demo_prints_its_table_and_writes_its_page(folder, run, summary):
    result = run("demo --confidence 0.9")
    assert result.exit_code == 0, result.output
    page = (folder / "exactcp-demo.html").read_text(encoding="utf-8")
    assert "Which digit is it?" in page
    assert "90\N{NO-BREAK SPACE}% sets" in result.output
    for heading in ("coverage", "set_size", "fuzziness", "fit_seconds"):
        assert heading in result.output
    assert len(re.findall(r"(full|split) +(KNN|SimplifiedKNN) ", result.output)) == 4
    assert "In 10 other random divisions, full CP covers" in result.output
    (folder / "exactcp-demo.html").unlink()
    told = summary("demo --report page.html")
    assert (told["report"], [row["predictor"] for row in told["rows"]]) == ("page.html", ["full", "split"] * 2)
    assert (folder / "page.html").exists()
    assert not (folder / "exactcp-demo.html").exists()


def test_the_demo_works_without_the_packages_of_reports(folder, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    result = run("demo")
    assert result.exit_code == 0
    assert "no report was written: a report needs jinja2" in result.stderr
    assert run("demo --report page.html").exit_code == 1


# --- warming up

FIRST_CALLS = {  # what users of a family begin with
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
PREAMBLE = """
import numpy as np, pandas as pd
from exactcp import *
from exactcp.measures import *
from exactcp import _compiling, _numpy_first
rng = np.random.default_rng(1)
X = rng.normal(size=(300, 4))
targets = X[:, 0] + rng.normal(size=300)
y = np.where(targets > 0, "a", "b")
many, labels = np.tile(X, (6, 1)), np.tile(y, 6)  # so many that screened products answer
wide = np.tile(many, 20).astype(np.float32)
"""


def test_every_family_is_listed(run):
    assert ", ".join(sorted(FIRST_CALLS)) in " ".join(run("warm-up --help").stdout.replace("│", " ").split())
    assert _warming.FAMILIES.keys() == FIRST_CALLS.keys()


def test_a_family_in_this_process_and_several_in_others(run, monkeypatch, tmp_path):
    monkeypatch.setattr(_kernel_cache, "FOLDER", tmp_path)
    monkeypatch.setattr(_warming, "_compile", lambda family: (tmp_path / family).write_bytes(bytes(1_234_567)))
    assert run("warm-up kde").stdout == f"compiled 1 kernels; {tmp_path} holds 1.2 MB.\n"
    monkeypatch.setattr(_warming, "_compile_elsewhere", lambda family: family)
    result = run("warm-up kde knn --jobs 2")
    assert result.stderr == "exactcp: kde: done.\nexactcp: knn: done.\n"
    monkeypatch.undo()
    monkeypatch.setattr(_warming.sys, "executable", "false")
    failed = run("warm-up kde knn")
    assert "the kernels of kde were not compiled: it ended with 1" in failed.stderr


def test_where_nothing_can_be_written_it_says_so(tmp_path, run, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(_kernel_cache, "FOLDER", tmp_path / "file" / "folder")
    result = run("warm-up kde")
    assert result.exit_code == 1
    assert "set NUMBA_CACHE_DIR to a folder that can be written." in result.stderr


@pytest.mark.slow  # it compiles
@pytest.mark.parametrize("family", sorted(FIRST_CALLS))
def test_after_it_the_first_call_of_a_process_compiles_nothing(family, tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}

    def say(*words):
        return subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, check=True).stdout

    assert re.fullmatch(r"compiled \d+ kernels; (.*) holds \d+\.\d MB\.\n", say("-m", "exactcp", "warm-up", family))
    kernels = "print(_compiling.STOPWATCH.kernels)"
    assert say("-c", f"{PREAMBLE}with _numpy_first.forced(numpy=False): {FIRST_CALLS[family]}\n{kernels}") == "0\n"


# --- the page


def test_the_page_names_options_that_exist():
    text = PAGE.read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    shared = {option for parameter in group.params for option in parameter.opts} | {"--help"}
    own = {option for command in group.commands.values() for one in command.params for option in one.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= own | shared
    assert {name for name in COMMANDS if f"exactcp {name}" not in text} == set()


def test_the_commands_of_the_page_run(folder, run):
    flowers = load_iris(as_frame=True).frame.rename(columns={"target": "species"}).sample(60, random_state=0)
    flowers.assign(species=flowers["species"].map(dict(enumerate("svi"))))[:50].to_csv("flowers.csv", index=False)
    flowers.drop(columns="species")[50:].to_csv("new.csv", index=False)
    flowers.drop(columns="species").to_csv("stream.csv", index=False)
    flowers.drop(columns="species").to_csv("before.csv", index=False)
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("exactcp")]
    ran = 0
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        if words[0] in ("predict", "fit", "inspect", "drift") and "-" not in words:  # the others take a minute
            result = run(words)
            assert result.exit_code == 0, (line, result.output)
            ran += 1
    assert ran >= 8
    assert {"prediction", "set_text", "p_s"} <= {*pd.read_csv("sets.csv").columns}
