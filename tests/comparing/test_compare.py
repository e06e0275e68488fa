"""`exactcp.compare`: its numbers are those that one gets by hand, and what it leaves out it tells."""

from __future__ import annotations

import _thread
import math
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, LeaveOneOut
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import exactcp
from exactcp import (
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
)
from exactcp._rows import symmetric_order, take_rows
from exactcp.comparing._candidates import default_candidates, python_lines
from exactcp.comparing._columns import category_columns, vectoriser
from exactcp.measures import KNN, LSSVM, KNNResidual, RidgeResidual
from slices import sliced

pytestmark = pytest.mark.filterwarnings("ignore:The choice among")

NUMBERS = ["coverage", "coverage_low", "coverage_high"]


@pytest.fixture(autouse=True)
def one_thread_of_openmp():
    """Boosting spins on busy machines."""
    with threadpool_limits(1, user_api="openmp"):
        yield


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.repeat([0, 1, 2], [20, 15, 7])]
    X = rng.normal(size=(42, 2)) + (np.array(["a", "b", "c"]) == y[:, None]).argmax(axis=1)[:, None]
    X[5], y[5] = X[6], "b"  # a duplicate with another label
    order = rng.permutation(42)
    return X[order], y[order]


@pytest.fixture(scope="module")
def targeted():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    return X, X @ [1.0, 2.0, 0.0] + rng.normal(size=40)


def by_hand_labels(predictor, X, y, folds, level):
    hits, sizes, rest = [], [], []
    for training, test in folds:
        predictor.fit(X[training], y[training])
        asked = predictor.predict_p(X[test]), predictor.predict_set(X[test], level), y[test]
        for values, inside, label in zip(*asked, strict=True):
            p = dict(zip(predictor.classes_.tolist(), values.tolist(), strict=True))
            found = {one for one, is_in in zip(p, inside, strict=True) if is_in}
            hits.append(label in found)
            sizes.append(len(found))
            rest.append(sum(p.values()) - max(p.values()))
    return hits, sizes, rest


def by_hand_targets(predictor, X, y, folds, level):
    hits, widths, scores = [], [], []
    epsilon = 1 - level
    for training, test in folds:
        predictor.fit(X[training], y[training])
        for (low, high), target in zip(predictor.predict_interval(X[test], level), y[test], strict=True):
            hits.append(low <= target <= high)
            widths.append(high - low)
            outside = low - target if target < low else target - high if target > high else 0.0
            scores.append(high - low + 2 / epsilon * outside)
    return hits, widths, scores


def check_against_hand(frame, name, said, size, criterion):
    hits, sizes, scores = said
    row = frame.loc[name]
    assert row["coverage"] == np.mean(hits)
    n, k = len(hits), sum(hits)
    low = stats.beta.ppf(0.025, k, n - k + 1)
    high = stats.beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    # two ways to the same quantile of a beta distribution
    np.testing.assert_allclose(row[["coverage_low", "coverage_high"]].astype(float), [low, high], rtol=1e-6)
    np.testing.assert_allclose(row[size], np.mean(sizes), rtol=1e-12)  # sums in another order
    np.testing.assert_allclose(row[criterion], np.mean(scores), rtol=1e-12)


@pytest.mark.parametrize("level", [0.7, 0.9])
def test_labels_are_judged_as_by_hand(labelled, level, capsys):
    X, y = labelled
    mine = {
        "knn": FullConformalClassifier(KNN(3)),
        "split": SplitConformalClassifier(LogisticRegression(), random_state=3),
    }
    frame = exactcp.compare(X, y, mine, level, cv=4, random_state=7)
    assert capsys.readouterr().err == ""  # outside of a terminal
    folds = list(KFold(4, shuffle=True, random_state=7).split(X))
    for name, predictor in mine.items():
        check_against_hand(frame, name, by_hand_labels(predictor, X, y, folds, level), "set_size", "fuzziness")
    assert frame["fuzziness"].is_monotonic_increasing
    assert (frame[["fit_seconds", "prediction_seconds"]] > 0).all(axis=None)
    assert frame.attrs["task"] == "classification"


def test_targets_are_judged_as_by_hand(targeted):
    X, y = targeted
    mine = {
        "knn": FullConformalRegressor(KNNResidual(3)),
        "split": SplitConformalRegressor(LinearRegression(), random_state=3),
        "cv+": CVPlusRegressor(RidgeResidual(), cv=5, random_state=1),
    }
    splitter = KFold(3)
    frame = exactcp.compare(X, y, mine, 0.8, cv=splitter, random_state=7)
    for name, predictor in mine.items():
        said = by_hand_targets(predictor, X, y, list(splitter.split(X)), 0.8)
        check_against_hand(frame, name, said, "width", "interval_score")
    assert frame["interval_score"].is_monotonic_increasing
    assert frame.attrs["criterion"] == "interval_score"


def test_default_regressors_see_objects_scaled_together(targeted):
    X, y = targeted
    frame, again = (exactcp.compare(X, y, cv=2, random_state=4) for _ in range(2))
    numbers = [*NUMBERS, "width", "interval_score"]
    pd.testing.assert_frame_equal(again[numbers], frame[numbers])
    scaled = StandardScaler().fit_transform(X)
    folds = list(KFold(2, shuffle=True, random_state=4).split(X))
    for name, predictor in (
        ("full RidgeResidual rbf", FullConformalRegressor(RidgeResidual(kernel="rbf", gamma=1 / 3))),
        ("CV+ RidgeResidual", CVPlusRegressor(RidgeResidual(), random_state=4)),
    ):
        said = by_hand_targets(predictor, scaled, y, folds, 0.9)
        check_against_hand(frame, name, said, "width", "interval_score")


@pytest.mark.filterwarnings("ignore:preprocess=")  # what it costs
@pytest.mark.parametrize(
    ("task", "kind"), sliced(2, ["classification", "regression"], ["array", "frame", "categories"])
)
def test_lines_of_python_do_what_they_say(labelled, targeted, task, kind):
    X, y = labelled if task == "classification" else targeted
    if kind != "array":
        X = pd.DataFrame(X).add_prefix("x")
    if kind == "categories":
        X = X.assign(colour=["red", "green"] * (len(y) // 2))
    categories = category_columns(X)
    found = default_candidates(task, categories=categories, confidence_level=0.8, seed=1)
    for candidate in found:
        namespace = {"X": X[:30], "y": y[:30], "X_new": X[30:]}
        lines = python_lines(candidate, X, task, 0.8).splitlines()
        is_full = "FullConformal" in lines[-2]
        assert ("preprocess=" in lines[-2]) == (is_full and candidate.preparation is not None)
        lines[-1] = f"said = {lines[-1]}"
        exec("\n".join(lines), namespace)
        order = symmetric_order(X)
        objects = X
        if candidate.preparation is not None:
            made = candidate.preparation.fit_transform(take_rows(X, order))
            objects = np.ascontiguousarray(made[np.argsort(order)])
        predictor = candidate.predictor.fit(objects[:30], y[:30])
        ask = predictor.predict_set if task == "classification" else predictor.predict_interval
        # a frame that was joined lies otherwise in memory, so that sums of its columns have other last digits
        np.testing.assert_allclose(namespace["said"], ask(objects[30:], 0.8), rtol=1e-12, atol=1e-13)


def test_default_classifiers_see_objects_encoded_and_scaled_together(labelled, rng):
    X, y = labelled
    table = pd.DataFrame(X * [1.0, 1000.0], columns=["u", "v"])
    table = table.assign(colour=rng.choice(["red", "green"], size=42), is_new=X[:, 0] > 0)
    assert category_columns(table) == ["colour"]
    encoded = vectoriser(["colour"], scaled=True).fit_transform(table)
    numbers = StandardScaler().fit_transform(table[["u", "v", "is_new"]].astype(float))
    by_hand = np.column_stack([table["colour"] == "green", table["colour"] == "red", numbers])
    np.testing.assert_allclose(encoded, by_hand, rtol=1e-12, atol=1e-15)
    frame = exactcp.compare(table, y, cv=2, random_state=5)
    assert len(frame) == 8
    assert not frame["note"].str.startswith("failed").any()
    folds = list(KFold(2, shuffle=True, random_state=5).split(X))
    for name, measure in (("full KNN", KNN()), ("full LSSVM rbf", LSSVM(kernel="rbf", gamma=0.2))):
        said = by_hand_labels(FullConformalClassifier(measure, random_state=5), encoded, y, folds, 0.9)
        check_against_hand(frame, name, said, "set_size", "fuzziness")
    assert frame.index[frame["best"]] == [frame.attrs["best"]]


class Slow(FullConformalClassifier):
    """Takes a quarter of a second a fold, in pieces."""

    def fit(self, X, y):
        for _ in range(250):
            time.sleep(0.001)
        return super().fit(X, y)


def test_each_is_stopped_when_its_share_of_the_time_is_used_up(labelled, capsys):
    mine = {"fast": FullConformalClassifier(KNN()), "slow": Slow(KNN()), "last": FullConformalClassifier(KNN(3))}
    FullConformalClassifier(KNN()).fit(*labelled).predict_p(labelled[0])  # loading kernels takes time, too
    before = signal.getsignal(signal.SIGINT), threading.active_count()
    start = time.perf_counter()
    frame = exactcp.compare(*labelled, mine, cv=40, random_state=0, max_seconds=4, verbose=1)
    assert time.perf_counter() - start < 8  # slow takes 10 s; its share is about 2 s, and machines may be busy
    assert (signal.getsignal(signal.SIGINT), threading.active_count()) == before
    done = int(re.match(r"stopped after (\d+) of 40 folds: its share was \d.\d s", frame.loc["slow", "note"])[1])
    assert 0 < done < 40
    folds = list(KFold(40, shuffle=True, random_state=0).split(labelled[0]))[:done]
    said = by_hand_labels(FullConformalClassifier(KNN()), *labelled, folds, 0.9)
    check_against_hand(frame, "slow", said, "set_size", "fuzziness")
    assert frame.loc["fast", "note"] == frame.loc["last", "note"] == ""
    told = capsys.readouterr().err
    assert "comparing 3 predictors in 40 folds" in told
    assert f"slow {'.' * done} stopped after" in told


def test_in_another_thread_it_stops_between_folds(labelled):
    mine = {"slow": Slow(KNN()), "last": FullConformalClassifier(KNN())}
    with ThreadPoolExecutor(1) as pool:
        frame = pool.submit(exactcp.compare, *labelled, mine, cv=3, random_state=0, max_seconds=0.2).result()
    assert frame.loc["slow", "note"].startswith("stopped after 1 of 3 folds")
    assert frame.loc["last", "note"].startswith("not tried: max_seconds=0.2 was used up")


class Pressed(FullConformalClassifier):
    """Somebody presses Ctrl-C in its first fit."""

    def fit(self, X, y):
        signal.raise_signal(signal.SIGINT)
        return super().fit(X, y)


def test_what_is_known_is_returned_when_interrupted(labelled):
    known, pressed = FullConformalClassifier(KNN()), Pressed(KNN())
    before = signal.getsignal(signal.SIGINT)
    frame = exactcp.compare(*labelled, {"known": known, "pressed": pressed, "later": known}, cv=2, random_state=0)
    notes = {"known": "", "pressed": "interrupted after 0 of 2 folds", "later": "not tried: interrupted"}
    assert frame["note"].to_dict() == notes
    assert frame.attrs["best"] == "known"
    with pytest.raises(KeyboardInterrupt):
        exactcp.compare(*labelled, {"pressed": pressed, "known": known}, cv=2, random_state=0)
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.slow
def test_ctrl_c_when_the_time_is_up_as_well(labelled, rng):
    before = signal.getsignal(signal.SIGINT)
    mine = {"known": FullConformalClassifier(KNN()), "slow": Slow(KNN())}
    for wait in rng.uniform(0.02, 0.1, size=40):
        press = threading.Timer(wait, _thread.interrupt_main)
        with suppress(KeyboardInterrupt):
            press.start()
            exactcp.compare(*labelled, mine, cv=2, random_state=0, max_seconds=0.05)
            press.join()
        assert signal.getsignal(signal.SIGINT) is before
        time.sleep(0.03)  # nothing comes later


def test_kernels_of_many_rows_are_not_tried(targeted, monkeypatch):
    monkeypatch.setattr("exactcp.comparing._candidates.MOST_ROWS_OF_KERNELS", 39)  # one fewer than there are
    frame = exactcp.compare(*targeted, cv=2, random_state=4, max_seconds=None)
    assert frame.index[frame["coverage"].isna()].tolist() == ["full RidgeResidual rbf"]
    assert frame.loc["full RidgeResidual rbf", "note"].startswith("not tried: its time grows as the cube of the rows")


def test_one_that_fails_is_a_row_with_its_reason(labelled):
    X, y = labelled
    mine = {"good": FullConformalClassifier(KNN(3)), "bad": FullConformalClassifier(KNN(k=-1))}
    frame = exactcp.compare(X, y, mine, cv=3, random_state=0)
    assert list(frame.index) == ["good", "bad"]
    assert frame.loc["bad", "note"].startswith("failed: k=-1")
    assert frame.attrs["best"] == "good"
    with pytest.raises(ValueError, match=r"none of the predictors could be compared: bad failed: k=-1"):
        exactcp.compare(X, y, {"bad": mine["bad"]}, cv=3, random_state=0)


def test_sparse_objects_are_for_models(targeted):
    X, y = targeted
    frame = exactcp.compare(sparse.csr_matrix(X), y, cv=2, random_state=4)
    assert re.match("failed: .*Cannot center sparse matrices", frame.loc["full KNNResidual", "note"])
    assert frame.attrs["best"].startswith("split RandomForest")


def test_warnings_are_notes(targeted):
    X, numbers = targeted
    frame = exactcp.compare(X, numbers, {"f": SplitConformalRegressor(LinearRegression())}, 0.99, cv=2, random_state=0)
    assert "confidence_level=0.99 needs at least 99 examples" in frame.loc["f", "note"]
    assert frame.loc["f", "width"] == math.inf
    assert frame.attrs["best"] == "f"  # it says nothing, and keeps its level


def test_a_label_that_a_fold_lacks_is_missed():
    X, y = np.arange(8.0)[:, None], np.array(["a"] * 4 + ["b"] * 3 + ["c"])
    frame = exactcp.compare(X, y, {"knn": FullConformalClassifier(KNN(1))}, 0.8, cv=LeaveOneOut())
    said = by_hand_labels(FullConformalClassifier(KNN(1)), X, y, list(LeaveOneOut().split(X)), 0.8)
    assert not said[0][-1]
    assert frame.loc["knn", "coverage"] == np.mean(said[0])


def test_choosing_on_a_part_leaves_the_rest_untouched(labelled):
    X, y = labelled
    seen = []

    class Seen(FullConformalClassifier):
        def fit(self, X, y):
            seen.extend(map(tuple, X))
            return super().fit(X, y)

        def predict_p(self, X):
            seen.extend(map(tuple, X))
            return super().predict_p(X)

    frame = exactcp.compare(X, y, {"knn": Seen(KNN(1))}, cv=2, random_state=0, choose_on=0.3, confidence_level=0.8)
    chosen, left = frame.attrs["chosen_on"], frame.attrs["left"]
    assert sorted(chosen + left) == list(range(42))
    assert len(chosen) == 13
    assert set(seen) == {tuple(row) for row in X[chosen]}
    assert "29 others" in frame.attrs["guarantee"]
    assert "exactly" in frame.attrs["guarantee"]
    folds = list(KFold(2, shuffle=True, random_state=0).split(chosen))
    said = by_hand_labels(FullConformalClassifier(KNN(1)), X[chosen], y[chosen], folds, 0.8)
    check_against_hand(frame, "knn", said, "set_size", "fuzziness")
    how = {"predictors": {"knn": Seen(KNN(1))}, "cv": 2, "random_state": 0}
    assert len(exactcp.compare(X, y, **how, choose_on=20).attrs["chosen_on"]) == 20
    everything = exactcp.compare(X, y, **how).attrs
    assert everything["left"] == []
    assert "may be a little lower" in everything["guarantee"]


def test_the_best_keeps_its_level(targeted):
    """An interval that is short and wrong is not the best, whatever its score."""
    X, y = targeted

    class Point(SplitConformalRegressor):
        def predict_interval(self, X, confidence_level=0.95):
            return np.zeros((len(X), 2))

    mine = {"wrong": Point(LinearRegression()), "wide": FullConformalRegressor(KNNResidual(30))}
    y = y / 1000 + 0.0
    y[:3] = 50.0  # which make the valid intervals wide
    frame = exactcp.compare(X, y, mine, 0.95, cv=4, random_state=0)
    assert frame.loc["wrong", "coverage"] == 0
    assert frame.attrs["best"] == "wide"


def test_names_of_a_list(labelled):
    X, y = labelled
    same = [FullConformalClassifier(KNN(3)), FullConformalClassifier(KNN(3))]
    frame = exactcp.compare(X, y, same, cv=2, random_state=0)
    name = "FullConformalClassifier(measure=KNN(k=3))"
    assert sorted(frame.index) == [name, f"{name} (2)"]
    assert frame.attrs["best"] == name


KNN_OF_LABELS = {"knn": FullConformalClassifier(KNN(3))}
WRONG = {
    "level": ({"confidence_level": 1.5}, r"confidence_level=1.5 is not a probability"),
    "other task": ({"task": "regression", "predictors": KNN_OF_LABELS}, r"the predictors are for classification"),
    "limit": ({"max_seconds": 0}, r"max_seconds=0 is not a time in seconds: use a number above 0 or None"),
    "no folds": ({"cv": "five"}, r"cv='five' is neither a number of folds nor a splitter"),
    "share": ({"choose_on": 1.0}, r"choose_on=1.0 leaves nothing .* such as 0.3"),
    "all rows": ({"choose_on": 42}, r"choose_on=42 .* of rows below 42"),
    "true": ({"choose_on": True}, r"choose_on=True leaves nothing"),
    "measure": ({"predictors": {"knn": KNN(3)}}, r"'knn' is a KNN, .* wrap it, as in FullConformalClassifier\(KNN"),
    "number": ({"predictors": {"two": 2}}, r"'two' is a int, which has neither predict_set nor predict_interval"),
    "class": ({"predictors": {"knn": FullConformalClassifier}}, r"give an instance, FullConformalClassifier\(\)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_gets_a_sentence(labelled, name):
    options, sentence = WRONG[name]
    with pytest.raises((ValueError, TypeError), match=sentence):
        exactcp.compare(*labelled, **options)


def test_wrong_objects_get_a_sentence(labelled):
    X, y = labelled
    table = pd.DataFrame(X, columns=["u", "v"])
    with pytest.raises(ValueError, match=r"column 'day' of X has dates"):
        exactcp.compare(table.assign(day=pd.Timestamp("2020-01-01")), y)
    many = pd.concat([table.assign(name=[f"{i} {j}" for j in range(42)]) for i in range(3)])
    with pytest.raises(ValueError, match=r"column 'name' of X has 126 different texts"):
        exactcp.compare(many, np.tile(y, 3))


def test_examples_of_the_page_run():
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    namespace = {}
    code = "\n".join(blocks)
    exec(code.replace("exactcp.compare(X, y, confidence", "exactcp.compare(X, y, cv=2, confidence"), namespace)
    found = namespace["found"]
    assert len(blocks) == 3
    assert not set(found.attrs["left"]) & set(found.attrs["chosen_on"])
    assert namespace["best"].predict_set(namespace["X"][:1]).shape == (1, 3)
