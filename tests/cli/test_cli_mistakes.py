"""Mistakes on the command line, in one table: each gets one sentence and an exit code; none a traceback.

What tables hold is with `test_spec.py`, broken files with `test_files.py`, streams with `test_drift.py`.
"""

from __future__ import annotations

import zipfile
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import exactcp
from exactcp import FullConformalClassifier
from exactcp.cli import app

TYPED, DATA = 2, 1  # exit codes: of what was typed wrong, and of what files hold


class Mistake(NamedTuple):
    """A command, the exit code, and a piece of the sentence."""

    command: str
    code: int
    sentence: str


def predict(options: str, code: int, sentence: str) -> Mistake:
    return Mistake(f"predict kinds.csv kinds.csv -t kind {options}", code, sentence)


def one(options: str, sentence: str) -> Mistake:
    return Mistake(f"predict kinds.csv -t kind {options}", TYPED, sentence)


def prices(options: str, code: int, sentence: str) -> Mistake:
    return Mistake(f"predict prices.csv prices.csv -t price {options}", code, sentence)


def model(rest: str, sentence: str) -> Mistake:
    return Mistake(f"predict model.exactcp {rest}", TYPED, sentence)


def file(name: str, sentence: str) -> Mistake:
    return Mistake(f"predict --model {name} kinds.csv", DATA, sentence)


def drift(options: str, code: int, sentence: str) -> Mistake:
    return Mistake(f"drift kinds.csv --ignore kind {options}", code, sentence)


def fit(options: str, code: int, sentence: str) -> Mistake:
    return Mistake(f"fit kinds.csv -t kind {options}", code, sentence)


MISTAKES = {
    # the command
    "no such command": Mistake("forecast kinds.csv", TYPED, "No such command 'forecast'"),
    "no file at all": Mistake("predict -t kind", TYPED, "Missing argument 'TRAIN|MODEL'"),
    "an unknown option": predict("--nope", TYPED, "No such option: --nope"),
    # options
    "no target": Mistake("predict kinds.csv kinds.csv", TYPED, "--target is missing: name the column to predict"),
    "a target that is nearly there": Mistake("predict kinds.csv kinds.csv -t Kind", TYPED, "Did you mean kind?"),
    "another method": predict("--method half", TYPED, "Invalid value for '--method'"),
    "an unknown measure": predict("--measure knm", TYPED, "--measure knm is not a measure: use one of nn, kde, knn,"),
    "a measure of the other task": predict("-m ridge", TYPED, "--measure ridge is for regression"),
    "a measure of the other task, too": prices("-m lssvm", TYPED, "--measure lssvm is for classification"),
    "an option of no measure": predict("--option q=5", TYPED, "KNN has no such parameter; it has: k, metric"),
    "an option without a value": predict("--option k", TYPED, "--option k is not NAME=VALUE"),
    "a model without its name": predict("-m model", TYPED, "--measure model: it needs an estimator"),
    "an unknown model": predict("-m model --option estimator=SVM", TYPED, "is not a classifier of scikit-learn"),
    "a level in percent": predict("-c 95", TYPED, "--confidence 95 is not a probability: use a number between 0 and 1"),
    "a level twice": predict("-c 0.9 -c 0.9", TYPED, "--confidence 0.9 is given 2 times"),
    "ignoring what is not there": predict("--ignore zzz", TYPED, "--ignore zzz is not a column of TRAIN"),
    "categories that are not there": predict("--categorical zzz", TYPED, "--categorical zzz is not a column"),
    "an id that is not there": predict("--id zzz", TYPED, "--id zzz is not a column of TEST, which has x, z, kind."),
    "groups that are not there": predict("--mondrian kinds", TYPED, "x, z, kind. Did you mean kind?"),
    "label and columns": predict("--mondrian label,x", TYPED, "--mondrian label cannot be combined with columns"),
    "no threads": predict("--jobs 0", TYPED, "Invalid value for '--jobs'"),
    "a separator of two": predict("--separator ;;", TYPED, "--separator ';;' is not one character"),
    # files
    "no such file": Mistake("predict nothing.csv kinds.csv -t kind", DATA, "nothing.csv: No such file or directory."),
    "a directory": Mistake("predict . kinds.csv -t kind", TYPED, ". is a directory"),
    "a pattern": Mistake("predict k*.parquet kinds.csv -t kind", TYPED, "is a pattern of several files: name one file"),
    "standard input twice": Mistake("predict - - -t kind", TYPED, "standard input can be read once"),
    "other separators": Mistake("predict semicolons.csv kinds.csv -t kind", TYPED, "Use --separator if the cells"),
    "a report nowhere": predict("--report no/where.html", TYPED, "is in a directory that does not exist"),
    "a report that is a PDF": predict("--report x.pdf", TYPED, "x.pdf ends in .pdf, which is not written here"),
    "a report into a stream": predict("--report -", TYPED, "- is standard output, which has results alone"),
    "rows of old Excel": predict("--output x.xls", TYPED, "x.xls ends in .xls, which is not written here: use .csv, "),
    "rows into what is read": predict("--output kinds.csv", TYPED, "kinds.csv is TRAIN, which would be lost"),
    "rows and page in one": predict("--output both --report ./both", TYPED, "both is --report, which would be lost"),
    # one file
    "nothing to predict": one("", "there are no rows to predict: name a second file, or"),
    "a share of two files": predict("--holdout 0.2", TYPED, "TEST and --holdout both say which rows to predict"),
    "a share and folds": one("--folds 2 --holdout 0.2", "--holdout and --folds both say which rows to predict"),
    "all of the rows": one("--holdout 1", "--holdout 1 is not a share of the rows"),
    "no number": one("--holdout nan", "is not a share of the rows"),
    "more folds than rows": one("--folds 61", "--folds 61 needs as many rows, and TRAIN has 60"),
    # the task
    "cv+ of labels": predict("--method cv+", TYPED, "--method cv+ is for regression, and the task is classification"),
    "cv+ of labels, as typed": predict("--task classification --method cv+", TYPED, "--method cv+ is for regression"),
    "labels without labels": prices("--mondrian label", TYPED, "--mondrian label is for classification"),
    "smoothed folds": prices("--method cv+ --smoothed", TYPED, "--smoothed needs p-values, and --method cv+ has none"),
    "groups of folds": prices("--method jackknife+ --mondrian x", TYPED, "--mondrian needs p-values, and --method j"),
    # what the library refuses
    "no neighbours": predict("--option k=0", DATA, "k=0"),
    "neighbours in words": predict("--option k=many", DATA, "k='many'"),
    "an unknown metric": predict("--option metric=crow", DATA, "crow"),
    # models
    "fitting without a place": fit("", TYPED, "Missing option '--save'"),
    "fitting into the air": fit("--save -", TYPED, "- is standard output, which has results alone"),
    "fitting into a table": fit("--save model.csv", TYPED, "--save model.csv has the name of a table or a page"),
    "fitting into what is read": fit("-o link", TYPED, "link is DATA, which would be lost"),
    "fitting at a level": fit("-o m.exactcp -c 0.9", TYPED, "No such option: -c"),
    "fitting no neighbours": fit("--option k=0 -o m.exactcp", DATA, "k=0"),
    "no such model": file("no.exactcp", "no.exactcp: No such file or directory."),
    "a model and nothing": model("", "model.exactcp is a model: name the rows to predict, as in exactcp"),
    "a model and a target": model("kinds.csv -t kind", "--target cannot be combined with a saved model"),
    "a model and a measure": model("kinds.csv -m knn", "--measure cannot be combined with a saved model: leave it out"),
    "a model and two files": Mistake(
        "predict kinds.csv kinds.csv --model model.exactcp", TYPED, "--model predicts the rows of one file"
    ),
    "ids that new rows lack": model("kinds.csv --id nam", "--id nam is not a column of NEW"),
    "a model that is a table": file("kinds.csv", "kinds.csv is damaged, or no file of exactcp.save"),
    "a model that is an archive": file("foreign.zip", "is a zip archive that exactcp.save has not written"),
    "a model that was cut off": file("cut.exactcp", "cut.exactcp is damaged, or no file of exactcp.save"),
    "a model of Python": file("python.skops", "was saved in Python and does not say which columns it takes"),
    "inspecting nothing": Mistake("inspect", TYPED, "Missing argument 'MODEL'"),
    "inspecting a stream": Mistake("inspect -", TYPED, "a model is read from a file, not from standard input"),
    # compare and drift
    "comparing by nothing": Mistake("compare kinds.csv -t kinds", TYPED, "--target kinds is not a column of DATA"),
    "comparing at 90": Mistake("compare kinds.csv -t kind -c 90", TYPED, "between 0 and 1, such as 0.9."),
    "comparing at once": Mistake("compare kinds.csv -t kind --max-seconds 0", TYPED, "value for '--max-seconds'"),
    "comparing in many folds": Mistake("compare kinds.csv -t kind --folds 70", TYPED, "needs as many rows, and DATA"),
    "streams of what is not there": drift("-t zzz", TYPED, "--target zzz is not a column of the stream, which has x,"),
    "streams without": drift("--ignore zzz", TYPED, "--ignore zzz is not a column"),
    "streams of no targets": drift("--task regression", TYPED, "--task regression needs a target: name its column"),
    "categories of a stream": drift("--categorical x", TYPED, "--categorical needs --reference"),
    "streams of the other task": drift("-m ridge", TYPED, "is for regression"),
    "streams of no option": drift("--option q=1", TYPED, "SimplifiedKNN has no such parameter"),
    "certain alarms": drift("--threshold 0.5", TYPED, "use a number above 1"),
    "no such reference": drift("--reference nothing.csv", DATA, "nothing.csv: No such file or directory."),
    "another reference": Mistake("drift kinds.csv --reference prices.csv", DATA, "lacks column 'price', which"),
    "no neighbours in a stream": drift("--option k=0", DATA, "row 1: k=0"),
    # other commands
    "a demo in percent": Mistake("demo -c 95", TYPED, "use a number between 0 and 1, such as 0.95."),
    "a demo nowhere": Mistake("demo --report no/where.html", TYPED, "is in a directory that does not exist"),
    "a demo into a stream": Mistake("demo --report -", TYPED, "- is standard output"),
    "an unknown experiment": Mistake("reproduce figure9", TYPED, "there is no experiment 'figure9': use one of"),
    "data of another": Mistake("reproduce figure1 --data x.npz", TYPED, "--data is for mnist; the data of figure1 are"),
    "no time": Mistake("reproduce figure1 --timeout 0", TYPED, "Invalid value for '--timeout'"),
    "an unknown family": Mistake("warm-up knm", TYPED, "there is no family 'knm'. Did you mean knn?"),
    "families in the wild": Mistake("warm-up zebra", TYPED, "there is no family 'zebra'. Use some of anomaly, clust"),
}  # fmt: skip


@pytest.fixture(scope="module")
def mistakes_folder(tmp_path_factory):
    """Files that mistakes are made with; nothing is written among them."""
    here = tmp_path_factory.mktemp("mistakes")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "z": 100 * rng.normal(size=60)})
    kinds = table.assign(kind=np.where(table["x"] > 0, "a", "b"))
    kinds.to_csv(here / "kinds.csv", index=False)
    kinds.to_csv(here / "semicolons.csv", index=False, sep=";")
    kinds.assign(x=[np.nan, *kinds["x"][1:]]).to_csv(here / "gap.csv", index=False)
    (here / "link").symlink_to("kinds.csv")
    table.assign(price=np.exp(table["x"])).to_csv(here / "prices.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        assert CliRunner().invoke(app, ["fit", "kinds.csv", "-t", "kind", "-o", "model.exactcp"]).exit_code == 0
    exactcp.save(FullConformalClassifier().fit(table.to_numpy(), np.arange(60) % 2), here / "python.skops")
    with zipfile.ZipFile(here / "foreign.zip", "w") as file:
        file.writestr("hello.npy", "hello")
    (here / "cut.exactcp").write_bytes((here / "model.exactcp").read_bytes()[:2000])
    return here


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_gets_one_sentence(name, mistakes_folder, monkeypatch, run):
    monkeypatch.chdir(mistakes_folder)
    mistake = MISTAKES[name]
    before = {path.name: path.read_bytes() for path in mistakes_folder.iterdir()}
    result = run(mistake.command)
    assert result.exit_code == mistake.code, result.output
    assert result.stdout == ""
    assert mistake.sentence in result.stderr
    (sentence,) = [line for line in result.stderr.splitlines() if "random folds" not in line]
    assert sentence.startswith("exactcp: ")
    assert sentence.endswith((".", "?"))
    assert "(unexpected" not in sentence
    assert {path.name: path.read_bytes() for path in mistakes_folder.iterdir()} == before


@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        ("predict kinds.csv kinds.csv -t kind --confidence 95", "{'numba', 'sklearn', 'scipy', 'pandas'}"),
        ("predict kinds.csv nothing.csv -t kind", "{'numba', 'sklearn', 'scipy', 'pandas'}"),
        ("predict kinds.csv kinds.csv -t kinds", "{'numba', 'sklearn', 'scipy'}"),
        ("fit kinds.csv -t kinds -o m.exactcp", "{'numba', 'sklearn', 'skops'}"),
        ("predict gap.csv -t kind --folds 3", "{'numba', 'sklearn'}"),
        ("drift kinds.csv --threshold 0", "{'numba', 'sklearn', 'scipy', 'pandas'}"),
        ("--help", "{'numba', 'sklearn', 'scipy', 'pandas', 'numpy'}"),
    ],
)
def test_mistakes_are_told_before_heavy_imports(command, heavy, mistakes_folder):
    import subprocess
    import sys

    code = f"""
import sys
from exactcp.cli import app
try:
    app({command.split()})
except SystemExit:
    print(sorted({heavy} & {{*sys.modules}}), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=mistakes_folder)
    assert done.stderr.splitlines()[-1] == "[]"
