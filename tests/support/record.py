"""Numbers that the suites measure on their way, for the page on reliability: see `tools/reliability.py`."""

from __future__ import annotations

import json
import os
from pathlib import Path


def record(what: str, where: str, number: float) -> None:
    """Note a number in the file that the environment variable EXACTCP_RECORD names, if there is one."""
    path = os.environ.get("EXACTCP_RECORD")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"what": what, "where": where, "number": number}) + "\n")
