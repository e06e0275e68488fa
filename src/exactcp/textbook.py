"""Full conformal prediction as the paper writes it: slow, obvious, and what every fast path must equal.

A score function takes (x, y, X, Y), an example and a bag of examples, and returns how strange the one is to the other.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp.pvalues import Counts, compare

ScoreFunction = Callable[[np.ndarray, Any, np.ndarray, np.ndarray], float]
DistanceFunction = Callable[[np.ndarray, np.ndarray], float]
FEW_MONOMIALS = 60  # of a polynomial kernel, up to which it is the linear kernel of its monomials


def algorithm_1(
    score: ScoreFunction, X: np.ndarray, y: np.ndarray, x: np.ndarray, label: Any
) -> tuple[np.ndarray, float]:
    """Return the scores of the training examples, each against the rest and (x, label), and the score of (x, label).

    Parameters
    ----------
    score : callable
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    x : ndarray of shape (p,)
    label : object

    Returns
    -------
    training_scores : ndarray of shape (n,)
    candidate_score : float
    """
    n = len(y)
    extended_X = np.concatenate([X, x[None]])
    extended_y = np.concatenate([y, np.asarray([label], dtype=y.dtype)])
    training_scores = np.empty(n)
    for i in range(n):
        rest = np.arange(n + 1) != i
        training_scores[i] = score(X[i], y[i], extended_X[rest], extended_y[rest])
    return training_scores, score(x, label, X, y)


def counts(
    score: ScoreFunction,
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    labels: np.ndarray,
    *,
    floor: float = 0.0,
    tolerance: float = 1e-10,
) -> Counts:
    """Return the counts of Algorithm 1 for every test object and label, over all training examples.

    Parameters
    ----------
    score : callable
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    X_test : ndarray of shape (m, p)
    labels : ndarray of shape (l,)
    floor, tolerance : float
        Of the tie rule.

    Returns
    -------
    Counts

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> counts(nn(), X, y, np.array([[0.5]]), np.array([0, 1])).greater
    array([[3, 0]])
    """
    rows = []
    for x in X_test:
        pairs = [algorithm_1(score, X, y, x, label) for label in labels]
        training = np.array([scores for scores, _ in pairs])
        rows.append(compare(training, np.array([s for _, s in pairs]), floor=floor, tolerance=tolerance))
    return Counts(
        np.array([row.greater for row in rows]),
        np.array([row.equal for row in rows]),
        np.array([row.total for row in rows]),
    )


def euclidean(a: np.ndarray, b: np.ndarray) -> float:
    """Return the Euclidean distance."""
    return math.sqrt(float(((a - b) ** 2).sum()))


def _smallest_sum(x: np.ndarray, others: np.ndarray, k: int, distance: DistanceFunction) -> float:
    """Sum of the k smallest distances (of all, if fewer), infinite if there is no other."""
    if len(others) == 0:
        return math.inf
    ascending = sorted(distance(x, other) for other in others)
    total = 0.0
    for d in ascending[:k]:
        total += d
    return total


def simplified_knn(k: int = 15, distance: DistanceFunction = euclidean) -> ScoreFunction:
    """Return the simplified k-NN score: the sum of the k smallest same-label distances."""

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        return _smallest_sum(x, X[y == Y], k, distance)

    return score


def knn(k: int = 15, distance: DistanceFunction = euclidean) -> ScoreFunction:
    """Return the k-NN score: same-label sum over other-label sum, with the conventions for empty and zero sums."""

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        same = _smallest_sum(x, X[y == Y], k, distance)
        other = _smallest_sum(x, X[y != Y], k, distance)
        if same == math.inf:
            return math.inf
        if other == math.inf:
            return 0.0
        if other == 0.0:
            return 1.0 if same == 0.0 else math.inf
        return same / other

    return score


def nn(distance: DistanceFunction = euclidean) -> ScoreFunction:
    """Return the nearest-neighbour score."""
    return knn(1, distance)


def _log_kernel(d: float, h: float, kernel: str) -> float:
    """Return log K(d / h) without normalising constant; scikit-learn's compact kernels are 0 at d >= h."""
    u = d / h
    if kernel == "gaussian":
        return -0.5 * u * u
    if kernel == "exponential":
        return -u
    compact = {
        "tophat": lambda: 1.0,
        "epanechnikov": lambda: 1.0 - u * u,
        "linear": lambda: 1.0 - u,
        "cosine": lambda: math.cos(0.5 * math.pi * u),
    }
    value = compact[kernel]() if d < h else 0.0
    return math.log(value) if value > 0.0 else -math.inf


def kde(bandwidth: float | str = 1.0, kernel: str = "gaussian") -> ScoreFunction:
    """Return the KDE score: -log of the mean kernel over the examples with the label, infinite if that is 0."""

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        n, p = X.shape
        rules = {"scott": n ** (-1 / (p + 4)), "silverman": (n * (p + 2) / 4) ** (-1 / (p + 4))}
        h = rules[bandwidth] if isinstance(bandwidth, str) else float(bandwidth)
        # feature after feature, so that an object at the edge of a compact kernel is outside for everyone
        squared = [float(np.cumsum((x - other) ** 2)[-1]) for other in X[y == Y]]
        logs = [_log_kernel(math.sqrt(s), h, kernel) for s in squared]
        top = max(logs, default=-math.inf)
        if top == -math.inf:
            return math.inf
        return math.log(len(logs)) - top - math.log(sum(math.exp(k - top) for k in logs))

    return score


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


def _least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Minimise |A x - b| in long double by Householder reflections, the largest rows first."""
    largest_first = np.argsort(-np.abs(A).max(axis=1), kind="stable")
    R = np.column_stack([A, b])[largest_first]
    q = A.shape[1]
    for j in range(q):
        mirror = R[j:, j].copy()
        mirror[0] += np.copysign(np.sqrt((mirror**2).sum()), mirror[0])
        R[j:] -= np.outer(mirror, 2 / (mirror**2).sum() * (mirror @ R[j:]))
    x = np.zeros(q, dtype=np.longdouble)
    for j in reversed(range(q)):
        x[j] = (R[j, q] - R[j, :q] @ x) / R[j, j]
    return x


def lssvm(
    rho: float = 1.0,
    kernel: Any = "linear",
    gamma: float | None = None,
    degree: int = 3,
    coef0: float = 1,
    feature_map: Callable[[np.ndarray], np.ndarray] | None = None,
    fit_intercept: bool = False,  # noqa: FBT001, FBT002
) -> ScoreFunction:
    """Return the LS-SVM score: minus the value at x of the ridge regression of +1 for the label, -1 for all others.

    It works in long double, because a small rho costs digits, and scores that are equal must come out equal.
    """
    bias = [1] if fit_intercept else []

    def primal(x: np.ndarray, X: np.ndarray, targets: np.ndarray) -> float:
        """Minimise |Phi w - t|^2 + rho |w|^2, the bias not penalised: rows sqrt(rho) I are appended to Phi."""
        penalty = np.sqrt(np.longdouble(rho)) * np.eye(X.shape[1], dtype=np.longdouble)
        rows = [*(np.append(bias, row) for row in X), *(np.append([0] * len(bias), row) for row in penalty)]
        w = _least_squares(np.array(rows, dtype=np.longdouble), np.append(targets, np.zeros(X.shape[1])))
        return float(np.append(bias, x) @ w)

    def dual(x: np.ndarray, X: np.ndarray, targets: np.ndarray) -> float:
        """Solve (K + rho I) c + bias = t, where the c sum to 0 if there is a bias."""
        n, how = len(X), (kernel, gamma, degree, coef0)
        system = np.zeros((n + len(bias), n + len(bias)), dtype=np.longdouble)
        system[:n, :n] = _kernel_values(X, X, *how) + rho * np.eye(n)
        system[n:, :n] = 1
        system[:n, n:] = 1
        c = _solve(system, np.append(targets, np.zeros(len(bias))))
        return float(np.append(_kernel_values(x[None], X, *how)[0], bias) @ c)

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        targets = np.where(y == Y, 1, -1).astype(np.longdouble)
        if feature_map is not None:
            x, X = feature_map(x[None])[0], feature_map(X)
        explicit = kernel == "linear"
        if kernel == "poly" and coef0 >= 0 and math.comb(X.shape[1] + degree, degree) <= FEW_MONOMIALS:
            rows = _monomials(np.concatenate([x[None], X]), gamma, degree, coef0)
            x, X, explicit = rows[0], rows[1:], True
        return -(primal if explicit else dual)(x, X, targets)

    return score


def refitted(new_measure: Callable[[], Any]) -> ScoreFunction:
    """Return the score of any measure: a new one, fitted on the bag, scores the example."""

    def score(x: np.ndarray, y: Any, X: np.ndarray, Y: np.ndarray) -> float:
        return float(new_measure().fit(X, Y).score(x[None], np.asarray([y], dtype=Y.dtype))[0])

    return score


def twin(measure: Any) -> ScoreFunction | None:
    """Return the textbook's own score function for a measure of this package with a Euclidean or callable metric."""
    if not type(measure).__module__.startswith("exactcp."):
        return None
    params = measure.get_params(deep=False)
    metric = params.pop("metric", "euclidean")
    if params.pop("metric_params", None) or not (callable(metric) or metric in ("euclidean", "l2")):
        return None
    if params.get("kernel") == "precomputed" or hasattr(params.get("feature_map"), "transform"):
        return None
    distance = metric if callable(metric) else euclidean
    makers: dict[str, Callable[..., ScoreFunction]] = {
        "NN": nn,
        "KNN": knn,
        "SimplifiedKNN": simplified_knn,
        "KDE": lambda distance, **params: kde(**params),  # noqa: ARG005  (its distance is always Euclidean)
        "LSSVM": lambda distance, solver, memory_limit, **params: lssvm(**params),  # noqa: ARG005  (numerics, not the score)
    }
    maker = makers.get(type(measure).__name__)
    return maker(**params, distance=distance) if maker else None
