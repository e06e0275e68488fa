"""What is asked of predictors beyond the full ones: streams, Venn, split and folds, refits, shards, commands, files."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from typer.testing import CliRunner

import exactcp
from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    ConformalClusterer,
    ConformalSequencePredictor,
    CrossConformalClassifier,
    CVPlusRegressor,
    ExchangeabilitySelector,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
    VennPredictor,
)
from exactcp.cli import app
from exactcp.dask import DaskFullConformalClassifier, DaskFullConformalRegressor
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    NN,
    Bootstrap,
    KNNResidual,
    ModelResidual,
    ModelScore,
    RandomForest,
    RidgeResidual,
    SimplifiedKNN,
)
from frozen_answers import HISTORIES, LEVELS, RESIDUALS, Told, is_one_by_one, label_problem, play, route
from frozen_store import Answer, Case, exact, near, whole
from measure_table import MEASURES
from problems import PROBLEMS
from saved_models import SAVED_HERE, answers_of
from target_problems import TARGET_PROBLEMS

SUMS = 1e-9  # of logarithms, means and solutions, which processors round in their own ways
NAMES = np.array(list("abcdefghij"))


@contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _case(
    kind: str, *of: str, ask: Callable[[], dict[str, Answer]], operations: tuple[str, ...], dear: bool = False
) -> Case:
    def quiet() -> dict[str, Answer]:
        with _quietly():
            return ask()

    return Case(kind, *of, operations, quiet, dear)


def _own(kind: str, *of: str, ask: Callable[[], dict[str, Answer]], operations: tuple[str, ...]) -> Case:
    """Return a case whose route is a predictor, which has answers of its own."""

    def named() -> dict[str, Answer]:
        return {f"{operation} of {of[2]}": answer for operation, answer in ask().items()}

    return _case(kind, *of, ask=named, operations=tuple(f"{operation} of {of[2]}" for operation in operations))


# --- streams


STREAMS: dict[str, dict[str, Any]] = {
    **{name: {"measure": measure} for name, measure in MEASURES.items()},
    "KNN 2, window": {"measure": KNN(2), "window": 12},
    "KNN 2, window forgets all": {"measure": KNN(2), "window": 12, "forget": "all"},
    "KNN 2, by label": {"measure": KNN(2), "mondrian": "label"},
    "KNN 2, jumper": {"measure": KNN(2), "betting": "jumper", "alarm": "cusum", "threshold": 1.5, "restart": "all"},
    "KDE 0.8, plugin": {"measure": KDE(0.8), "betting": "plugin", "alarm": "shiryaev-roberts"},
    "SimplifiedKNN 2, mixture": {"measure": SimplifiedKNN(2), "betting": "mixture"},
    "SimplifiedKNN 2, power": {"measure": SimplifiedKNN(2), "betting": "power"},
    "SimplifiedKNN 3, trees": {"measure": SimplifiedKNN(3, search="tree")},
    "KNN 3, trees": {"measure": KNN(3, search="tree")},
    **{f"target {name}": {"measure": measure} for name, measure in RESIDUALS.items()},
    "target k-NN 3, window": {"measure": KNNResidual(3), "window": 9},
}
STREAM_PROBLEMS = ("random", "four labels", "grid with ties", "singleton label")


@cache
def _stream(problem: str, is_regression: bool) -> tuple[np.ndarray, np.ndarray]:
    X, y, X_test = (TARGET_PROBLEMS if is_regression else PROBLEMS)[problem]
    X = np.concatenate([X, X_test + 2.0, X[:8] + 2.0])
    return X, np.resize(y, len(X))


def _ask_stream(name: str, problem: str, history: str) -> dict[str, Answer]:
    parameters = STREAMS[name]
    X, y = _stream(problem, name.startswith("target"))
    test = ExchangeabilityTest(random_state=5, **parameters | {"measure": clone(parameters["measure"])})
    if history == "one by one":
        for x, label in zip(X, y, strict=True):
            test.update(x, label)
    elif history == "parts":
        for first, last in pairwise([0, 1, 3, 11, len(y)]):
            test.update_many(X[first:last], y[first:last])
    else:
        test.update_many(X, y)
    return {
        "p_values_": exact(test.p_values_),
        "log_martingale_": near(test.log_martingale_, SUMS, SUMS),
        "log_statistic_": near(test.log_statistic_, SUMS, SUMS),
        "alarms_": exact(np.asarray(test.alarms_, np.int64)),
    }


def stream_cases() -> Iterator[Case]:
    """Yield what is asked of tests of exchangeability."""
    operations = ("p_values_", "log_martingale_", "log_statistic_", "alarms_")
    for name in STREAMS:
        for problem in STREAM_PROBLEMS:
            for history in ("together", "one by one", "parts"):
                ask = partial(_ask_stream, name, problem, history)
                yield _case("streams", name, problem, "stream", history, ask=ask, operations=operations)
    ask = partial(_ask_selector)
    yield _case(
        "streams",
        "ExchangeabilitySelector",
        "a feature that drifts",
        "stream",
        "together",
        ask=ask,
        operations=("support",),
    )


def _ask_selector() -> dict[str, Answer]:
    X = np.random.default_rng(0).normal(size=(120, 3))
    X[:, 1] += np.linspace(0, 4, 120)
    return {"support": exact(ExchangeabilitySelector(random_state=0).fit(X).get_support())}


# --- Venn


VENN_ROUTES = ("plain", "one row", "screened", "screened float64", "tree", "tree one row", "float32")
ABERS = {
    "LSSVM": LSSVM(),
    "LSSVM intercept": LSSVM(rho=0.01, fit_intercept=True),
    "LSSVM rbf": LSSVM(kernel="rbf", gamma=0.5),
    "naive Bayes": GaussianNB(),
}


def _ask_venn(k: int, problem: str, route_name: str, history: str) -> dict[str, Answer]:
    X, codes, X_test, n = label_problem(problem)
    if route_name == "float32":
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    y, venn = NAMES[codes], VennPredictor(k, n_jobs=1)
    with route(route_name):
        told = Told(
            lambda some: venn.fit(X[some], y[some], classes=np.unique(y)),
            lambda some: venn.partial_fit(X[some], y[some]),
            venn.unlearn,
            lambda: venn.predict_proba(X_test[:1]),
        )
        play(history, n, len(y) - n, told)
        blocks = [X_test[i : i + 1] for i in range(len(X_test))] if is_one_by_one(route_name) else [X_test]
        interval = np.concatenate([venn.predict_proba_interval(block) for block in blocks])
        proba = np.concatenate([venn.predict_proba(block) for block in blocks])
        labels = np.concatenate([venn.predict(block) for block in blocks])
    return {"predict_proba_interval": exact(interval), "predict_proba": near(proba, 1e-12), "predict": exact(labels)}


def _ask_abers(name: str, problem: str, method: str) -> dict[str, Answer]:
    X, codes, X_test, n = label_problem(problem)
    venn = VennAbersPredictor(clone(ABERS[name]), method=method, random_state=0, n_jobs=1).fit(X[:n], NAMES[codes[:n]])
    interval, proba = venn.predict_proba_interval(X_test), venn.predict_proba(X_test)
    return {"predict_proba_interval": near(interval, SUMS, SUMS), "predict_proba": near(proba, SUMS, SUMS)}


def venn_cases() -> Iterator[Case]:
    """Yield what is asked of Venn predictors."""
    for k in (1, 4, 15):
        for problem in PROBLEMS:
            for route_name in VENN_ROUTES:
                for history in HISTORIES:
                    of = (problem, route_name, history)
                    operations = ("predict_proba_interval", "predict_proba", "predict")
                    dear = history == "mixed"
                    yield _case(
                        "Venn", f"k-NN {k}", *of, ask=partial(_ask_venn, k, *of), operations=operations, dear=dear
                    )


def venn_abers_cases() -> Iterator[Case]:
    """Yield what is asked of Venn-Abers predictors."""
    for name in ABERS:
        for problem in ("random", "four labels", "grid with ties", "separated clusters"):
            for method in ("full", "inductive", "cross") if name != "naive Bayes" else ("inductive", "cross"):
                ask = partial(_ask_abers, name, problem, method)
                operations = ("predict_proba_interval", "predict_proba")
                yield _own("Venn-Abers", name, problem, method, "fresh", ask=ask, operations=operations)


# --- split, folds, bootstrap


PREDICTORS = {
    "split": partial(SplitConformalClassifier, random_state=0),
    "split by label": partial(SplitConformalClassifier, random_state=0, mondrian="label"),
    "split smoothed": partial(SplitConformalClassifier, random_state=0, smoothed=True),
    "cross": partial(CrossConformalClassifier, cv=4, random_state=0),
    "cross by label": partial(CrossConformalClassifier, cv=4, random_state=0, mondrian="label"),
    "aggregated": partial(AggregatedConformalClassifier, n_splits=4, random_state=0),
}
REGRESSORS = {
    "split": partial(SplitConformalRegressor, random_state=0),
    "split above": partial(SplitConformalRegressor, random_state=0, side="upper"),
    "CV+": partial(CVPlusRegressor, cv=4, random_state=0),
    "CV+ minmax": partial(CVPlusRegressor, cv=4, method="minmax", random_state=0),
    "jackknife+": JackknifePlusRegressor,
    "jackknife+ minmax": partial(JackknifePlusRegressor, method="minmax"),
}
BOOTSTRAPPED = {"least squares": LinearRegression(), "tree": DecisionTreeRegressor(max_depth=3, random_state=1)}
MODELS = {
    "naive Bayes": ModelScore(GaussianNB()),
    "tree": ModelScore(DecisionTreeClassifier(max_depth=3, random_state=0)),
}
TARGET_MODELS = {
    "least squares model": ModelResidual(Ridge(0.1)),
    "tree": ModelResidual(DecisionTreeRegressor(max_depth=3, random_state=0)),
}
SPLIT_PROBLEMS = ("random", "four labels", "grid with ties", "separated clusters")


def _ask_parts(make: Callable[..., Any], measure: Any, problem: str) -> dict[str, Answer]:
    X, codes, X_test, n = label_problem(problem)
    clf = make(clone(measure), n_jobs=1).fit(X[:n], NAMES[codes[:n]])
    answers = {"predict_p": exact(clf.predict_p(X_test)), "predict": exact(clf.predict(X_test))}
    return answers | {"predict_set": exact(np.asarray(clf.predict_set(X_test, [0.5, 0.8])))}


def _ask_target_parts(make: Callable[..., Any], measure: Any, problem: str) -> dict[str, Answer]:
    X, y, X_test = TARGET_PROBLEMS[problem]
    size = float(np.abs(y).max())
    reg = make(clone(measure), n_jobs=1).fit(X, y)
    answers = {"predict_interval": near(reg.predict_interval(X_test, LEVELS), 1e-6, 1e-6 * size)}
    return answers | {"predict": near(reg.predict(X_test), 1e-6, 1e-6 * size)}


def part_cases() -> Iterator[Case]:
    """Yield what is asked of predictors that fit and calibrate with different rows."""
    for problem in SPLIT_PROBLEMS:
        for how, make in PREDICTORS.items():
            for name, measure in {**MEASURES, **MODELS}.items():
                ask = partial(_ask_parts, make, measure, problem)
                operations = ("predict_p", "predict", "predict_set")
                yield _own("parts", name, problem, how, "fresh", ask=ask, operations=operations)


def target_part_cases() -> Iterator[Case]:
    """Yield what is asked of their counterparts with targets, of CV+ and of jackknives."""
    for problem in SPLIT_PROBLEMS:
        for how, make in REGRESSORS.items():
            for name, measure in {**RESIDUALS, **TARGET_MODELS}.items():
                ask = partial(_ask_target_parts, make, measure, problem)
                operations = ("predict_interval", "predict")
                yield _own("target parts", name, problem, how, "fresh", ask=ask, operations=operations)
        for name, model in BOOTSTRAPPED.items():
            for aggregate in ("mean", "median"):
                make = partial(JackknifeAfterBootstrapRegressor, aggregate=aggregate, random_state=3, n_resamplings=12)
                ask = partial(_ask_target_parts, make, model, problem)
                route_name, operations = f"jackknife+ after bootstrap, {aggregate}", ("predict_interval", "predict")
                yield _own("target parts", name, problem, route_name, "fresh", ask=ask, operations=operations)


# --- refits: full conformal prediction around models with seeds, and forests


REFITS = {
    **MODELS,
    "bootstrap": Bootstrap(GaussianNB(), n_estimators=3, random_state=0),
    "forest": RandomForest(n_estimators=5, random_state=0),
    "forest bernoulli": RandomForest(n_estimators=5, resampling="bernoulli", random_state=0),
}


def _ask_refits(measure: Any, history: str) -> dict[str, Answer]:
    rng = np.random.default_rng(12)
    X, X_test = rng.normal(size=(24, 3)), rng.normal(size=(4, 3))
    y, targets = NAMES[(X[:, 0] + 0.5 * rng.normal(size=24) > 0).astype(int)], X[:, 0] + 0.2 * rng.normal(size=24)
    is_regression = isinstance(measure, ModelResidual)
    told = targets if is_regression else y
    predictor = (FullConformalRegressor if is_regression else FullConformalClassifier)(clone(measure), n_jobs=1)
    if history == "fresh":
        predictor.fit(X[:18], told[:18])
    elif history == "learned":
        predictor.fit(X[:10], told[:10]).partial_fit(X[10:11], told[10:11]).partial_fit(X[11:18], told[11:18])
    else:
        predictor.fit(X, told).unlearn([23]).unlearn(np.arange(18, 23))
    if is_regression:
        interval = near(predictor.predict_interval(X_test[:2], 0.8), 1e-6, 1e-6)
        return {"predict_p": whole(predictor.predict_p(X_test, X_test[:, 0]), 18), "predict_interval": interval}
    sets = exact(np.asarray(predictor.predict_set(X_test, [0.5, 0.8])))
    return {"predict_p": whole(predictor.predict_p(X_test), 18), "predict_set": sets}


def refit_cases() -> Iterator[Case]:
    """Yield what is asked of full predictors around models."""
    for name, measure in {**REFITS, **{f"target {one}": model for one, model in TARGET_MODELS.items()}}.items():
        for history in HISTORIES[:3]:
            operations = ("predict_p", "predict_interval" if name.startswith("target") else "predict_set")
            ask = partial(_ask_refits, measure, history)
            yield _case("refits", name, "24 rows of 3", "refits", history, ask=ask, operations=operations)


# --- anomalies, clusters, sequences


DETECTORS = {
    "detector": ConformalAnomalyDetector(),
    "detector KDE": ConformalAnomalyDetector(KDE(0.8)),
    "detector smoothed": ConformalAnomalyDetector(SimplifiedKNN(3), smoothed=True, random_state=2),
    "detector by folds": ConformalAnomalyDetector(
        IsolationForest(n_estimators=5, random_state=0), cv=4, random_state=2
    ),
    "detector that splits": ConformalAnomalyDetector(IsolationForest(n_estimators=5, random_state=0), random_state=2),
}
CLUSTERERS = {
    "clusters KDE": ConformalClusterer(KDE(0.8), n_grid=12),
    "clusters k-NN, full": ConformalClusterer(SimplifiedKNN(3), epsilon=0.3, n_grid=12, adjacency="full"),
}


def _ask_detector(name: str, problem: str, history: str) -> dict[str, Answer]:
    X, _, X_test, n = label_problem(problem)
    detector = clone(DETECTORS[name]).set_params(n_jobs=1)
    told = Told(
        lambda some: detector.fit(X[some]),
        lambda some: detector.partial_fit(X[some]),
        detector.unlearn,
        lambda: detector.predict(X_test[:1]),
    )
    play(history, n, len(X) - n, told)
    return {
        "predict_p": exact(detector.predict_p(X_test)),
        "predict": exact(detector.predict(X_test)),
        "select": exact(detector.select(X_test, 0.2)),
    }


def _ask_clusterer(name: str, problem: str) -> dict[str, Answer]:
    X, _, X_test = PROBLEMS[problem]
    clusterer = clone(CLUSTERERS[name]).set_params(n_jobs=1).fit(X[:, :2])
    labels, asked = clusterer.labels_, clusterer.predict(X_test[:, :2])
    return {"p_values_": whole(clusterer.p_values_, len(X)), "labels_": exact(labels), "predict": exact(asked)}


def _ask_sequences(measure: Any, mondrian: str | None) -> dict[str, Answer]:
    rng = np.random.default_rng(4)
    y = [(rng.random(size).cumsum() % 3).astype(int) for size in (20, 15, 25)]
    X = [rng.normal(size=(len(one), 2)) + one[:, None] for one in y]
    model = ConformalSequencePredictor(clone(measure), mondrian=mondrian, n_jobs=1).fit(X, [NAMES[one] for one in y])
    asked = [rng.normal(size=(size, 2)) + 1 for size in (1, 7)]
    found = model.predict_candidates(asked, n_candidates=5, confidence_level=0.6)
    return {
        "predict_p": exact(np.concatenate(model.predict_p(asked))),
        "predict_set": exact(np.concatenate(model.predict_set(asked, confidence_level=0.8))),
        "predict_candidates": exact(["".join(map(str, one.labels)) for some in found for one in some]),
    }


def other_cases() -> Iterator[Case]:
    """Yield what is asked of detectors, clusterers and predictors of sequences."""
    for name in DETECTORS:
        for problem in ("random", "grid with ties", "separated clusters", "tiny scale", "outliers"):
            for history in HISTORIES if "folds" not in name and "splits" not in name else HISTORIES[:1]:
                ask = partial(_ask_detector, name, problem, history)
                operations = ("predict_p", "predict", "select")
                yield _case("others", name, problem, "detector", history, ask=ask, operations=operations)
    for name in CLUSTERERS:
        for problem in ("random", "grid with ties", "separated clusters"):
            ask, operations = partial(_ask_clusterer, name, problem), ("p_values_", "labels_", "predict")
            yield _case("others", name, problem, "grid", "fresh", ask=ask, operations=operations)
    for name in ("NN", "KNN 3", "LSSVM"):
        for mondrian in ("label", None):
            ask, how = (
                partial(_ask_sequences, MEASURES[name], mondrian),
                "sequences" if mondrian is None else "sequences by label",
            )
            operations = ("predict_p", "predict_set", "predict_candidates")
            yield _own("others", name, "three sequences", how, "fresh", ask=ask, operations=operations)


# --- shards


SHARDED = {
    "KNN 3": KNN(3),
    "SimplifiedKNN 2": SimplifiedKNN(2),
    "NN": NN(),
    "KNN 2 manhattan": KNN(2, metric="manhattan"),
    "KDE": KDE(),
    "LSSVM": LSSVM(),
    "forest": RandomForest(5, random_state=0),
    "target k-NN 3": KNNResidual(3),
    "target ridge": RidgeResidual(),
}


def _chunked(X: np.ndarray, y: np.ndarray, n_shards: int) -> tuple[Any, Any]:
    sizes = tuple(len(part) for part in np.array_split(np.arange(len(y)), n_shards))
    return da.from_array(X, chunks=(sizes, -1)), da.from_array(y, chunks=(sizes,))


def _ask_shards(name: str, problem: str, n_shards: int, history: str) -> dict[str, Answer]:
    is_regression = name.startswith("target")
    X, codes, X_test, n = label_problem(problem)
    y = X.sum(axis=1) + codes if is_regression else NAMES[codes]
    make = DaskFullConformalRegressor if is_regression else DaskFullConformalClassifier
    with dask.config.set(scheduler="synchronous"):
        many = make(clone(SHARDED[name]))
        if history == "fresh":
            many.fit(*_chunked(X[:n], y[:n], n_shards))
        elif history == "learned":
            many.fit(*_chunked(X[: n // 2], y[: n // 2], n_shards))
            many.partial_fit(*_chunked(X[n // 2 : n], y[n // 2 : n], 2))
        else:
            many.fit(*_chunked(X, y, n_shards))
            many.unlearn(np.arange(n, len(y)))
        if is_regression:
            size = float(np.abs(y).max())
            interval = near(many.predict_interval(X_test, [0.5, 0.8]), SUMS, SUMS * size)
            return {
                "predict_p": whole(many.predict_p(X_test, X_test.sum(axis=1) + 0.5), n),
                "predict_interval": interval,
            }
        sets = exact(np.asarray(many.predict_set(X_test, [0.5, 0.8])))
        return {"predict_p": whole(many.predict_p(X_test), n), "predict_set": sets}


def shard_cases() -> Iterator[Case]:
    """Yield what is asked of predictors whose examples lie in shards, without a cluster."""
    for name in SHARDED:
        for problem in ("four labels", "grid with ties"):
            for n_shards in (1, 2, 7):
                for history in HISTORIES[:1] if name == "forest" else HISTORIES[:3]:
                    ask = partial(_ask_shards, name, problem, n_shards, history)
                    operations = ("predict_p", "predict_interval" if name.startswith("target") else "predict_set")
                    yield _case("shards", name, problem, f"{n_shards} shards", history, ask=ask, operations=operations)


# --- commands: tables that scikit-learn brings


TABLES = {"iris": load_iris, "wine": load_wine, "diabetes": load_diabetes}
COMMANDS = {
    "iris": [("knn", "k=3"), ("kde", "bandwidth=0.5"), ("lssvm", "rho=1")],
    "wine": [("knn", "k=5"), ("simplified-knn", "k=3")],
    "diabetes": [("knn", "k=5"), ("ridge", "rho=1")],
}
LEARNED_ROWS, ASKED_ROWS = 100, 20


@contextmanager
def _tables() -> Iterator[None]:
    """Write the tables into a folder of their own, and go there."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name, load in TABLES.items():
                frame = load(as_frame=True).frame
                if name != "diabetes":
                    frame["target"] = NAMES[frame["target"]]
                order = np.random.default_rng(0).permutation(len(frame))
                frame = frame.iloc[order].round(6)
                frame[:LEARNED_ROWS].to_csv(f"{name}.csv", index=False)
                frame[LEARNED_ROWS : LEARNED_ROWS + ASKED_ROWS].to_csv(f"{name} new.csv", index=False)
                frame[:LEARNED_ROWS].sort_values("target").to_csv(f"{name} stream.csv", index=False)
            yield
        finally:
            os.chdir(before)


def _run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exit_code != 0:
        raise RuntimeError(result.output)
    return result.stdout


def _columns(path: str, known: list[str]) -> dict[str, Answer]:
    frame = pd.read_csv(path, keep_default_na=False, float_precision="round_trip")
    found = {"columns": exact([*frame.columns])}
    words = [one for one in frame.columns if one not in known and frame[one].dtype.kind not in "fi"]
    numbers = [one for one in frame.columns if one not in known and frame[one].dtype.kind in "fi"]
    text = frame[words].astype(str).agg(" ; ".join, axis=1).tolist() if words else []
    return found | {
        "words": exact(np.array(text, dtype=str)),
        "numbers": near(frame[numbers].to_numpy(float), SUMS, SUMS),
    }


def _ask_predict(table: str, measure: str, option: str, how: str) -> dict[str, Answer]:
    with _tables():
        known = [*pd.read_csv(f"{table}.csv", nrows=1).columns]
        learn = ["--target", "target", "--measure", measure, "--option", option]
        if how == "predict":
            _run("predict", f"{table}.csv", f"{table} new.csv", *learn, "--confidence", "0.9", "--output", "out.csv")
        else:
            _run("fit", f"{table}.csv", *learn, "--save", "model.exactcp")
            _run(
                "predict", "--model", "model.exactcp", f"{table} new.csv", "--confidence", "0.9", "--output", "out.csv"
            )
        return _columns("out.csv", known)


def _ask_drift(table: str) -> dict[str, Answer]:
    with _tables():
        text = _run("drift", f"{table} stream.csv", "--ignore", "target", "--seed", "0", "--json")
    rows = [json.loads(line) for line in text.splitlines()]
    logs = near([row["log_martingale"] for row in rows], SUMS, SUMS)
    return {
        "p": exact([float(row["p"]) for row in rows]),
        "log_martingale": logs,
        "alarm": exact([bool(row["alarm"]) for row in rows]),
    }


def command_cases() -> Iterator[Case]:
    """Yield what is asked on the command line."""
    for table, measures in COMMANDS.items():
        for measure, option in measures:
            for how in ("predict", "fit, predict"):
                ask, operations = partial(_ask_predict, table, measure, option, how), ("columns", "words", "numbers")
                yield _case("commands", f"{measure} {option}", table, how, "fresh", ask=ask, operations=operations)
        ask, operations = partial(_ask_drift, table), ("p", "log_martingale", "alarm")
        yield _case("commands", "default", table, "drift", "fresh", ask=ask, operations=operations)


# --- files that releases have saved


def _ask_saved(path: Path) -> dict[str, Answer]:
    return {"answers": near(answers_of(path.stem, exactcp.load(path)), SUMS, SUMS)}


def saved_cases() -> Iterator[Case]:
    """Yield what is asked of the models that releases have saved."""
    for path in sorted(SAVED_HERE.glob("*/*.skops")):
        yield _case(
            "saved",
            path.stem,
            path.parent.name,
            "loaded",
            "fresh",
            ask=partial(_ask_saved, path),
            operations=("answers",),
        )
