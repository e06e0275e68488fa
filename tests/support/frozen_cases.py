"""All cases whose answers are frozen, by kind; here are those of predictors beyond the full ones."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise, product
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
from frozen_answers import (
    HISTORIES,
    LEVELS,
    RESIDUALS,
    classifier_cases,
    in_blocks,
    label_cases,
    label_problem,
    large_cases,
    play,
    route,
    searching,
    target_cases,
    told_of,
)
from frozen_store import Answer, Case, case, exact, near, whole
from measure_table import MEASURES
from problems import PROBLEMS
from saved_models import SAVED_HERE, answers_of
from target_problems import TARGET_PROBLEMS

SUMS = 1e-9  # of logarithms, means and solutions, which processors round in their own ways
NAMES = np.array(list("abcdefghij"))
SPLIT_PROBLEMS = ("random", "four labels", "grid with ties", "separated clusters")


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


def _ask_stream(name: str, problem: str, _: str, history: str) -> dict[str, Answer]:
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


def _ask_selector(*_: str) -> dict[str, Answer]:
    X = np.random.default_rng(0).normal(size=(120, 3))
    X[:, 1] += np.linspace(0, 4, 120)
    return {"support": exact(ExchangeabilitySelector(random_state=0).fit(X).get_support())}


def stream_cases() -> Iterator[Case]:
    """Yield what is asked of tests of exchangeability."""
    operations = ("p_values_", "log_martingale_", "log_statistic_", "alarms_")
    for of in product(STREAMS, STREAM_PROBLEMS, ["stream"], ["together", "one by one", "parts"]):
        yield case("streams", _ask_stream, of, operations)
    of = ("ExchangeabilitySelector", "a feature that drifts", "stream", "together")
    yield case("streams", _ask_selector, of, ("support",))


# --- Venn


VENN = {"k-NN 1": 1, "k-NN 4": 4, "k-NN 15": 15}
VENN_ROUTES = ("plain", "one row", "screened", "screened float64", "tree", "tree one row", "float32")
ABERS = {
    "LSSVM": LSSVM(),
    "LSSVM intercept": LSSVM(rho=0.01, fit_intercept=True),
    "LSSVM rbf": LSSVM(kernel="rbf", gamma=0.5),
    "naive Bayes": GaussianNB(),
}


def _ask_venn(name: str, problem: str, route_name: str, history: str) -> dict[str, Answer]:
    X, codes, X_test, n = label_problem(problem)
    if route_name == "float32":
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    y, venn = NAMES[codes], searching(VennPredictor(VENN[name], n_jobs=1), route_name)
    with route(route_name):
        told = told_of(venn, (X, y), lambda: venn.predict_proba(X_test[:1]), classes=np.unique(y))
        play(history, n, len(y) - n, told)
        blocks = in_blocks(route_name, X_test)
        interval = np.concatenate([venn.predict_proba_interval(block) for block in blocks])
        proba = np.concatenate([venn.predict_proba(block) for block in blocks])
        labels = np.concatenate([venn.predict(block) for block in blocks])
    return {"predict_proba_interval": exact(interval), "predict_proba": near(proba, 1e-12), "predict": exact(labels)}


def _ask_abers(name: str, problem: str, method: str, _: str) -> dict[str, Answer]:
    X, codes, X_test, n = label_problem(problem)
    venn = VennAbersPredictor(clone(ABERS[name]), method=method, random_state=0, n_jobs=1).fit(X[:n], NAMES[codes[:n]])
    interval, proba = venn.predict_proba_interval(X_test), venn.predict_proba(X_test)
    return {"predict_proba_interval": near(interval, SUMS, SUMS), "predict_proba": near(proba, SUMS, SUMS)}


def venn_cases() -> Iterator[Case]:
    """Yield what is asked of Venn predictors."""
    for of in product(VENN, PROBLEMS, VENN_ROUTES, HISTORIES):
        operations = ("predict_proba_interval", "predict_proba", "predict")
        yield case("Venn", _ask_venn, of, operations, is_dear=of[3] == "mixed")


def venn_abers_cases() -> Iterator[Case]:
    """Yield what is asked of Venn-Abers predictors."""
    for of in product(ABERS, SPLIT_PROBLEMS, ["full", "inductive", "cross"], ["fresh"]):
        if of[0] != "naive Bayes" or of[2] != "full":
            yield case("Venn-Abers", _ask_abers, of, ("predict_proba_interval", "predict_proba"), is_own=True)


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
AGGREGATES = {f"jackknife+ after bootstrap, {one}": one for one in ("mean", "median")}
MODELS = {
    "naive Bayes": ModelScore(GaussianNB()),
    "tree": ModelScore(DecisionTreeClassifier(max_depth=3, random_state=0)),
}
TARGET_MODELS = {
    "least squares model": ModelResidual(Ridge(0.1)),
    "tree": ModelResidual(DecisionTreeRegressor(max_depth=3, random_state=0)),
}


def _ask_parts(name: str, problem: str, how: str, _: str) -> dict[str, Answer]:
    X, codes, X_test, n = label_problem(problem)
    measure = clone({**MEASURES, **MODELS}[name])
    clf = PREDICTORS[how](measure, n_jobs=1).fit(X[:n], NAMES[codes[:n]])
    answers = {"predict_p": exact(clf.predict_p(X_test)), "predict": exact(clf.predict(X_test))}
    return answers | {"predict_set": exact(np.asarray(clf.predict_set(X_test, [0.5, 0.8])))}


def _ask_target_parts(name: str, problem: str, how: str, _: str) -> dict[str, Answer]:
    X, y, X_test = TARGET_PROBLEMS[problem]
    size = float(np.abs(y).max())
    if how in AGGREGATES:
        bootstrapped = {"aggregate": AGGREGATES[how], "random_state": 3, "n_resamplings": 12}
        reg = JackknifeAfterBootstrapRegressor(clone(BOOTSTRAPPED[name]), **bootstrapped, n_jobs=1)
    else:
        reg = REGRESSORS[how](clone({**RESIDUALS, **TARGET_MODELS}[name]), n_jobs=1)
    answers = {"predict_interval": near(reg.fit(X, y).predict_interval(X_test, LEVELS), 1e-6, 1e-6 * size)}
    return answers | {"predict": near(reg.predict(X_test), 1e-6, 1e-6 * size)}


def part_cases() -> Iterator[Case]:
    """Yield what is asked of predictors that fit and calibrate with different rows."""
    for problem, how, name in product(SPLIT_PROBLEMS, PREDICTORS, {**MEASURES, **MODELS}):
        of = (name, problem, how, "fresh")
        yield case("parts", _ask_parts, of, ("predict_p", "predict", "predict_set"), is_own=True)


def target_part_cases() -> Iterator[Case]:
    """Yield what is asked of their counterparts with targets, of CV+ and of jackknives."""
    for problem in SPLIT_PROBLEMS:
        plain = ((name, how) for how, name in product(REGRESSORS, {**RESIDUALS, **TARGET_MODELS}))
        for name, how in [*plain, *product(BOOTSTRAPPED, AGGREGATES)]:
            of = (name, problem, how, "fresh")
            yield case("target parts", _ask_target_parts, of, ("predict_interval", "predict"), is_own=True)


# --- refits: full conformal prediction around models with seeds, and forests


REFITS = {
    **MODELS,
    "bootstrap": Bootstrap(GaussianNB(), n_estimators=3, random_state=0),
    "forest": RandomForest(n_estimators=5, random_state=0),
    "forest bernoulli": RandomForest(n_estimators=5, resampling="bernoulli", random_state=0),
    **{f"target {name}": model for name, model in TARGET_MODELS.items()},
}


def _ask_refits(name: str, _: str, __: str, history: str) -> dict[str, Answer]:
    rng = np.random.default_rng(12)
    X, X_test = rng.normal(size=(24, 3)), rng.normal(size=(4, 3))
    y, targets = NAMES[(X[:, 0] + 0.5 * rng.normal(size=24) > 0).astype(int)], X[:, 0] + 0.2 * rng.normal(size=24)
    is_regression = name.startswith("target")
    told = targets if is_regression else y
    predictor = (FullConformalRegressor if is_regression else FullConformalClassifier)(clone(REFITS[name]), n_jobs=1)
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


def _questions(name: str) -> tuple[str, str]:
    return "predict_p", "predict_interval" if name.startswith("target") else "predict_set"


def refit_cases() -> Iterator[Case]:
    """Yield what is asked of full predictors around models."""
    for of in product(REFITS, ["24 rows of 3"], ["refits"], HISTORIES[:3]):
        yield case("refits", _ask_refits, of, _questions(of[0]))


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


def _ask_detector(name: str, problem: str, _: str, history: str) -> dict[str, Answer]:
    X, _, X_test, n = label_problem(problem)
    detector = clone(DETECTORS[name]).set_params(n_jobs=1)
    play(history, n, len(X) - n, told_of(detector, (X,), lambda: detector.predict(X_test[:1])))
    return {
        "predict_p": exact(detector.predict_p(X_test)),
        "predict": exact(detector.predict(X_test)),
        "select": exact(detector.select(X_test, 0.2)),
    }


def _ask_clusterer(name: str, problem: str, *_: str) -> dict[str, Answer]:
    X, _, X_test = PROBLEMS[problem]
    clusterer = clone(CLUSTERERS[name]).set_params(n_jobs=1).fit(X[:, :2])
    labels, asked = clusterer.labels_, clusterer.predict(X_test[:, :2])
    return {"p_values_": whole(clusterer.p_values_, len(X)), "labels_": exact(labels), "predict": exact(asked)}


def _ask_sequences(name: str, _: str, how: str, __: str) -> dict[str, Answer]:
    rng = np.random.default_rng(4)
    y = [(rng.random(size).cumsum() % 3).astype(int) for size in (20, 15, 25)]
    X = [rng.normal(size=(len(one), 2)) + one[:, None] for one in y]
    mondrian = "label" if how == "sequences by label" else None
    model = ConformalSequencePredictor(clone(MEASURES[name]), mondrian=mondrian, n_jobs=1)
    model.fit(X, [NAMES[one] for one in y])
    asked = [rng.normal(size=(size, 2)) + 1 for size in (1, 7)]
    found = model.predict_candidates(asked, n_candidates=5, confidence_level=0.6)
    return {
        "predict_p": exact(np.concatenate(model.predict_p(asked))),
        "predict_set": exact(np.concatenate(model.predict_set(asked, confidence_level=0.8))),
        "predict_candidates": exact(["".join(map(str, one.labels)) for some in found for one in some]),
    }


def other_cases() -> Iterator[Case]:
    """Yield what is asked of detectors, clusterers and predictors of sequences."""
    problems = ("random", "grid with ties", "separated clusters", "tiny scale", "outliers")
    for of in product(DETECTORS, problems, ["detector"], HISTORIES):
        if of[3] == "fresh" or ("folds" not in of[0] and "splits" not in of[0]):
            yield case("others", _ask_detector, of, ("predict_p", "predict", "select"))
    for of in product(CLUSTERERS, problems[:3], ["grid"], ["fresh"]):
        yield case("others", _ask_clusterer, of, ("p_values_", "labels_", "predict"))
    for of in product(["NN", "KNN 3", "LSSVM"], ["three sequences"], ["sequences by label", "sequences"], ["fresh"]):
        yield case("others", _ask_sequences, of, ("predict_p", "predict_set", "predict_candidates"), is_own=True)


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


def _ask_shards(name: str, problem: str, shards: str, history: str) -> dict[str, Answer]:
    n_shards, is_regression = int(shards.split(maxsplit=1)[0]), name.startswith("target")
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
            p = many.predict_p(X_test, X_test.sum(axis=1) + 0.5)
            return {"predict_p": whole(p, n), "predict_interval": interval}
        sets = exact(np.asarray(many.predict_set(X_test, [0.5, 0.8])))
        return {"predict_p": whole(many.predict_p(X_test), n), "predict_set": sets}


def shard_cases() -> Iterator[Case]:
    """Yield what is asked of predictors whose examples lie in shards, without a cluster."""
    for of in product(SHARDED, ("four labels", "grid with ties"), ("1 shards", "2 shards", "7 shards"), HISTORIES[:3]):
        if of[0] != "forest" or of[3] == "fresh":
            yield case("shards", _ask_shards, of, _questions(of[0]))


# --- commands: tables that scikit-learn brings


TABLES = {"iris": load_iris, "wine": load_wine, "diabetes": load_diabetes}
COMMANDS = {
    "iris": ["knn k=3", "kde bandwidth=0.5", "lssvm rho=1"],
    "wine": ["knn k=5", "simplified-knn k=3"],
    "diabetes": ["knn k=5", "ridge rho=1"],
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
    numbers = near(frame[numbers].to_numpy(float), SUMS, SUMS)
    return found | {"words": exact(np.array(text, dtype=str)), "numbers": numbers}


def _ask_predict(name: str, table: str, how: str, _: str) -> dict[str, Answer]:
    measure, option = name.split()
    with _tables():
        known = [*pd.read_csv(f"{table}.csv", nrows=1).columns]
        learn = (f"{table}.csv", "--target", "target", "--measure", measure, "--option", option)
        write = (f"{table} new.csv", "--confidence", "0.9", "--output", "out.csv")
        if how == "predict":
            _run("predict", learn[0], write[0], *learn[1:], *write[1:])
        else:
            _run("fit", *learn, "--save", "model.exactcp")
            _run("predict", "--model", "model.exactcp", *write)
        return _columns("out.csv", known)


def _ask_drift(_: str, table: str, *__: str) -> dict[str, Answer]:
    with _tables():
        text = _run("drift", f"{table} stream.csv", "--ignore", "target", "--seed", "0", "--json")
    rows = [json.loads(line) for line in text.splitlines()]
    return {
        "p": exact([float(row["p"]) for row in rows]),
        "log_martingale": near([row["log_martingale"] for row in rows], SUMS, SUMS),
        "alarm": exact([bool(row["alarm"]) for row in rows]),
    }


def command_cases() -> Iterator[Case]:
    """Yield what is asked on the command line."""
    for table, measures in COMMANDS.items():
        for of in product(measures, [table], ["predict", "fit, predict"], ["fresh"]):
            yield case("commands", _ask_predict, of, ("columns", "words", "numbers"))
        yield case("commands", _ask_drift, ("default", table, "drift", "fresh"), ("p", "log_martingale", "alarm"))


# --- files that releases have saved


def _ask_saved(name: str, release: str, *_: str) -> dict[str, Answer]:
    return {"answers": near(answers_of(name, exactcp.load(SAVED_HERE / release / f"{name}.skops")), SUMS, SUMS)}


def saved_cases() -> Iterator[Case]:
    """Yield what is asked of the models that releases have saved."""
    for path in sorted(SAVED_HERE.glob("*/*.skops")):
        yield case("saved", _ask_saved, (path.stem, path.parent.name, "loaded", "fresh"), ("answers",))


KINDS: dict[str, Callable[[], Iterator[Case]]] = {
    "label bags": label_cases,
    "classifiers": classifier_cases,
    "regressors": target_cases,
    "sizes": large_cases,
    "streams": stream_cases,
    "Venn": venn_cases,
    "Venn-Abers": venn_abers_cases,
    "parts": part_cases,
    "target parts": target_part_cases,
    "refits": refit_cases,
    "others": other_cases,
    "shards": shard_cases,
    "commands": command_cases,
    "saved": saved_cases,
}


def every_case(kind: str) -> list[Case]:
    """Return all cases of a kind."""
    return list(KINDS[kind]())
