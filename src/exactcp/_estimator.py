"""What every estimator and measure of this package is: a scikit-learn estimator whose pickles know their version."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from exactcp._parameters import Allowed, unknown_name
from exactcp._version import __version__

_VERSION = "_exactcp_version"


class Estimator(BaseEstimator):
    """Base of estimators: `allowed_parameters` declares what the parameters may be, for `check_parameters` in `fit`."""

    allowed_parameters: ClassVar[Mapping[str, Allowed]] = {}

    def __new__(cls, *_: Any, **named: Any) -> Self:
        known = signature(cls.__init__).parameters
        if not named.keys() <= known.keys() and all(p.kind != Parameter.VAR_KEYWORD for p in known.values()):
            name = next(name for name in named if name not in known)
            predicting = next((m for m in ("predict_set", "predict_interval") if hasattr(cls, m)), "")
            raise TypeError(unknown_name(cls.__name__, name, list(known)[1:], when_predicting=predicting))
        return super().__new__(cls)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), _VERSION: __version__}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        if state.get(_VERSION) != __version__:
            writer = (
                f"exactcp {state[_VERSION]}" if _VERSION in state else "a version of exactcp that did not say which"
            )
            msg = (
                f"this {type(self).__name__} was stored by {writer}, and exactcp {__version__} reads it: what an "
                "estimator keeps differs from version to version. Fit it anew, or load it with the version that stored "
                "it."
            )
            raise ValueError(msg)
        super().__setstate__({name: value for name, value in state.items() if name != _VERSION})
