"""`exactcp predict` with one file, several levels, other methods, and targets on another scale."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

from exactcp import (
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifePlusRegressor,
)
from exactcp.cli import app
from exactcp.measures import KNN

N = 60


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A directory with one file for each task, which is the current one."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=N), "z": 100 * rng.normal(size=N)})
    kind = np.where(table["x"] + rng.normal(size=N) > 0, "a", "b")
    table.assign(kind=kind).to_csv(tmp_path / "kinds.csv", index=False)
    table.assign(price=np.exp(table["x"] + rng.normal(size=N) / 3)).to_csv(tmp_path / "prices.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["predict", *[str(a) for a in arguments]])


def rows(*arguments):
    result = run(*arguments, "--output", "out.csv")
    assert result.exit_code == 0, result.output
    return pd.read_csv("out.csv", keep_default_na=False, na_values=["nan"])


def objects(name):
    """Return the objects of a file, scaled by all of its rows."""
    return StandardScaler().fit_transform(pd.read_csv(name)[["x", "z"]].to_numpy())


KINDS = ("kinds.csv", "--target", "kind", "--measure", "knn", "--option", "k=3")
PRICES = ("prices.csv", "--target", "price")


# --- one file


@pytest.mark.parametrize("seed", [None, 5])
def test_a_random_part_is_predicted_from_the_others_and_its_rows_are_numbered(seed):
    said = [] if seed is None else ["--seed", seed]
    out = rows(*KINDS, "--holdout", "0.25", *said)
    assert len(out) == 15
    held = out["row"].to_numpy() - 1
    assert (np.diff(held) > 0).all()
    table, X = pd.read_csv("kinds.csv"), objects("kinds.csv")
    pd.testing.assert_frame_equal(out[["x", "z", "kind"]], table.iloc[held].reset_index(drop=True))
    rest = np.setdiff1d(np.arange(N), held)
    clf = FullConformalClassifier(KNN(3)).fit(X[rest], table["kind"].to_numpy(str)[rest])
    np.testing.assert_array_equal(out[["p_a", "p_b"]], clf.predict_p(X[held]))
    assert out.equals(rows(*KINDS, "--holdout", "0.25", *said))
    other = rows(*KINDS, "--holdout", "0.25", "--seed", "6")["row"].to_numpy() - 1
    assert not np.array_equal(other, held)


@pytest.mark.parametrize("parts", [["--folds", "3"], ["--holdout", "0.5"]])
@pytest.mark.parametrize("repeated", [0, 10, 35])
def test_ids_of_one_file_are_looked_at_once(parts, repeated):
    table = pd.read_csv("kinds.csv")
    table.insert(0, "customer_id", np.r_[np.zeros(repeated, int), np.arange(N - repeated)] * 7)
    table.to_csv("ids.csv", index=False)
    said = run("ids.csv", "--target", "kind", "--measure", "knn", *parts).stderr
    assert ("column 'customer_id' is an ID and is left out" in said) == (repeated < N / 2)


@pytest.mark.parametrize("method", ["full", "split"])
def test_every_row_is_predicted_from_the_other_folds(method):
    result = run(*KINDS, "--folds", "4", "--method", method, "--output", "out.csv", "--report", "page.html")
    assert result.exit_code == 0, result.output
    assert "every row is predicted from the other 3 of 4 random folds" in result.stderr
    with open("page.html", encoding="utf-8") as page:
        assert "every row is predicted from the other 3 of 4 random folds" in page.read()
    out, table, X = pd.read_csv("out.csv"), pd.read_csv("kinds.csv"), objects("kinds.csv")
    pd.testing.assert_frame_equal(out[["x", "z", "kind"]], table)
    assert out["fold"].value_counts().to_dict() == dict.fromkeys([1, 2, 3, 4], 15)
    if method == "full":
        for fold in (1, 2, 3, 4):
            own = (out["fold"] == fold).to_numpy()
            clf = FullConformalClassifier(KNN(3)).fit(X[~own], table["kind"].to_numpy(str)[~own])
            np.testing.assert_array_equal(out.loc[own, ["p_a", "p_b"]], clf.predict_p(X[own]))
            assert out.loc[own, "prediction"].tolist() == clf.predict(X[own]).tolist()


def test_folds_of_regression():
    out, table, X = rows(*PRICES, "--folds", "3"), pd.read_csv("prices.csv"), objects("prices.csv")
    for fold in (1, 2, 3):
        own = (out["fold"] == fold).to_numpy()
        reg = FullConformalRegressor().fit(X[~own], table["price"][~own])
        np.testing.assert_array_equal(out.loc[own, "prediction"], reg.predict(X[own]))
        np.testing.assert_array_equal(out.loc[own, ["lower", "upper"]], reg.predict_interval(X[own], 0.95))
    said = json.loads(run(*PRICES, "--folds", "3", "--json").stdout)
    assert said["coverage"] == ((out["lower"] <= table["price"]) & (table["price"] <= out["upper"])).mean()
    assert said["folds"] == 3


def test_a_label_of_one_fold_alone_is_in_no_set_there():
    table = pd.read_csv("kinds.csv")
    table.loc[7, "kind"] = "rare"
    table.to_csv("kinds.csv", index=False)
    out = rows(*KINDS, "--folds", "3")
    own = out["fold"] == out["fold"][7]
    assert (out.loc[own, "p_rare"] == 0).all()
    assert (out.loc[~own, "p_rare"] > 0).any()


# --- methods


@pytest.mark.parametrize(("method", "predictor"), [("cv+", CVPlusRegressor), ("jackknife+", JackknifePlusRegressor)])
def test_methods_of_regression_alone(method, predictor):
    out, table, X = (
        rows(*PRICES, "--holdout", "0.5", "--method", method),
        pd.read_csv("prices.csv"),
        objects("prices.csv"),
    )
    held = out["row"].to_numpy() - 1
    rest = np.setdiff1d(np.arange(N), held)
    reg = predictor(random_state=0).fit(X[rest], table["price"][rest])
    np.testing.assert_array_equal(out[["lower", "upper"]], reg.predict_interval(X[held], 0.95))
    result = run(*PRICES, "--holdout", "0.5", "--method", method, "--report", "page.html", "--json")
    assert json.loads(result.stdout)["method"] == method
    with open("page.html", encoding="utf-8") as page:
        assert "which is all that is proven" in page.read().replace("\N{NO-BREAK SPACE}", " ")


# --- several levels


def test_sets_of_several_levels():
    out = rows(*KINDS, "--holdout", "0.5", "--confidence", "0.9", "--confidence", "0.6")
    names = [name for name in out.columns if name.startswith("set")]
    assert names == ["set_text_0.9", "set_text_0.6"]
    for level in (0.9, 0.6):
        alone = rows(*KINDS, "--holdout", "0.5", "--confidence", level)
        assert alone["set_text"].tolist() == out[f"set_text_{level}"].tolist()
    assert out["set_text_0.9"].tolist() != out["set_text_0.6"].tolist()
    said = json.loads(run(*KINDS, "--holdout", "0.5", "--confidence", "0.9", "--confidence", "0.6", "--json").stdout)
    assert (said["confidence_level"], said["confidence_levels"]) == (0.9, [0.9, 0.6])


@pytest.mark.parametrize("method", ["full", "cv+"])
def test_intervals_of_several_levels(method):
    levels = ["--confidence", "0.6", "--confidence", "0.8"]
    out = rows(*PRICES, "--holdout", "0.5", "--method", method, *levels)
    for level in (0.6, 0.8):
        alone = rows(*PRICES, "--holdout", "0.5", "--method", method, "--confidence", level)
        for end in ("lower", "upper"):
            np.testing.assert_array_equal(out[f"{end}_{level}"], alone[end])
    assert "lower" not in out.columns
