"""Lines of the package broken on purpose, one at a time: the tests must notice each.

`python -m pytest -m slow tests/mutants/test_mutants.py` runs every mutant of every family in a process of its own, on a copy of
the package with compiled code of its own. `-k neighbours` runs one family, `-k "extremes"` one mutant.

To add a family, write `tests/mutants/<family>.py` with a `FAMILY`:

    FAMILY = Family(
        tests=("test_x.py", "test_y.py::test_z"),
        mutants={"what is broken": Mutant("measures/family/kernels/a_file.py", "the line as it is", "the line broken")},
    )

It is found by its place. `tests` are what pytest is given, below `tests/`: few and fast ones that pass on the package
as it is. They stop at the first failure, so put the keenest first. A mutant may name tests of its own. The old text
must occur once in its file, which the normal lane checks, so that no table goes stale. Where the tests can do without
compiled code, `compiled=False` spares minutes a mutant; distances are then summed in plain Python, see `conftest.py`.
A mutant that cannot be noticed, because the answer is the same, says why in `survives`, and must then survive.
"""

from __future__ import annotations

from typing import NamedTuple


class Mutant(NamedTuple):
    """One line, broken."""

    file: str  # below src/exactcp
    old: str
    new: str
    tests: tuple[str, ...] = ()  # instead of the family's
    survives: str = ""  # why no test can notice it


class Family(NamedTuple):
    """Mutants of files that belong together."""

    tests: tuple[str, ...]
    mutants: dict[str, Mutant]
    compiled: bool = True
