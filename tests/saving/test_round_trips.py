"""What comes back from a file, a pickle or a memory map answers and changes as what was kept, bit for bit."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import OneClassSVM

import exactcp
from exactcp import (
    ConformalAnomalyDetector,
    CrossConformalClassifier,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennPredictor,
)
from exactcp._stored_frames import StoredFrame, restored_rows, stored_rows
from exactcp.exchangeability import CompositeJumper, SimpleJumper
from exactcp.measures import KDE, KNN, LSSVM, Bootstrap, KNNResidual, ModelResidual, ModelScore, RidgeResidual
from exactcp.online import AdaptiveLevel, progressive
from exactcp.online.river import RiverClassifier, RiverRegressor
from exactcp.pipeline import make_pipeline as own_pipeline
from exactcp.taxonomies import bins
from families import CHANGES, FAMILIES, Family, answers, calls_of
from public_estimators import LABELS, TARGETS, X, learn, make, public_classes, said_by
from slices import slow_but

pytest.importorskip("skops.io")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def saved(predictor: Any, folder: Path) -> Any:
    """Save and load: what loads without being trusted is saved without a warning."""
    with warnings.catch_warnings(action="error"):
        exactcp.save(predictor, folder / "model.skops")
    return exactcp.load(folder / "model.skops")


def pickled(predictor: Any, _: Path) -> Any:
    return pickle.loads(pickle.dumps(predictor))


def mapped(predictor: Any, folder: Path) -> Any:
    """Let the arrays lie in a file that cannot be written to."""
    joblib.dump(predictor, folder / "stored")
    return joblib.load(folder / "stored", mmap_mode="r")


WAYS = {"file": saved, "pickle": pickled, "deepcopy": lambda one, _: copy.deepcopy(one), "map": mapped}


class Row(NamedTuple):
    """A fitted estimator, what it says, and changes of it."""

    make: Callable[[], Any]
    say: Callable[[Any], Any] = lambda one: list(said_by(one).values())
    changes: tuple[Callable[[Any], Any], ...] = ()
    ways: tuple[str, ...] = ("file",)


def family_row(name: str) -> Row:
    family: Family = FAMILIES[name]
    data, has = family.data(), calls_of(family, CHANGES)
    calls = [one for one in ("partial_fit one", "unlearn one", "unlearn many", "update") if one in has]
    changes = tuple(partial(lambda one, call: CHANGES[call][1](one, data), call=call) for call in calls)
    return Row(family.fitted, partial(answers, family), changes, ("file", "map"))


RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, 40),
        "height": RNG.normal(size=40),
        "town": RNG.choice(["a", "b", "c"], 40),
        "kind": pd.Categorical(RNG.choice(["u", "v"], 40)),
    }
)
SIDES = np.where(FRAME["age"] + RNG.normal(size=40) * 20 > 50, "old", "young")
COLUMNS = make_column_transformer(
    (StandardScaler(), ["age", "height"]), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["town"])
)
MODEL = make_pipeline(COLUMNS, LogisticRegression())
NUMBERS = FRAME[["age", "height"]]


def full(measure: Any, **how: Any) -> FullConformalClassifier:
    return FullConformalClassifier(measure, **how)


IN_THREE_AGES = bins("age", [30, 60])
IN_THREE = bins(Ridge().fit(NUMBERS, FRAME["age"]), n_bins=3, X=NUMBERS)
COMPOSED: dict[str, tuple[Any, Any]] = {  # and the objects
    "split, pipeline": (SplitConformalClassifier(MODEL, random_state=0), FRAME),
    "cross, pipeline": (CrossConformalClassifier(MODEL, random_state=0), FRAME),
    "frozen": (full(ModelScore(FrozenEstimator(MODEL.fit(FRAME, SIDES)))), FRAME),
    "refitted, pandas": (full(ModelScore(MODEL)), FRAME[:9]),
    "refitted, polars": (full(ModelScore(MODEL)), pl.from_pandas(FRAME[:9])),
    "bootstrap, pandas": (full(Bootstrap(MODEL, n_estimators=2, random_state=0)), FRAME[:9]),
    "detector": (ConformalAnomalyDetector(OneClassSVM(), random_state=0), X),
    "detector, folds": (ConformalAnomalyDetector(OneClassSVM(), cv=3, random_state=0), X),
    "that waits for its preprocessing": (full(KNN(2), preprocess=COLUMNS), FRAME),
    "by label": (full(KNN(2), mondrian="label"), NUMBERS),
    "by a column": (full(KNN(2), mondrian="town"), FRAME.drop(columns="kind")),
    "by two columns": (full(KNN(2), mondrian=["town", "kind"]), FRAME),
    "by label, a column and bins": (
        full(KNN(2), mondrian=["label", "town", IN_THREE_AGES]),
        FRAME.drop(columns="kind"),
    ),
    "by bins of a column": (full(KNN(2), mondrian=IN_THREE_AGES), NUMBERS),
    "by bins of a model": (full(KNN(2), mondrian=IN_THREE), NUMBERS),
    "feature map": (full(LSSVM(feature_map=PolynomialFeatures(2).fit(X))), X),
    "random state": (SplitConformalClassifier(KNN(2), random_state=np.random.RandomState(3)), X),
    "metric with parameters": (full(KNN(2, metric="minkowski", metric_params={"p": 3})), X),
}


PREPARED: dict[str, Any] = {
    "labels": FullConformalClassifier(KNN(2), preprocess=StandardScaler()),
    "labels, on training": FullConformalClassifier(KDE(), preprocess=StandardScaler(), preprocess_on="training"),
    "labels, frozen": FullConformalClassifier(KNN(2), preprocess=FrozenEstimator(StandardScaler().fit(X))),
    "targets": FullConformalRegressor(preprocess=make_pipeline(StandardScaler(), PolynomialFeatures(2))),
    "anomalies": ConformalAnomalyDetector(KNN(2), preprocess=StandardScaler()),
    "labels in a pipeline": own_pipeline(StandardScaler(), FullConformalClassifier(KNN(2))),
    "targets in a pipeline": own_pipeline(StandardScaler(), JackknifePlusRegressor(Ridge())),
    "anomalies in a pipeline": own_pipeline(StandardScaler(), ConformalAnomalyDetector(KNN(2))),
    "scikit-learn's pipeline": make_pipeline(StandardScaler(), FullConformalClassifier(KNN(2))),
}


STREAM_RNG = np.random.default_rng(2)
OBJECTS = np.round(STREAM_RNG.normal(size=(60, 2)), 1)
OBJECTS[40:] += 2
NOISY = OBJECTS[:, 0] + STREAM_RNG.normal(size=60).round(1)
RIGHT = np.array(["left", "right"])[(OBJECTS[:, 0] > 0).astype(int)]
FIXED = FrozenEstimator(LogisticRegression().fit(OBJECTS, RIGHT))
SEEDED = {"random_state": 0}
STREAMS: dict[str, tuple[dict[str, Any], Any]] = {
    "objects": (SEEDED, None),
    "no seed": ({"measure": KDE()}, None),
    "labels": (SEEDED | {"measure": KNN(2), "mondrian": "label"}, RIGHT),
    "labels that are numbers": (SEEDED | {"measure": KNN(2)}, (OBJECTS[:, 0] > 0).astype(int)),
    "true and false": (SEEDED | {"measure": LSSVM()}, OBJECTS[:, 0] > 0),
    "targets": (SEEDED | {"measure": KNNResidual(2)}, OBJECTS[:, 1]),
    "targets, ridge": (SEEDED | {"measure": RidgeResidual()}, OBJECTS[:, 1]),
    "frozen": (SEEDED | {"measure": FIXED}, RIGHT),
    "window": (SEEDED | {"window": 9}, None),
    "window, emptied": (SEEDED | {"window": 9, "forget": "all"}, None),
    "restart": (SEEDED | {"restart": "all", "threshold": 5}, None),
    "power": (SEEDED | {"betting": "power", "alarm": "cusum", "threshold": 3}, None),
    "mixture": (SEEDED | {"betting": "mixture", "alarm": "shiryaev-roberts"}, None),
    "jumper": (SEEDED | {"betting": SimpleJumper(0.1), "threshold": np.inf}, None),
    "composite": (SEEDED | {"betting": CompositeJumper((0.1, 1.0))}, None),
    "plugin": (SEEDED | {"betting": "plugin"}, None),
}


RECORD = ("p_values_", "log_martingale_", "log_statistic_", "alarms_", "classes_")
ADAPTIVE = {
    "adaptive, full": (AdaptiveLevel(FullConformalRegressor(RidgeResidual()), gamma=0.05), NOISY),
    "adaptive, split": (AdaptiveLevel(SplitConformalRegressor(RidgeResidual(), random_state=0), gamma=0.05), NOISY),
    "adaptive, labels": (AdaptiveLevel(FullConformalClassifier(KNN(2)), gamma=0.05), RIGHT),
}
RIVER = {
    "river, labels": (RiverClassifier(FullConformalClassifier(KNN(2)), 0.9), RIGHT),
    "river, Venn": (RiverClassifier(VennPredictor(3)), RIGHT),
    "river, targets": (RiverRegressor(FullConformalRegressor(RidgeResidual()), 0.9), NOISY),
}
DICTS = [{"a": a, "b": b} for a, b in OBJECTS.tolist()]


def stream_row(name: str, first: int) -> Row:
    how, y = STREAMS[name]

    def begun() -> Any:
        test = ExchangeabilityTest(**how)
        if first > 0:
            test.update_many(OBJECTS[:first], None if y is None else y[:first])
        return test

    rest = lambda test: test.update_many(OBJECTS[first:], None if y is None else y[first:])  # noqa: E731
    return Row(begun, lambda test: [getattr(test, one) for one in RECORD], (rest,), ("file", "pickle"))


def adaptive_row(name: str) -> Row:
    made, y = ADAPTIVE[name]

    def begun() -> Any:
        progressive(adaptive := copy.deepcopy(made), (OBJECTS[:40], y[:40]))
        return adaptive

    def learn_rest(adaptive: Any) -> None:
        for x, truth in zip(OBJECTS[40:], y[40:], strict=True):
            adaptive.update(x, truth)

    ask = "predict_interval" if y is NOISY else "predict_set"
    return Row(
        begun, lambda one: [one.epsilon_, one.epsilons_, one.errors_, getattr(one, ask)(OBJECTS[:9])], (learn_rest,)
    )


def river_row(name: str, first: int) -> Row:
    made, y = RIVER[name]

    def learn_some(model: Any, some: slice) -> Any:
        for x, truth in zip(DICTS[some], y[some].tolist(), strict=True):
            # the order of the keys is remembered
            model.learn_one(dict(reversed(x.items())) if some.start else x, truth)
        return model

    def say(model: Any) -> list[Any]:
        asked = DICTS[50:] if model.predict_one(DICTS[0]) is not None else []
        said = [model.predict_one(x) for x in asked]
        return [*said, *(model.predict_p_one(x) for x in asked)] if name == "river, labels" else said

    begun = lambda: learn_some(copy.deepcopy(made), slice(0, first))  # noqa: E731
    return Row(begun, say, (partial(learn_some, some=slice(first, 50)),))


ROWS = {
    **{name: family_row(name) for name in FAMILIES},
    **{
        f"class {cls.__name__}": Row(partial(lambda cls: learn(make(cls)), cls), ways=tuple(WAYS)[:3])
        for cls in public_classes()
    },
    **{
        name: Row(
            partial(lambda made, X: made.fit(X, LABELS if X.shape[0] == 12 else SIDES[: X.shape[0]]), *COMPOSED[name]),
            partial(lambda one, X: one.predict_p(X[: X.shape[0] // 9]), X=COMPOSED[name][1]),
        )
        for name in COMPOSED
    },
    **{
        name: Row(
            partial(lambda name: learn(clone(PREPARED[name])), name),
            changes=(lambda one: one.unlearn([0]),) * hasattr(PREPARED[name], "unlearn"),
            ways=("file", "pickle"),
        )
        for name in PREPARED
    },
    **{
        f"stream of {name}, {first}": stream_row(name, first)
        for name in STREAMS
        for first in (0, 1, 30)
        if (name, first) != ("no seed", 0)
    },
    "targets of a pipeline": Row(
        lambda: FullConformalRegressor(ModelResidual(make_pipeline(COLUMNS, Ridge()))).fit(FRAME[:12], TARGETS),
        lambda one: one.predict_p(FRAME[:2], TARGETS[:2]),
        (lambda one: one.unlearn([3]),),
    ),
    **{name: adaptive_row(name) for name in ADAPTIVE},
    **{f"{name}, {first}": river_row(name, first) for name in RIVER for first in (0, 1, 30)},
}
# machine code for arrays that cannot be written to is made anew: classification stands for all neighbours
MAPPED = ["NN", "LSSVM", "LSSVM rbf", "KDE", "RandomForest", "RidgeResidual primal", "RidgeResidual rbf", "anomaly"]
SMALL = [name for name in ROWS if name not in FAMILIES or (FAMILIES[name].n <= 400 and name != "stream trees")]
CASES = [(name, way) for name, row in ROWS.items() for way in row.ways]
QUICK = [(name, way) for name, way in CASES if name in (MAPPED if way == "map" else SMALL)]


@pytest.mark.parametrize("case", slow_but(QUICK, CASES), ids=", ".join)
def test_what_comes_back_is_what_was_kept(case: tuple[str, str], tmp_path: Path) -> None:
    row, way = ROWS[case[0]], WAYS[case[1]]
    one = row.make()
    other = way(one, tmp_path)
    assert type(other) is type(one)
    assert vars(other).keys() == vars(one).keys()
    assert str(other) == str(one) or "RandomState" in str(one)  # whose text is an address
    for change in (lambda _: None, *row.changes):
        change(one)
        change(other)
        np.testing.assert_equal(row.say(other), row.say(one))


def test_the_saved_one_stays_as_it_is(tmp_path: Path) -> None:
    predictor = FullConformalClassifier(KNN(2)).fit(X, LABELS)
    before = predictor.predict_p(X)
    for way in WAYS.values():
        way(predictor, tmp_path).unlearn([0, 1])
        np.testing.assert_array_equal(predictor.predict_p(X), before)


def test_categories_that_look_alike_stay_apart(tmp_path: Path) -> None:
    categories = np.array([1, "1", None, (1, 2), False, "false"] * 4, dtype=object)[:12]
    predictor = FullConformalClassifier(KNN(1)).fit(X, LABELS, categories=categories)
    expected = predictor.predict_p(X, categories=categories)
    np.testing.assert_array_equal(saved(predictor, tmp_path).predict_p(X, categories=categories), expected)


def test_ids_that_look_alike_stay_apart(tmp_path: Path) -> None:
    ids = [1, "1", (1, 2), False, "false", *range(2, 9)]
    predictor = FullConformalClassifier(KNN(1)).fit(X, LABELS, ids=ids).unlearn(ids=["1"])
    again = saved(predictor, tmp_path)
    assert again.ids_ == predictor.ids_
    for one in (predictor, again):
        one.unlearn(ids=[(1, 2), False])
    assert again.ids_ == predictor.ids_
    np.testing.assert_array_equal(again.predict_p(X), predictor.predict_p(X))


FRAMES = [
    FRAME,
    FRAME[5:9],
    FRAME.set_index("town"),
    pd.DataFrame({"t": pd.to_datetime(["2020-01-01", None]), "s": pd.array(["a", None], dtype="string")}),
    pd.DataFrame({"i": pd.array([1, None], dtype="Int64"), 7: [True, False], "o": ["a", None]}),
    pl.from_pandas(FRAME[["age", "town"]]),
    pl.DataFrame({"x": [1, None], "y": [1.5, float("nan")], "z": [True, None]}, schema_overrides={"x": pl.Int8}),
]


@pytest.mark.parametrize("frame", FRAMES, ids=range(len(FRAMES)))
def test_frames_are_restored_as_they_were(frame: Any) -> None:
    stored = stored_rows(frame)
    assert isinstance(stored, StoredFrame)
    again = restored_rows(stored)
    assert type(again) is type(frame)
    assert again.equals(frame)
    assert list(again.dtypes) == list(frame.dtypes)


def test_frames_that_would_not_be_restored_stay_as_they_are() -> None:
    for rows in (pl.DataFrame({"l": [[1, 2]]}), X):
        assert stored_rows(rows) is rows
