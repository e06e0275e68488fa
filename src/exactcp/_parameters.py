"""What a parameter may be: declared beside each class, and checked in `fit`, here, with one kind of sentence.

A class declares its constructor's parameters in `allowed_parameters`, name -> `Allowed`; `check_parameters(self)` is
the first thing that its `fit` does. What concerns several parameters, or the data, is checked where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

LARGEST_INTEGER = 2**31 - 1  # an integer beyond it counts nothing that fits into memory
SHOWN = 200  # characters of a value

_rules: WeakKeyDictionary[type, tuple[Mapping[str, Any], list[Any]]] = WeakKeyDictionary()  # of `_rules_of`


@dataclass(frozen=True)
class Allowed:
    """The values that a parameter may have, and how a sentence speaks of them.

    Attributes
    ----------
    what : str
        What the value should be, as in "k=0 is not a number of neighbours".
    words : str
        Which values are that, as in "use an integer of at least 1".
    accepts : callable
        Tells whether a value is one of them.
    hint : callable
        Returns one more sentence about a well-known mistake, or "".
    error : type
        What is raised.
    """

    what: str
    words: str
    accepts: Callable[[Any], bool]
    hint: Callable[[Any], str] = lambda _: ""
    error: type[Exception] = ValueError

    def __or__(self, other: Allowed) -> Allowed:
        accepts = _either(self.accepts, other.accepts)
        return Allowed(self.what, f"{self.words} or {other.words}", accepts, self.hint, self.error)

    def check(self, name: str, value: Any, default: Any = Parameter.empty) -> None:
        """Refuse a value that is not allowed, in a sentence: what was received, what is expected."""
        if not self.accepts(value):
            known = "" if default is Parameter.empty else f" (the default is {shown(default)})"
            hint = self.hint(value)
            msg = f"{name}={shown(value)} is not {self.what}: use {self.words}{known}.{' ' if hint else ''}{hint}"
            raise self.error(msg)


def _either(one: Callable[[Any], bool], other: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: one(value) or other(value)


def check_parameters(estimator: Any) -> None:
    """Refuse an estimator with a parameter that its class does not allow."""
    for name, rule, default, is_allowed in _rules_of(type(estimator)):
        value = getattr(estimator, name)
        if not (value is default and is_allowed) and not rule.accepts(value):
            rule.check(name, value, default)


def _rules_of(estimator: type) -> list[tuple[str, Allowed, Any, bool]]:
    """Return the parameters of a class, what each may be, and its default, with whether it may be that."""
    declared: Mapping[str, Allowed] = estimator.allowed_parameters  # type: ignore[attr-defined]
    known = _rules.get(estimator)
    if known is None or known[0] is not declared:
        defaults = {name: parameter.default for name, parameter in parameters_of(estimator).items()}
        rules = [  # a subclass may have fewer parameters
            (name, rule, defaults[name], defaults[name] is not Parameter.empty and rule.accepts(defaults[name]))
            for name, rule in declared.items()
            if name in defaults
        ]
        known = _rules[estimator] = declared, rules
    return known[1]


def parameters_of(estimator: type) -> Mapping[str, Parameter]:
    """Return the parameters of a class's constructor, self among them."""
    return signature(estimator.__init__).parameters  # type: ignore[misc]


def shown(value: Any) -> str:
    """Return a value as a sentence shows it: on one line, and not too long."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001  (an integer of 5,000 digits, or whatever a user's __repr__ may raise)
        text = f"<{type(value).__name__}>"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def unknown_name(who: str, name: str, known: Iterable[str], *, when_predicting: str = "") -> str:
    """Return a sentence about a keyword argument that does not exist.

    Parameters
    ----------
    who : str
        What was called.
    name : str
    known : iterable of str
        The keyword arguments that there are.
    when_predicting : str
        A method that takes a confidence level, if `who` has one.

    Returns
    -------
    str
    """
    names = list(known)
    hint = ""
    if name in _LEVELS and "confidence_level" in names:
        hint = " Use confidence_level=, which is 1 minus the error rate."
    elif name in _LEVELS and when_predicting:
        hint = f" The level is given when predicting: {when_predicting}(X, confidence_level=0.9)."
    elif _SAME_AS.get(name) in names:
        hint = f" Use {_SAME_AS[name]}=."
    elif close := get_close_matches(name, names, 1):
        hint = f" Did you mean {close[0]}=?"
    return f"{who} got {name}=, which it does not have: it takes {', '.join(names) or 'none'}.{hint}"


_LEVELS = (
    "alpha",
    "alphas",
    "epsilon",
    "significance",
    "significance_level",
    "confidence",
    "confidence_level",
    "level",
)
_SAME_AS = {
    "estimator": "measure",
    "base_estimator": "measure",
    "model": "measure",
    "detector": "measure",
    "learner": "measure",
    "nc_function": "measure",
    "n_neighbors": "k",
    "n_neighbours": "k",
    "n_trees": "n_estimators",
    "seed": "random_state",
    "alpha": "rho",
    "lambda_": "lam",
    "base_classifier": "estimator",
}


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _as_float(value: Any) -> float:
    """Return a real number as a float; nan for what is none or has no float."""
    try:
        return float(value) if _is_real(value) else math.nan
    except OverflowError:
        return math.nan


def integer(what: str, *, at_least: int, at_most: int = LARGEST_INTEGER) -> Allowed:
    """Allow integers, which are no booleans."""
    words = (
        f"an integer of at least {at_least}"
        if at_most == LARGEST_INTEGER
        else f"an integer from {at_least} to {at_most}"
    )
    return Allowed(
        what,
        words,
        lambda value: _is_whole(value) and at_least <= value <= at_most,
        lambda value: (
            f"It exceeds {LARGEST_INTEGER:,}." if _is_whole(value) and value > at_most == LARGEST_INTEGER else ""
        ),
    )


def number(what: str, words: str, accepts: Callable[[float], bool]) -> Allowed:
    """Allow real numbers with a property, which nan never has."""
    return Allowed(what, words, lambda value: accepts(_as_float(value)))


def share(what: str) -> Allowed:
    """Allow numbers between 0 and 1, both excluded."""
    return number(what, "a number between 0 and 1", lambda x: 0 < x < 1)


def positive(what: str, words: str = "a number above 0") -> Allowed:
    """Allow finite numbers above 0."""
    return number(what, words, lambda x: 0 < x < math.inf)


def one_of(*options: str | None, what: str = "known") -> Allowed:
    """Allow some strings, and None if it is among the options."""
    words = " or ".join(map(repr, options)) if len(options) < 4 else f"one of {', '.join(map(str, options))}"
    return Allowed(what, words, lambda value: (value is None or isinstance(value, str)) and value in options)


def no_instance(value: Any) -> str:
    """Say what to do about a class that was given instead of an instance; "" about anything else."""
    return f"{value.__name__} is a class: give an instance, {value.__name__}()." if isinstance(value, type) else ""


TRANSFORMER = Allowed(
    "a transformer",
    "an instance with fit and transform, such as StandardScaler()",
    lambda value: (
        not isinstance(value, type) and all(callable(getattr(value, do, None)) for do in ("fit", "transform"))
    ),
    no_instance,
    TypeError,
)
NONE = Allowed("None", "None", lambda value: value is None)
BOOLEAN = Allowed("a boolean", "True or False", lambda value: isinstance(value, bool | np.bool_))
N_JOBS = (
    Allowed(
        "a number of threads",
        "an integer other than 0 (-1 means all cores)",
        lambda value: _is_whole(value) and 0 < abs(value) <= LARGEST_INTEGER,
    )
    | NONE
)
VERBOSE = integer("how much to tell", at_least=0) | BOOLEAN
RANDOM_STATE = (
    integer("a seed", at_least=0, at_most=2**32 - 1)
    | Allowed("", "a RandomState", lambda value: isinstance(value, np.random.RandomState))
    | NONE
)
EFFORT = {"n_jobs": N_JOBS, "verbose": VERBOSE}
SEEDED = {"random_state": RANDOM_STATE, **EFFORT}
CALIBRATION_SIZE = share("a share or number of the examples") | integer("", at_least=1)
