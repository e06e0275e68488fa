"""Fresh estimators with the parameters of others: scikit-learn's `clone`, which inspects each constructor every time.

Most estimators have a constructor that is inspected once here, and hold nothing but its parameters. For all others,
fitted, configured or cloned in a way of their own, scikit-learn is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary

from sklearn.base import BaseEstimator, clone

from exactcp._parameters import parameters_of

_UNCHANGING = frozenset({bool, int, float, complex, str, bytes, type(None)})  # a copy is the value itself
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)

_parameter_names: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()  # what `_plain_names` returns


def fresh(estimator: Any) -> Any:
    """Return `clone(estimator)`: an unfitted estimator with the same parameters.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> fresh(Ridge(alpha=2.0))
    Ridge(alpha=2.0)
    """
    names = _plain_names(type(estimator))
    if not names or vars(estimator).keys() != set(names):
        return clone(estimator)
    parameters = {
        name: value if type(value) in _UNCHANGING else _copied(value) for name, value in vars(estimator).items()
    }
    made = type(estimator)(**parameters)
    if all(map(is_, map(vars(made).get, parameters), parameters.values())):
        return made
    return clone(estimator)  # which says what is wrong with the constructor


def _copied(value: Any) -> Any:
    return fresh(value) if isinstance(value, BaseEstimator) else clone(value, safe=False)


def parameters_ending_in(last: str, estimator: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield those of `estimator.get_params()` with this name, of the estimator or of one that it holds."""
    names = _plain_names(type(estimator))
    if not names:
        for name, value in estimator.get_params().items():
            if name.split("__")[-1] == last:
                yield prefix + name, value
        return
    for name in names:
        value = getattr(estimator, name)
        if hasattr(value, "get_params") and not isinstance(value, type):
            yield from parameters_ending_in(last, value, f"{prefix}{name}__")
        if name == last:
            yield prefix + name, value


def _plain_names(kind: type) -> tuple[str, ...]:
    """Return the parameters, sorted, of a class that tells and clones them as most do; none of any other."""
    names = _parameter_names.get(kind)
    if names is None:
        names = _parameter_names[kind] = tuple(sorted(parameters_of(kind).keys() - {"self"})) if _is_plain(kind) else ()
    return names


def _is_plain(kind: type) -> bool:
    own = ("get_params", "_get_param_names", "__sklearn_clone__")
    return (
        issubclass(kind, BaseEstimator)
        and all(_function(kind, name) is _function(BaseEstimator, name) for name in own)
        and all(one.kind in _BY_NAME for one in parameters_of(kind).values())
    )


def _function(kind: type, name: str) -> Any:
    """Return a method of a class, or what a class method wraps."""
    method = getattr(kind, name)
    return getattr(method, "__func__", method)
