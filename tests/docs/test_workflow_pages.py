"""The examples of the pages on pipelines, forgetting and objects run, and say what they say."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from exactcp import FullConformalClassifier

DOCS = Path(__file__).parents[2] / "docs"


def _run(page: str) -> dict:
    """Run the blocks of a page one after the other, and return the names that they leave."""
    if not DOCS.exists():
        pytest.skip("the documentation is not part of this distribution")
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is fitted (anew in every call|on the training objects alone).*")
        for block in blocks:
            exec(block, names)
    return names


def test_pipelines() -> None:
    names = _run("pipelines.md")
    made = names["StandardScaler"]().fit_transform(np.vstack([names["X_train"], names["X_test"]]))
    plain = FullConformalClassifier(names["KNN"](k=5)).fit(made[:-10], names["y_train"])
    np.testing.assert_array_equal(names["sets"], plain.predict_set(made[-10:], 0.9))
    assert names["frozen"].predict_p(names["X_test"]).shape == names["fast"].predict_p(names["X_test"]).shape == (10, 3)
    assert names["by_topic"].classes_[names["p"].argmax(axis=1)].tolist() == ["wine", "engine"]
    assert np.isfinite(names["intervals"]).all()
    assert names["asked"].shape == (5, 3)
    assert names["pipe"][-1].n_examples_ == 84
    assert names["chosen_sets"].shape == (10, 3)


def test_forgetting() -> None:
    names = _run("unlearning.md")
    assert names["left"] == 144
    assert names["names"] == [f"flower {i}" for i in range(149) if i != 12]


def test_objects(capsys: pytest.CaptureFixture[str]) -> None:
    names = _run("objects.md")
    page = (DOCS / "objects.md").read_text(encoding="utf-8")
    assert f"```text\n{capsys.readouterr().out}```" in page
    standard = FullConformalClassifier(names["KNN"](k=3, metric=names["levenshtein"]), algorithm="standard")
    standard.fit(names["names"][:20], names["y"][:20])
    fast = FullConformalClassifier(names["KNN"](k=3, metric=names["levenshtein"]))
    fast.fit(names["names"][:20], names["y"][:20])
    np.testing.assert_array_equal(standard.predict_p(names["names"][93:96]), fast.predict_p(names["names"][93:96]))
    assert names["table"]["prediction"].tolist() == ["Greek", "Hebrew"]
    first_greek = sum(alphabet < "Greek" for _, alphabet in names["letters"])
    assert first_greek <= names["test"].alarms_[0] < first_greek + 25
    assert names["at_random"].alarms_.size == 0
    np.testing.assert_array_equal(names["given"].p_values_, names["test"].p_values_)
    assert names["flags"].tolist() == [-1, -1, 1, 1]
    assert names["clusterer"].n_clusters_ > 1


def test_containers() -> None:
    names = _run("containers.md")
    assert names["X"].shape == (200, 5)
