"""`exactcp warm-up`: small jobs that compile the kernels which users need first.

Kernels are compiled for the types of their arguments, and which of them run depends on sizes: so a job fits few rows
and more, predicts one row and many, learns an example and forgets one. Each family runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any, NamedTuple

import typer

import exactcp as cp
from exactcp._numpy_first import forced
from exactcp.cli import _options as typed
from exactcp.cli._mistakes import MisuseError, did_you_mean
from exactcp.cli._tables import print_result, say

SMALL, LARGE = 200, 1_500  # rows; as many questions about more than a thousand are answered by screened products


def warm_up(
    families: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(sorted(FAMILIES))}.")] = None,
    jobs: typed.Jobs = None,
) -> None:
    """Compile now what predictions use, and cache it, so that the first one of every process starts at once.

    For images of containers and serverless functions, and after an upgrade.
    """
    for family in families or ():
        if family not in FAMILIES:
            hint = did_you_mean(family, FAMILIES) or f" Use some of {', '.join(sorted(FAMILIES))}."
            msg = f"there is no family {family!r}.{hint}"
            raise MisuseError(msg)
    from joblib import cpu_count

    from exactcp._kernel_cache import check_can_keep

    folder = check_can_keep()
    before = len(list(folder.iterdir()))
    if families is not None and len(families) == 1:
        _compile(families[0])
    else:
        with ThreadPoolExecutor(jobs or cpu_count()) as pool:
            for family in pool.map(_compile_elsewhere, families or FAMILIES):
                say(f"{family}: done.")
    files = list(folder.iterdir())
    size = sum(path.stat().st_size for path in files) / 1e6
    print_result(f"compiled {len(files) - before:,} kernels; {folder} holds {size:.1f} MB.")


def _compile_elsewhere(family: str) -> str:
    command = [sys.executable, "-m", "exactcp", "warm-up", family]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        msg = f"the kernels of {family} were not compiled: {words[-1]}"
        raise RuntimeError(msg)
    return family


def _compile(family: str) -> None:
    with warnings.catch_warnings(), forced(numpy=False):
        warnings.simplefilter("ignore")  # what these predict is not read
        for n in FAMILIES[family].sizes:
            for predictor in FAMILIES[family].predictors():
                _use(predictor, FAMILIES[family], n)


class Family(NamedTuple):
    """Predictors that share kernels, and the examples to use them with."""

    predictors: Callable[[], list[Any]]
    sizes: tuple[int, ...] = (SMALL, LARGE)
    features: int = 5
    labels: int = 2
    dtype: str = "float64"


METHODS = ("predict_p", "predict_set", "predict", "predict_interval", "predict_region", "predict_proba")


def _use(predictor: Any, family: Family, n: int) -> None:
    """Fit a predictor, ask it about many rows and about one, and let it learn and forget an example."""
    import numpy as np
    from sklearn.base import clone

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, family.features)).astype(family.dtype)
    y: Any = X[:, 0] + 0.3 * rng.normal(size=n)
    is_regressor = hasattr(predictor, "predict_interval")
    if not is_regressor:
        y = (y > 0).astype(np.int64) if family.labels == 2 else np.arange(n) % family.labels
    if hasattr(predictor, "update"):  # a stream
        for Z, labels in ((X[:, :2], None), (X, y)):
            test = clone(predictor)
            test.update_many(Z[1:], None if labels is None else labels[1:])
            test.update(Z[0], None if labels is None else labels[0])
        return
    predictor.fit(X, y)
    for learn in (False, hasattr(predictor, "unlearn")):
        if learn:
            predictor.partial_fit(X[:1] + X.dtype.type(0.1), y[:1]).unlearn([0])
        for rows in (n, 1):
            for method in filter(partial(hasattr, predictor), METHODS):
                targets = [y[:rows]] if is_regressor and method == "predict_p" else []
                getattr(predictor, method)(X[:rows], *targets)


def _labels(*measures: Any) -> list[Any]:
    smoothed = [cp.FullConformalClassifier(one, smoothed=True, random_state=0) for one in measures]
    return [*smoothed, *(cp.FullConformalClassifier(one) for one in measures)]


def _targets(*measures: Any) -> list[Any]:
    return [cp.FullConformalRegressor(one) for one in measures]


def _forests() -> list[Any]:
    ways = ("multinomial", "bernoulli")
    return _labels(*(cp.measures.RandomForest(5, resampling=way, random_state=0) for way in ways))


def _splits() -> list[Any]:
    classes = (cp.SplitConformalClassifier, cp.CrossConformalClassifier, cp.SplitConformalRegressor, cp.CVPlusRegressor)
    return [*(one(random_state=0) for one in classes), cp.JackknifePlusRegressor()]


def _venn() -> list[Any]:
    return [cp.VennPredictor(), *(cp.VennAbersPredictor(method=one) for one in ("full", "inductive", "cross"))]


def _trees() -> list[Any]:
    return _labels(cp.measures.KNN(search="tree"), cp.measures.SimplifiedKNN(search="tree"))


def _metrics() -> list[Any]:
    return _labels(*(cp.measures.KNN(metric=one) for one in ("cosine", "manhattan", "chebyshev")))


FAMILIES = {  # those that take longest come first
    "forest": Family(_forests, (60,)),
    "knn": Family(lambda: _labels(cp.measures.KNN(), cp.measures.NN(), cp.measures.SimplifiedKNN())),
    "knn-metrics": Family(_metrics),
    "knn-trees": Family(_trees, (LARGE,), features=3),
    "knn-float32": Family(lambda: [cp.FullConformalClassifier()], features=64, dtype="float32"),
    "knn-labels": Family(lambda: [cp.FullConformalClassifier()], (LARGE,), labels=50),
    "venn": Family(_venn),
    "knn-regression": Family(lambda: _targets(cp.measures.KNNResidual())),
    "anomaly": Family(lambda: [cp.ConformalAnomalyDetector()]),
    "stream": Family(lambda: [cp.ExchangeabilityTest(random_state=0)], (SMALL,)),
    "split": Family(_splits, (SMALL,)),
    "lssvm": Family(lambda: _labels(cp.measures.LSSVM(), cp.measures.LSSVM(kernel="rbf")), (SMALL,)),
    "ridge": Family(lambda: _targets(cp.measures.RidgeResidual(), cp.measures.RidgeResidual(kernel="rbf")), (SMALL,)),
    "lasso": Family(lambda: _targets(cp.measures.LassoResidual(0.1)), (60,)),
    "kde": Family(lambda: _labels(cp.measures.KDE(), cp.measures.KDE(kernel="epanechnikov"))),
    "clustering": Family(lambda: [cp.ConformalClusterer(n_grid=10)], (SMALL,), features=2),
}
