"""Split CP and CV+ around a user's model, against the model's own fit and predictions, in time and memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.model_tasks import TASKS, Task
from benchmarks.peak import peak_megabytes
from benchmarks.stopwatch import best_seconds, side_by_side

MODULE = "benchmarks.model_tasks"


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each task."""
    scale = 10 if quick else 1
    for name, task in TASKS.items():
        yield _compare(name, task, scale)


def _compare(name: str, task: Task, scale: int) -> dict[str, Any]:
    data = task.data(scale)
    task.works["exactcp"](task.data(100))  # compiles
    seconds = side_by_side({who: lambda work=work: work(data) for who, work in task.works.items()})
    peak = {who: peak_megabytes(MODULE, name, who, scale) for who in task.works}
    return {
        "task": name,
        "rows": len(data.y) + (0 if data.y_calibration is None else len(data.y_calibration)),
        "predicted": len(data.X_test),
        "exactcp / model, time": seconds["exactcp"] / seconds["model"],
        "peak of the model, MB": peak["model"],
        "peak of exactcp, MB": peak["exactcp"],
        "the rows that fit, MB": _megabytes(data.X),
    }


def _megabytes(X: Any) -> float:
    """Return what the objects take, words of a frame included."""
    size = X.memory_usage(deep=True).sum() if hasattr(X, "memory_usage") else X.nbytes
    return float(size) / 2**20


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of time against n on a log-log scale, of what is cheap next to the model's fit."""
    large = 10 if quick else 1
    small = 4 * large
    for name, task in TASKS.items():
        if "naive Bayes" in name or "linear regression" in name:
            task.works["exactcp"](task.data(100))
            seconds = [_seconds(task, scale) for scale in (small, large)]
            yield {"task": name, "slope in n": float(np.log(seconds[1] / seconds[0]) / np.log(small / large))}


def _seconds(task: Task, scale: int) -> float:
    data = task.data(scale)
    return best_seconds(lambda: task.works["exactcp"](data))
