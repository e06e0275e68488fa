"""The page on models of one's own runs."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def test_the_page_on_models_runs():
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this distribution")
    pytest.importorskip("pandas")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)  # each goes on where the one before ended
    assert len(blocks) == 8
    for name in ("normalised", "cqr"):
        ends = names[name].predict_interval(names["test"], 0.9)
        inside = (ends[:, 0] <= names["pay_test"]) & (names["pay_test"] <= ends[:, 1])
        assert inside.mean() > 0.84
        assert (ends[:, 1] - ends[:, 0]).std() > 1.0
