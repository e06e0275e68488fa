"""The lines that use a candidate, and the word about the guarantee of one that was chosen."""

from __future__ import annotations

import re
from typing import Any

from sklearn.base import clone

from exactcp._rows import is_frame
from exactcp.comparing._candidates import OF_LABELS, Candidate

DATA, NEW, TARGET = "DATA", "NEW", "TARGET"  # what a command's reader fills in
MODEL = "model.exactcp"  # a file


def python_lines(candidate: Candidate, X: Any, task: str, confidence_level: float) -> str:
    """Return lines of Python that predict `X_new` from `X` and `y` with a candidate, its preparation included.

    A predictor that has `preprocess=` gets the preparation there, which fits it to the objects of each question too.

    Parameters
    ----------
    candidate : Candidate
    X : objects
        Of the comparison: how frames are joined differs from how arrays are.
    task : {"classification", "regression"}
    confidence_level : float

    Returns
    -------
    str
    """
    method = "predict_set" if task == OF_LABELS else "predict_interval"
    predictor, preparation = candidate.predictor, candidate.preparation
    if preparation is not None and "preprocess" in predictor.get_params(deep=False):
        predictor, preparation = clone(predictor).set_params(preprocess=preparation), None
    lines = sorted(_imports(predictor, preparation))
    training, new = "X", "X_new"
    if preparation is not None:
        lines.insert(0, "import pandas as pd" if is_frame(X) else "import numpy as np")
        both = "pd.concat([X, X_new])" if is_frame(X) else "np.vstack([X, X_new])"
        # all objects together and no label, which leaves them exchangeable
        lines.append(f"objects = {_written(preparation)}.fit_transform({both})")
        training, new = "objects[:len(X)]", "objects[len(X):]"
    lines.append(f"predictor = {_written(predictor)}.fit({training}, y)")
    lines.append(f"predictor.{method}({new}, confidence_level={confidence_level!r})")
    return "\n".join(lines)


def _written(estimator: Any) -> str:
    return " ".join(estimator.__repr__(N_CHAR_MAX=10**6).split())


def _imports(*parts: Any) -> set[str]:
    """Return a line for each class that estimators are made of; None is none."""
    held = [one for part in parts if part is not None for one in (part, *part.get_params(deep=True).values())]
    made = [type(one) for one in held if hasattr(one, "get_params") and not isinstance(one, type)]
    return {f"from {_public_module(cls)} import {cls.__name__}" for cls in made}


def _public_module(cls: type) -> str:
    """Return the module from which users import a class.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from exactcp.measures import KNN
    >>> _public_module(RandomForestClassifier), _public_module(KNN)
    ('sklearn.ensemble', 'exactcp.measures')
    """
    parts = cls.__module__.split(".")
    if parts[0] == "exactcp":
        return "exactcp.measures" if parts[1] == "measures" else "exactcp"
    private = [place for place, part in enumerate(parts) if part.startswith("_") and part != "__main__"]
    return ".".join(parts[: private[0]] if private else parts)


def command_line(candidate: Candidate, confidence_level: float, seed: int) -> str | None:
    """Return the command that predicts the rows of NEW from those of DATA with a candidate; None if there is none."""
    if candidate.options is None:
        return None
    level = f"--confidence {confidence_level!r} --seed {seed}"
    return f"exactcp predict {DATA} {NEW} --target {TARGET} {candidate.options} {level}"


def saving_line(command: str) -> str:
    """Return the command that saves a model of the rows of DATA, from the one that predicts those of NEW.

    Examples
    --------
    >>> saving_line("exactcp predict DATA NEW --target TARGET --method full --measure knn --confidence 0.9 --seed 4")
    'exactcp fit DATA --target TARGET --method full --measure knn --seed 4 --save model.exactcp'
    """
    fit = command.replace(f"exactcp predict {DATA} {NEW}", f"exactcp fit {DATA}", 1)
    return f"{re.sub(r' --confidence [^ ]+', '', fit)} --save {MODEL}"  # which answers at any level


def guarantee(n_chosen_on: int, n_left: int, n_compared: int) -> str:
    """Return what the choice does to the guarantee of the predictor that was chosen.

    Parameters
    ----------
    n_chosen_on : int
        Rows that the predictors were compared on.
    n_left : int
        Rows that the comparison has not seen.
    n_compared : int
        Predictors.

    Returns
    -------
    str
    """
    if n_left:
        return (
            f"The choice was made on {n_chosen_on:,} rows. Fitted on the {n_left:,} others, and on none of these, the "
            "best predictor keeps its guarantee exactly."
        )
    return (
        f"The choice among {n_compared} predictors was made with the labels of these {n_chosen_on:,} rows. If the best "
        "is fitted on the same rows, its coverage may be a little lower than its guarantee says: more with more "
        "predictors, less with more rows (0.86 instead of 0.9 for a penalty, 19 rows). To keep it exactly, "
        "choose on a part that is not used again, such as 0.3 of the rows: exactcp.compare(X, y, choose_on=0.3)."
    )
