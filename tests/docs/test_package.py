"""The package as a whole: what importing it loads, its names, the README, and CONTRIBUTING's recipe for a measure."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import exactcp
from exactcp import measures

ROOT = Path(__file__).parents[2]
PACKAGE = Path(exactcp.__file__).parent


def blocks_of(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def printed_by(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_loads_nothing_optional():
    heavy = ["matplotlib", "dask", "typer", "jinja2"]  # scikit-learn itself loads pandas and rich where they are
    assert printed_by(f"import sys, exactcp; print([name for name in {heavy} if name in sys.modules])") == "[]\n"


def test_names_are_imported_when_they_are_asked_for():
    found = printed_by(
        "import exactcp; assert 'FullConformalClassifier' in dir(exactcp); exactcp.FullConformalClassifier; "
        "exactcp.measures.KNN; print(hasattr(exactcp, 'nonsense'), exactcp.__version__); "
        "import sys, exactcp.inspection; print('matplotlib' in sys.modules); del exactcp, sys; "
        "from exactcp import *; print(sorted(name for name in dir() if name[0] != '_'))"
    )
    names = sorted(name for name in exactcp.__all__ if name[0] != "_")
    assert found.splitlines() == [f"False {exactcp.__version__}", "False", f"{names}"]


def test_public_names():
    assert all(hasattr(exactcp, name) for name in exactcp.__all__)
    assert all(getattr(measures, name).__doc__ for name in measures.__all__)


def test_a_class_and_a_public_name_are_defined_once():
    """A search for them finds one place; functions may share a name, and commands have those of what they run."""
    defined, kept = Counter(), set()
    for path in set(PACKAGE.rglob("*.py")) - set((PACKAGE / "cli").rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names = {node.name}
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                names = {target.id for target in getattr(node, "targets", []) or [node.target] if hasattr(target, "id")}
            else:
                continue
            if isinstance(node, ast.ClassDef):
                kept |= names
            if "__all__" in names:
                kept |= set(ast.literal_eval(node.value))
            defined.update(names)
    assert {"KNN", "FullConformalClassifier"} <= kept
    entrances = {"main", "reproduce"}  # of programs: what they are called is what they are
    assert not {name for name in kept - entrances if defined[name] > 1}


@pytest.mark.parametrize(
    "module", ["exactcp.counting", "exactcp.geometry", "exactcp.measures", "exactcp.measures.neighbours.kernels"]
)
def test_packages_explain_themselves(module):
    assert len(importlib.import_module(module).__doc__.splitlines()) >= 5


def test_the_readme_starts_with_the_two_commands():
    first, second, *_ = blocks_of("README.md", "sh")
    assert re.fullmatch(r".*exactcp demo\n", first)
    assert re.fullmatch(r".*-m pytest\n", second)


def test_the_readmes_python_runs():
    blocks = blocks_of("README.md", "python")
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


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
    assert not sets[np.arange(4), 1 - y[20:]].any(), predictor
table = np.column_stack([X, y])
np.savetxt("train.csv", table[:20], delimiter=",", header="a,b,kind", comments="", fmt="%.3f,%.3f,%d")
np.savetxt("test.csv", table[20:], delimiter=",", header="a,b,kind", comments="", fmt="%.3f,%.3f,%d")
exactcp.cli.app(["predict", "train.csv", "test.csv", "--target", "kind", "--task", "classification",
                 "--measure", "mean-distance", "--option", "power=2.0", "--confidence", "0.8", "--output", "out.csv"])
"""


def test_the_recipe_for_a_measure(tmp_path):
    """One file and one export make a measure that all predictors and the command line know."""
    copied = tmp_path / "exactcp" / "measures"
    shutil.copytree(PACKAGE, tmp_path / "exactcp", ignore=shutil.ignore_patterns("__pycache__"))
    (copied / "models" / "_mean_distance.py").write_text(blocks_of("CONTRIBUTING.md", "python")[0], encoding="utf-8")
    with (copied / "__init__.py").open("a", encoding="utf-8") as exports:
        exports.write(EXPORT)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", USE], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()) == 5
