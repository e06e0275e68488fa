"""A process's first call, where nothing is compiled yet and where all is: `python -m benchmarks.cold`.

Processor seconds of one fit and prediction, imports left out, in a process of its own with an empty cache, and in the
next one with the same cache. Bare seconds, since nothing else does the same work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rich.console import Console

import exactcp
from exactcp import measures


def _data(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] * 2 + rng.normal(size=n)).round().astype(int) % 2


def _classify(measure: Any, n: int, p: int, asked: int) -> None:
    X, y = _data(n, p)
    exactcp.FullConformalClassifier(measure).fit(X, y).predict_p(X[:asked])


def _regress() -> None:
    X, _ = _data(2_000, 5)
    exactcp.FullConformalRegressor(measures.KNNResidual()).fit(X, X[:, 0]).predict_interval(X[:100])


def _venn() -> None:
    X, y = _data(2_000, 5)
    exactcp.VennPredictor().fit(X, y).predict_proba(X[:100])


def _test_exchangeability() -> None:
    exactcp.ExchangeabilityTest(random_state=0).update_many(_data(200, 5)[0])


CASES: dict[str, Callable[[], None]] = {
    "KDE": lambda: _classify(measures.KDE(), 2_000, 5, 100),
    "exchangeability": _test_exchangeability,
    "KNN(5), n = 200": lambda: _classify(measures.KNN(5), 200, 5, 20),
    "LSSVM": lambda: _classify(measures.LSSVM(), 2_000, 5, 100),
    "VennPredictor": _venn,
    "KNN, n = 3,000": lambda: _classify(measures.KNN(), 3_000, 30, 500),
    "KNNResidual": _regress,
    "RandomForest": lambda: _classify(measures.RandomForest(random_state=0), 300, 5, 5),
}


def run_case(name: str) -> dict[str, float]:
    """Run a case here, and return its processor seconds and how many kernels were compiled for it."""
    from numba.core import event

    import exactcp._public  # noqa: F401  (imports are not what is measured)

    with event.install_recorder("numba:compile") as recorder:
        began = time.process_time()
        CASES[name]()
        seconds = time.process_time() - began
    return {"seconds": seconds, "kernels": sum(entry.is_start for _, entry in recorder.buffer)}


def _in_a_process(name: str, cache: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.cold", name]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the seconds of each case; of the first half of them if it must be quick."""
    for name in list(CASES)[: len(CASES) // 2 if quick else None]:
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = _in_a_process(name, cache), _in_a_process(name, cache)
        yield {
            "first call": name,
            "kernels": int(cold["kernels"]),
            "cold, s": cold["seconds"],
            "warm, s": warm["seconds"],
        }


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    """Yield nothing: compiling does not grow with n."""
    return iter(())


def main() -> None:
    """Run the case that is named, or print the table of all."""
    if len(sys.argv) > 1:
        print(json.dumps(run_case(sys.argv[1])))
        return
    from benchmarks.__main__ import show_table

    show_table(Console(width=160), "cold: processor seconds of a process's first call", rows(quick=False))


if __name__ == "__main__":
    main()
