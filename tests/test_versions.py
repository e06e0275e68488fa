"""One version, wherever it is written."""

from pathlib import Path

import pytest

from exactcp import __version__

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("file", "line"),
    [("CITATION.cff", f"version: {__version__}"), ("recipe/recipe.yaml", f'  version: "{__version__}"')],
)
def test_every_file_names_this_version(file, line):
    assert line in (ROOT / file).read_text(encoding="utf-8").splitlines()
