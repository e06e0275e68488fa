"""A process's first call, where nothing is compiled yet and where all is: `python -m benchmarks.cold`.

Processor seconds of fresh processes with an empty cache of kernels, and with the cache that this has left, without and
with the imports of the package and of scikit-learn; `kernels` are those that were compiled.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

SKLEARN = "import sklearn.model_selection, sklearn.neighbors, sklearn.metrics, sklearn.datasets, sklearn.linear_model"
DIGITS = """
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, random_state=0)
"""
ROWS = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=({n}, 5)); t = X[:, 0] + rng.normal(size={n}); y = t > 0
"""
OURS = "from exactcp import FullConformalClassifier; from exactcp.measures import KNN"
ALL_OURS = "from exactcp import *; from exactcp.measures import *"
README = """
clf = FullConformalClassifier(KNN(k=3)).fit(X_train, y_train)
clf.predict_set(X_test, confidence_level=0.95)
clf.predict_confidence(X_test)
clf.partial_fit(X_test, y_test).unlearn([0, 1])
"""
FIRST = "FullConformalClassifier({measure}).fit(X, y).predict_p(X[:100])"
REGRESS = "FullConformalRegressor({measure}).fit(X[:300], t[:300]).predict_interval(X[300:])"
# name: what is imported or loaded, and what is measured
SNIPPETS: dict[str, tuple[str, str]] = {
    "import, after scikit-learn's": (SKLEARN, OURS),
    "README": (DIGITS + ALL_OURS, README),
    "first set on digits": (
        DIGITS + OURS,
        "FullConformalClassifier(KNN(k=3)).fit(X_train, y_train).predict_set(X_test)",
    ),
    "KNNResidual, 300 rows": (ROWS.format(n=442) + ALL_OURS, REGRESS.format(measure="")),
    "RidgeResidual, 300 rows": (ROWS.format(n=442) + ALL_OURS, REGRESS.format(measure="RidgeResidual()")),
    "LSSVM, 300 rows": (ROWS.format(n=300) + ALL_OURS, FIRST.format(measure="LSSVM()")),
    "KDE, 300 rows": (ROWS.format(n=300) + ALL_OURS, FIRST.format(measure="KDE()")),
    "RandomForest, 100 rows": (ROWS.format(n=100) + ALL_OURS, FIRST.format(measure="RandomForest(random_state=0)")),
    "KNN, 20,000 rows": (ROWS.format(n=20_000) + ALL_OURS, FIRST.format(measure="KNN()")),
    "scikit-learn's KNeighborsClassifier": (
        DIGITS + "from sklearn.neighbors import KNeighborsClassifier",
        "KNeighborsClassifier(3).fit(X_train, y_train).predict(X_test)",
    ),
}
MAPIE = """
split = SplitConformalClassifier(KNeighborsClassifier(3), confidence_level=0.9, prefit=False)
split.fit(X_train[:50], y_train[:50]).conformalize(X_train[50:], y_train[50:]).predict_set(X_test)
"""
CREPES = """
split = WrapClassifier(KNeighborsClassifier(3))
split.fit(X_train[:50], y_train[:50])
split.calibrate(X_train[50:], y_train[50:])
split.predict_set(X_test)
"""
NEIGHBORS = "from sklearn.neighbors import KNeighborsClassifier\n"
PEERS: dict[str, tuple[str, str]] = {
    "mapie": (DIGITS + NEIGHBORS + "from mapie.classification import SplitConformalClassifier", MAPIE),
    "crepes": (DIGITS + NEIGHBORS + "from crepes import WrapClassifier", CREPES),
}
COMMANDS = {
    "exactcp demo": ["demo", "--report", "page.html"],
    "exactcp predict, 120 rows": ["predict", "train.csv", "test.csv", "-t", "kind", "-o", "out.csv"],
}
TABLES = """
from sklearn.datasets import load_wine
wine = load_wine(as_frame=True).frame.rename(columns={"target": "kind"}).sample(frac=1, random_state=0)
wine[:120].to_csv("train.csv", index=False); wine[120:].to_csv("test.csv", index=False)
"""
MEASURED = """
import json, sys, time
{setup}
began = time.process_time()
{body}
seconds, compiled = time.process_time() - began, 0
if "exactcp._compiling" in sys.modules:
    compiled = sys.modules["exactcp._compiling"].STOPWATCH.kernels
print(json.dumps([seconds, compiled]))
"""


def run(command: list[str], cache: str, folder: str) -> tuple[float, str]:
    """Run a process; return its processor seconds and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    here = os.pathsep.join(
        [str(Path(part).resolve()) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": here}
    done = subprocess.run(
        [sys.executable, *command], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the seconds of each case; of a few of them if it must be quick."""
    snippets = dict(list(SNIPPETS.items())[:3]) if quick else SNIPPETS
    peers = {name: peer for name, peer in PEERS.items() if importlib.util.find_spec(name) and not quick}
    for name, (setup, body) in {**snippets, **peers}.items():
        code = MEASURED.format(setup=textwrap.dedent(setup), body=body)
        with tempfile.TemporaryDirectory() as cache:
            found = [run(["-c", code], cache, cache) for _ in range(2)]
        (cold, kernels), (warm, _) = (json.loads(printed) for _, printed in found)
        yield {
            "first call": name, "kernels": kernels, "cold, s": cold, "warm, s": warm,
            "process cold, s": found[0][0], "process warm, s": found[1][0],
        }  # fmt: skip
    for name, words in {} if quick else COMMANDS.items():
        with tempfile.TemporaryDirectory() as cache:
            run(["-c", TABLES], cache, cache)
            cold, warm = (run(["-m", "exactcp", *words], cache, cache)[0] for _ in range(2))
        blank = dict.fromkeys(("kernels", "cold, s", "warm, s"), "")
        yield {"first call": name, **blank, "process cold, s": cold, "process warm, s": warm}


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    """Yield nothing: compiling does not grow with n."""
    return iter(())


def main() -> None:
    """Print the table."""
    from benchmarks.__main__ import show_table

    show_table(Console(width=160), "cold: processor seconds of a process's first call", rows(quick=False))


if __name__ == "__main__":
    main()
