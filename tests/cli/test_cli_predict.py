"""`exactcp predict`: what it writes equals what the library says, and broken files get one sentence."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import RobustScaler, StandardScaler
from typer.testing import CliRunner

from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.cli import app
from exactcp.measures import KDE, KNN, LSSVM, ModelScore, RandomForest, RidgeResidual


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A directory with a classification and a regression problem, which is the current one."""
    rng = np.random.default_rng(0)
    kind = np.array(["ant", "bee", "cat"])[rng.integers(0, 3, size=80)]
    center = {"ant": 0.0, "bee": 1.0, "cat": 3.0}
    mean = np.array([center[k] for k in kind])
    table = pd.DataFrame({"x": mean + rng.normal(size=80), "y": 100 * (mean + rng.normal(size=80)), "kind": kind})
    table[:60].to_csv(tmp_path / "train.csv", index=False)
    table[60:].to_csv(tmp_path / "test.csv", index=False)
    table[60:].drop(columns="kind").to_csv(tmp_path / "blind.csv", index=False)
    numbers = table[["x", "y"]].assign(price=table["x"] * 3 + rng.normal(size=80))
    numbers[:60].to_csv(tmp_path / "price_train.csv", index=False)
    numbers[60:].to_csv(tmp_path / "price_test.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["predict", *[str(a) for a in arguments]])


def rows(*arguments):
    result = run(*arguments, "--output", "out.csv")
    assert result.exit_code == 0, result.output
    return pd.read_csv("out.csv", keep_default_na=False, na_values=["nan"])


def objects(*names, columns=("x", "y"), scaler=None):
    tables = [pd.read_csv(name)[list(columns)].to_numpy(float) for name in names]
    both = np.vstack(tables)
    scaled = (scaler or StandardScaler()).fit_transform(both)
    return scaled[: len(tables[0])], scaled[len(tables[0]) :]


@pytest.fixture
def problem(folder):
    X, Z = objects("train.csv", "test.csv")
    return X, pd.read_csv("train.csv")["kind"].to_numpy(str), Z


def test_rows_are_those_of_the_file_with_the_librarys_predictions(problem):
    X, y, Z = problem
    clf = FullConformalClassifier().fit(X, y)
    frame = clf.predict_frame(Z, 0.9)
    out = rows("train.csv", "test.csv", "--target", "kind", "--confidence", "0.9", "--measure", "knn")
    assert list(out.columns) == [
        *["x", "y", "kind"], *["prediction", "set_text", "confidence", "credibility"], *["p_ant", "p_bee", "p_cat"],
    ]  # fmt: skip
    given = pd.read_csv("test.csv")
    pd.testing.assert_frame_equal(out[["x", "y", "kind"]], given, check_dtype=False)
    pd.testing.assert_frame_equal(out[out.columns[3:]], frame.drop(columns="set"), check_dtype=False, rtol=0, atol=0)
    assert any("|" in one for one in out["set_text"])


def test_without_an_output_rows_go_to_standard_output_and_words_do_not(folder):
    result = run("train.csv", "test.csv", "--target", "kind", "--measure", "knn")
    assert result.exit_code == 0
    assert result.stdout.startswith("x,y,kind,prediction,set_text,")
    assert len(result.stdout.splitlines()) == 21
    assert "classification (3 different labels) by KNN(k=15" in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "measure"),
    [
        (["--measure", "knn", "--option", "k=5", "--option", "metric=manhattan"], KNN(5, "manhattan")),
        (["--option", "k=3"], KNN(3)),
        (["--measure", "KDE", "--option", "bandwidth=0.5"], KDE(0.5)),
    ],
)  # fmt: skip
def test_any_measure_with_its_options(options, measure, problem):
    X, y, Z = problem
    out = rows("train.csv", "test.csv", "--target", "kind", *options)
    expected = FullConformalClassifier(measure).fit(X, y).predict_p(Z)
    np.testing.assert_array_equal(out[["p_ant", "p_bee", "p_cat"]].to_numpy(), expected)


def test_any_model_with_its_own_options(problem):
    from sklearn.tree import DecisionTreeClassifier

    X, y, Z = problem
    pd.read_csv("test.csv")[:2].to_csv("few.csv", index=False)
    X, Z = objects("train.csv", "few.csv")
    model = ["--option", "estimator=DecisionTreeClassifier", "--option", "estimator__max_depth=2"]
    more = ["--option", "estimator__random_state=0"]
    result = run("train.csv", "few.csv", "--target", "kind", "--measure", "model", *model, *more, "--output", "out.csv")
    assert result.exit_code == 0, result.output
    tree = ModelScore(DecisionTreeClassifier(max_depth=2, random_state=0))
    with pytest.warns(UserWarning, match="ModelScore") as told:
        expected = FullConformalClassifier(tree).fit(X, y).predict_p(Z)
    assert f"exactcp: warning: {told[0].message}" in result.stderr
    np.testing.assert_array_equal(pd.read_csv("out.csv")[["p_ant", "p_bee", "p_cat"]].to_numpy(), expected)


def test_a_seed_reaches_a_random_measure():
    from exactcp.cli._measure_option import make_measure

    made = make_measure("random-forest", ["max_depth=3", "max_features=None"], "classification", seed=7)
    assert repr(made) == repr(RandomForest(max_depth=3, max_features=None, random_state=7))
    assert make_measure("RandomForest", ["random_state=1"], "classification", seed=7).random_state == 1
    made = make_measure("lssvm", ["kernel=rbf", "gamma=0.5"], "classification", seed=7)
    assert repr(made) == repr(LSSVM(kernel="rbf", gamma=0.5))
    assert make_measure(None, [], "regression") is None


def test_label_conditional_and_smoothed_with_a_seed(problem):
    X, y, Z = problem
    label = ["--mondrian", "label", "--smoothed", "--seed", "3", "--measure", "knn"]
    out = rows("train.csv", "test.csv", "--target", "kind", *label)
    clf = FullConformalClassifier(mondrian="label", smoothed=True, random_state=3).fit(X, y)
    np.testing.assert_array_equal(out[["p_ant", "p_bee", "p_cat"]].to_numpy(), clf.predict_p(Z))
    assert out["prediction"].tolist() == clf.predict(Z).tolist()


def test_a_smoothed_run_without_a_seed_tells_the_one_it_drew(folder):
    told = json.loads(
        run("train.csv", "test.csv", "--target", "kind", "--smoothed", "--json", "--output", "a.csv").stdout
    )
    assert (
        run(
            "train.csv", "test.csv", "--target", "kind", "--smoothed", "--seed", told["seed"], "--output", "b.csv"
        ).exit_code
        == 0
    )
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


def test_ties_of_p_values_go_to_the_less_strange_label(folder):
    table = pd.DataFrame({"x": [0.0, 1.0, 10.0, 11.0], "kind": ["b", "b", "a", "a"]})
    table.to_csv("few.csv", index=False)
    pd.DataFrame({"x": [0.4, 5.4, 5.6, 10.6]}).to_csv("new.csv", index=False)
    out = rows("few.csv", "new.csv", "--target", "kind", "--scale", "none", "--option", "k=1")
    clf = FullConformalClassifier(KNN(1)).fit(table[["x"]].to_numpy(), table["kind"].to_numpy(str))
    Z = [[0.4], [5.4], [5.6], [10.6]]
    p = clf.predict_p(Z)
    assert (p[1] == p[1].max()).all()
    assert out["prediction"].tolist() == clf.predict(Z).tolist()
    assert out["prediction"].tolist() != clf.classes_[p.argmax(axis=1)].tolist()  # which the first label would be


@pytest.mark.parametrize(
    ("scale", "scaler"), [("standard", StandardScaler()), ("robust", RobustScaler()), ("none", None)]
)
def test_scaling_sees_training_and_test_rows_together(scale, scaler, folder):
    from sklearn.preprocessing import FunctionTransformer

    X, Z = objects("train.csv", "test.csv", scaler=scaler or FunctionTransformer())
    y = pd.read_csv("train.csv")["kind"].to_numpy(str)
    out = rows("train.csv", "test.csv", "--target", "kind", "--scale", scale, "--measure", "knn")
    expected = FullConformalClassifier().fit(X, y).predict_p(Z)
    np.testing.assert_array_equal(out[["p_ant", "p_bee", "p_cat"]].to_numpy(), expected)
    if scale == "standard":
        alone = StandardScaler().fit(pd.read_csv("train.csv")[["x", "y"]].to_numpy())
        raw = [pd.read_csv(name)[["x", "y"]].to_numpy() for name in ("train.csv", "test.csv")]
        other = FullConformalClassifier().fit(alone.transform(raw[0]), y).predict_p(alone.transform(raw[1]))
        assert (other != expected).any()  # so that this test could tell


def test_categories_missing_values_and_ignored_columns(folder):
    train, test = pd.read_csv("train.csv"), pd.read_csv("test.csv")
    rng = np.random.default_rng(1)
    for table in (train, test):
        table["color"] = rng.choice(["red", "green", None], size=len(table))
        table["code"] = rng.integers(0, 3, size=len(table))
        table["name"] = [f"row {i}" for i in range(len(table))]
        table.loc[[2, 5], "x"] = np.nan
    train.to_csv("messy.csv", index=False)
    test.to_csv("messy_test.csv", index=False)
    both = pd.concat([train, test], ignore_index=True)
    x = both["x"].fillna(both["x"].median())
    numbers = StandardScaler().fit_transform(np.column_stack([x, both["y"]]))
    colors = np.column_stack([both["color"] == c for c in ("red", "green")] + [both["color"].isna()])
    codes = np.column_stack([both["code"] == c for c in (0, 1, 2)])
    Z = np.hstack([numbers, colors, codes]).astype(float)
    expected = FullConformalClassifier(KDE(1.0)).fit(Z[:60], train["kind"].to_numpy(str)).predict_p(Z[60:])
    more = ["--measure", "kde", "--impute", "--categorical", "code", "--ignore", "name"]
    out = rows("messy.csv", "messy_test.csv", "--target", "kind", *more)
    np.testing.assert_allclose(out[["p_ant", "p_bee", "p_cat"]].to_numpy(), expected, rtol=0, atol=1e-12)
    assert "name" in out.columns


def test_regression_by_the_look_of_the_target(folder):
    X, Z = objects("price_train.csv", "price_test.csv")
    train, test = pd.read_csv("price_train.csv"), pd.read_csv("price_test.csv")
    reg = FullConformalRegressor().fit(X, train["price"])
    out = rows("price_train.csv", "price_test.csv", "--target", "price", "--confidence", "0.8")
    assert list(out.columns) == ["x", "y", "price", "prediction", "lower", "upper"]
    np.testing.assert_array_equal(out["prediction"], reg.predict(Z))
    np.testing.assert_array_equal(out[["lower", "upper"]], reg.predict_interval(Z, 0.8))
    told = json.loads(
        run("price_train.csv", "price_test.csv", "--target", "price", "--confidence", "0.8", "--json").stdout
    )
    inside = (out["lower"] <= test["price"]) & (test["price"] <= out["upper"])
    assert told["coverage"] == inside.mean()
    assert told["task"] == "regression"


def test_a_region_that_is_a_union_is_written_out(folder):
    rng = np.random.default_rng(0)
    x = rng.normal(size=8)
    pd.DataFrame({"x": x, "t": rng.normal(size=8)}).to_csv("few.csv", index=False)
    pd.DataFrame({"x": [6.0, 0.1, -8.0]}).to_csv("far.csv", index=False)
    options = ["--measure", "ridge", "--option", "residual=ordinary", "--option", "rho=0.1", "--scale", "none"]
    options += ["--option", "fit_intercept=False"]
    out = rows("few.csv", "far.csv", "--target", "t", "--confidence", "0.5", *options)
    reg = FullConformalRegressor(RidgeResidual(0.1, residual="ordinary", fit_intercept=False))
    reg.fit(x[:, None], pd.read_csv("few.csv")["t"])
    regions = reg.predict_region([[6.0], [0.1], [-8.0]], 0.5)
    assert any(len(region) > 1 for region in regions)
    for text, region in zip(out["region"], regions, strict=True):
        if len(region) == 1:
            assert text == ""
        else:
            read = [[float(end) for end in part.strip("[]").split(",")] for part in text.split("|")]
            np.testing.assert_array_equal(read, region.intervals)
    np.testing.assert_array_equal(out["lower"], [region.hull[0] for region in regions])


@pytest.mark.parametrize(
    ("target", "task"),
    [
        (["a", "b"] * 10, "classification"),
        ([True, False] * 10, "classification"),
        ([0, 1] * 10, "classification"),
        ([1.0, 2.0] * 10, "classification"),
        ([0.5, 1.5] * 10, "regression"),
        (list(range(20)), "regression"),
        ([*range(15), *range(5)], "regression"),
    ],
)
def test_the_task_that_a_target_suggests(target, task):
    from exactcp.cli._targets import choose_task

    assert choose_task(pd.Series(target))[0] == task


def test_the_task_can_be_said(folder):
    pd.DataFrame({"x": np.arange(40.0), "n": np.arange(40) % 4}).to_csv("counts.csv", index=False)
    for task in ("classification", "regression"):
        told = json.loads(run("counts.csv", "counts.csv", "--target", "n", "--task", task, "--json").stdout)
        assert told["task"] == task


def test_whole_number_labels_stay_whole_where_the_test_target_has_gaps(folder):
    pd.DataFrame({"x": np.r_[np.arange(20.0), np.arange(50.0, 70.0)], "n": [0] * 20 + [1] * 20}).to_csv(
        "n.csv", index=False
    )
    pd.DataFrame({"x": [3.5, 55.5, 8.5], "n": [0.0, 1.0, np.nan]}).to_csv("gaps.csv", index=False)
    told = json.loads(run("n.csv", "gaps.csv", "--target", "n", "--json", "--output", "out.csv").stdout)
    assert told["classes"] == [0, 1]
    assert told["accuracy"] == 1.0
    assert pd.read_csv("out.csv")["prediction"].tolist() == [0, 1, 0]


def test_parquet_in_and_out_gives_the_same_rows(folder):
    for name in ("train", "test"):
        pd.read_csv(f"{name}.csv").to_parquet(f"{name}.parquet")
    assert run("train.parquet", "test.parquet", "--target", "kind", "--output", "out.parquet").exit_code == 0
    expected = rows("train.csv", "test.csv", "--target", "kind")
    found = pd.read_parquet("out.parquet")
    assert ["|".join(labels) for labels in found.pop("set")] == expected["set_text"].tolist()
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_a_column_that_has_a_new_columns_name_is_kept_under_another(folder):
    for name in ("train", "test"):
        pd.read_csv(f"{name}.csv").rename(columns={"kind": "prediction"}).to_csv(f"{name}_l.csv", index=False)
    out = rows("train_l.csv", "test_l.csv", "--target", "prediction")
    assert out["prediction_given"].tolist() == pd.read_csv("test.csv")["kind"].tolist()
    assert "prediction" in out.columns


def test_summary_for_scripts(folder):
    told = json.loads(run("train.csv", "blind.csv", "--target", "kind", "--json").stdout)
    assert told["coverage"] is None
    assert (told["n_train"], told["n_test"], told["confidence_level"]) == (60, 20, 0.95)
    told = json.loads(run("train.csv", "test.csv", "--target", "kind", "--json").stdout)
    assert 0.5 < told["coverage"] <= 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train.csv", "test.csv", "--target", "kind"], ["Label by label", "bee", "Calibration", "split"]),
        (["train.csv", "blind.csv", "--target", "kind"], ["has no known labels"]),
        (["price_train.csv", "price_test.csv", "--target", "price"], ["Widths", "KNNResidual", "strangest"]),
    ],
)
def test_reports(arguments, said, folder):
    result = run(*arguments, "--report", "page.html", "--json")
    assert result.exit_code == 0, result.output
    page = (folder / "page.html").read_text(encoding="utf-8")
    for words in said:
        assert words in page


def test_a_report_shows_rows_that_are_images_as_pictures(folder):
    rng = np.random.default_rng(0)
    pixels = pd.DataFrame(rng.uniform(size=(40, 6)), columns=[f"pixel{i}" for i in range(6)])
    pixels.assign(n=np.arange(40) % 2).to_csv("images.csv", index=False)
    result = run("images.csv", "images.csv", "--target", "n", "--image", "2x3", "--report", "page.html", "--json")
    assert result.exit_code == 0, result.output
    assert '"pictures":{"height":2,"width":3' in (folder / "page.html").read_text(encoding="utf-8")
    assert run("images.csv", "images.csv", "--target", "n", "--image", "2x2").exit_code == 2


def test_a_missing_column_of_dates_and_one_without_values(folder):
    table = pd.read_csv("train.csv").assign(when=pd.Timestamp("2026-01-01"), nothing=np.nan)
    table.to_parquet("dates.parquet")
    assert "has dates and is left out" in run("dates.parquet", "dates.parquet", "--target", "kind").stderr
    said = run("dates.parquet", "dates.parquet", "--target", "kind", "--ignore", "when", "--impute").stderr
    assert "column 'nothing' has no values at all" in said


def test_a_report_does_without_a_comparison_that_half_of_the_rows_cannot_give(folder, monkeypatch):
    def fail(*_):
        raise ValueError("half of it is too little.")

    monkeypatch.setattr("exactcp.SplitConformalClassifier.fit", fail)
    result = run("train.csv", "test.csv", "--target", "kind", "--report", "page.html", "--json")
    assert result.exit_code == 0
    assert "no split conformal prediction to compare with: half of it is too little." in result.stderr
    assert ">split<" not in (folder / "page.html").read_text(encoding="utf-8")


def test_row_numbers_that_were_saved_by_accident_are_told(folder):
    pd.read_csv("train.csv").to_csv("numbered.csv")
    pd.read_csv("test.csv").to_csv("numbered_test.csv")
    said = run("numbered.csv", "numbered_test.csv", "--target", "kind", "--json")
    assert said.exit_code == 0
    assert "exactcp: warning: column 'Unnamed: 0' has no name" in said.stderr
    quiet = run(
        "numbered.csv", "numbered_test.csv", "--target", "kind", "--json", "--ignore", "Unnamed: 0", "--measure", "knn"
    )
    assert quiet.stderr == ""


def test_too_few_rows_for_the_level_are_told(folder):
    pd.read_csv("train.csv")[:12].to_csv("few.csv", index=False)
    result = run("few.csv", "test.csv", "--target", "kind", "--option", "k=2", "--json")
    assert result.exit_code == 0
    assert result.stderr.startswith("exactcp: warning: confidence_level=0.95 needs at least 19 examples")
    assert ".py" not in result.stderr  # a sentence, without Python's file and line


@pytest.mark.parametrize(
    ("hidden", "arguments", "sentence"),
    [
        (
            "pandas",
            [],
            'reading tables needs pandas, which is not installed: run python -m pip install "exactcp[report]"',
        ),
        ("jinja2", ["--report", "page.html"], "a report needs jinja2"),
        ("matplotlib", ["--report", "page.html"], "a report needs matplotlib"),
    ],
)
def test_packages_that_are_not_installed_are_named(hidden, arguments, sentence, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, hidden, None)
    result = run("train.csv", "test.csv", "--target", "kind", *arguments)
    assert result.exit_code == 1
    assert sentence in result.stderr
