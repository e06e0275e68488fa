"""Print the contests, and write the page: `python -m benchmarks.peers --help`."""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path

from benchmarks.peers.contests import TASKS
from benchmarks.peers.page import write_page
from benchmarks.peers.results import QUICK, Plan, lines, run


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="Ours / theirs, side by side.")
    parser.add_argument("contests", nargs="*", metavar="CONTEST", help=f"all, or some of {', '.join(TASKS)}")
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer draws, no memory")
    parser.add_argument("--page", type=Path, help="also write this page; its pictures go to _static beside it")
    parser.add_argument("--keep", type=Path, help="a file of results, from which a later run goes on")
    asked = parser.parse_args()
    found = pickle.loads(asked.keep.read_bytes()) if asked.keep is not None and asked.keep.exists() else {}
    for name in asked.contests or TASKS:
        if name not in found:
            found[name] = run(QUICK if asked.quick else Plan(), name)
            print("\n".join(lines(found[name])), flush=True)
            if asked.keep is not None:
                asked.keep.write_bytes(pickle.dumps(found))
    if asked.page is not None:
        write_page(asked.page, [found[name] for name in TASKS if name in found])


if __name__ == "__main__":
    main()
