"""The same work by MAPIE and crepes: `python -m benchmarks.peers [--quick]`, in an environment of its own.

`pip install -r benchmarks/peers-requirements.txt` beside exactcp. Both peers are asked for what they are fastest at:
a model that they need not clone, sets or intervals at one level, p-values without smoothing.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

from crepes import WrapClassifier, WrapRegressor
from mapie.classification import SplitConformalClassifier
from mapie.regression import CrossConformalRegressor, SplitConformalRegressor
from sklearn.base import clone
from sklearn.model_selection import KFold

from benchmarks import model_tasks
from benchmarks.model_tasks import FOLDS, LEVEL, Data, Task
from benchmarks.peak import peak_megabytes
from benchmarks.stopwatch import side_by_side

MODULE = "benchmarks.peers"
PEERS = ("mapie", "crepes")
SMALLER = 20  # CV+ of MAPIE keeps a number for each training and test row several times


def _mapie_labels(data: Data) -> Any:
    predictor = SplitConformalClassifier(data.model, confidence_level=LEVEL, prefit=False).fit(data.X, data.y)
    return predictor.conformalize(data.X_calibration, data.y_calibration).predict_set(data.X_test)


def _mapie_frozen(data: Data) -> Any:
    predictor = SplitConformalClassifier(data.model, confidence_level=LEVEL, prefit=True)
    return predictor.conformalize(data.X_calibration, data.y_calibration).predict_set(data.X_test)


def _mapie_targets(data: Data) -> Any:
    predictor = SplitConformalRegressor(data.model, confidence_level=LEVEL, prefit=False).fit(data.X, data.y)
    return predictor.conformalize(data.X_calibration, data.y_calibration).predict_interval(data.X_test)


def _mapie_folds(data: Data) -> Any:
    predictor = CrossConformalRegressor(data.model, confidence_level=LEVEL, cv=KFold(FOLDS))
    return predictor.fit_conformalize(data.X, data.y).predict_interval(data.X_test)


def _crepes_labels(data: Data) -> Any:
    wrapper = WrapClassifier(clone(data.model))
    wrapper.fit(data.X, data.y)
    wrapper.calibrate(data.X_calibration, data.y_calibration)
    return wrapper.predict_set(data.X_test, labels=False, confidence=LEVEL, smoothing=False)


def _crepes_p(data: Data) -> Any:
    wrapper = WrapClassifier(data.model).calibrate(data.X_calibration, data.y_calibration)
    return wrapper.predict_p(data.X_test, smoothing=False)


def _crepes_sets(data: Data) -> Any:
    wrapper = WrapClassifier(data.model).calibrate(data.X_calibration, data.y_calibration)
    return wrapper.predict_set(data.X_test, labels=False, confidence=LEVEL, smoothing=False)


def _crepes_targets(data: Data) -> Any:
    wrapper = WrapRegressor(clone(data.model))
    wrapper.fit(data.X, data.y)
    wrapper.calibrate(data.X_calibration, data.y_calibration)
    return wrapper.predict_int(data.X_test, confidence=LEVEL)


def _with_peers(name: str, task: Task) -> Task:
    """Return the task with what the peers do instead, as far as they can."""
    peers: dict[str, Callable[[Data], Any]]
    if "CV+" in name:
        return Task(lambda scale: task.data(scale * SMALLER), task.works | {"mapie": _mapie_folds})
    if "frozen: p-values" in name:  # MAPIE has none
        peers = {"crepes": _crepes_p}
    elif "frozen: sets" in name:
        peers = {"mapie": _mapie_frozen, "crepes": _crepes_sets}
    elif name == "linear regression":
        peers = {"mapie": _mapie_targets, "crepes": _crepes_targets}
    else:
        peers = {"mapie": _mapie_labels, "crepes": _crepes_labels}
    return Task(task.data, task.works | peers)


TASKS = {name: _with_peers(name, task) for name, task in model_tasks.TASKS.items()}


def _compare(name: str, scale: int) -> str:
    """Return one line: ours / theirs in time, and the peaks of all."""
    task = TASKS[name]
    works = {who: work for who, work in task.works.items() if who != "model"}
    data = task.data(scale)
    works["exactcp"](task.data(100 if len(data.y) > 10_000 else 10))  # compiles
    seconds = side_by_side({who: lambda work=work: work(data) for who, work in works.items()})
    ratios = ", ".join(f"exactcp / {peer} {seconds['exactcp'] / seconds[peer]:.2f}" for peer in PEERS if peer in works)
    peaks = ", ".join(f"{who} {peak_megabytes(MODULE, name, who, scale):,.0f}" for who in works)
    return f"{name} ({len(data.y):,} rows fit, {len(data.X_test):,} predicted): time {ratios}; peak MB {peaks}"


def main() -> None:
    """Print a line for each task."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Ours / theirs, side by side.")
    parser.add_argument("--quick", action="store_true", help="ten times smaller data")
    scale = 10 if parser.parse_args().quick else 1
    warnings.simplefilter("ignore")
    for name in TASKS:
        print(_compare(name, scale), flush=True)


if __name__ == "__main__":
    main()
