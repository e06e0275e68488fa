"""One version and one address, wherever they are written."""

import re
import tomllib
from pathlib import Path

import pytest

from exactcp import __version__

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("file", "line"),
    [("CITATION.cff", f"version: {__version__}"), ("recipe/recipe.yaml", f'  version: "{__version__}"')],
)
def test_every_file_names_this_version(file, line):
    assert line in (ROOT / file).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("file", ["CITATION.cff", "recipe/recipe.yaml", "pyproject.toml"])
def test_every_file_names_the_same_address(file):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    home = project["urls"]["Source"]
    named = re.findall(r"https://[^\s\"]+", (ROOT / file).read_text(encoding="utf-8"))
    named = [address for address in named if "exactcp" in address]
    assert named
    assert all(address == home or address.startswith(f"{home}/") for address in named), named
