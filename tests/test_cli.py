from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import exactcp
from exactcp import measures
from exactcp.cli import app

ROOT = Path(__file__).parent.parent


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"exactcp {exactcp.__version__}\n"


def test_demo_prints_its_table():
    result = CliRunner().invoke(app, ["demo", "--confidence", "0.9"], env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    assert "90% sets" in result.output
    for heading in ("coverage", "set size", "fuzziness", "fit", "predict"):
        assert heading in result.output
    assert len(re.findall(r"(full|split) +(KNN|SimplifiedKNN) ", result.output)) == 4


def test_demo_refuses_a_level_that_is_none():
    result = CliRunner().invoke(app, ["demo", "--confidence", "95"])
    assert result.exit_code == 2
    assert "use a number between 0 and 1" in result.output


def test_full_cp_is_more_efficient_than_split_cp_in_the_demo():
    from exactcp.demo import run_demo

    facts = run_demo()
    rows = {(row["predictor"], row["measure"]): row for row in facts["rows"]}
    for measure in ("KNN", "SimplifiedKNN"):
        assert rows["full", measure]["mean_fuzziness"] < rows["split", measure]["mean_fuzziness"]
        assert rows["full", measure]["coverage"] > 0.9


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


@pytest.mark.parametrize("module", ["exactcp.kernels", "exactcp.measures", "exactcp.metrics"])
def test_packages_explain_themselves(module):
    import importlib

    assert len(importlib.import_module(module).__doc__.splitlines()) >= 5
