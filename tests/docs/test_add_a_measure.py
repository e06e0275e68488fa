"""CONTRIBUTING's recipe works: one file and one export make a measure that all predictors and the command line know."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import exactcp

PACKAGE = Path(exactcp.__file__).parent
RECIPE = Path(__file__).parents[2] / "CONTRIBUTING.md"
EXPORT = "\nfrom exactcp.measures.models._mean_distance import MeanDistance\n\n__all__ += ['MeanDistance']\n"
USE = """
import warnings
import numpy as np
import exactcp.cli
from exactcp import CrossConformalClassifier, FullConformalClassifier, SplitConformalClassifier
from exactcp.checks import check_measure
from exactcp.measures import MeanDistance

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
y = np.arange(24) % 2
X = rng.normal(size=(24, 2)) + 3.0 * y[:, None]
check_measure(MeanDistance())
for predictor in (FullConformalClassifier, SplitConformalClassifier, CrossConformalClassifier):
    sets = predictor(MeanDistance(power=2.0), random_state=0).fit(X[:20], y[:20]).predict_set(X[20:], 0.8)
    print(predictor.__name__, not sets[np.arange(4), 1 - y[20:]].any())
table = np.column_stack([X, y])
np.savetxt("train.csv", table[:20], delimiter=",", header="a,b,kind", comments="", fmt="%.3f,%.3f,%d")
np.savetxt("test.csv", table[20:], delimiter=",", header="a,b,kind", comments="", fmt="%.3f,%.3f,%d")
exactcp.cli.app(["predict", "train.csv", "test.csv", "--target", "kind", "--task", "classification",
                 "--measure", "mean-distance", "--option", "power=2.0", "--confidence", "0.8", "--output", "out.csv"])
"""


def test_the_recipe(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "exactcp", ignore=shutil.ignore_patterns("__pycache__"))
    measure = re.search(r"```python\n(.*?)```", RECIPE.read_text(encoding="utf-8"), flags=re.DOTALL).group(1)
    (tmp_path / "exactcp" / "measures" / "models" / "_mean_distance.py").write_text(measure, encoding="utf-8")
    with (tmp_path / "exactcp" / "measures" / "__init__.py").open("a", encoding="utf-8") as exports:
        exports.write(EXPORT)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", USE], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("Full", "Split", "Cross"):
        assert f"{name}ConformalClassifier True" in done.stdout
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 5
