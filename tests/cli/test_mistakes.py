"""Mistakes on the command line, in one table: each gets a sentence and an exit code; none a traceback, none silence.

What streams get wrong is with `drift`, what unpacks wrongly with files, and what columns hold with columns.
"""

from __future__ import annotations

import json
import zipfile
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import exactcp
from exactcp import FullConformalClassifier
from exactcp.cli import app

GOOD = "x,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(30))
TEXTS = "x,kind\n" + "".join(f"t{i},{'ab'[i % 2]}\n" for i in range(150))
TYPED, DATA = 2, 1  # exit codes: of what was typed wrong, and of what files hold


class Mistake(NamedTuple):
    """A command, the exit code, a piece of the sentence, and files beside those that are always there."""

    command: str
    code: int
    sentence: str
    files: dict[str, str | bytes] = {}
    stdin: str | None = None


def predict(options: str, code: int, sentence: str) -> Mistake:
    return Mistake(f"predict kinds.csv kinds.csv --target kind {options}", code, sentence)


def folds(options: str, sentence: str) -> Mistake:
    return Mistake(f"predict kinds.csv --target kind --folds 2 {options}", TYPED, sentence)


def prices(options: str, code: int, sentence: str) -> Mistake:
    return Mistake(f"predict prices.csv prices.csv --target price {options}", code, sentence)


def train(content: str, code: int, sentence: str) -> Mistake:
    return Mistake("predict bad.csv good.csv --target kind", code, sentence, {"bad.csv": content, "good.csv": GOOD})


def test(content: str, sentence: str) -> Mistake:
    return Mistake("predict good.csv bad.csv --target kind", DATA, sentence, {"bad.csv": content, "good.csv": GOOD})


def new(content: str, sentence: str, options: str = "") -> Mistake:
    return Mistake(f"predict --model model.exactcp new.csv {options}", DATA, sentence, {"new.csv": content})


def model(rest: str, code: int, sentence: str) -> Mistake:
    return Mistake(f"predict --model model.exactcp {rest}", code, sentence)


def file(name: str, sentence: str) -> Mistake:
    return Mistake(f"predict --model {name} kinds.csv", DATA, sentence)


def bad(name: str, content: str | bytes, sentence: str) -> Mistake:
    return Mistake(f"predict {name} kinds.csv --target kind", DATA, sentence, {name: content})


def one(options: str, sentence: str) -> Mistake:
    return Mistake(f"predict kinds.csv --target kind {options}", TYPED, sentence)


def fit(options: str, code: int, sentence: str) -> Mistake:
    return Mistake(f"fit kinds.csv --target kind --measure knn {options}", code, sentence)


test.__test__ = False  # type: ignore[attr-defined]

MISTAKES = {
    # the command
    "no such command": Mistake("forecast kinds.csv", TYPED, "No such command 'forecast'"),
    "no file at all": Mistake("predict --target kind", TYPED, "Missing argument 'TRAIN'"),
    "an option that there is not": predict("--nope", TYPED, "No such option"),
    "an option without its value": Mistake("predict kinds.csv kinds.csv --target", TYPED, "requires an argument"),
    "three files": predict("kinds.csv", TYPED, "unexpected extra argument"),
    # what options may be
    "no target": Mistake("predict kinds.csv kinds.csv", TYPED, "--target is missing: name the column to predict"),
    "a target that is nearly there": Mistake("predict kinds.csv kinds.csv --target Kind", TYPED, "Did you mean kind?"),
    "another task": predict("--task guess", TYPED, "Invalid value for '--task'"),
    "another scale": predict("--scale big", TYPED, "Invalid value for '--scale'"),
    "other categories": predict("--mondrian row", TYPED, "Invalid value for '--mondrian'"),
    "another method": predict("--method half", TYPED, "Invalid value for '--method'"),
    "another use of dates": predict("--dates years", TYPED, "Invalid value for '--dates'"),
    "a measure that is none": predict("--measure nonsense", TYPED, "--measure nonsense is not a measure"),
    "a measure of the other task": predict("--measure ridge", TYPED, "--measure ridge is for regression"),
    "an option of no measure": predict("--option q=5", TYPED, "KNN has no such option; it has: k, metric"),
    "an option without a value": predict("--option k", TYPED, "is not NAME=VALUE"),
    "a model without its name": predict("--measure model", TYPED, "it needs an estimator"),
    "a model that is none": predict("--measure model --option estimator=os", TYPED, "is not a classifier of scikit"),
    "a level in percent": predict("--confidence 95", TYPED, "use a number between 0 and 1"),
    "a level twice": predict("--confidence 0.9 --confidence 0.9", TYPED, "is given 2 times"),
    "a second level that is none": predict("--confidence 0.9 --confidence 2", TYPED, "--confidence 2.0 is not a prob"),
    "a level that is no number": predict("--confidence high", TYPED, "Invalid value for '--confidence'"),
    "ignoring what is not there": predict("--ignore zzz", TYPED, "--ignore zzz is not a column"),
    "categories that are not there": predict("--categorical zzz", TYPED, "--categorical zzz is not a column"),
    "an id that is not there": predict("--id zzz", TYPED, "--id zzz is not a column of the rows that are predicted"),
    "an image without sides": predict("--image huge", TYPED, "write HEIGHTxWIDTH"),
    "an image of another size": predict("--image 3x3", TYPED, "--image 3x3 has 9 pixels, and a row has 2 columns"),
    "a report nowhere": predict("--report no/where.html", TYPED, "a directory that does not exist"),
    "a report that is a PDF": predict("--report x.pdf", TYPED, "x.pdf ends in .pdf, which is not written here"),
    "a report that is a table": predict("--report x.csv", TYPED, "use .html"),
    "rows nowhere": predict("--output no/where.csv", TYPED, "a directory that does not exist"),
    "rows of old Excel": predict("--output x.xls", TYPED, "x.xls ends in .xls, which is not written here: use .csv, "),
    "rows of JSON": predict("--output x.json", TYPED, ".parquet"),
    "rows in a zip": predict("--output x.csv.zip", TYPED, "use .csv, .csv.gz, "),
    "rows into what is read": predict("--output kinds.csv", TYPED, "is TRAIN, which would be lost"),
    "rows and page in one": predict("--output both --report ./both", TYPED, "is --output, which would be lost"),
    "page and rows in one stream": predict("--report -", TYPED, "would share standard output"),
    "a seed beyond all": predict(f"--seed {2**40}", TYPED, "below 2**32"),
    "a seed below all": predict("--seed -1", TYPED, "Invalid value for '--seed'"),
    "no threads": predict("--jobs 0", TYPED, "use 1 or more"),
    "a separator of two": predict("--separator ;;", TYPED, "is not one character"),
    "a decimal mark that is none": predict("--decimal x", TYPED, "is not a decimal mark: use '.' or ','"),
    "standard input twice": Mistake("predict - - --target kind", TYPED, "standard input can be read once"),
    # one file
    "nothing to predict": one("", "there is no TEST to predict"),
    "a part of two files": predict("--holdout 0.2", TYPED, "--holdout divides one file, and there are two"),
    "folds of two files": predict("--folds 2", TYPED, "--folds divides one file, and there are two"),
    "a part and folds": folds("--holdout 0.2", "use one of them"),
    "all of the rows": one("--holdout 1", "--holdout 1 is not a part of the"),
    "no part at all": one("--holdout nan", "is not a part of the rows"),
    "one fold": one("--folds 1", "--folds 1 leaves nothing to learn from"),
    "more folds than rows": one("--folds 61", "needs as many rows, and TRAIN has 60"),
    # the task
    "cv+ of labels": folds("--method cv+", "--method cv+ is for regression"),
    "jackknife+ of labels": folds("--method jackknife+", "--method jackknife+ is for regression"),
    "label by label without labels": prices("--mondrian label", TYPED, "is for classification"),
    "smoothed intervals of folds": prices("--method cv+ --smoothed", TYPED, "--smoothed is for p-values"),
    # what the library refuses
    "no neighbours": predict("--option k=0", DATA, "k=0"),
    "neighbours in words": predict("--option k=many", DATA, "k='many'"),
    "a metric that is none": predict("--option metric=crow", DATA, "crow"),
    "labels as numbers": predict("--task regression", DATA, "row 1 of TRAIN has"),
    # files
    "no such file": Mistake("predict nothing.csv kinds.csv --target kind", DATA, "nothing.csv: No such file or dire"),
    "a directory": Mistake("predict . kinds.csv --target kind", DATA, ". is a directory"),
    "no bytes": train("", DATA, "is empty"),
    "no rows": train("x,kind\n", DATA, "no rows"),
    "a cell too many": train("x,kind\n1,a\n2,b,c\n", DATA, "is not a table"),
    "a file without the target": train("x,y\n1,a\n2,b\n", TYPED, "is not a column of TRAIN: it has x, y."),
    "other separators": train(GOOD.replace(",", ";"), TYPED, "Use --separator"),
    "a target alone": train("kind\na\nb\n", DATA, "no column but the target"),
    "a missing value": train(GOOD + ",a\n", DATA, "row 31 of TRAIN has no value in column 'x': fill it, leave"),
    "missing values": train(GOOD + ",a\n,b\n", DATA, "row 31 and 1 other rows of TRAIN have no value in column 'x'"),
    "a missing target": train(GOOD + "1,\n", DATA, "row 31 of TRAIN has no target 'kind'"),
    "text among numbers": train(GOOD + "abc,a\n", DATA, "row 31 of TRAIN has 'abc' in column 'x'"),
    "an infinite number": train(GOOD + "inf,a\n", DATA, "infinite"),
    "one label": train("x,kind\n1,a\n2,a\n", DATA, "one label only, a"),
    "a bar in a label": train("x,kind\n1,a|b\n2,a\n", DATA, "rename it"),
    "too many texts": Mistake("predict bad.csv bad.csv --target kind", DATA, "150 different texts", {"bad.csv": TEXTS}),
    "Latin letters": bad("bad.csv", b"x,kind\n\xff\xfe\x00,a\n", "UTF-8"),
    "text that is no Parquet": bad("bad.parquet", GOOD, "is not a Parquet file"),
    "JSON that is none": bad("bad.jsonl", GOOD, "line 1 of bad.jsonl is not JSON"),
    "an empty standard input": Mistake("predict - kinds.csv --target kind", DATA, "standard input is empty", stdin=""),
    "no test file": Mistake("predict kinds.csv nothing.csv --target kind", DATA, "No such file"),
    "an empty test file": test("", "is empty"),
    "a test file without rows": test("x\n", "no rows"),
    "a test file that lacks a column": test("z\n1\n", "TEST lacks x"),
    "a missing value to predict": test('x\n1\n""\n', "row 2 of TEST has no value in column 'x'"),
    "text to predict": test("x\n1\nabc\n", "row 2 of TEST has 'abc' in column 'x'"),
    # models
    "fitting without a place": fit("", TYPED, "Missing option '--save'"),
    "fitting into the air": fit("--save -", TYPED, "--save - would mix a model with what is printed"),
    "fitting into a table": fit("--save model.csv", TYPED, "--save model.csv has the name of a table or a page"),
    "fitting into what is read": fit("--save kinds", TYPED, "kinds is DATA, which would be lost"),
    "fitting nowhere": fit("--save no/where.exactcp", TYPED, "a directory that does not exist"),
    "fitting at a level": fit("--save m.exactcp --confidence 0.9", TYPED, "No such option"),
    "fitting more neighbours than there can be": fit("--option k=0 --save m.exactcp", DATA, "k=0"),
    "saving into what is written": predict("--output rows --save rows", TYPED, "rows is --output, which would be lost"),
    "a model that is not there": file("no.exactcp", "no.exactcp: a saved model cannot be read: No such"),
    "a model and two files": model("kinds.csv kinds.csv", TYPED, "--model predicts the rows of one file"),
    "a model and a target": model("kinds.csv --target kind", TYPED, "--target is for learning, and a --model has le"),
    "a model and a measure": model("kinds.csv --measure knn", TYPED, "--measure is for learning"),
    "a model and folds": model("kinds.csv --folds 2", TYPED, "--folds is for learning"),
    "a model that is saved again": model("kinds.csv --save m", TYPED, "--save is for learning"),
    "a model that is a table": file("kinds.csv", "kinds.csv is damaged, or no file of exactcp.save"),
    "a model that is an archive": file("foreign.zip", "is a zip archive that exactcp.save has not written"),
    "a model that was cut off": file("cut.exactcp", "cut.exactcp is damaged, or no file of exactcp.save"),
    "a model that names code": file("evil.exactcp", "evil.exactcp holds os.system, which exactcp does not trust"),
    "a model of Python": file("python.skops", "was not saved by exactcp fit, or exactcp predict --save,"),
    "notes that are not ours": Mistake("inspect notes.exactcp", DATA, "has notes about columns that cannot be meant"),
    "a model of logarithms": Mistake("inspect logs.exactcp", DATA, "was fitted with --log, --min or --max"),
    "notes of another predictor": Mistake("inspect other.exactcp", DATA, "and its notes speak of another: fit it anew"),
    "a new row without a column": new("x\n1\n", "NEW lacks z, which the model has learned from"),
    "a new row with a column of another name": new("X,z\n1,2\n", "or fit a model without it. Did you mean X?"),
    "a new row with text": new("x,z\n1,2\n1,abc\n", "row 2 of NEW has 'abc' in column 'z', of which"),
    "a new row beyond all bounds": new("x,z\n1e200,2\n", "row 1 of NEW has 1e+200 in column 'x'"),
    "a new row with a gap": new("x,z\n1,\n", "fill it, or fit the model anew with --impute"),
    "no new rows": new("x,z\n", "has column names but no rows"),
    "ids that new rows lack": model("kinds.csv --id nam", TYPED, "--id nam is not a column of the rows"),
    "inspecting nothing": Mistake("inspect", TYPED, "Missing argument 'MODEL'"),
    "inspecting a stream": Mistake("inspect -", TYPED, "a model is read from a file"),
    "inspecting a table": Mistake("inspect kinds.csv", DATA, "is damaged, or no file of exactcp.save"),
    "a pattern of files": Mistake("predict k*.parquet kinds.csv --target kind", TYPED, "is a pattern of several files"),
    # other commands
    "a demo in percent": Mistake("demo --confidence 95", TYPED, "use a number between 0 and 1"),
    "a demo nowhere": Mistake("demo --report no/where.html", TYPED, "a directory that does not exist"),
    "a demo in a directory": Mistake("demo --report .", TYPED, "Invalid value for '--report'"),
    "a demo into a stream": Mistake("demo --report -", TYPED, "would share standard output"),
    "a demo as a PDF": Mistake("demo --report x.pdf", TYPED, "use .html"),
}  # fmt: skip


def _rewritten(source, target, change):
    """Copy a saved model with one member changed, as somebody else might."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as file:
        for name in old.namelist():
            file.writestr(name, change(name, old.read(name)))


def _with_notes(**changed):
    def change(name, content):
        if name != "exactcp.json":
            return content
        header = json.loads(content)
        header["notes"]["table"] |= changed
        return json.dumps(header)

    return change


def _with_code(name, content):
    if name != "schema.json":
        return content
    schema = json.loads(content)
    code = {"__class__": "system", "__module__": "os", "__loader__": "TypeNode", "__id__": 1}
    return json.dumps({**code, "protocol": schema["protocol"], "_skops_version": schema["_skops_version"]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that mistakes are made with; nothing is written among them."""
    here = tmp_path_factory.mktemp("mistakes")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "z": 100 * rng.normal(size=60)})
    table.assign(kind=np.where(table["x"] > 0, "a", "b")).to_csv(here / "kinds.csv", index=False)
    (here / "kinds").symlink_to("kinds.csv")
    table.assign(price=np.exp(table["x"])).to_csv(here / "prices.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        words = ["fit", "kinds.csv", "--target", "kind", "--measure", "knn", "--save", "model.exactcp"]
        assert CliRunner().invoke(app, words).exit_code == 0
    exactcp.save(FullConformalClassifier().fit(table.to_numpy(), np.arange(60) % 2), here / "python.skops")
    with zipfile.ZipFile(here / "foreign.zip", "w") as file:
        file.writestr("hello.npy", "hello")
    model = here / "model.exactcp"
    (here / "cut.exactcp").write_bytes(model.read_bytes()[:2000])
    _rewritten(model, here / "notes.exactcp", _with_notes(columns=["x", "z"]))
    _rewritten(model, here / "other.exactcp", _with_notes(method="split"))
    _rewritten(model, here / "logs.exactcp", _with_notes(log=True, low=None, high=None))
    _rewritten(model, here / "older.exactcp", _with_notes(log=False, low=None, high=None))
    _rewritten(model, here / "evil.exactcp", _with_code)
    return here


def test_the_table_is_long_enough():
    assert len(MISTAKES) >= 45


def test_notes_that_the_first_release_wrote_are_read(folder, monkeypatch):
    monkeypatch.chdir(folder)
    commands = [["predict", "--model", f"{name}.exactcp", "kinds.csv"] for name in ("older", "model")]
    said, now = (CliRunner().invoke(app, words) for words in commands)
    assert said.exit_code == 0, said.output
    assert said.stdout == now.stdout


@pytest.mark.parametrize("name", MISTAKES)
def test_every_mistake_gets_a_sentence(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    mistake = MISTAKES[name]
    for file, content in mistake.files.items():
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = CliRunner().invoke(app, mistake.command.split(), input=mistake.stdin, env={"COLUMNS": "200"})
    assert result.exit_code == mistake.code, result.output
    assert result.stdout == ""
    said = " ".join(result.stderr.split())
    assert mistake.sentence in said
    assert "Traceback" not in said
    assert "(unexpected" not in said
    typed_words = mistake.sentence.startswith(("Invalid value", "Missing", "No such option", "No such command"))
    if not typed_words and "argument" not in mistake.sentence:  # which typer says, in a box with the usage
        own = [line for line in result.stderr.splitlines() if not line.startswith("exactcp: warning: ")]
        told = [line for line in own if "no --measure is given" not in line and "random folds" not in line]
        assert len(told) == 1
        assert told[0].startswith("exactcp: ")
        assert told[0].endswith((".", "?"))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
