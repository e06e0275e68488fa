"""What a model says of each label: probabilities, their logarithms or decision values, checked; one column a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from exactcp._rows import count_rows, take_rows
from exactcp.measures._model import ask_model, name_of

LARGEST_GAP = 1e-3  # of a sum of probabilities to 1: single precision and rounded tables stay below it
NEARLY_CERTAIN = -1e-6  # logarithm of a probability whose complement has lost digits
SMALLEST_COMPLEMENT = 2.0**-53  # every 1 - p is a multiple of it
_GIVEN = "X of ModelScore('precomputed')"


def has_probabilities(model: Any) -> bool:
    """Tell whether a model estimates probabilities, fitted or not."""
    return hasattr(model, "predict_proba") or hasattr(model, "predict_log_proba")


def has_decisions(model: Any) -> bool:
    """Tell whether a model has decision values, fitted or not."""
    return hasattr(model, "decision_function")


class Outputs(Protocol):
    """Where outputs come from: (m, l) for m objects."""

    @property
    def has_probabilities(self) -> bool:
        """Whether there are probabilities, or decision values alone."""

    def probabilities(self, X: Any) -> np.ndarray:
        """Return probabilities as they are said."""

    def logs(self, X: Any) -> np.ndarray:
        """Return the logarithms of probabilities that sum to 1, -inf for 0."""

    def decisions(self, X: Any) -> np.ndarray:
        """Return decision values."""


@dataclass(frozen=True)
class ModelOutputs:
    """A fitted model that is asked."""

    model: Any
    n_labels: int

    @property
    def has_probabilities(self) -> bool:
        """Whether there are probabilities, or decision values alone."""
        return has_probabilities(self.model)

    def probabilities(self, X: Any) -> np.ndarray:
        """Return what `predict_proba` says."""
        if not hasattr(self.model, "predict_proba"):
            return np.asarray(np.exp(self.logs(X)))
        said = ask_model(self.model, "predict_proba", X)
        return _as_probabilities(said, self.n_labels, f"{name_of(self.model)}.predict_proba")

    def logs(self, X: Any) -> np.ndarray:
        """Return the logarithms of probabilities that sum to 1, -inf for 0.

        A model that computes 1 - p has lost what the logarithm of a small probability needs; where its decision values
        say the same as its probabilities, they stand for them.
        """
        if not hasattr(self.model, "predict_log_proba"):
            return _normalised(_logarithms(self.probabilities(X)))
        with np.errstate(divide="ignore"):  # most take the logarithm of their probabilities, which may be 0
            logs = ask_model(self.model, "predict_log_proba", X)
        _as_probabilities(np.exp(logs), self.n_labels, f"{name_of(self.model)}.predict_log_proba")
        return self._with_lost_digits(_normalised(logs), X)

    def decisions(self, X: Any) -> np.ndarray:
        """Return what `decision_function` says; a single column d of two labels is (-d, d)."""
        values = ask_model(self.model, "decision_function", X)
        if values.ndim == 1 and self.n_labels == 2:
            values = np.column_stack([-values, values])
        if values.ndim != 2 or values.shape[1] != self.n_labels:
            msg = (
                f"{name_of(self.model)}.decision_function returned shape {values.shape} for {self.n_labels} labels: "
                "expected a column for each label. Use decision_function_shape='ovr', or a model with probabilities."
            )
            raise ValueError(msg)
        return values

    def _with_lost_digits(self, logs: np.ndarray, X: Any) -> np.ndarray:
        """Return logarithms of probabilities; of nearly certain objects, from decision values that say the same."""
        certain = np.flatnonzero(logs.max(axis=1, initial=-np.inf) > NEARLY_CERTAIN)
        if not certain.size or not has_decisions(self.model):
            return logs
        values = ask_model(self.model, "decision_function", take_rows(X, certain))
        if values.ndim == 1:
            values = np.column_stack([np.zeros(values.size), values])
        if values.shape != (certain.size, logs.shape[1]) or not np.isfinite(values).all():
            return logs
        exact, p = _normalised(values), np.exp(logs[certain])
        steps = p / SMALLEST_COMPLEMENT
        is_complement = (p == 0.0) | ((steps > 0.5) & (np.abs(steps - steps.round()) < 1e-3))
        lost = np.where(is_complement, 2.0 * SMALLEST_COMPLEMENT, 0.0)
        agree = (np.abs(np.exp(exact) - p) <= lost + 1e-6 * p).all(axis=1)
        mended = logs.copy()
        mended[certain[agree]] = exact[agree]
        return mended


@dataclass(frozen=True)
class GivenOutputs:
    """Objects that are themselves probabilities, or logits."""

    n_labels: int
    are_logits: bool
    has_probabilities: bool = True

    def probabilities(self, X: Any) -> np.ndarray:
        """Return the objects as probabilities."""
        return np.exp(self.logs(X)) if self.are_logits else _as_probabilities(_as_numbers(X), self.n_labels, _GIVEN)

    def logs(self, X: Any) -> np.ndarray:
        """Return the logarithms of probabilities that sum to 1, -inf for 0."""
        return self._log_softmax(X) if self.are_logits else _normalised(_logarithms(self.probabilities(X)))

    def decisions(self, X: Any) -> np.ndarray:
        """Refuse: there are probabilities."""
        raise NotImplementedError

    def _log_softmax(self, X: Any) -> np.ndarray:
        logits = _as_numbers(X)
        _check_columns(logits, self.n_labels, _GIVEN)
        largest = logits.max(axis=1, initial=-np.inf)
        if not np.isfinite(largest).all():
            row = int(np.flatnonzero(~np.isfinite(largest))[0])
            msg = (
                f"{_GIVEN} with logits=True has {logits[row].tolist()} in row {row}: expected finite numbers, of which "
                "-inf means a probability of 0. Mend the model's outputs."
            )
            raise ValueError(msg)
        return _normalised(logits)


@dataclass(frozen=True)
class OneLabel:
    """Examples of one label, which most models refuse to learn: it is certain."""

    has_probabilities: bool

    def probabilities(self, X: Any) -> np.ndarray:
        """Return 1 for each object."""
        return np.ones((count_rows(X), 1))

    def logs(self, X: Any) -> np.ndarray:
        """Return 0 for each object."""
        return np.zeros((count_rows(X), 1))

    def decisions(self, X: Any) -> np.ndarray:
        """Return inf for each object."""
        return np.full((count_rows(X), 1), np.inf)


def _as_probabilities(p: np.ndarray, n_labels: int, who: str) -> np.ndarray:
    """Return probabilities; refuse what has another number of columns, is negative or does not sum to 1."""
    _check_columns(p, n_labels, who)
    if p.size and not p.min() >= 0.0:
        row = int((p < 0.0).any(axis=1).argmax())
        msg = f"{who} has {p[row].min():.4g} for object {row}: expected probabilities, from 0 to 1. {_REMEDY}"
        raise ValueError(msg)
    totals = p @ np.ones(n_labels)  # a sum over few columns takes many times longer
    off = np.abs(totals - 1.0) > LARGEST_GAP
    if off.any():
        row = int(off.argmax())
        msg = f"{who} has probabilities that sum to {totals[row]:.4g} for object {row}: expected 1. {_REMEDY}"
        raise ValueError(msg)
    return p


_REMEDY = (
    "Divide them by their sums; give logits as X of ModelScore('precomputed', logits=True), and other values than "
    "probabilities by a model that has a decision_function."
)


def _check_columns(values: np.ndarray, n_labels: int, who: str) -> None:
    if values.ndim != 2 or values.shape[1] != n_labels:
        msg = (
            f"{who} has shape {values.shape} for {n_labels} labels: expected a column for each label, in the order of "
            "classes_. Name the columns of precomputed outputs by classes=."
        )
        raise ValueError(msg)


def _as_numbers(X: Any) -> np.ndarray:
    """Return precomputed outputs as an array of numbers."""
    try:
        values = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = (
            f"{_GIVEN} is of type {type(X).__name__}, and is no array of numbers ({error}): expected a column of "
            "outputs for each label. Give a model's predict_proba(X), or an array on the CPU."
        )
        raise type(error)(msg) from error
    if np.isnan(values).any():
        row = int(np.isnan(values.reshape(values.shape[0], -1)).any(axis=1).argmax()) if values.ndim else 0
        msg = f"{_GIVEN} has nan in row {row}: expected numbers. Mend the model's outputs."
        raise ValueError(msg)
    return values


def _logarithms(p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


def _normalised(logs: np.ndarray) -> np.ndarray:
    """Return logarithms of numbers that sum to 1, from logarithms of numbers that are proportional to them."""
    if not logs.size:
        return logs
    largest = logs.max(axis=1, keepdims=True)
    return np.asarray(logs - (largest + np.log(np.exp(logs - largest).sum(axis=1, keepdims=True))))
