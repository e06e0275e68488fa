"""Run the suites that try the package hard, and write the numbers they measure into docs/reliability.md.

python tools/reliability.py            # the slow lane, an hour or more
python tools/reliability.py --quick    # what the normal lane tries
python tools/reliability.py --keep     # only write the page anew, from the numbers of the last run
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reliability.md"
NUMBERS = ROOT / "build" / "reliability.jsonl"
START, END = "<!-- numbers: written by tools/reliability.py -->", "<!-- end of numbers -->"
SUITES = [
    "measures/test_updates.py",
    "contracts/test_interruptions.py",
    "mutants/test_mutants.py",
    "contracts/test_inputs.py",
]


def run(*, quick: bool) -> int:
    """Run the suites; return pytest's exit code."""
    NUMBERS.parent.mkdir(exist_ok=True)
    NUMBERS.unlink(missing_ok=True)
    lane = ["-m", "not slow"] if quick else ["-m", "slow or not slow"]
    suites = [str(ROOT / "tests" / suite) for suite in SUITES]
    program = [sys.executable, "-m", "pytest", "-q", *lane, *suites]
    return subprocess.run(program, cwd=ROOT, env={**os.environ, "EXACTCP_RECORD": str(NUMBERS)}, check=False).returncode


def table(lines: Iterable[str], day: date) -> list[str]:
    """Return a table of the recorded numbers."""
    sums: dict[str, float] = defaultdict(float)
    largest: dict[str, float] = defaultdict(float)
    where: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        one = json.loads(line)
        sums[one["what"]] += one["number"]
        largest[one["what"]] = max(largest[one["what"]], one["number"])
        where[one["what"]].add(one["where"])
    rows = [
        f"Measured on {day:%d %B %Y}.",
        "",
        "| what | how often, or how much | in how many places |",
        "|---|---|---|",
    ]
    for what in sorted(sums):
        number = f"{largest[what]:.1e}" if what.startswith("largest") else f"{int(sums[what]):,}"
        rows.append(f"| {what} | {number} | {len(where[what])} |")
    return rows


def write(rows: list[str]) -> None:
    """Put the table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{START}\n\n" + "\n".join(rows) + f"\n\n{END}{after}", encoding="utf-8")


def main() -> int:
    """Run, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    code = 0 if chosen.keep else run(quick=chosen.quick)
    if code == 0:
        with NUMBERS.open(encoding="utf-8") as lines:
            write(table(lines, date.fromtimestamp(NUMBERS.stat().st_mtime)))
    return code


if __name__ == "__main__":
    sys.exit(main())
