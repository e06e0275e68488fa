"""The page about streams says what is so."""

from __future__ import annotations

import re
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "online.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What the page's code has defined in the end."""
    plt = pytest.importorskip("matplotlib")
    pytest.importorskip("skops")
    plt.use("Agg")
    known: dict[str, object] = {}
    with chdir(tmp_path_factory.mktemp("page")):
        for block in BLOCKS:
            if "from river" not in block or find_spec("river") is not None:
                exec(compile(block, PAGE.name, "exec"), known)
    return known


def test_its_code_runs_and_its_numbers_are_right(said):
    assert said["test"].alarms_[0] == said["in_windows"].alarms_[0] == said["in_two_nights"].alarms_[0] == 550
    assert said["test_of_texts"].p_values_.size == 4
    assert 300 < said["test_of_targets"].alarms_[0] < 350
    assert said["test_of_targets"].p_value_ < 0.01
    result = said["result"]
    assert len(result) < 130
    assert None not in said["late"][result.position].tolist()
    assert abs(said["followed"].running_error[-1] - 0.1) < 0.05
    fixed = said["progressive"](said["FullConformalRegressor"](), (said["signal"], said["noisy"]), confidence_level=0.9)
    assert fixed.running_error[-1] > said["followed"].running_error[-1]


def test_rivers_models_have_learned(said):
    pytest.importorskip("river")
    assert said["conformal"].predict_one(dict(next(iter(said["datasets"].Phishing()))[0])) is not None
    assert said["regressor"].predict_one(next(iter(said["datasets"].TrumpApproval()))[0]) is not None
