"""`exactcp fit`, `predict MODEL NEW` and `inspect`: a saved model answers as one command does, and says what it is."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import exactcp
from exactcp import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KNN as Neighbours

pytestmark = pytest.mark.usefixtures("folder")
KNN = "-m knn --option k=3"
KIND, PRICE = "-t kind --ignore price", "-t price --ignore kind"
FULL = {
    "knn": f"{KIND} {KNN}",
    "forest": f"{KIND} -m random-forest --option n_estimators=5",
    "by label": f"{KIND} {KNN} --ignore color --scale none --mondrian label",
    "by columns": f"{KIND} {KNN} --mondrian color,paid",
    "smoothed": f"{KIND} {KNN} --smoothed --seed 3",
    "lssvm": f"{KIND} -m lssvm --impute",
    "knn regression": f"{PRICE} {KNN}",
    "ridge by columns": f"{PRICE} -m ridge --mondrian color",
}


@pytest.mark.parametrize("name", FULL)
def test_full_models_predict_as_one_command_does(name, done):
    done(f"fit train.csv {FULL[name]} -o model.exactcp")
    for levels in ("", " -c 0.8 -c 0.6"):
        done(f"predict model.exactcp new.csv{levels} -o saved.csv")
        done(f"predict train.csv new.csv {FULL[name]}{levels} -o both.csv")
        saved, both = (pd.read_csv(f"{name}.csv", keep_default_na=False) for name in ("saved", "both"))
        pd.testing.assert_frame_equal(saved, both)


@pytest.mark.parametrize(
    ("options", "is_exact"),
    [
        (f"{KIND} {KNN} --method split", True),
        (f"{KIND} {KNN} --method split --mondrian color", True),
        (f"{KIND} {KNN} --method cross", False),
        (f"{KIND} {KNN} --method cross --mondrian color", False),
        (f"{PRICE} {KNN} --method split", True),
        (f"{PRICE} {KNN} --method split --mondrian color", True),
        (f"{PRICE} {KNN} --method cv+", False),
        (f"{PRICE} {KNN} --method jackknife+", False),
    ],
)
def test_models_of_other_methods_say_how_exact_they_are(options, is_exact, done, summary):
    done(f"fit train.csv {options} -o model.exactcp")
    told = summary("inspect model.exactcp")
    assert (told["is_exact"], "exactly valid" in told["encoded"]) == (is_exact, is_exact)
    assert summary("predict model.exactcp new.csv -c 0.6 --output all.csv")["coverage"] > 0.4
    pd.read_csv("new.csv")[:5].to_csv("few.csv", index=False)
    done("predict model.exactcp few.csv -c 0.6 -o few_out.csv")  # each row by itself
    pd.testing.assert_frame_equal(pd.read_csv("few_out.csv"), pd.read_csv("all.csv")[:5])


def test_split_scales_by_the_rows_that_the_measure_is_fitted_on(done):
    done(f"fit kinds_train.csv -t kind {KNN} --method split --seed 5 -o model.exactcp")
    done("predict model.exactcp kinds_new.csv -o out.csv")
    plain = pd.read_csv("kinds_train.csv")
    learning, calibrating = np.array_split(np.random.default_rng(5).permutation(60), 2)
    X, y = plain[["x", "z"]].to_numpy(), plain["kind"].to_numpy(str)
    scaler = StandardScaler().fit(X[learning])
    clf = SplitConformalClassifier(Neighbours(3), random_state=5)
    clf.fit(scaler.transform(X[learning]), y[learning], scaler.transform(X[calibrating]), y[calibrating])
    new = scaler.transform(pd.read_csv("kinds_new.csv")[["x", "z"]].to_numpy())
    np.testing.assert_array_equal(pd.read_csv("out.csv")[["p_a", "p_b"]], clf.predict_p(new))


@pytest.mark.slow  # 400 models
def test_saved_split_models_keep_their_coverage():
    from scipy.stats import binomtest

    from exactcp.cli._options import Options
    from exactcp.cli._predictors import Rows, ask, fit_to_be_saved
    from exactcp.cli._spec import TableSpec

    # with more columns than rows, a scaler that has seen the calibrating rows would cost coverage
    rng, covered, options = np.random.default_rng(0), 0, Options(target="t", method="split", option=("k=1",))
    for seed in range(400):
        table = pd.DataFrame(rng.normal(size=(20, 30)) * 10.0 ** np.arange(30)).rename(columns=str)
        y = np.array(["a", "b"] * 10)
        spec = TableSpec("t", "classification", tuple(table.columns), {})
        rows = Rows(table, y)
        model = fit_to_be_saved(spec, rows.take(np.arange(19)), Options(**{**vars(options), "seed": seed}))
        covered += bool(y[19] in ask(model, rows.take(np.array([19])), (0.8,))["set"][19])
    assert binomtest(covered, 400, 0.8, alternative="less").pvalue > 1e-4


def test_columns_are_found_by_name_and_the_target_is_not_needed(done):
    done(f"fit train.csv {KIND} {KNN} --save model.exactcp")
    assert "coverage" in done("predict model.exactcp new.csv -o a.csv").stderr
    pd.read_csv("new.csv").assign(extra=1)[["z", "extra", "paid", "color", "x"]].to_csv("other.csv", index=False)
    result = done("predict --model model.exactcp other.csv -o b.csv")
    assert "ignoring extra: not in the model." in result.stderr
    assert "coverage" not in result.stderr
    a, b = pd.read_csv("a.csv"), pd.read_csv("b.csv")
    answers = ["prediction", "set_text", "confidence", "credibility", "p_a", "p_b"]
    pd.testing.assert_frame_equal(a[answers], b[answers])


def test_standard_streams(folder, done):
    done(f"fit train.csv {KIND} {KNN} -o model.exactcp")
    new, train = ((folder / f"{name}.csv").read_text() for name in ("new", "train"))
    printed = done("predict model.exactcp new.csv").stdout
    assert done("predict model.exactcp -", text=new).stdout == printed
    done(f"fit - {KIND} {KNN} -o piped.exactcp", text=train)
    assert done("predict piped.exactcp new.csv").stdout == printed


def test_new_categories_and_missing_values_are_those_of_one_command(done):
    options = f"{KIND} {KNN} --impute"
    done(f"fit train.csv {options} -o model.exactcp")
    new = pd.read_csv("new.csv")
    new.loc[[3, 4], "color"] = "blue"
    new.loc[5, ["x", "color"]] = np.nan
    new.to_csv("blue.csv", index=False)
    result = done("predict model.exactcp blue.csv -o out.csv")
    assert "column 'color' of NEW has categories that the model has not seen: blue." in result.stderr
    done(f"predict train.csv blue.csv {options} -o both.csv")
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), pd.read_csv("both.csv"))


def test_new_rows_from_elsewhere_are_told(run, done, folder):
    done(f"fit train.csv {KIND} {KNN} -o model.exactcp")
    pd.read_csv("new.csv").assign(kind="c").to_csv("c.csv", index=False)
    result = run("predict model.exactcp c.csv --json --report page.html")
    assert json.loads(result.stdout)["verdict"] == "below"
    assert "20 rows of NEW have a label that the model lacks (c)" in result.stderr
    assert "NEW may come from a different distribution than the rows of the model." in result.stderr
    assert "model.exactcp, of 60 rows" in (folder / "page.html").read_text(encoding="utf-8")


def test_labels_that_are_numbers_match(done, summary):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": np.r_[rng.normal(size=30), 9 + rng.normal(size=30)], "n": [0] * 30 + [1] * 30})
    table.to_csv("n.csv", index=False)
    pd.DataFrame({"x": [0.5, 9.5, 0.1], "n": [0.0, 1.0, np.nan]}).to_csv("gaps.csv", index=False)
    done("fit n.csv -t n -o n.exactcp")
    for command in ("predict n.csv gaps.csv -t n -o out.csv", "predict n.exactcp gaps.csv -o out.csv"):
        told = summary(command)
        assert (told["classes"], told["accuracy"]) == ([0, 1], 1.0)
        assert pd.read_csv("out.csv")["prediction"].tolist() == [0, 1, 0]


# --- what a model says of itself


def test_inspect(done, summary):
    fitted = summary(f"fit train.csv {KIND} {KNN} --jobs 1 -o model.exactcp")
    told = summary("inspect model.exactcp")
    del fitted["fit_seconds"], fitted["reason"]
    assert {**told, **fitted} == told
    assert (told["task"], told["target"], told["rows"], told["labels"]) == ("classification", "kind", 60, ["a", "b"])
    assert (told["numbers"], told["categories"]) == (["x", "z", "paid"], {"color": ["green", "red"]})
    assert told["left_out"] == {"price": "ignored", "customer_id": "row ID"}
    assert told["highest_level"] == 60 / 61
    shown = done("inspect model.exactcp").stdout
    for words in ("KNN(k=3", "a, b", "color (2)", "price (ignored)", "with the new rows together: exactly valid"):
        assert words in shown
    loaded = exactcp.load("model.exactcp")
    assert (loaded.n_jobs, loaded.verbose) == (None, 0)


def test_inspect_of_a_model_that_was_saved_in_python(done):
    X = np.arange(12.0)[:, None]
    exactcp.save(FullConformalClassifier().fit(X, np.arange(12) % 2), "python.skops")
    assert "in Python: use exactcp.load" in done("inspect python.skops").stdout


def rewritten(source, target, **changed):
    """Copy a saved model with other notes, as another release may have written them; None takes one away."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as file:
        for name in old.namelist():
            content = old.read(name)
            if name == "exactcp.json":
                header = json.loads(content)
                notes = {**header["notes"]["table"], **changed}
                header["notes"]["table"] = {key: value for key, value in notes.items() if value is not None}
                content = json.dumps(header)
            file.writestr(name, content)


def test_models_of_the_first_release(done, run):
    done(f"fit train.csv {KIND} {KNN} -o model.exactcp")
    columns = {"x": "number", "color": "category", "z": "number", "paid": "number"}
    old = {"columns": columns, "labels": "text", "is_prepared": True, "days": {}, "log": False, "numbers": None}
    rewritten("model.exactcp", "old.exactcp", **old, groups=None)
    assert done("predict old.exactcp new.csv").stdout == done("predict model.exactcp new.csv").stdout
    for gone in ({"days": {"x": ["2024-01-01", None]}}, {"log": True}, {"low": 0.0}):
        rewritten("model.exactcp", "gone.exactcp", **{**old, **gone})
        result = run("inspect gone.exactcp")
        assert result.exit_code == 1
        assert "--dates days, --log, --min or --max, which exactcp no longer has: fit it again." in result.stderr
    for damage in ({"columns": ["x"], "numbers": None}, {"method": None}, {"task": "guess"}, {"categories": 3}):
        rewritten("model.exactcp", "damaged.exactcp", **damage)
        assert "has notes about columns that cannot be read" in run("inspect damaged.exactcp").stderr
    rewritten("model.exactcp", "other.exactcp", method="split")
    assert "its notes are about another predictor: fit it again." in run("inspect other.exactcp").stderr


def test_an_old_model_stays_if_the_new_one_cannot_be_read_again(folder, run):
    (folder / "model.exactcp").write_text("old")
    estimator = "-m model --option estimator=DecisionTreeClassifier"
    result = run(f"fit train.csv {KIND} {estimator} --method split -o model.exactcp")
    assert result.exit_code == 1
    assert "is not written, since the model could not be read again: it holds sklearn.tree" in result.stderr
    assert "trusted=" not in result.stderr
    assert (folder / "model.exactcp").read_text() == "old"
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".exactcp")]
