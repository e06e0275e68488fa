"""How strange each label is, from what a model says of all of them: (m, l) outputs to (m, l) scores.

All labels of an object are scored at once. A label of probability 0, or of the decision value -inf, is as strange as
can be for its object: so are labels that a model has not seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SAME = 1e-10  # logarithms of probabilities, and decision values, that are this near to each other are equal


class _Ranking(NamedTuple):
    """The labels of each object by ascending output; equal ones are alike."""

    order: np.ndarray  # (m, l) labels
    first: np.ndarray  # (m, l) for each place, that of the first equal one
    last: np.ndarray


def odds(logs: np.ndarray) -> np.ndarray:
    """Return log(1 - p) - log p of each label, from logarithms of probabilities: 1 - p is the others' sum."""
    others = np.full(logs.shape, -np.inf)
    if logs.shape[1] > 1:
        others[:, 1:] = np.logaddexp.accumulate(logs[:, :-1], axis=1)
        above = np.logaddexp.accumulate(logs[:, :0:-1], axis=1)[:, ::-1]
        others[:, :-1] = np.logaddexp(others[:, :-1], above)
    return np.asarray(others - logs)


def margins(outputs: np.ndarray) -> np.ndarray:
    """Return the largest output of another label minus that of the label."""
    two = np.partition(outputs, outputs.shape[1] - 2, axis=1)[:, -2:]
    is_largest = np.arange(outputs.shape[1]) == outputs.argmax(axis=1)[:, None]
    return np.asarray(np.where(is_largest, two[:, :1], two[:, 1:]) - outputs)


def ranks(outputs: np.ndarray) -> np.ndarray:
    """Return 1 + how many labels have a larger output."""
    ranking = _ranking(outputs)
    return _of_labels(ranking, outputs.shape[1] - ranking.last).astype(np.float64)


def adaptive(logs: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return -log(1 - s), where s is the probability of likelier labels and u times that of equally likely ones."""
    return -_log_rest(logs, u, _ranking(logs))


def regularised(logs: np.ndarray, u: np.ndarray, regularisation: float, k_reg: int) -> np.ndarray:
    """Return a number that is greater just where s + regularisation * max(0, rank - k_reg) is, s as in `adaptive`.

    Many labels of a confident model have s = 1 - t with a t that is lost beside 1, or beside the regularisation. So a
    value w = regularisation * e - t is told by the next multiple b of the regularisation, 0 for all values below 0, and
    by the logarithm of what is missing to it: it is t itself where b = e.
    """
    ranking = _ranking(logs)
    log_rest = _log_rest(logs, u, ranking)
    if regularisation == 0.0:
        return -log_rest
    beyond = np.maximum(0, _of_labels(ranking, logs.shape[1] - ranking.last) - k_reg)
    rest = np.exp(log_rest)
    w = regularisation * beyond - rest
    multiple = np.where(rest < regularisation, beyond, np.maximum(0.0, np.ceil(w / regularisation)))
    missing = regularisation * multiple - w
    missing[missing <= 1e-12] = 0.0  # a rounded difference; where nothing was subtracted, its logarithm is known
    with np.errstate(divide="ignore"):
        log_missing = np.where(multiple == beyond, log_rest, np.log(missing))
    width = np.where(multiple > 0, np.log(regularisation), 0.0)
    return np.asarray(multiple - 1.0 / (1.0 + np.maximum(0.0, width - log_missing)))


def _log_rest(logs: np.ndarray, u: np.ndarray, ranking: _Ranking) -> np.ndarray:
    """Return log(1 - s), where 1 - s is the probability of less likely labels and 1 - u times that of equal ones."""
    ascending = np.take_along_axis(logs, ranking.order, axis=1)
    below = np.full((logs.shape[0], logs.shape[1] + 1), -np.inf)
    below[:, 1:] = np.logaddexp.accumulate(ascending, axis=1)
    less = np.take_along_axis(below, ranking.first, axis=1)
    with np.errstate(divide="ignore"):
        share = np.log1p(-u)[:, None] + np.log(ranking.last - ranking.first + 1.0)
    return _of_labels(ranking, np.minimum(0.0, np.logaddexp(less, ascending + share)))


def _ranking(outputs: np.ndarray) -> _Ranking:
    order = np.argsort(outputs, axis=1, kind="stable")
    ascending = np.take_along_axis(outputs, order, axis=1)
    with np.errstate(invalid="ignore"):  # -inf and -inf are equal: their difference is nan
        apart = np.diff(ascending, axis=1) > SAME
    places = np.broadcast_to(np.arange(outputs.shape[1]), outputs.shape)
    first, last = np.zeros(outputs.shape, np.int64), np.full(outputs.shape, outputs.shape[1] - 1)
    first[:, 1:] = np.maximum.accumulate(np.where(apart, places[:, 1:], 0), axis=1)
    last[:, :-1] = np.minimum.accumulate(np.where(apart, places[:, :-1], places[:, -1:])[:, ::-1], axis=1)[:, ::-1]
    return _Ranking(order, first, last)


def _of_labels(ranking: _Ranking, values: np.ndarray) -> np.ndarray:
    """Return values of places as values of labels."""
    out = np.empty_like(values)
    np.put_along_axis(out, ranking.order, values, axis=1)
    return out
