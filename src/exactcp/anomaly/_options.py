"""What a detector is given beside its objects: what would not be used is refused, and who calibrates is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp._parameters import shown, unknown_name
from exactcp._rows import count_rows
from exactcp.measures._folds import Fold, make_folds
from exactcp.measures.models._detector import DetectorScore
from exactcp.predicting.calibration import draw_calibration

HALF = 0.5  # of the objects calibrate, unless something else is said


def refuse_options(detector: Any, measure: Any, fit_parameters: dict[str, Any], ids: Any) -> None:
    """Refuse what was given and would not be used."""
    if isinstance(measure, DetectorScore):
        _refuse_before_model(detector, ids)
    given = {"calibration_size": detector.calibration_size != HALF, "cv": detector.cv is not None}
    name = next((name for name, is_given in given.items() if is_given), None)
    if not isinstance(measure, DetectorScore):
        reason = f"{type(measure).__name__} learns all objects and calibrates with all of them, in full CP"
        if fit_parameters:
            called = f"{type(detector).__name__}.fit with {type(measure).__name__}"
            raise TypeError(unknown_name(called, next(iter(fit_parameters)), ["X", "y"]))
    elif measure.is_fixed:
        reason = "a frozen detector learns nothing, so all objects calibrate it"
    elif all(given.values()):
        name, reason = "calibration_size", f"with cv={detector.cv!r} every fold calibrates"
    else:
        return
    if name is not None:
        msg = f"{name}={getattr(detector, name)!r} would have no effect: {reason}. Leave it out."
        raise ValueError(msg)


def _refuse_before_model(detector: Any, ids: Any) -> None:
    """Refuse what is for full CP only."""
    if detector.preprocess is not None:
        msg = (
            f"preprocess={shown(detector.preprocess)} is for measures, in full CP: give a detector its transformer in "
            "a pipeline, sklearn.pipeline.make_pipeline(transformer, detector)."
        )
        raise ValueError(msg)
    if ids is not None:
        msg = "ids= would have no effect: a detector cannot unlearn the objects that they name. Leave it out."
        raise ValueError(msg)


def split_objects(detector: Any, measure: DetectorScore, X: Any, seed: int) -> list[Fold]:
    """Return which objects fit and which calibrate, for each detector that is fitted."""
    n = count_rows(X)
    if measure.is_fixed:
        return [(np.arange(n), np.arange(n))]
    if detector.cv is None:
        return [draw_calibration(detector, n, seed)]
    return make_folds(detector.cv, X, np.zeros(n), seed)
