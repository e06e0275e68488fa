"""A measure from text: `--measure knn --option k=5`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from inspect import signature
from typing import Any

from exactcp.cli._mistakes import MisuseError, did_you_mean

TASKS = ("classification", "regression")


def measures_of(task: str) -> dict[str, Any]:
    """Return the classes of `exactcp.measures` for a task by their short names: `KNNResidual` is "knn"."""
    from exactcp import measures

    base = measures.Measure if task == "classification" else measures.RegressionMeasure
    classes = [getattr(measures, name) for name in measures.__all__]
    found = [cls for cls in classes if isinstance(cls, type) and issubclass(cls, base) and cls is not base]
    return {_short(cls.__name__): cls for cls in sorted(found, key=lambda cls: (len(cls.__name__), cls.__name__))}


def _short(name: str) -> str:
    """Return a class's name in small letters and hyphens, without the ending that all measures of a task have."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", re.sub(r"(Residual|Score)$", "", name))
    return "-".join(words).lower()


def complete_measure(incomplete: str) -> list[str]:
    """Return the names that begin so, for the shell's completion."""
    return sorted({name for task in TASKS for name in measures_of(task) if name.startswith(incomplete)})


def make_measure(name: str | None, options: Iterable[str], task: str, *, seed: int | None = None) -> Any:
    """Return a measure with its parameters; None without a name, for the predictor's default.

    Parameters
    ----------
    name : str or None
        As in `measures_of`, or the class's own name, in any case.
    options : iterable of str
        Each ``name=value``; the value is a Python literal, or else text.
    task : {"classification", "regression"}
    seed : int or None, default=None
        For a measure with a `random_state` that no option sets.

    Returns
    -------
    measure or None
    """
    given = dict(_pair(option) for option in options)
    if name is None and not given:
        return None
    cls = measure_class(name or "knn", task)
    constructor = {}
    if "estimator" in signature(cls).parameters:
        constructor["estimator"] = _estimator(str(given.pop("estimator", "")), str(name), task)
    measure = cls(**constructor)
    known = measure.get_params()
    for option in given:
        if option not in known:
            own = ", ".join(sorted(p for p in known if "__" not in p)) or "none"
            msg = f"--option {option}: {cls.__name__} has no such parameter; it has: {own}."
            raise MisuseError(msg + did_you_mean(option, known))
    if "random_state" in known and "random_state" not in given and seed is not None:
        given["random_state"] = seed
    return measure.set_params(**given)


def measure_class(name: str, task: str) -> Any:
    """Return the class of a measure by its name."""
    names, other = measures_of(task), next(one for one in TASKS if one != task)
    for one, known in ((task, names), (other, measures_of(other))):
        for short, cls in known.items():
            if _key(name) in (_key(short), _key(cls.__name__)):
                if one == task:
                    return cls
                msg = f"--measure {name} is for {other}, and the task is {task}: use one of {', '.join(names)}."
                raise MisuseError(msg)
    msg = f"--measure {name} is not a measure: use one of {', '.join(names)} for {task}.{did_you_mean(name, names)}"
    raise MisuseError(msg)


def _key(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


def _pair(option: str) -> tuple[str, Any]:
    name, _, value = option.partition("=")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name.strip(), value.strip()


def _estimator(estimator: str, measure: str, task: str) -> Any:
    """Return one of scikit-learn's classifiers or regressors by its name."""
    from sklearn.utils import all_estimators

    kind = "classifier" if task == "classification" else "regressor"
    found = dict(all_estimators(type_filter=kind))
    if estimator not in found:
        example = "LogisticRegression" if kind == "classifier" else "LinearRegression"
        what = f"estimator={estimator} is not a {kind} of scikit-learn" if estimator else "it needs an estimator"
        msg = f"--measure {measure}: {what}: write for example --option estimator={example}."
        raise MisuseError(msg + did_you_mean(estimator, found))
    return found[estimator]()
