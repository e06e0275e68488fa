"""Regressors in measures: which are allowed, what they say, and what the measures around them share."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from exactcp._parallel import FREE, Effort
from exactcp._parameters import Allowed, check_parameters, one_of
from exactcp._rows import count_rows
from exactcp._values import check_unmasked
from exactcp.measures._bags import TargetBag
from exactcp.measures._contract import Objects, RegressionMeasure
from exactcp.measures._model import ask_number, may_be, why_no
from exactcp.measures.models._fixed_target_bag import FixedTargetBag
from exactcp.measures.models._refit_bag import ModelBag

REGRESSOR = Allowed(
    "a regressor",
    "an instance with fit and predict, such as Ridge()",
    lambda value: may_be("regressor", value, "predict"),
    partial(why_no, "regressor"),
    TypeError,
)
PRECOMPUTED = one_of("precomputed")


def ask_regressor(model: Any, X: Any) -> np.ndarray:
    """Return one number for each object, (m,)."""
    return ask_number(model, "predict", X, "each. Two quantiles are for ModelQuantile.", may_be_infinite=False)


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


class RegressorMeasure(RegressionMeasure):
    """Base of measures around regressors: what they share, whatever they make of the predictions."""

    residual: str

    @property
    def fits_itself(self) -> bool:
        """Whether an example is judged by a fit that it took part in."""
        return self.residual == "ordinary"

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return Objects.ANYTHING

    def bag(self, X: Any, y: np.ndarray, *, effort: Effort = FREE) -> TargetBag:  # noqa: ARG002
        """Return the bag of these examples, which refits for every question, unless nothing is learned.

        Parameters
        ----------
        X : objects
        y : ndarray of shape (n,)
        effort : Effort
            Not used.

        Returns
        -------
        ModelBag or FixedTargetBag
        """
        check_parameters(self)
        return FixedTargetBag(self.fit(X, y), X, y) if self.is_fixed else ModelBag(self, X, y)


def targets_of(X: Any, y: Any) -> np.ndarray:
    """Return targets as float64, one for each object."""
    check_unmasked(X, "X")
    check_unmasked(y, "y")
    targets = np.asarray(y, dtype=np.float64)
    if count_rows(X) != targets.size:
        msg = f"X has {count_rows(X)} rows and y {targets.size} targets: expected one target for each object."
        raise ValueError(msg)
    return targets
