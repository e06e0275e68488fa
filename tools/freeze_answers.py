"""Freeze the answers of this commit, or compare with those that are frozen: `python tools/freeze_answers.py --check`.

Without `--check` they are written anew, which needs a sentence in the CHANGELOG. Kinds of answers may be named, and
`--only TEXT` keeps the cases whose name has the text; `--list` prints what is covered, a line for each operation.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]

from frozen_cases import KINDS, every_case  # noqa: E402
from frozen_store import Case, Store, asked, faults_of, name_of, thin  # noqa: E402


def say(text: str) -> None:
    """Print text."""
    sys.stdout.write(text)
    sys.stdout.flush()


def write(kind: str, cases: list[Case]) -> None:
    """Write the answers of a kind anew; say where a route or a history has its own."""
    store = Store(kind)
    store.lines.clear()
    for case in cases:
        for operation, answer in asked(case).items():
            how = store.add(case, operation, answer)
            if how is not None and case.route != "float32":  # whose objects are others
                say(f"its own: {name_of(case, operation)}: {how}\n")
    store.save()
    say(f"{store.path.name}: {len(store.lines)} answers, {store.path.stat().st_size:,} bytes\n")


def check(kind: str, cases: list[Case], *, bits: bool, is_whole: bool) -> int:
    """Print which answers are others than the frozen ones; return how many."""
    store = Store(kind)
    faults = [fault for case in cases for fault in faults_of(case, store, bits=bits)]
    faults += [f"{kind} | {key}: is frozen, and nobody asks" for key in store.left_over() if is_whole]
    say("".join(f"{fault}\n" for fault in faults))
    return len(faults)


def main() -> None:
    """Write, compare or list; fail where something differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all if none is named")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--list", action="store_true", help="print what is covered, and ask nothing")
    parser.add_argument("--thin", action="store_true", help="compare the slice of the normal lane only")
    parser.add_argument("--only", default="", metavar="TEXT", help="compare the cases whose name has the text")
    parser.add_argument("--bits", action="store_true", help="give no tolerance: on the machine that has written them")
    options = parser.parse_args()
    unknown = set(options.kinds) - set(KINDS)
    if unknown:
        parser.error(f"unknown kinds {sorted(unknown)}: choose from {', '.join(KINDS)}")
    if not (options.check or options.list) and (options.only or options.thin):
        parser.error("answers of a kind are written all together: add --check, or leave --only and --thin out")
    n_faults = 0
    for kind in options.kinds or KINDS:
        cases = [case for case in every_case(kind) if options.only in name_of(case, " | ".join(case.operations))]
        cases = thin(cases) if options.thin else cases
        if options.list:
            say("".join(f"{name_of(case, operation)}\n" for case in cases for operation in case.operations))
            continue
        start = time.process_time()
        is_whole = not (options.only or options.thin)
        if options.check:
            n_faults += check(kind, cases, bits=options.bits, is_whole=is_whole)
        else:
            write(kind, cases)
        n = sum(len(case.operations) for case in cases)
        say(f"{kind}: {len(cases)} cases, {n} answers, {time.process_time() - start:.0f} s\n")
    if n_faults:
        sys.exit(f"{n_faults} answers are not the frozen ones.")


if __name__ == "__main__":
    main()
