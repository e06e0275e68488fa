"""What measures of regression ask of other people's models: which are allowed, and what they say."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp._parameters import Allowed, having, one_of
from exactcp._rows import count_rows
from exactcp.measures._model import ask_model, name_of, task_of

_NO_REGRESSORS = {
    "classifier": "predicts labels: use it in SplitConformalClassifier or another classifier.",
    "clusterer": "finds clusters, and predicts no targets.",
    "outlier_detector": "tells of anomalies: use it in ConformalAnomalyDetector.",
}
_HAS_METHODS = having("a regressor", "an instance with fit and predict, such as Ridge()", "fit", "predict")


def _hint(value: Any) -> str:
    task = None if isinstance(value, type) else task_of(value)
    return f"{name_of(value)} {_NO_REGRESSORS[task]}" if task in _NO_REGRESSORS else _HAS_METHODS.hint(value)


REGRESSOR = Allowed(
    _HAS_METHODS.what,
    _HAS_METHODS.words,
    lambda value: _HAS_METHODS.accepts(value) and task_of(value) not in _NO_REGRESSORS,
    _hint,
    TypeError,
)
PRECOMPUTED = one_of("precomputed")


def ask_regressor(model: Any, X: Any) -> np.ndarray:
    """Return one number for each object, (m,)."""
    said = ask_model(model, "predict", X)
    if said.size != said.shape[0]:
        msg = (
            f"{name_of(model)}.predict returned shape {said.shape} for {said.shape[0]} objects: expected one number "
            "for each. Two quantiles are for ModelQuantile."
        )
        raise ValueError(msg)
    return said.reshape(-1)


def given_outputs(X: Any, columns: int, what: str) -> np.ndarray:
    """Return outputs that X holds, (m, columns), as float64."""
    try:
        outputs = np.asarray(X, dtype=np.float64)
    except (ValueError, TypeError) as error:
        msg = f"X holds {what} with 'precomputed', and must be numbers: received {type(X).__name__} ({error})."
        raise ValueError(msg) from error
    if outputs.ndim == 1 and columns == 1:
        outputs = outputs[:, None]
    if outputs.ndim != 2 or outputs.shape[1] != columns:
        expected = "(n,) or (n, 1)" if columns == 1 else f"(n, {columns})"
        msg = f"X has shape {outputs.shape}, and with 'precomputed' it holds {what}: expected shape {expected}."
        raise ValueError(msg)
    if not np.isfinite(outputs).all():
        row = int((~np.isfinite(outputs)).any(axis=1).argmax())
        msg = f"X holds {what} with 'precomputed', and row {row} is {outputs[row].tolist()}: expected finite numbers."
        raise ValueError(msg)
    return outputs


def check_same_rows(X: Any, y: np.ndarray) -> None:
    """Refuse objects and targets of different numbers."""
    if count_rows(X) != y.size:
        msg = f"X has {count_rows(X)} rows and y {y.size} targets: expected one target for each object."
        raise ValueError(msg)
