"""What every estimator and measure of this package is: a scikit-learn estimator whose pickles know their version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from exactcp._parameters import Allowed, parameters_of, unknown_name
from exactcp._version import STATE_FORMAT, __version__
from exactcp._warning import warn

_VERSION = "_exactcp_version"
_FORMAT = "_exactcp_format"
_is_promised: ContextVar[bool] = ContextVar("_is_promised", default=False)


class OtherVersionWarning(InconsistentVersionWarning):
    """A pickle was written by another version of exactcp, which kept the same attributes."""

    def __init__(self, estimator_name: str, writer: str) -> None:
        super().__init__(
            estimator_name=estimator_name,
            current_sklearn_version=__version__,
            original_sklearn_version=writer,
        )

    def __str__(self) -> str:
        return (
            f"this {self.estimator_name} was pickled by exactcp {self.original_sklearn_version}, and exactcp "
            f"{self.current_sklearn_version} reads it: nothing is promised about pickles of other versions. Fit it "
            "anew, or use exactcp.save and exactcp.load."
        )


@contextmanager
def promised_format() -> Iterator[None]:
    """Read estimators of other versions without a word, where the format is one that is promised to be read."""
    token = _is_promised.set(True)
    try:
        yield
    finally:
        _is_promised.reset(token)


class Estimator(BaseEstimator):
    """Base of estimators: `allowed_parameters` declares what the parameters may be, for `check_parameters` in `fit`."""

    allowed_parameters: ClassVar[Mapping[str, Allowed]] = {}

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        if "__init__" in vars(cls):
            constructor: Any = vars(cls)["__init__"]
            constructor.__signature__ = signature(constructor)  # or `clone` would find it out again, which takes longer

    def __new__(cls, *_: Any, **named: Any) -> Self:
        known = parameters_of(cls)
        if not named.keys() <= known.keys() and all(p.kind != Parameter.VAR_KEYWORD for p in known.values()):
            name = next(name for name in named if name not in known)
            predicting = next((m for m in ("predict_set", "predict_interval") if hasattr(cls, m)), "")
            raise TypeError(unknown_name(cls.__name__, name, list(known)[1:], when_predicting=predicting))
        return super().__new__(cls)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), _VERSION: __version__, _FORMAT: STATE_FORMAT}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        version = state.get(_VERSION)
        if version is None or state.get(_FORMAT) != STATE_FORMAT:
            writer = "a version of exactcp that did not say which" if version is None else f"exactcp {version}"
            msg = (
                f"this {type(self).__name__} was stored by {writer}, and exactcp {__version__} reads it: the two keep "
                "different things of an estimator. Fit it anew, or load it with the version that stored it."
            )
            raise ValueError(msg)
        if version != __version__ and not _is_promised.get():
            warn(OtherVersionWarning(type(self).__name__, version))
        super().__setstate__({name: value for name, value in state.items() if name not in (_VERSION, _FORMAT)})
