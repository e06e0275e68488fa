"""The lasso's full conformal p-value: one fit for every target, from scratch, in long double."""

from __future__ import annotations

import numpy as np

from exactcp.pvalues import Counts, compare, residual_floor

SWEEPS = 200_000


def lasso(X: np.ndarray, y: np.ndarray, lam: float, *, fit_intercept: bool = False) -> np.ndarray:
    """Return the minimiser of |y - X b|^2 / 2 + lam |b|_1 by coordinate descent, the intercept (not penalised) first.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    lam : float
    fit_intercept : bool, default=False

    Returns
    -------
    ndarray of shape (p,), or (p + 1,) with an intercept

    Examples
    --------
    >>> lasso(np.array([[1.0], [1.0]]), np.array([3.0, 5.0]), 2.0).astype(float)
    array([3.])
    """
    columns = np.asarray(X, dtype=np.longdouble)
    if fit_intercept:
        columns = np.column_stack([np.ones(len(columns), dtype=np.longdouble), columns])
    penalties = np.full(columns.shape[1], np.longdouble(lam))
    penalties[: int(fit_intercept)] = 0
    products = columns.T @ columns
    b = np.zeros(columns.shape[1], dtype=np.longdouble)
    correlations = columns.T @ np.asarray(y, dtype=np.longdouble)
    for _ in range(SWEEPS):
        before = b.copy()
        for j in np.flatnonzero(np.diag(products) > 0):
            rho = correlations[j] - products[j] @ b + products[j, j] * b[j]
            b[j] = np.sign(rho) * max(abs(rho) - penalties[j], 0) / products[j, j]
        if np.abs(b - before).max() <= 1e-18 * np.abs(b).max():
            break
    return b


def lasso_counts(
    X: np.ndarray, y: np.ndarray, x: np.ndarray, target: float, lam: float, *, fit_intercept: bool = False
) -> Counts:
    """Return how many absolute residuals of the lasso on all examples and (x, target) reach that of (x, target).

    Parameters
    ----------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    x : ndarray of shape (p,)
    target : float
    lam : float
    fit_intercept : bool, default=False

    Returns
    -------
    Counts
        Of shape (1,).
    """
    rows, targets = np.concatenate([X, x[None]]), np.append(y, target)
    b = lasso(rows, targets, lam, fit_intercept=fit_intercept)
    predictions = rows @ b[int(fit_intercept) :] + (b[0] if fit_intercept else 0)
    scores = np.abs(targets - predictions).astype(np.float64)
    floor = residual_floor(float(np.abs(y).max(initial=0.0)), 0.0)
    return compare(scores[None, :-1], scores[-1:], floor=floor, tolerance=1e-10)
