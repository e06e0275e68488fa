from __future__ import annotations

from functools import partial

import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def _numbers_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests read the numbers of files to the last digit, as pandas does from version 3 on."""
    if int(pd.__version__.split(".")[0]) < 3:
        monkeypatch.setattr(pd, "read_csv", partial(pd.read_csv, float_precision="round_trip"))
