"""Print how often a p-value changes file on its way: the fewer, the sooner a reader has followed it.

python tools/walk.py            # a table
python tools/walk.py k-NN       # the files of one walk, in their order, and what is called in each

A call is repeated until it takes the way that it took before, so that nothing is imported, compiled or put in order
on it. A step is a call of a Python function of the package; a change of file is a step into another file than the one
before.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

import exactcp
from exactcp import ExchangeabilityTest, FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN, LSSVM, KNNResidual, RandomForest

PACKAGE = Path(exactcp.__file__).parent
RNG = np.random.default_rng(0)
X, TEST = RNG.normal(size=(200, 5)), RNG.normal(size=(3, 5))
LABELS = np.arange(200) % 2


def files_of(walk: Callable[[], Any]) -> list[tuple[str, list[str]]]:
    """Return the files that a call goes through, each as often as it is entered, with the functions called there."""
    entered = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            file = Path(frame.f_code.co_filename).relative_to(PACKAGE)
            entered.append((str(file), frame.f_code.co_qualname.replace(".<locals>", "")))

    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return [(file, [name for _, name in calls]) for file, calls in groupby(entered, itemgetter(0))]


def usual_files(walk: Callable[[], Any]) -> list[tuple[str, list[str]]]:
    """Return the files that a call goes through when it is made again and again."""
    before, files = None, files_of(walk)
    while files != before:
        before, files = files, files_of(walk)
    return files


def walks() -> dict[str, tuple[Callable[[], Any], Callable[[], Any] | None]]:
    """Return the calls: a prediction, or a step of a stream, and the fit before it."""
    made: dict[str, tuple[Callable[[], Any], Callable[[], Any] | None]] = {}
    for name, measure in {
        "k-NN": KNN(k=5),
        "forest": RandomForest(n_estimators=5, random_state=0),
        "LS-SVM": LSSVM(),
    }.items():
        clf = FullConformalClassifier(measure, n_jobs=1).fit(X, LABELS)
        made[name] = (lambda clf=clf: clf.predict_p(TEST), lambda clf=clf: clf.fit(X, LABELS))
    reg = FullConformalRegressor(KNNResidual(k=5), n_jobs=1).fit(X, X[:, 0])
    made["k-NN regression"] = (lambda: reg.predict_interval(TEST), lambda: reg.fit(X, X[:, 0]))
    stream = ExchangeabilityTest(KNN(k=5), random_state=0)
    stream.update_many(X[:100], LABELS[:100])
    made["stream step"] = (lambda: stream.update(X[100], LABELS[100]), None)
    return made


def main() -> None:
    """Print the table, or one walk."""
    warnings.simplefilter("ignore")
    chosen, write = sys.argv[1:], sys.stdout.write
    if not chosen:
        write(f"{'':18}{'prediction':>12}{'fit':>8}\n")
    for name, (predict, fit) in walks().items():
        if chosen and name not in chosen:
            continue
        found = [usual_files(walk) for walk in (predict, fit) if walk is not None]
        if chosen:
            for number, (file, calls) in enumerate(found[0]):
                write(f"{number:4} {file}: {', '.join(dict.fromkeys(calls))}\n")
        else:
            write(f"{name:18}{len(found[0]) - 1:12}" + "".join(f"{len(files) - 1:8}" for files in found[1:]) + "\n")


if __name__ == "__main__":
    main()
