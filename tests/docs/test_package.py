"""The package as a whole: what importing it loads, its public names, and the README."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import exactcp
from exactcp import measures

ROOT = Path(__file__).parents[2]


def test_importing_loads_nothing_optional():
    heavy = ["matplotlib", "dask", "typer", "jinja2"]  # scikit-learn itself loads pandas and rich where they are
    code = f"import sys, exactcp; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_the_readme_starts_with_the_two_commands():
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks[0].strip().endswith("exactcp demo")
    assert blocks[1].strip().endswith("-m pytest")
    assert all(len(block.strip().splitlines()) == 1 for block in blocks[:2])


def test_the_readmes_python_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_public_names():
    for name in exactcp.__all__:
        assert hasattr(exactcp, name)
    for name in measures.__all__:
        assert getattr(measures, name).__doc__, name


@pytest.mark.parametrize(
    "module", ["exactcp.counting", "exactcp.geometry", "exactcp.measures", "exactcp.measures.neighbours.kernels"]
)
def test_packages_explain_themselves(module):
    import importlib

    assert len(importlib.import_module(module).__doc__.splitlines()) >= 5


def test_names_are_imported_when_they_are_asked_for():
    code = (
        "import exactcp; assert 'FullConformalClassifier' in dir(exactcp); exactcp.FullConformalClassifier; "
        "exactcp.measures.KNN; print(hasattr(exactcp, 'nonsense'), exactcp.__version__); "
        "import sys, exactcp.inspection; print('matplotlib' in sys.modules); del exactcp, sys; "
        "from exactcp import *; print(sorted(name for name in dir() if name[0] != '_'))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = sorted(name for name in exactcp.__all__ if name[0] != "_")
    assert found.stdout.splitlines() == [f"False {exactcp.__version__}", "False", f"{names}"]
