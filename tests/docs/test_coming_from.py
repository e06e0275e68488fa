"""The quick starts of other packages, ported: our lines run, and answer what theirs did."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from golden import FOLDER, sets

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"


def test_the_ported_quick_starts_answer_what_the_peers_do():
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this distribution")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    theirs = json.loads((FOLDER / "quick-starts.json").read_text())
    ported = [block for block in blocks if "exactcp" in block]
    assert len(ported) == len(theirs) == 22
    names: dict[str, object] = {}
    answers = iter(theirs)
    for block in blocks:
        exec(block, names)  # each goes on where the one before ended
        for name, expected in (next(answers) if "exactcp" in block else {}).items():
            ours = np.asarray(names[name])[:20]  # as many rows are kept
            if name == "sets":
                np.testing.assert_array_equal(ours, sets(expected), err_msg=block)
            else:  # BLAS differs between machines
                np.testing.assert_allclose(ours, expected, rtol=1e-7, err_msg=block)
