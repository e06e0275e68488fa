"""What the script of a page about prediction sets knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from exactcp.report.carrying import carry_looks, distinct, rows_that_fit
from exactcp.report.rows import TestRows


def carry_labels(
    ps: Sequence[np.ndarray], p_trues: Sequence[np.ndarray] | None, epsilons: Sequence[float]
) -> list[dict[str, Any]]:
    """Return, for each predictor, the counts that its numbers at every level are made of.

    Parameters
    ----------
    ps : sequence of ndarray of shape (m, l)
        All p-values of each predictor.
    p_trues : sequence of ndarray of shape (n_known,), or None
        Those of true labels.
    epsilons : sequence of float
        Of the levels.

    Returns
    -------
    list of dict
        `covered`, rows whose set holds the truth (None if no truth is known); `labels`, in all sets together; `alone`,
        sets of one label: a number for each level.

    Examples
    --------
    >>> carry_labels([np.array([[0.5, 0.05], [0.2, 0.1]])], [np.array([0.5, 0.1])], [0.05, 0.1])
    [{'covered': [2, 1], 'labels': [3, 2], 'alone': [1, 2]}]
    """
    found = []
    for place, p in enumerate(ps):
        ordered = np.sort(p, axis=1)
        second = above(ordered[:, -2], epsilons) if p.shape[1] > 1 else np.zeros(len(epsilons), dtype=np.int64)
        found.append(
            {
                "covered": None if p_trues is None else above(p_trues[place], epsilons).tolist(),
                "labels": above(p.reshape(-1), epsilons).tolist(),
                "alone": (above(ordered[:, -1], epsilons) - second).tolist(),
            }
        )
    return found


def above(p: np.ndarray, epsilons: Sequence[float]) -> np.ndarray:
    """Return how many p-values are greater than each epsilon."""
    return np.asarray(p.size - np.searchsorted(np.sort(p), np.asarray(epsilons), side="right"))


def carry_label_rows(
    p: np.ndarray, best: np.ndarray, truth: Sequence[str | None] | None, names: Sequence[str], rows: TestRows
) -> dict[str, Any]:
    """Return the rows of a page about sets: as many as there is room for.

    Parameters
    ----------
    p : ndarray of shape (m, l)
    best : ndarray of int of shape (m,)
        The place of the chosen label of each row.
    truth : sequence of str or None
        True labels, None where they are not known.
    names : sequence of str
        The labels.
    rows : TestRows

    Returns
    -------
    dict
        `shown`, how many rows; `classes`, and behind them `new` labels that are no class; `truth`, a place among both,
        -1 if it is not known; `p`; `best`; and what the rows look like.
    """

    def carry(shown: int) -> dict[str, Any]:
        told = [None] * shown if truth is None else list(truth[:shown])
        new = sorted({label for label in told if label is not None} - set(names))
        places = {name: place for place, name in enumerate([*names, *new])}
        return {
            "shown": shown,
            "classes": list(names),
            "new": new,
            "truth": [-1 if label is None else places[label] for label in told],
            "p": distinct(p[:shown]),
            "best": best[:shown].tolist(),
        }

    found = rows_that_fit(p.shape[0], p.shape[1], carry)
    return {**found, **carry_looks(rows, found["shown"])}
