"""The lasso's full conformal p-value: one fit for every target, from scratch, in long double."""

from __future__ import annotations

import itertools

import numpy as np

from exactcp.pvalues import Counts, compare_residuals, origin_of
from exactcp.textbook.least_squares import triangle

SWEEPS = 300


def lasso(X: np.ndarray, y: np.ndarray, lam: float, *, fit_intercept: bool = True) -> np.ndarray:
    """Return a minimiser of `|y - X b|^2 / 2 + lam |b|_1`, the intercept (not penalised) first.

    Coordinate descent tells which coefficients are zero and the signs of the others; where it is too slow for that, all
    possibilities are tried. The others then solve linear equations, and the optimality conditions are checked.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    lam : float
    fit_intercept : bool, default=True

    Returns
    -------
    ndarray of shape (p,), or (p + 1,) with an intercept

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook import lasso
    >>> X, y = np.array([[1.0], [1.0]]), np.array([3.0, 5.0])
    >>> lasso(X, y, 2.0, fit_intercept=False).astype(float)
    array([3.])
    """
    columns, targets = np.asarray(X, dtype=np.longdouble), np.asarray(y, dtype=np.longdouble)
    if fit_intercept:
        columns = np.column_stack([np.ones(len(columns), dtype=np.longdouble), columns])
    penalties = np.full(columns.shape[1], np.longdouble(lam))
    penalties[: int(fit_intercept)] = 0
    guess = np.sign(_descend(columns, targets, penalties))
    all_signs = itertools.product(*[[1] if penalty == 0 else [0, 1, -1] for penalty in penalties])
    for signs in itertools.chain([guess], map(np.array, all_signs)):
        b = _solution(columns, targets, penalties, signs)
        if b is not None:
            return b
    msg = f"no signs satisfy the lasso's optimality conditions with lam={lam!r}: these columns are too ill-conditioned."
    raise ArithmeticError(msg)


def _descend(columns: np.ndarray, targets: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    """Minimise by coordinate descent from 0, as far as SWEEPS go."""
    products, correlations = columns.T @ columns, columns.T @ targets
    b = np.zeros(columns.shape[1], dtype=np.longdouble)
    for _ in range(SWEEPS):
        before = b.copy()
        for j in np.flatnonzero(np.diag(products) > 0):
            rho = correlations[j] - products[j] @ b + products[j, j] * b[j]
            b[j] = np.sign(rho) * max(abs(rho) - penalties[j], 0) / products[j, j]
        if np.abs(b - before).max() <= 1e-18 * np.abs(b).max():
            break
    return b


def _solution(columns: np.ndarray, targets: np.ndarray, penalties: np.ndarray, signs: np.ndarray) -> np.ndarray | None:
    """Return the minimiser whose coefficients have these signs; None if there is none, or another one does as well."""
    active = np.flatnonzero((signs != 0) | (penalties == 0))
    # R'R w = A't - penalty sign, from A = QR
    R = triangle(columns[:, active], targets)
    q = active.size
    if q > len(columns) or (np.abs(np.diag(R)[:q]) <= 1e-15 * np.sqrt((columns[:, active] ** 2).sum(axis=0))).any():
        return None
    pull = np.where(penalties[active] == 0, 0, signs[active] * penalties[active])
    for j in range(q):
        pull[j] = (pull[j] - R[:j, j] @ pull[:j]) / R[j, j]
    w = R[:q, q] - pull
    for j in reversed(range(q)):
        w[j] = (w[j] - R[j, j + 1 : q] @ w[j + 1 :]) / R[j, j]
    b = np.zeros(columns.shape[1], dtype=np.longdouble)
    b[active] = w
    correlations = np.abs(columns.T @ (targets - columns @ b))
    rounding = 1e-13 * penalties + 1e-16 * np.sqrt((columns**2).sum(axis=0) * (targets**2).sum())
    is_solution = (correlations <= penalties + rounding).all() and ((signs * b >= 0) | (penalties == 0)).all()
    return b if is_solution else None


def lasso_counts(
    X: np.ndarray, y: np.ndarray, x: np.ndarray, target: float, lam: float, *, fit_intercept: bool = True
) -> Counts:
    """Return how many absolute residuals of the lasso on all examples and (x, target) reach that of (x, target).

    Parameters
    ----------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    x : ndarray of shape (p,)
    target : float
    lam : float
    fit_intercept : bool, default=True

    Returns
    -------
    Counts
        Of shape (1,).

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook import lasso_counts
    >>> X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 4.0, 9.0])
    >>> [lasso_counts(X, y, np.array([6.0]), target, lam=1.0).greater for target in (8, 30)]
    [array([5]), array([0])]
    """
    origin = origin_of(y) if fit_intercept else 0.0
    rows, targets = np.concatenate([X, x[None]]), np.append(y, target) - origin
    b = lasso(rows, targets, lam, fit_intercept=fit_intercept)
    predictions = rows @ b[int(fit_intercept) :] + (b[0] if fit_intercept else 0)
    scores = np.abs(targets - predictions).astype(np.float64)
    return compare_residuals(scores[:-1], targets[:-1], scores[-1], targets[-1])
