"""`exactcp fit`, `predict --save`, `predict --model` and `inspect`: what was learned is kept, and says what it is."""

from __future__ import annotations

import json
import os
import re
import shlex
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import exactcp
from exactcp import FullConformalClassifier
from exactcp.cli import app
from exactcp.saving import describe
from slices import sliced

N, M = 60, 20


def make_table(n, seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"x": rng.normal(size=n), "color": rng.choice(["red", "green"], n), "z": 9 * rng.normal(size=n)}
    )
    table["day"] = pd.date_range("2024-01-01", periods=n).strftime("%d.%m.%Y")
    table["customer_id"] = rng.permutation(n) + 1000 * seed
    table["kind"] = np.where(table["x"] + rng.normal(size=n) / 2 > 0, "a", "b")
    table["price"] = np.exp(table["x"] + rng.normal(size=n) / 3).round(3)
    return table


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A directory with rows to learn from and new ones, which is the current one."""
    make_table(N, 1).to_csv(tmp_path / "train.csv", index=False)
    make_table(M, 2).to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


KNN = ("--measure", "knn", "--option", "k=3")
KIND = ("--target", "kind", "--ignore", "price")
PRICE = ("--target", "price", "--ignore", "kind")


# --- a saved model gives the rows that one command would have given


FULL = {
    "knn": (*KIND, *KNN),
    "forest": (*KIND, "--measure", "random-forest", "--option", "n_estimators=5"),
    "by label": (*KIND, *KNN, "--ignore", "color", "--scale", "none", "--mondrian", "label"),
    "smoothed": (*KIND, *KNN, "--smoothed", "--seed", "3", "--dates", "days"),
    "lssvm": (*KIND, "--measure", "lssvm", "--scale", "robust", "--impute"),
    "knn regression": (*PRICE, *KNN),
    "ridge": (*PRICE, "--measure", "ridge", "--dates", "days"),
}


@pytest.mark.parametrize(("name", "levels"), sliced(2, FULL, ["", "--confidence 0.8 --confidence 0.6"]))
def test_full_models_predict_as_one_command_does(name, levels):
    options, levels = FULL[name], levels.split()
    done("fit", "train.csv", *options, "--save", "model.exactcp")
    done("predict", "--model", "model.exactcp", "new.csv", *levels, "--output", "saved.csv")
    done("predict", "train.csv", "new.csv", *options, *levels, "--output", "both.csv")
    saved, both = (pd.read_csv(f"{name}.csv", keep_default_na=False) for name in ("saved", "both"))
    pd.testing.assert_frame_equal(saved, both)


def test_a_model_that_was_saved_beside_predictions_is_that_of_fit(folder):
    done("fit", "train.csv", *KIND, *KNN, "--save", "one.exactcp")
    for place, parts in enumerate((["new.csv"], ["--holdout", "0.25"], ["--folds", "3"])):
        result = done("predict", "train.csv", *parts, *KIND, *KNN, "--save", f"{place}.exactcp", "--json")
        assert json.loads(result.stdout)["saved"] == f"{place}.exactcp"
        assert describe(f"{place}.exactcp")["notes"] == describe("one.exactcp")["notes"]
        outputs = [done("predict", "--model", name, "new.csv").stdout for name in ("one.exactcp", f"{place}.exactcp")]
        assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("options", "is_exact"),
    [
        ((*KIND, *KNN, "--method", "split"), True),
        ((*KIND, *KNN, "--method", "cross"), False),
        ((*PRICE, *KNN, "--method", "split"), True),
        ((*PRICE, *KNN, "--method", "cv+"), False),
        ((*PRICE, *KNN, "--method", "jackknife+"), False),
    ],
)
def test_models_of_other_methods_say_how_exact_they_are(options, is_exact):
    done("fit", "train.csv", *options, "--save", "model.exactcp")
    told = json.loads(done("inspect", "model.exactcp", "--json").stdout)
    assert told["is_exact"] == is_exact
    assert ("exactly valid" in " ".join(done("inspect", "model.exactcp").stdout.split())) == is_exact
    first = done("predict", "--model", "model.exactcp", "new.csv", "--json", "--output", "all.csv")
    assert json.loads(first.stdout)["coverage"] > 0.5
    pd.read_csv("new.csv")[:5].to_csv("few.csv", index=False)
    done("predict", "--model", "model.exactcp", "few.csv", "--output", "few_out.csv")  # each row by itself
    pd.testing.assert_frame_equal(pd.read_csv("few_out.csv"), pd.read_csv("all.csv")[:5])


def test_split_scales_by_the_rows_that_are_learned_alone():
    from sklearn.preprocessing import StandardScaler

    from exactcp import SplitConformalClassifier
    from exactcp.measures import KNN as Neighbours

    plain = pd.read_csv("train.csv")[["x", "z", "kind"]]
    plain.to_csv("plain.csv", index=False)
    done("fit", "plain.csv", "--target", "kind", *KNN, "--method", "split", "--seed", "5", "--save", "model.exactcp")
    done("predict", "--model", "model.exactcp", "new.csv", "--output", "out.csv")
    learning, calibrating = np.array_split(np.random.default_rng(5).permutation(N), 2)
    X, y = plain[["x", "z"]].to_numpy(), plain["kind"].to_numpy(str)
    scaler = StandardScaler().fit(X[learning])
    clf = SplitConformalClassifier(Neighbours(3), random_state=5)
    clf.fit(scaler.transform(X[learning]), y[learning], scaler.transform(X[calibrating]), y[calibrating])
    new = scaler.transform(pd.read_csv("new.csv")[["x", "z"]].to_numpy())
    np.testing.assert_array_equal(pd.read_csv("out.csv")[["p_a", "p_b"]], clf.predict_p(new))


def test_a_forest_of_numbers_needs_no_preparation():
    numbers = ("--target", "kind", "--measure", "random-forest", "--option", "n_estimators=5")
    pd.read_csv("train.csv")[["x", "z", "kind"]].to_csv("plain.csv", index=False)
    found = []
    for scale in ("standard", "none"):
        done("fit", "plain.csv", *numbers, "--scale", scale, "--save", f"{scale}.exactcp")
        told = json.loads(done("inspect", f"{scale}.exactcp", "--json").stdout)
        assert (told["scale"], told["is_prepared"], told["is_exact"]) == ("none", False, True)
        assert exactcp.load(f"{scale}.exactcp").preprocess is None
        found.append(done("predict", "--model", f"{scale}.exactcp", "new.csv").stdout)
    assert found[0] == found[1]


# --- columns by name


@pytest.fixture
def model():
    done("fit", "train.csv", *KIND, *KNN, "--dates", "days", "--save", "model.exactcp")
    return "model.exactcp"


def test_columns_are_found_by_name_and_the_target_is_not_needed(model):
    expected = done("predict", "--model", model, "new.csv", "--output", "a.csv")
    assert "coverage" in expected.stderr
    new = pd.read_csv("new.csv")
    new.assign(extra=1)[["z", "extra", "day", "color", "x"]].to_csv("other.csv", index=False)
    result = done("predict", "--model", model, "other.csv", "--output", "b.csv")
    assert "the model does not know the column extra, and passes it over" in result.stderr
    assert "coverage" not in result.stderr
    a, b = pd.read_csv("a.csv"), pd.read_csv("b.csv")
    answers = ["prediction", "set_text", "confidence", "credibility", "p_a", "p_b"]
    pd.testing.assert_frame_equal(a[answers], b[answers])


def test_standard_streams(model):
    text = (pd.read_csv("new.csv")).to_csv(index=False)
    piped = CliRunner().invoke(app, ["predict", "--model", model, "-"], input=text)
    assert piped.stdout == done("predict", "--model", model, "new.csv").stdout
    data = pd.read_csv("train.csv").to_csv(index=False)
    words = ["fit", "-", *KIND, *KNN, "--dates", "days", "--save", "piped.exactcp"]
    assert CliRunner().invoke(app, words, input=data).exit_code == 0
    assert done("predict", "--model", "piped.exactcp", "new.csv").stdout == piped.stdout


def test_categories_that_were_never_seen_are_told_and_unlike_all_others(model):
    new = pd.read_csv("new.csv")
    new.loc[[3, 4], "color"] = "blue"
    new.to_csv("blue.csv", index=False)
    result = done("predict", "--model", model, "blue.csv", "--output", "out.csv")
    assert "column 'color' has 'blue' in 2 rows, which no row had that the model has learned from" in result.stderr
    done("predict", "train.csv", "blue.csv", *KIND, *KNN, "--dates", "days", "--output", "both.csv")
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), pd.read_csv("both.csv"))


def test_dates_are_read_as_they_were_written_when_the_model_learned(model):
    new = pd.read_csv("new.csv")
    new["day"] = "03.04.2024"
    new.to_csv("german.csv", index=False)
    done("predict", "--model", model, "german.csv", "--output", "a.csv")
    new["day"] = "4/3/2024"
    new.to_csv("american.csv", index=False)
    result = run("predict", "--model", model, "american.csv")
    assert result.exit_code == 1
    assert "column 'day' has dates that are not all written in the same way, such as '4/3/2024'" in result.stderr


def test_missing_values_are_filled_if_the_model_was_told_to():
    done("fit", "train.csv", *KIND, *KNN, "--impute", "--save", "model.exactcp")
    new = pd.read_csv("new.csv")
    new.loc[3, ["x", "color"]] = np.nan
    new.to_csv("gaps.csv", index=False)
    done("predict", "--model", "model.exactcp", "gaps.csv", "--output", "out.csv")
    done("predict", "train.csv", "gaps.csv", *KIND, *KNN, "--impute", "--output", "both.csv")
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), pd.read_csv("both.csv"))


def test_labels_that_the_model_lacks_and_rows_from_elsewhere_are_judged(model, folder):
    new = pd.read_csv("new.csv").assign(kind="c")
    new.to_csv("c.csv", index=False)
    result = done("predict", "--model", model, "c.csv", "--json", "--report", "page.html")
    assert json.loads(result.stdout)["verdict"] == "below"
    assert "20 rows of NEW have a label that the model lacks ('c')" in result.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "model.exactcp, of 60 rows" in page


# --- what a model says of itself


def test_inspect_tells_what_was_learned(model):
    told = done("inspect", model).stdout
    for words in (
        "classification", "full conformal prediction", "KNN(k=3", "a, b", "color (2 categories)", "day (days)",
        "price (ignored)", "customer_id (IDs)", "standard",
        "and the new ones together; exactly valid", f"exactcp {exactcp.__version__}", "bytes",
        "above 0.9836 sets hold every label (60 examples count)", "x (number)",
    ):  # fmt: skip
        assert words in " ".join(told.split()), words
    facts = json.loads(done("inspect", model, "--json").stdout)
    assert (facts["task"], facts["target"], facts["rows"], facts["label_names"]) == (
        "classification",
        "kind",
        N,
        ["a", "b"],
    )
    assert facts["columns"] == {"x": "number", "color": "category", "z": "number", "day": "number"}
    assert facts["highest_level"] == N / (N + 1)
    assert facts["bytes"] == os.path.getsize(model)


def test_inspect_of_a_model_that_was_saved_in_python():
    X = np.arange(12.0)[:, None]
    exactcp.save(FullConformalClassifier().fit(X, np.arange(12) % 2), "python.skops")
    assert "from Python, without notes on columns" in done("inspect", "python.skops").stdout
    assert json.loads(done("inspect", "python.skops", "--json").stdout)["predictor"].endswith("FullConformalClassifier")


def test_notes_are_plain_json_and_nothing_is_kept_of_threads():
    done("fit", "train.csv", *KIND, *KNN, "--jobs", "1", "--save", "model.exactcp")
    with zipfile.ZipFile("model.exactcp") as file:
        assert json.loads(file.read("exactcp.json"))["notes"]["table"]["target"] == "kind"
    loaded = exactcp.load("model.exactcp")
    assert (loaded.n_jobs, loaded.verbose) == (None, 0)


def test_an_old_model_stays_if_the_new_one_cannot_be_read_again(folder):
    (folder / "model.exactcp").write_text("old")
    tree = ("--measure", "model", "--option", "estimator=DecisionTreeClassifier", "--method", "split")
    result = run("fit", "train.csv", *KIND, *tree, "--save", "model.exactcp")
    assert result.exit_code == 1
    assert (
        "model.exactcp is not written, since the model could not be read again: it holds sklearn.tree" in result.stderr
    )
    assert (folder / "model.exactcp").read_text() == "old"
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".exactcp")]


def test_seconds_add_up():
    told = json.loads(done("fit", "train.csv", *KIND, *KNN, "--save", "model.exactcp", "--json").stdout)
    assert list(told["seconds"]) == ["start", "read", "estimate", "fit", "save"]
    told = json.loads(done("predict", "--model", "model.exactcp", "new.csv", "--json").stdout)
    assert told["total_seconds"] == pytest.approx(sum(told["seconds"].values()))


def test_the_commands_of_the_page_run():
    from sklearn.datasets import load_iris

    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    flowers = load_iris(as_frame=True).frame.rename(columns={"target": "species"}).sample(60, random_state=0)
    flowers.assign(species=flowers["species"].map(dict(enumerate("svi"))))[:50].to_csv("flowers.csv", index=False)
    flowers.drop(columns="species")[50:].to_csv("new.csv", index=False)
    blocks = [b for b in re.findall(r"```sh\n(.*?)```", page, flags=re.DOTALL) if "flowers" in b]
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("exactcp")]
    assert len(lines) == 8
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        if words[0] != "compare":  # which takes a minute, and has a page of its own
            done(*words)
    sets = pd.read_csv("sets.csv")
    assert len(sets) == 10
    assert {"prediction", "set_text", "p_s"} <= set(sets.columns)
