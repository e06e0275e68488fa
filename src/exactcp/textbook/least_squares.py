"""Ridge regression in long double, the LS-SVM score, and the lasso: one fit for every target, from scratch."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp.pvalues import Counts, compare_residuals, origin_of
from exactcp.textbook.algorithm import ScoreFunction

SWEEPS = 300  # of coordinate descent
FEW_MONOMIALS = 60  # of a polynomial kernel, up to which it is the linear kernel of its monomials


def _kernel_values(
    A: np.ndarray, B: np.ndarray, kernel: Any, gamma: float | None, degree: int, coef0: float
) -> np.ndarray:
    """Return the kernel of every row of A with every row of B, in long double."""
    if callable(kernel):
        return np.array([[kernel(a, b) for b in B] for a in A], dtype=np.longdouble)
    a, b = A.astype(np.longdouble), B.astype(np.longdouble)
    scale = np.longdouble(1) / A.shape[1] if gamma is None else np.longdouble(gamma)
    formulas: dict[str, Callable[[], np.ndarray]] = {
        "linear": lambda: a @ b.T,
        "rbf": lambda: np.exp(-scale * ((a[:, None] - b) ** 2).sum(axis=2)),
        "laplacian": lambda: np.exp(-scale * np.abs(a[:, None] - b).sum(axis=2)),
        "poly": lambda: (scale * (a @ b.T) + coef0) ** degree,
        "sigmoid": lambda: np.tanh(scale * (a @ b.T) + coef0),
    }
    return formulas[kernel]()


def _monomials(X: np.ndarray, gamma: float | None, degree: int, coef0: float) -> np.ndarray:
    """Return rows phi(x) with phi(x)'phi(z) = (gamma x'z + coef0)^degree: all products that expanding it gives."""
    p = X.shape[1]
    scale = np.longdouble(1) / p if gamma is None else np.longdouble(gamma)
    factors = [np.full(len(X), np.sqrt(np.longdouble(coef0))), *(np.sqrt(scale) * column for column in X.T)]
    products = Counter(tuple(sorted(chosen)) for chosen in itertools.product(range(p + 1), repeat=degree))
    rows = [np.sqrt(np.longdouble(often)) * np.prod([factors[j] for j in c], axis=0) for c, often in products.items()]
    return np.column_stack(rows)


def _solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve A x = b in long double: a float64 inverse, and the residual fed back until it stops shrinking."""
    inverse = np.linalg.inv(A.astype(np.float64))
    x, smallest = np.zeros_like(b), np.inf
    while True:
        residual = b - A @ x
        if np.abs(residual).max() >= 0.5 * smallest:
            return x
        smallest = np.abs(residual).max()
        x = x + inverse @ residual.astype(np.float64)


def _triangle(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return R of (A, b) = QR in long double by Householder reflections, the largest rows of A first."""
    largest_first = np.argsort(-np.abs(A).max(axis=1, initial=0), kind="stable")
    R = np.column_stack([A, b])[largest_first].astype(np.longdouble)
    for j in range(min(R.shape)):
        mirror = R[j:, j].copy()
        mirror[0] += np.copysign(np.sqrt((mirror**2).sum()), mirror[0])
        if mirror.any():
            R[j:] -= np.outer(mirror, 2 / (mirror**2).sum() * (mirror @ R[j:]))
    return R


def _least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Minimise |A x - b| in long double."""
    R, q = _triangle(A, b), A.shape[1]
    x = np.zeros(q, dtype=np.longdouble)
    for j in reversed(range(q)):
        x[j] = (R[j, q] - R[j, :q] @ x) / R[j, j]
    return x


RidgeFunction = Callable[[np.ndarray, np.ndarray, np.ndarray], np.longdouble]


def ridge(
    rho: float = 1.0,
    kernel: Any = "linear",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1,
    feature_map: Callable[[np.ndarray], np.ndarray] | None = None,
    fit_intercept: bool = False,  # noqa: FBT001, FBT002
) -> RidgeFunction:
    """Return the function of (x, X, targets) that gives the value at x of the ridge regression of targets on X.

    It works in long double, because a small rho costs digits, and scores that are equal must come out equal.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.least_squares import ridge
    >>> X, targets = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 2.0])
    >>> value = ridge(rho=1.0)
    >>> round(float(value(np.array([3.0]), X, targets)), 3)
    2.5
    """
    bias = [1] if fit_intercept else []

    def primal(x: np.ndarray, X: np.ndarray, targets: np.ndarray) -> np.longdouble:
        """Minimise |Phi w - t|^2 + rho |w|^2, the bias not penalised: rows sqrt(rho) I are appended to Phi."""
        penalty = np.sqrt(np.longdouble(rho)) * np.eye(X.shape[1], dtype=np.longdouble)
        rows = [*(np.append(bias, row) for row in X), *(np.append([0] * len(bias), row) for row in penalty)]
        w = _least_squares(np.array(rows, dtype=np.longdouble), np.append(targets, np.zeros(X.shape[1])))
        return np.longdouble(np.append(bias, x) @ w)

    def dual(x: np.ndarray, X: np.ndarray, targets: np.ndarray) -> np.longdouble:
        """Solve (K + rho I) c + bias = t, where the c sum to 0 if there is a bias."""
        n, how = len(X), (kernel, gamma, degree, coef0)
        system = np.zeros((n + len(bias), n + len(bias)), dtype=np.longdouble)
        system[:n, :n] = _kernel_values(X, X, *how) + rho * np.eye(n)
        system[n:, :n] = 1
        system[:n, n:] = 1
        c = _solve(system, np.append(targets, np.zeros(len(bias))))
        return np.longdouble(np.append(_kernel_values(x[None], X, *how)[0], bias) @ c)

    def value(x: np.ndarray, X: np.ndarray, targets: np.ndarray) -> np.longdouble:
        targets = targets.astype(np.longdouble)
        if feature_map is not None:
            x, X = feature_map(x[None])[0], feature_map(X)
        explicit = kernel == "linear"
        if kernel == "poly" and coef0 >= 0 and math.comb(X.shape[1] + degree, degree) <= FEW_MONOMIALS:
            rows = _monomials(np.concatenate([x[None], X]), gamma, degree, coef0)
            x, X, explicit = rows[0], rows[1:], True
        return (primal if explicit else dual)(x, X, targets)

    return value


def lssvm(rho: float = 1.0, kernel: Any = "linear", *, fit_intercept: bool = True, **how: Any) -> ScoreFunction:
    """Return the LS-SVM score: minus the value at x of the ridge regression of +1 for the label, -1 for all others.

    The other parameters are those of `ridge`.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.least_squares import lssvm
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> score = lssvm(rho=1.0)
    >>> [round(score(np.array([0.5]), label, X, y), 3) for label in (0, 1)]
    [-0.889, 0.889]
    """
    value = ridge(rho, kernel, fit_intercept=fit_intercept, **how)

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        return -float(value(x, X, np.where(y == Y, 1, -1)))

    return score


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
    >>> from exactcp.textbook.least_squares import lasso
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
    R = _triangle(columns[:, active], targets)
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
    >>> from exactcp.textbook.least_squares import lasso_counts
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
