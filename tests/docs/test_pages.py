"""Every block of Python on the pages runs, in their order, and leaves what the page says; so do the examples."""

from __future__ import annotations

import ast
import json
import re
import runpy
import sys
from collections.abc import Callable
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from exactcp import FullConformalClassifier
from golden import FOLDER, sets
from slices import slow_but

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = sorted((DOCS.parent / "examples").glob("*.py"))
QUICK_EXAMPLES = ["plot_diagnosis", "plot_noise_grows"]
ELSEWHERE = {  # run with what they are about
    "command-line.md": "cli",
    "compare.md": "comparing",
    "metrics.md": "metrics",
    "README.md": "docs",
    "CONTRIBUTING.md": "docs",
}
PAGES = sorted(page.name for page in DOCS.glob("*.md") if "```python\n" in page.read_text(encoding="utf-8"))
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def coming_from(after: list[dict[str, Any]], _: str) -> None:
    """Compare with what the peers answered."""
    theirs = json.loads((FOLDER / "quick-starts.json").read_text())
    ours = [names for names in after if "exactcp" in names["block"]]
    assert len(ours) == len(theirs) == 22
    for names, expected in zip(ours, theirs, strict=True):
        for name, wanted in expected.items():
            found = np.asarray(names[name])[:20]  # as many rows are kept
            if name == "sets":
                np.testing.assert_array_equal(found, sets(wanted), err_msg=names["block"])
            else:  # BLAS differs between machines
                np.testing.assert_allclose(found, wanted, rtol=1e-7, err_msg=names["block"])


def guarantee(after: list[dict[str, Any]], _: str) -> None:
    names = after[-1]
    assert names["answered"].shape == (int(names["rule"](names["X_new"]).sum()), 2)
    assert names["chosen"].sum() == 0


def models(after: list[dict[str, Any]], _: str) -> None:
    names = after[-1]
    for name in ("normalised", "cqr"):
        ends = names[name].predict_interval(names["test"], 0.9)
        inside = (ends[:, 0] <= names["pay_test"]) & (names["pay_test"] <= ends[:, 1])
        assert inside.mean() > 0.84
        assert (ends[:, 1] - ends[:, 0]).std() > 1.0


def objects(after: list[dict[str, Any]], printed: str) -> None:
    names = after[-1]
    assert f"```text\n{printed}```" in (DOCS / "objects.md").read_text(encoding="utf-8")
    assert names["table"]["prediction"].tolist() == ["Greek", "Hebrew"]
    first_greek = sum(alphabet < "Greek" for _, alphabet in names["letters"])
    assert first_greek <= names["test"].alarms_[0] < first_greek + 25
    assert names["at_random"].alarms_.size == 0
    np.testing.assert_array_equal(names["given"].p_values_, names["test"].p_values_)
    assert names["flags"].tolist() == [-1, -1, 1, 1]
    assert names["clusterer"].n_clusters_ > 1


def online(after: list[dict[str, Any]], _: str) -> None:
    names = after[-1]
    assert names["test"].alarms_[0] == names["in_windows"].alarms_[0] == names["in_two_nights"].alarms_[0] == 550
    assert names["test_of_texts"].p_values_.size == 4
    assert 300 < names["test_of_targets"].alarms_[0] < 350
    assert names["test_of_targets"].p_value_ < 0.01
    assert len(names["result"]) < 130
    assert None not in names["late"][names["result"].position].tolist()
    assert abs(names["followed"].running_error[-1] - 0.1) < 0.05
    stream = names["signal"], names["noisy"]
    fixed = names["progressive"](names["FullConformalRegressor"](), stream, confidence_level=0.9)
    assert fixed.running_error[-1] > names["followed"].running_error[-1]
    if find_spec("river") is not None:
        assert names["conformal"].predict_one(dict(next(iter(names["datasets"].Phishing()))[0])) is not None
        assert names["regressor"].predict_one(next(iter(names["datasets"].TrumpApproval()))[0]) is not None


def pipelines(after: list[dict[str, Any]], _: str) -> None:
    names = after[-1]
    made = names["StandardScaler"]().fit_transform(np.vstack([names["X_train"], names["X_test"]]))
    plain = FullConformalClassifier(names["KNN"](k=5)).fit(made[:-10], names["y_train"])
    np.testing.assert_array_equal(names["sets"], plain.predict_set(made[-10:], 0.9))
    assert names["frozen"].predict_p(names["X_test"]).shape == names["fast"].predict_p(names["X_test"]).shape == (10, 3)
    assert names["by_topic"].classes_[names["p"].argmax(axis=1)].tolist() == ["wine", "engine"]
    assert np.isfinite(names["intervals"]).all()
    assert names["asked"].shape == (5, 3)
    assert names["pipe"][-1].n_examples_ == 84
    assert names["chosen_sets"].shape == (10, 3)


def saving(*_: Any) -> None:
    assert sorted(one.name for one in Path.cwd().iterdir()) == ["iris.skops", "taxicab.skops"]


def unlearning(after: list[dict[str, Any]], _: str) -> None:
    assert after[-1]["left"] == 144
    assert after[-1]["names"] == [f"flower {i}" for i in range(149) if i != 12]


CHECKS: dict[str, Callable[[list[dict[str, Any]], str], None]] = {
    "coming-from.md": coming_from,
    "containers.md": lambda after, _: np.testing.assert_equal(after[-1]["X"].shape, (200, 5)),
    "guarantee.md": guarantee,
    "models.md": models,
    "objects.md": objects,
    "online.md": online,
    "pipelines.md": pipelines,
    "saving.md": saving,
    "unlearning.md": unlearning,
    "venn.md": lambda after, _: after[-1]["best"],
}


@pytest.mark.skipif(not PAGES, reason="the documentation is not part of this distribution")
@pytest.mark.filterwarnings(
    "ignore:.*is fitted (anew in every call|on the training objects alone).*", "ignore:.* does not trust in files"
)
@pytest.mark.parametrize(
    "page", slow_but(set(PAGES) - {"alternatives.md", "reproduce.md"}, sorted(set(PAGES) - set(ELSEWHERE)))
)
def test_a_page_runs(
    page: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("skops")
    module = ModuleType("page")  # where its functions can be found again
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names, after = vars(module), []
    with chdir(tmp_path):
        for block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
            if "from river" not in block or find_spec("river") is not None:
                exec(compile(block, page, "exec"), names)  # each goes on where the one before ended
                after.append({**names, "block": block})
        if page in CHECKS:
            CHECKS[page](after, capsys.readouterr().out)


def test_what_is_not_run_here_is_run_elsewhere() -> None:
    for page, folder in ELSEWHERE.items():
        others = [path for path in (DOCS.parent / "tests" / folder).glob("test_*.py") if path != Path(__file__)]
        assert any(f'"{page}"' in path.read_text(encoding="utf-8") for path in others), page
    written = [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]
    with_code = {page.name for page in written if BLOCK.search(page.read_text(encoding="utf-8"))}
    assert with_code <= {*PAGES, *ELSEWHERE}


@pytest.mark.parametrize("name", slow_but(QUICK_EXAMPLES, [path.stem for path in EXAMPLES] or QUICK_EXAMPLES))
@pytest.mark.skipif(not EXAMPLES, reason="the examples are not part of this distribution")
def test_an_example_runs_and_draws(name: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    with matplotlib.rc_context():
        runpy.run_path(str(DOCS.parent / "examples" / f"{name}.py"), run_name="__main__")
        assert plt.get_fignums(), "an example has a picture"
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_a_page_of_the_gallery_and_is_linked_from_another(path: Path) -> None:
    assert path.stem.startswith("plot_"), "the gallery runs what is called plot_*.py"
    title, underline, *rest = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))).splitlines()
    assert underline == "=" * len(title)
    assert len(rest) > 1, "some sentences say what the question is"
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    assert f"(auto_examples/{path.stem})" in pages, "link it in docs/which.md or a page of the guide"
