"""Break the forest's kernels on purpose, one line at a time, and tell which breaks the votes notice.

Run as a program with NUMBA_DISABLE_JIT=1, so that the kernels are plain Python and a changed line needs no compiling.
Prints a line for each mutant: its name, and the number of problems on which votes differ from the textbook's.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import PathFinder
from importlib.util import spec_from_loader
from pathlib import Path

# name: (kernel module, the line as it is, the line broken); FOREST 5 names the first seven
MUTANTS = {
    "none": ("forest_walk", "", ""),
    "extremes": ("forest_cuts", ">= least\n    at_best", ">= np.inf\n    at_best"),
    "gap": ("forest_walk", "gap = kept[e, LO] < code < kept[e, HI]", "gap = False"),
    "constant features": (
        "forest_cuts",
        "if not (near or isolating):",
        "if desk.highest[candidate] < 0 or not (near or isolating):",
    ),
    "fallback": ("forest_walk", "kind in (PURE_LEAF, FALLBACK)", "kind == PURE_LEAF"),
    "weight": ("forest_grow", "mine, best, w, desk", "mine, best, min(w, 1), desk"),
    "empty root": (
        "forest_walk",
        "and node[v, USERS_END] > node[v, USERS]:",
        "and node[v, USERS_END] > node[v, USERS] and node[v, ROWS_END] > node[v, ROWS]:",
    ),
    "pure leaf": ("forest_walk", "if kind != PURE_LEAF or y != label:", "if kind != PURE_LEAF:"),
    "floor": ("forest_cuts", "desk.floor[y] = min(pl, pr)", "desk.floor[y] = max(pl, pr) + 0.05"),
    "ties of cuts": ("forest_walk", "if here > value[j]:", "if here >= value[j]:"),
    "unsplittable leaf": ("forest_walk", "not _equals_node(examples, trees, v, u)", "False"),
    "memo's side": ("forest_count", "if event[FORM] == GOES_LEFT else memo", "if event[FORM] != GOES_LEFT else memo"),
    "bounds": ("forest_count", "if (lowest <= a < highest)", "if (lowest < a < highest)"),
    "doubt": ("forest_count", "tally[i, LOSE if right else GAIN] += 1", "tally[i, GAIN if right else LOSE] += 1"),
    "same examples": ("forest_grow", "if before < 0 or node", "if before < 0 and node"),
}


class Mutation(MetaPathFinder, Loader):
    """Finds and loads one module from its source with a line changed."""

    def __init__(self, module, old, new):
        self.module, self.old, self.new = f"exactcp.kernels.{module}", old, new

    def find_spec(self, name, path, target=None):
        if name != self.module:
            return None
        self.origin = PathFinder.find_spec(name, path).origin
        return spec_from_loader(name, self, origin=self.origin)

    def exec_module(self, module):
        source = Path(self.origin).read_text(encoding="utf-8")
        assert self.old in source, f"{self.old!r} is not in {self.origin}"
        exec(compile(source.replace(self.old, self.new), self.origin, "exec"), module.__dict__)


def load(*mutation):
    """Import the package afresh with one line of a kernel changed."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("exactcp", "test_forest")]:
        del sys.modules[name]
    sys.meta_path[:] = [Mutation(*mutation), *(f for f in sys.meta_path if not isinstance(f, Mutation))]
    return import_module("test_forest")


def wrong_problems(forest_tests, seeds):
    """On how many problems do votes or counts differ from the textbook's, or nothing comes out at all?"""
    wrong = 0
    import_module("exactcp.measures._forest_bag").REMEMBER_FROM = 3
    for seed in seeds:
        measure, X, y, X_test = forest_tests.make_problem(seed, largest=12)
        measure.set_params(n_estimators=min(measure.n_estimators, 2))
        try:
            fast, standard = forest_tests.pair(measure, X, y)
            forest_tests.assert_equal_votes(fast, standard, X_test)
            forest_tests.assert_equal_answers(fast, X_test[:1])
            if measure.resampling == "bernoulli":
                for clf in (fast, standard):
                    clf.partial_fit(X_test[1:] - 0.5, y[:1])
                forest_tests.assert_equal_votes(fast, standard, X_test[:1])
        except (AssertionError, IndexError, ValueError, UnboundLocalError, ZeroDivisionError):
            wrong += 1
    return wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    n_problems = int(sys.argv[1])
    for mutant, how in MUTANTS.items():
        sys.stdout.write(f"{mutant}\t{wrong_problems(load(*how), range(n_problems))}\n")
