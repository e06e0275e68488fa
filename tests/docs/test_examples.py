"""The examples of the gallery run as scripts, without a warning, and draw."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
DOCS = Path(__file__).parents[2] / "docs"
# run in the normal lane; the others in the slow one
QUICK = {"plot_diagnosis", "plot_noise_grows"}
SCRIPTS = [
    pytest.param(path, id=path.stem, marks=[] if path.stem in QUICK else [pytest.mark.slow])
    for path in sorted(EXAMPLES.glob("*.py"))
]

pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="the examples are not part of this distribution")


@pytest.mark.parametrize("path", SCRIPTS)
def test_an_example_runs_and_draws(path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    try:
        with matplotlib.rc_context():
            runpy.run_path(str(path), run_name="__main__")
            assert plt.get_fignums(), "an example has a picture"
            for number in plt.get_fignums():
                plt.figure(number).canvas.draw()
    finally:
        plt.close("all")


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_a_page_of_the_gallery(path: Path) -> None:
    assert path.stem.startswith("plot_"), "the gallery runs what is called plot_*.py"
    title, underline, *rest = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()
    assert set(underline) == {"="}
    assert len(underline) == len(title)
    assert len(rest) > 1, "some sentences say what the question is"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_linked_where_somebody_with_the_question_looks(path: Path) -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    assert f"(auto_examples/{path.stem})" in pages, "link it in docs/which.md or a page of the guide"


def test_the_quick_ones_exist() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} >= QUICK
