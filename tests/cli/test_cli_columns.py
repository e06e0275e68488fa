"""What columns hold: numbers, labels, dates, IDs. The command line takes them for what they are, or says what to do."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from exactcp import CrossConformalClassifier, CVPlusRegressor, SplitConformalClassifier, SplitConformalRegressor
from exactcp.cli import app
from slices import sliced, slow_but

N = 60


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(seed=0, **columns):
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"x": rng.normal(size=N), "z": rng.normal(size=N)})
    return made.assign(kind=np.where(made["x"] > 0, "a", "b"), **columns)


def predict(train, *options, test=None, target="kind", ending="csv"):
    """Write both tables and predict; the tables may be texts."""
    for name, content in (("train", train), ("test", train if test is None else test)):
        if isinstance(content, str):
            with open(f"{name}.csv", "w", encoding="utf-8") as file:
                file.write(content)
        elif ending == "csv":
            content.to_csv(f"{name}.csv", index=False)
        else:
            content.to_parquet(f"{name}.parquet")
    words = ["predict", f"train.{ending}", f"test.{ending}", "--target", target, *options]
    return CliRunner().invoke(app, words)


def told(*arguments, **how):
    result = predict(*arguments, "--json", **how)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(sentence, *arguments, code=1, **how):
    result = predict(*arguments, **how)
    assert (result.exit_code, result.stdout) == (code, "")
    assert sentence in result.stderr
    assert "(unexpected" not in result.stderr
    assert len(result.stderr.splitlines()) == 1


# --- decimal commas


def written(values, mark=","):
    return [f"{value:.2f}".replace(".", mark) for value in values]


def test_decimal_commas_are_read_when_said_and_refused_when_not():
    plain = table(price=lambda t: 3 * t["x"]).drop(columns="kind").round(2)
    commas = plain.assign(price=written(plain["price"]), x=written(plain["x"]))
    refused("has numbers with decimal commas, such as '", commas, target="price")
    refused("use --decimal ','", commas, "--task", "regression", target="price")
    refused("column 'x' of TRAIN has numbers with decimal commas", commas.assign(price=plain["price"]), target="price")
    expected = told(plain, target="price")
    refused("has numbers with decimal points, such as '", commas, "--decimal", ",", target="price")
    commas["z"] = written(plain["z"])
    found = told(commas, "--decimal", ",", target="price")
    assert {k: v for k, v in found.items() if "seconds" not in k} == {
        k: v for k, v in expected.items() if "seconds" not in k
    }
    excel = plain.to_csv(index=False, sep=";", decimal=",")
    assert told(excel, "--decimal", ",", "--separator", ";", target="price")["coverage"] == expected["coverage"]


@pytest.mark.parametrize("cells", [["1,5", "2", "17,25"], ["1.234,5", "2.000,1"], ["$12.50", "$1,200"], ["5 %", "7%"]])
def test_numbers_that_are_written_otherwise(cells):
    column = (cells * N)[:N]
    refused("has numbers with", table(x=column))
    refused("has numbers with", table(cost=column), target="cost")
    assert told(table(x=column), "--categorical", "x")["n_test"] == N
    assert told(table(cost=column), "--task", "classification", target="cost")["task"] == "classification"


def test_a_target_that_is_mostly_numbers_is_no_text():
    cells = [str(value) for value in np.arange(N) / 4]
    cells[7] = "?"
    refused(
        "row 8 of TRAIN has '?' as its target 'cost', and most others have numbers", table(cost=cells), target="cost"
    )


# --- dates, nested cells, decimals


DATES = {
    "iso": [f"2024-01-{i % 28 + 1:02d}" for i in range(N)],
    "german": [f"{i % 28 + 1}.1.2024" for i in range(N)],
    "american": [f"1/{i % 28 + 1}/24" for i in range(N)],
    "words": [f"{i % 28 + 1} Jan 2024" for i in range(N)],
    "moments": [f"2024-01-05T{i % 24:02d}:30:00Z" for i in range(N)],
    "times": [f"{i % 24}:30" for i in range(N)],
    "types": pd.date_range("2024-01-01", periods=N),
    "objects": [dt.date(2024, 1, i % 28 + 1) for i in range(N)],
}


@pytest.mark.parametrize(("name", "ending"), sliced(2, DATES, ["csv", "parquet"]))
def test_dates_are_left_out_of_every_file_and_no_target(name, ending):
    dated = table(when=DATES[name])
    result = predict(dated, "--json", "--measure", "knn", "--output", "out.csv", ending=ending)
    assert result.exit_code == 0, result.output
    assert "column 'when' has dates and is left out" in result.stderr
    assert predict(table(), "--json", "--measure", "knn", "--output", "plain.csv", ending=ending).exit_code == 0
    out = pd.read_csv("out.csv")
    assert "when" in out.columns
    pd.testing.assert_frame_equal(out.drop(columns="when"), pd.read_csv("plain.csv"))
    refused("the target 'when' of TRAIN has dates", dated, target="when", ending=ending)


DAYS = {
    **{name: DATES[name] for name in ("iso", "german", "american", "words", "moments", "types", "objects")},
    "gaps of hours": pd.date_range("2024-01-01", periods=N, freq="7h"),
}


@pytest.mark.parametrize(("name", "ending"), sliced(2, DAYS, ["csv", "parquet"]))
def test_dates_as_days_since_the_first(name, ending):
    cells = pd.Series(DAYS[name])
    moments = pd.to_datetime(cells, format={"german": "%d.%m.%Y", "american": "%m/%d/%y"}.get(name))
    days = (moments - moments.min()) / pd.Timedelta(days=1)
    assert days.nunique() > 20
    options = ["--measure", "knn", "--json"]
    result = predict(table(when=DAYS[name]), *options, "--dates", "days", "--output", "a.csv", ending=ending)
    assert (result.exit_code, result.stderr) == (0, "")
    result = predict(table(when=days), *options, "--output", "b.csv", "--keep-ids", ending=ending)
    assert (result.exit_code, result.stderr) == (0, "")
    found, expected = pd.read_csv("a.csv"), pd.read_csv("b.csv")
    pd.testing.assert_frame_equal(found.drop(columns="when"), expected.drop(columns="when"))
    assert found["when"].astype(str).tolist() != expected["when"].astype(str).tolist()  # the dates as they were


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (
            [f"{i % 12 + 1}/{i % 9 + 1}/2024" for i in range(N)],
            "day and month cannot be told apart, such as '1/1/2024'",
        ),
        (["13/1/2024", "1/13/2024"] * (N // 2), "dates that are not all written in the same way"),
        (DATES["times"], "times without a day, such as '0:30'"),
    ],
)
def test_dates_that_cannot_be_days(cells, sentence):
    refused(sentence, table(when=cells), "--dates", "days")


def test_nothing_but_dates_to_learn_from():
    only = table(when=DATES["iso"])[["when", "kind"]]
    refused("no column to learn from but dates, such as 'when': use --dates days", only)
    assert predict(only, "--dates", "days").exit_code == 0


def test_named_ids_are_left_out_and_written_first():
    named = table(name=[f"n{i % 7}" for i in range(N)])
    assert predict(named, "--id", "name", "--measure", "knn", "--output", "a.csv").exit_code == 0
    assert predict(table(), "--measure", "knn", "--output", "b.csv").exit_code == 0
    found = pd.read_csv("a.csv")
    assert found.columns[0] == "name"
    assert found["name"].tolist() == named["name"].tolist()
    pd.testing.assert_frame_equal(found.drop(columns="name"), pd.read_csv("b.csv"))
    refused("--id nam is not a column of the rows that are predicted", named, "--id", "nam", code=2)
    refused("--id kind is the target", named, "--id", "kind", code=2)
    refused("--id name is learned from", named, "--id", "name", "--categorical", "name", code=2)


@pytest.mark.parametrize("cells", [["12-3", "14-7"], ["1.10.12.7", "2.0.0.1"], ["Mon", "May"], ["red", "2024-01-05"]])
def test_what_are_no_dates(cells):
    assert told(table(code=(cells * N)[:N]))["n_test"] == N


@pytest.mark.parametrize("cells", [[[1, 2], [3]], [{"a": 1}, {"a": 2}]])
def test_cells_with_several_values(cells):
    nested = table(many=(cells * N)[:N])
    refused("column 'many' of TRAIN has cells with several values", nested, ending="parquet")
    refused("the target 'many' has cells with several values", nested, target="many", ending="parquet")
    assert told(nested, "--ignore", "many", "--output", "out.csv", ending="parquet")["n_test"] == N


def test_decimal_numbers_of_a_database_are_numbers():
    given = table(price=[Decimal(i) / 4 for i in range(N)])
    assert told(given, target="price", ending="parquet")["task"] == "regression"


# --- numbers that float64 cannot hold


HUGE = pytest.param("9" * 400, marks=pytest.mark.skipif(pd.__version__ < "3", reason="it is text to pandas 2"))


@pytest.mark.parametrize("value", ["1e308", "-1e200", HUGE])
def test_numbers_beyond_all_bounds(value):
    counts = "x,kind\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(N))
    refused("column 'x' has infinite values, or some beyond 1e+150", counts + f"{value},a\n")
    refused(f"row {N + 1} of TRAIN has", counts.replace("a\n", "1\n").replace("b\n", "2\n") + f"1,{value}\n",
            "--task", "regression")  # fmt: skip
    text = table().to_csv(index=False) + f"{value},0,a\n"
    refused("column 'x' has infinite values, or some beyond 1e+150", text)
    refused("beyond 1e+150", text, "--scale", "none")
    text = "x,y\n" + "".join(f"{i}.5,{i * 1.5}\n" for i in range(N))
    refused(f"row {N + 1} of TRAIN has", text + f"1,{value}\n", target="y")
    refused(f"row {N + 1} of TEST has", text, test=text + f"1,{value}\n", target="y")


def test_tiny_numbers_are_scaled_as_others_are():
    given = table().drop(columns="z")
    tiny = given.assign(x=given["x"] * 1e-200)
    for scale in ("standard", "robust"):
        a, b = (told(t, "--scale", scale) for t in (given, tiny))
        assert a["set_size"] == b["set_size"] < 2


def test_whole_numbers_that_would_become_one():
    refused("beyond 2**53", table(x=2**60 + np.arange(N) % 2))


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["9223372036854775808", "5"], ["5", "9223372036854775808"]),
        (["100000000000000000000", "200000000000000000000"], ["100000000000000000000", "200000000000000000000"]),
        (["1e20", "2e20"], ["100000000000000000000", "200000000000000000000"]),
        (["9007199254740993", "9007199254740992"], [9007199254740992, 9007199254740993]),
        (["-5", "3"], [-5, 3]),
        (["9" * 400, "8" * 400], ["8" * 400, "9" * 400]),
    ],
)
def test_whole_labels_keep_their_identity(labels, classes):
    column = ["x,kind", *(f"{i % 2 * 10 + i / 10},{labels[i % 2]}" for i in range(N))]
    text = "\n".join(column) + "\n"
    gaps = text + "5.0,\n"  # a missing label must not make the others inexact
    found = told(text, "--output", "out.csv", test=gaps)
    assert found["classes"] == classes
    assert found["accuracy"] == 1.0
    assert found["new_labels"] == {}
    out = pd.read_csv("out.csv", dtype=str)
    assert set(out["prediction"][:N]) == {str(label) for label in classes}
    assert told(text, "--output", "out.parquet")["classes"] == classes


def test_whole_labels_of_parquet_keep_their_identity_with_gaps():
    given = table(n=2**53 + np.arange(N) % 2)
    gaps = given.assign(n=given["n"].astype("Int64").where(np.arange(N) != 3))
    found = told(given, test=gaps, target="n", ending="parquet")
    assert found["classes"] == [2**53, 2**53 + 1]
    assert found["new_labels"] == {}


def test_text_labels_stay_text_in_test():
    given = "x,kind\n" + "".join(f"{i},{('01', 'b')[i % 2]}\n" for i in range(N))
    assert told(given, test="x,kind\n4,01\n")["new_labels"] == {}


# --- IDs


IDS = ["id", "Id", "customer_id", "PassengerId", "rownames", "index", "Unnamed: 0"]


@pytest.mark.parametrize("name", slow_but(["id", "PassengerId", "Unnamed: 0"], IDS))
def test_ids_are_left_out_and_told(name):
    order = np.random.default_rng(0).permutation(N) * 7
    with_id = table()
    with_id.insert(0, name, order)
    result = predict(with_id, "--json")
    assert f"exactcp: warning: column '{name}' " in result.stderr
    assert "is left out" in result.stderr
    plain, found = told(table()), json.loads(result.stdout)
    kept = predict(with_id, "--json", "--keep-ids", "--measure", "knn")
    assert kept.stderr == ""
    assert found["mean_fuzziness"] == plain["mean_fuzziness"] != json.loads(kept.stdout)["mean_fuzziness"]
    assert predict(with_id, "--json", "--ignore", name, "--measure", "knn").stderr == ""


@pytest.mark.parametrize(
    ("name", "values"),
    [("id", np.arange(N) % 7), ("id", np.arange(N) / 7), ("price", np.arange(N)[::-1] * 3), ("acid", np.arange(N) * 2)],
)
def test_what_are_no_ids(name, values):
    result = predict(table(**{name: values}), "--json")
    assert "left out" not in result.stderr
    assert result.exit_code == 0


def test_the_only_column_is_learned_from():
    given = table(id=np.arange(N))[["id", "kind"]]
    assert predict(given, "--json").exit_code == 0


def test_a_column_that_counts_rows_is_told():
    assert "column 'when' counts the rows of TRAIN, from 5 to 64" in predict(table(when=np.arange(5, 65))).stderr
    assert predict(table(when=np.arange(5, 65)), "--json", "--keep-ids", "--measure", "knn").stderr == ""


# --- labels and coverage that are not what was promised


def test_labels_that_training_lacks_are_told_and_judged(folder):
    test = table(seed=1)
    test.loc[:19, "kind"] = ["c"] * 15 + ["d"] * 5
    result = predict(table(), "--json", "--report", "page.html", test=test)
    said = json.loads(result.stdout)
    assert said["new_labels"] == {"c": 15, "d": 5}
    assert said["verdict"] == "below"
    assert "20 rows of TEST have a label that TRAIN lacks ('c', 'd')" in result.stderr
    assert "lower than chance explains" in result.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "20 test rows have a label that no training row has\n(c, d)" in page
    assert "The coverage does not agree with the promise" in page
    assert "20 test rows have a label that no training row has\n(c, d)" in page
    assert "The test rows do not come from where the training rows do" in page


def test_a_test_file_from_elsewhere_is_judged(folder):
    given = table(price=lambda t: 3 * t["x"]).drop(columns="kind")
    result = predict(given, "--json", "--report", "page.html", target="price", test=given.assign(price=given["x"] + 9))
    assert json.loads(result.stdout)["verdict"] == "below"
    assert "TEST may not come from where TRAIN does" in result.stderr
    assert "The coverage does not agree with the promise" in (folder / "page.html").read_text(encoding="utf-8")


def test_coverage_as_promised_is_told_as_such(folder):
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame({"x": rng.normal(size=200), "kind": rng.choice(["a", "b"], size=200)}) for _ in range(2)]
    options = ["--json", "--report", "page.html", "--confidence", "0.8", "--measure", "knn"]
    result = predict(tables[0], *options, test=tables[1])
    assert json.loads(result.stdout)["verdict"] == "as promised"
    assert result.stderr == ""
    assert "The coverage agrees with the promise." in (folder / "page.html").read_text(encoding="utf-8")


# --- methods, and what they take


@pytest.mark.parametrize(
    ("method", "predictor"), [("split", SplitConformalClassifier), ("cross", CrossConformalClassifier)]
)
def test_methods_of_classification(method, predictor, folder):
    train, test = table(), table(seed=1)
    options = ["--method", method, "--scale", "none", "--option", "k=3", "--report", "page.html", "--output", "out.csv"]
    found = told(train, *options, test=test)
    assert found["method"] == method
    from exactcp.measures import KNN

    fitted = predictor(KNN(3), random_state=0).fit(train[["x", "z"]].to_numpy(), train["kind"].to_numpy(str))
    out = pd.read_csv("out.csv")
    np.testing.assert_array_equal(out[["p_a", "p_b"]], fitted.predict_p(test[["x", "z"]].to_numpy()))
    page = (folder / "page.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    page = re.sub(r"<[^>]*>", "", page)
    assert ("at least 90 %, which is all that is proven" in page) == (method == "cross")


@pytest.mark.parametrize(("method", "predictor"), [("split", SplitConformalRegressor), ("cross", CVPlusRegressor)])
def test_methods_of_regression(method, predictor, folder):
    train, test = (table(seed, price=lambda t: 3 * t["x"]).drop(columns="kind") for seed in (0, 1))
    options = ["--method", method, "--scale", "none", "--report", "page.html", "--output", "out.csv"]
    assert told(train, *options, test=test, target="price")["method"] == method
    fitted = predictor(random_state=0).fit(train[["x", "z"]].to_numpy(), train["price"])
    out = pd.read_csv("out.csv")
    np.testing.assert_array_equal(out[["lower", "upper"]], fitted.predict_interval(test[["x", "z"]].to_numpy(), 0.95))
    assert "<table>" in (folder / "page.html").read_text(encoding="utf-8")
    refused("--smoothed is for p-values", train, *options, "--smoothed", target="price", code=2)


def test_what_is_taken_where_no_measure_is_given(monkeypatch):
    from exactcp.cli import _default_measure

    few = table()[:30]
    result = predict(few, "--json", "--output", "a.csv", test=few[:3])
    assert "no --measure is given: by random-forest, which mostly has the smallest sets" in result.stderr
    assert "n_estimators=100" in json.loads(result.stdout)["measure"]
    assert predict(few, "--measure", "random-forest", "--output", "b.csv", test=few[:3]).exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv("a.csv"), pd.read_csv("b.csv"))
    assert "no --measure" not in predict(few, "--option", "k=3", test=few[:3]).stderr
    assert "at little cost" in predict(few, "--method", "split", "--confidence", "0.8", test=few[:3]).stderr
    monkeypatch.setattr(_default_measure, "FOREST_PATIENCE", 30 * 2 * 3 * _default_measure.FOREST_SECONDS / 2)
    result = predict(few, "--json", test=few[:3])
    assert "by knn, and not by random-forest, which would take about" in result.stderr
    assert json.loads(result.stdout)["measure"].startswith("KNN(")
    monkeypatch.setattr(_default_measure, "MANY_ROWS", 29)
    assert "which is slow for so many rows" in predict(few, "--method", "split", test=few[:3]).stderr


def test_seconds_of_parts_add_up():
    found = told(table(), "--report", "page.html", "--output", "out.csv")
    assert list(found["seconds"]) == ["start", "read", "estimate", "fit", "predict", "judge", "report", "write"]
    assert sum(found["seconds"].values()) == found["total_seconds"]
    assert min(found["seconds"].values()) >= 0
    assert found["seconds"]["fit"] == found["fit_seconds"]


def test_a_model_that_is_fitted_again_and_again_is_told_beforehand(monkeypatch):
    from exactcp.cli import _refits

    monkeypatch.setattr(_refits, "SLOW", 0.0)
    few = table()[:20]
    model = ["--measure", "model", "--option", "estimator=GaussianNB"]
    result = predict(few, *model, "--json", test=few[:2])
    assert re.search(
        "fits this model 84 times, which takes about [0-9.]+ (µs|ms|s) at [0-9.]+ (µs|ms|s) each;", result.stderr
    )
    assert result.stderr.index("fits this model") < result.stderr.index("refitting: 2/2, done")
    assert "84 refits" in result.stderr
    price = few.assign(price=3 * few["x"]).drop(columns="kind")
    regressor = ["--measure", "model", "--option", "estimator=LinearRegression", "--option", "bisections=3"]
    assert "fits this model 16 to 92 times" in predict(price, *regressor, target="price", test=price[:2]).stderr
    jackknife = predict(price, *regressor, "--method", "jackknife+", target="price", test=price[:2])
    assert "jackknife+ fits this model 20 times" in jackknife.stderr
    assert "fits this model" not in predict(few, *model, "--method", "split", test=few[:2]).stderr


@pytest.mark.parametrize(
    ("options", "nearest"),
    [
        (["--target", "Kind"], "Did you mean kind?"),
        (["--ignore", "kin"], "Did you mean kind?"),
        (["--measure", "kmn"], "Did you mean knn?"),
        (["--option", "metrik=l1"], "Did you mean metric?"),
        (["--measure", "model", "--option", "estimator=logisticregression"], "Did you mean LogisticRegression?"),
    ],
)
def test_the_nearest_name_is_asked_for(options, nearest):
    refused(nearest, table(), *options, code=2)


def test_the_nearest_name_of_a_stream():
    table().to_csv("stream.csv", index=False)
    result = CliRunner().invoke(app, ["drift", "stream.csv", "--target", "KIND"])
    assert (result.exit_code, "Did you mean kind?" in result.stderr) == (2, True)


def test_a_stream_with_decimal_commas():
    plain = table().drop(columns="kind").round(2)
    plain.to_csv("plain.csv", index=False)
    plain.to_csv("commas.csv", index=False, sep=";", decimal=",")
    words = ["drift", "--json", "--seed", "0"]
    expected = CliRunner().invoke(app, [*words, "plain.csv"])
    found = CliRunner().invoke(app, [*words, "commas.csv", "--separator", ";", "--decimal", ","])
    assert found.stdout == expected.stdout != ""
    assert "use --decimal ," in CliRunner().invoke(app, [*words, "commas.csv", "--separator", ";"]).stderr
