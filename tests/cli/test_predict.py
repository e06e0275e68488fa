"""`exactcp predict`: what it writes is what the library returns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

import exactcp
from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.cli._measures import complete_measure, make_measure
from exactcp.measures import KDE, KNN, LSSVM, RandomForest

pytestmark = pytest.mark.usefixtures("folder")
KINDS = "kinds_train.csv kinds_new.csv --target kind"
PRICES = "prices_train.csv prices_new.csv -t price"
P = ["p_a", "p_b"]


def objects(*names, scale=True):
    """Return the numbers of files, scaled together."""
    tables = [pd.read_csv(name)[["x", "z"]].to_numpy() for name in names]
    both = np.vstack(tables)
    scaled = StandardScaler().fit_transform(both) if scale else both
    return np.split(scaled, np.cumsum([len(table) for table in tables])[:-1])


def labels(name):
    return pd.read_csv(name)["kind"].to_numpy(str)


# --- two files


def test_rows_are_those_of_the_file_with_the_librarys_predictions(rows, run):
    X, Z = objects("kinds_train.csv", "kinds_new.csv")
    frame = FullConformalClassifier().fit(X, labels("kinds_train.csv")).predict_frame(Z, 0.9).drop(columns="set")
    out = rows(KINDS, "-c", 0.9)
    pd.testing.assert_frame_equal(out[["x", "z", "kind"]], pd.read_csv("kinds_new.csv"), check_dtype=False)
    assert [*out.columns[3:]] == ["prediction", "set_text", "confidence", "credibility", *P]
    pd.testing.assert_frame_equal(out[out.columns[3:]], frame, check_dtype=False, rtol=0, atol=0)
    assert any("|" in one for one in out["set_text"])
    printed = run(f"predict {KINDS} -c 0.9")
    with open("out.csv", encoding="utf-8") as file:
        assert printed.stdout == file.read()
    assert "classification (2 different labels) by KNN(k=15" in printed.stderr
    assert len(printed.stderr.splitlines()) == 1


def test_measures_from_text(rows):
    X, Z = objects("kinds_train.csv", "kinds_new.csv")
    expected = FullConformalClassifier(KNN(5, "manhattan")).fit(X, labels("kinds_train.csv")).predict_p(Z)
    np.testing.assert_array_equal(rows(f"{KINDS} -m knn --option k=5 --option metric=manhattan")[P], expected)
    assert repr(make_measure("KDE", ["bandwidth=0.5"], "classification")) == repr(KDE(0.5))
    assert repr(make_measure(None, ["k=3"], "classification")) == repr(KNN(3))
    made = make_measure("random-forest", ["max_depth=3", "max_features=None"], "classification", seed=7)
    assert repr(made) == repr(RandomForest(max_depth=3, max_features=None, random_state=7))
    assert make_measure("RandomForest", ["random_state=1"], "classification", seed=7).random_state == 1
    made = make_measure("lssvm", ["kernel=rbf", "gamma=0.5"], "classification", seed=7)
    assert repr(made) == repr(LSSVM(kernel="rbf", gamma=0.5))
    made = make_measure("model", ["estimator=Ridge", "estimator__alpha=2"], "regression")
    assert repr(made.estimator) == "Ridge(alpha=2)"
    assert make_measure(None, [], "regression") is None
    assert complete_measure("k") == ["kde", "knn"]


def test_forests_compare_within_columns_and_are_not_scaled(rows):
    X, Z = objects("kinds_train.csv", "kinds_new.csv", scale=False)
    forest = RandomForest(n_estimators=5, random_state=2)
    expected = FullConformalClassifier(forest, random_state=2).fit(X, labels("kinds_train.csv")).predict_p(Z)
    out = rows(f"{KINDS} -m random-forest --option n_estimators=5 --seed 2")
    np.testing.assert_array_equal(out[P], expected)


def test_scaling_sees_training_and_test_rows_together(rows):
    y = labels("kinds_train.csv")
    scaled, raw = (objects("kinds_train.csv", "kinds_new.csv", scale=scale) for scale in (True, False))
    for option, (X, Z) in (("standard", scaled), ("none", raw)):
        expected = FullConformalClassifier().fit(X, y).predict_p(Z)
        np.testing.assert_array_equal(rows(f"{KINDS} --scale {option}")[P], expected)
    alone = StandardScaler().fit(raw[0])
    other = FullConformalClassifier().fit(alone.transform(raw[0]), y).predict_p(alone.transform(raw[1]))
    assert (other != FullConformalClassifier().fit(scaled[0], y).predict_p(scaled[1])).any()  # this test could tell


def test_categories_booleans_missing_values_and_ignored_columns(rows):
    train, test = pd.read_csv("train.csv"), pd.read_csv("new.csv")
    for table in (train, test):
        table.loc[[2, 5], ["x", "color"]] = np.nan
    train.to_csv("holes.csv", index=False)
    test.to_csv("holes_new.csv", index=False)
    both = pd.concat([train, test], ignore_index=True)
    x = both["x"].fillna(both["x"].median())
    numbers = StandardScaler().fit_transform(np.column_stack([x, both["z"], both["paid"]]))
    colors = np.column_stack([both["color"] == c for c in ("green", "red")] + [both["color"].isna()])
    Z = np.hstack([colors, numbers]).astype(float)
    expected = FullConformalClassifier(KDE(1.0)).fit(Z[:60], train["kind"].to_numpy(str)).predict_p(Z[60:])
    out = rows("holes.csv holes_new.csv -t kind -m kde --impute --ignore price")
    np.testing.assert_allclose(out[P], expected, rtol=0, atol=1e-12)  # the order of columns changes sums
    assert {"price", "customer_id"} <= {*out.columns}


def test_regression(rows, summary):
    X, Z = objects("prices_train.csv", "prices_new.csv")
    y, truth = (pd.read_csv(f"prices_{name}.csv")["price"] for name in ("train", "new"))
    reg = FullConformalRegressor().fit(X, y)
    out = rows(f"{PRICES} -c 0.8")
    assert [*out.columns] == ["x", "z", "price", "prediction", "lower", "upper"]
    np.testing.assert_array_equal(out["prediction"], reg.predict(Z))
    np.testing.assert_array_equal(out[["lower", "upper"]], reg.predict_interval(Z, 0.8))
    told = summary(f"predict {PRICES} -c 0.8")
    assert told["coverage"] == ((out["lower"] <= truth) & (truth <= out["upper"])).mean()
    assert told["mean_width"] == pytest.approx((out["upper"] - out["lower"]).mean())
    assert told["mean_absolute_error"] == pytest.approx((out["prediction"] - truth).abs().mean())
    assert (told["task"], told["infinite"]) == ("regression", 0)
    assert told["measure"] == "KNNResidual(k=15, metric='euclidean', search='auto')"


@pytest.mark.parametrize(
    ("files", "method", "cls"),
    [
        (KINDS, "split", exactcp.SplitConformalClassifier),
        (KINDS, "cross", exactcp.CrossConformalClassifier),
        (PRICES, "split", exactcp.SplitConformalRegressor),
        (PRICES, "cross", exactcp.CVPlusRegressor),
        (PRICES, "cv+", exactcp.CVPlusRegressor),
        (PRICES, "jackknife+", exactcp.JackknifePlusRegressor),
    ],
)
def test_methods(files, method, cls, rows, summary):
    train, new = files.split()[:2]
    X, Z = objects(train, new)
    target = "kind" if files is KINDS else "price"
    y = pd.read_csv(train)[target].to_numpy()
    predictor = cls(random_state=4).fit(X, y.astype(str) if files is KINDS else y)
    out = rows(f"{files} --method {method} --seed 4")
    if files is KINDS:
        np.testing.assert_array_equal(out[P], predictor.predict_p(Z))
    else:
        np.testing.assert_array_equal(out[["lower", "upper"]], predictor.predict_interval(Z, 0.95))
    # of those with folds, 1 - 2 epsilon is proven: what is expected begins lower
    low = summary(f"predict {files} --method {method} --seed 4")["expected_coverage"][0]
    full = summary(f"predict {files}")["expected_coverage"][0]
    assert low < full or method == "split"


# --- the guarantee within groups, and with ties broken


@pytest.mark.filterwarnings("ignore:preprocess=")
def test_within_labels_and_smoothed_with_a_seed(rows):
    X, Z = (pd.read_csv(f"kinds_{name}.csv")[["x", "z"]] for name in ("train", "new"))
    out = rows(f"{KINDS} --mondrian label --smoothed --seed 3")
    clf = FullConformalClassifier(mondrian="label", smoothed=True, random_state=3, preprocess=StandardScaler())
    np.testing.assert_array_equal(out[P], clf.fit(X, labels("kinds_train.csv")).predict_p(Z))


@pytest.mark.parametrize("method", ["full", "split"])
@pytest.mark.parametrize("task", ["kind", "price"])
def test_within_the_values_of_columns(method, task, rows):
    X, Z = objects("train.csv", "new.csv")
    train, new = pd.read_csv("train.csv"), pd.read_csv("new.csv")
    groups = [(one["color"] + " & " + one["paid"].astype(str)).tolist() for one in (train, new)]
    kind = "Classifier" if task == "kind" else "Regressor"
    cls = getattr(exactcp, f"{method.capitalize()}Conformal{kind}")
    predictor = cls(random_state=0).fit(X, train[task].to_numpy(), categories=groups[0])
    other = "price" if task == "kind" else "kind"
    command = f"train.csv new.csv -t {task} --ignore {other} --method {method} -c 0.6"
    for how in ("--mondrian color,paid", "--mondrian color --mondrian paid"):
        out = rows(f"{command} {how}")
        if task == "kind":
            np.testing.assert_array_equal(out[P], predictor.predict_p(Z, categories=groups[1]))
        else:
            expected = predictor.predict_interval(Z, 0.6, categories=groups[1])
            np.testing.assert_array_equal(out[["lower", "upper"]], expected)


def test_a_smoothed_run_without_a_seed_prints_the_one_it_drew(folder, summary, done):
    told = summary(f"predict {KINDS} --smoothed --output a.csv")
    done(f"predict {KINDS} --smoothed --output b.csv", "--seed", told["seed"])
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


# --- one file


@pytest.mark.parametrize("seed", [None, 5])
def test_a_random_share_is_predicted_from_the_others_and_its_rows_are_numbered(seed, rows, summary):
    assert summary("predict kinds_train.csv -t kind --holdout 0.25")["n_train"] == 45
    more = [] if seed is None else ["--seed", seed]
    out = rows("kinds_train.csv -t kind --holdout 0.25", *more)
    held = out["row"].to_numpy() - 1
    assert (len(held), (np.diff(held) > 0).all()) == (15, True)
    table, (X,) = pd.read_csv("kinds_train.csv"), objects("kinds_train.csv")
    pd.testing.assert_frame_equal(out[["x", "z", "kind"]], table.iloc[held].reset_index(drop=True))
    rest = np.setdiff1d(np.arange(60), held)
    clf = FullConformalClassifier().fit(X[rest], labels("kinds_train.csv")[rest])
    np.testing.assert_array_equal(out[P], clf.predict_p(X[held]))
    other = rows("kinds_train.csv -t kind --holdout 0.25 --seed 6")["row"].to_numpy() - 1
    assert not np.array_equal(other, held)


def test_every_row_is_predicted_from_the_other_folds(rows, summary):
    out, table = rows("kinds_train.csv -t kind --folds 4"), pd.read_csv("kinds_train.csv")
    (X,), y = objects("kinds_train.csv"), labels("kinds_train.csv")
    pd.testing.assert_frame_equal(out[["x", "z", "kind"]], table)
    assert out["fold"].value_counts().to_dict() == dict.fromkeys([1, 2, 3, 4], 15)
    for fold in (1, 2, 3, 4):
        own = (out["fold"] == fold).to_numpy()
        clf = FullConformalClassifier().fit(X[~own], y[~own])
        np.testing.assert_array_equal(out.loc[own, P], clf.predict_p(X[own]))
        assert out.loc[own, "prediction"].tolist() == clf.predict(X[own]).tolist()
    assert summary("predict kinds_train.csv -t kind --folds 4")["folds"] == 4


def test_a_label_of_one_fold_alone_is_in_no_set_there(rows):
    table = pd.read_csv("kinds_train.csv")
    table.loc[7, "kind"] = "rare"
    table.to_csv("rare.csv", index=False)
    out = rows("rare.csv -t kind --folds 3")
    own = out["fold"] == out["fold"][7]
    assert (out.loc[own, "p_rare"] == 0).all()
    assert (out.loc[~own, "p_rare"] > 0).any()


# --- levels, columns, summary


def test_several_levels(rows, summary):
    out = rows(f"{KINDS} -c 0.9 -c 0.6")
    assert [name for name in out.columns if name.startswith("set")] == ["set_text_0.9", "set_text_0.6"]
    ends = rows(f"{PRICES} -c 0.9 -c 0.6")
    for level in (0.9, 0.6):
        assert rows(f"{KINDS} -c {level}")["set_text"].tolist() == out[f"set_text_{level}"].tolist()
        np.testing.assert_array_equal(ends[f"lower_{level}"], rows(f"{PRICES} -c {level}")["lower"])
    for files in (KINDS, PRICES):
        told = summary(f"predict {files} -c 0.9 -c 0.6")
        assert told["confidence_levels"] == [0.9, 0.6]
        assert told["coverage"] == summary(f"predict {files} -c 0.9")["coverage"]


def test_columns_that_name_the_rows_come_first_and_taken_names_are_changed(rows):
    for name in ("train", "new"):
        table = pd.read_csv(f"{name}.csv")[["x", "z", "customer_id", "kind"]]
        table.assign(prediction=1.5, prediction_given=2.5, lower="who").to_csv(f"taken_{name}.csv", index=False)
    out = rows("taken_train.csv taken_new.csv -t kind --id customer_id --id lower")
    assert [*out.columns[:2]] == ["customer_id", "lower"]
    assert out["prediction_given"].eq(2.5).all()
    assert out["prediction_given_given"].eq(1.5).all()


def test_rows_without_a_target_are_left_out_if_asked(summary, run):
    table = pd.read_csv("kinds_train.csv")
    table.loc[[3, 9], "kind"] = np.nan
    table.to_csv("holes.csv", index=False)
    table.dropna().to_csv("whole.csv", index=False)
    refused = run("predict holes.csv -t kind --folds 3").stderr
    assert "(2 such rows): fill it, or leave such rows out with --drop-missing-target" in refused
    told = summary("predict holes.csv -t kind --folds 3 --drop-missing-target")
    expected = summary("predict whole.csv -t kind --folds 3")
    assert {**told, **dict.fromkeys(SECONDS)} == {**expected, **dict.fromkeys(SECONDS)}
    assert told["n_train"] == 58


SECONDS = ("fit_seconds", "predict_seconds", "total_seconds")


def test_the_verdict_on_coverage(summary, run):
    told = summary(f"predict {KINDS}")
    assert told["verdict"] == "as promised"
    assert 0 < told["fit_seconds"] + told["predict_seconds"] < told["total_seconds"]
    pd.read_csv("kinds_new.csv").assign(kind="c").to_csv("other.csv", index=False)
    result = run("predict kinds_train.csv other.csv -t kind --json")
    assert json.loads(result.stdout)["new_labels"] == {"c": 20}
    assert json.loads(result.stdout)["coverage"] == 0.0
    assert "20 rows of TEST have a label that TRAIN lacks (c): no set can hold it" in result.stderr
    assert "coverage 0.000 is lower than chance explains" in result.stderr
    assert "TEST may come from a different distribution than TRAIN." in result.stderr
    pd.read_csv("kinds_new.csv").drop(columns="kind").to_csv("blind.csv", index=False)
    blind = summary("predict kinds_train.csv blind.csv -t kind")
    assert (blind["coverage"], blind["verdict"], blind["accuracy"]) == (None, None, None)


def test_too_few_rows_for_the_level_are_a_sentence(run):
    pd.read_csv("kinds_train.csv")[:12].to_csv("few.csv", index=False)
    result = run("predict few.csv kinds_new.csv -t kind --option k=2 --json")
    assert result.stderr.startswith("exactcp: warning: confidence_level=0.95 needs at least 19 examples")
    assert ".py" not in result.stderr  # without Python's file and line


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (f"{KINDS}", ["Predictions of kind", "kinds_train.csv, 60 rows", "split"]),
        ("kinds_train.csv -t kind --folds 3 --method split", ["every row is predicted from the other 2 of 3"]),
        (f"{PRICES}", ["Predictions of price", "KNNResidual", "strangest"]),
        (f"{PRICES} --method cv+ -c 0.9", ["cv+"]),
        (f"{PRICES} -m model --option estimator=Ridge --method split", ["ModelResidual"]),
    ],
)
def test_pages(command, words, folder, done):
    done(f"predict {command} --report page.html --json")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert [word for word in words if word not in page] == []
