"""Mutants of the forest: the first seven are the traps of taking the test example into a tree that is grown already."""

from __future__ import annotations

from mutants import Family, Mutant

UPDATES = ("measures/forest/test_forest.py::test_learning_and_unlearning_equal_the_textbook",)
MANY_UPDATES = ("measures/forest/test_forest.py::TestBernoulliUpdates::test_learning_one_by_one_equals_a_fit_on_all",)
FORKS = ("measures/forest/test_forest_bag.py::test_a_fork_changes_alone_and_equals_a_fresh_bag",)
INTERRUPTIONS = ("measures/forest/test_forest_interrupted.py::test_classifiers",)

FAMILY = Family(
    tests=("measures/forest/test_forest.py::test_small_problems_equal_the_textbook",),
    compiled=False,
    mutants={
        "extremes": Mutant("measures/forest/kernels/cuts.py", ">= least\n    at_best", ">= np.inf\n    at_best"),
        "gap": Mutant("measures/forest/kernels/walk.py", "gap = kept[e, LO] < code < kept[e, HI]", "gap = False"),
        "constant features": Mutant(
            "measures/forest/kernels/cuts.py",
            "if not (near or isolating):",
            "if desk.highest[candidate] < 0 or not (near or isolating):",
        ),
        "fallback": Mutant("measures/forest/kernels/walk.py", "kind in (PURE_LEAF, FALLBACK)", "kind == PURE_LEAF"),
        "weight": Mutant("measures/forest/kernels/grow.py", "mine, best, w, desk", "mine, best, min(w, 1), desk"),
        "empty root": Mutant(
            "measures/forest/kernels/walk.py",
            "and node[v, USERS_END] > node[v, USERS]:",
            "and node[v, USERS_END] > node[v, USERS] and node[v, ROWS_END] > node[v, ROWS]:",
        ),
        "pure leaf": Mutant(
            "measures/forest/kernels/walk.py", "if kind != PURE_LEAF or y != label:", "if kind != PURE_LEAF:"
        ),
        "floor": Mutant(
            "measures/forest/kernels/cuts.py", "desk.floor[y] = min(pl, pr)", "desk.floor[y] = max(pl, pr) + 0.05"
        ),
        "ties of cuts, right": Mutant(
            "measures/forest/kernels/walk.py",
            "counts[y] - own, w)\n                if here > value[j]:",
            "counts[y] - own, w)\n                if here >= value[j]:",
        ),
        "ties of cuts, left": Mutant(
            "measures/forest/kernels/walk.py",
            "own, SR, right, w)\n                if here > value[j]:",
            "own, SR, right, w)\n                if here >= value[j]:",
        ),
        "unsplittable leaf": Mutant(
            "measures/forest/kernels/walk.py", "not _equals_node(examples, trees, v, u)", "False"
        ),
        "memo's side": Mutant(
            "measures/forest/kernels/votes.py",
            "if event[FORM] == GOES_LEFT else memo",
            "if event[FORM] != GOES_LEFT else memo",
        ),
        "bounds": Mutant("measures/forest/kernels/votes.py", "if (lowest <= a < highest)", "if (lowest < a < highest)"),
        "doubt": Mutant(
            "measures/forest/kernels/votes.py",
            "tally[i, LOSE if right else GAIN] += 1",
            "tally[i, GAIN if right else LOSE] += 1",
        ),
        "same examples": Mutant(
            "measures/forest/kernels/grow.py", "if before < 0 or node", "if before < 0 and node", UPDATES
        ),
        "rows that left": Mutant(
            "measures/forest/_rank_codes.py", "np.delete(self.codes", "np.copy(self.codes", UPDATES
        ),
        "codes of old cuts": Mutant(
            "measures/forest/_trees.py", "return tree._replace(kept=kept)", "return tree", MANY_UPDATES
        ),
        "arrival numbers": Mutant(
            "measures/forest/_forest_bag.py",
            "self._codes[kept], self._arrivals[kept]",
            "self._codes[kept], np.arange(kept.size)",
            UPDATES,
        ),
        "first trees": Mutant(
            "measures/forest/_resampling.py",
            "absent = samples == 0\n",
            "absent = samples == 0\n    absent[: len(absent) - 4 * n_estimators // 3] &= False\n",
        ),
        "a fork that is none": Mutant("_changes.py", "return copy.copy(self)", "return self", INTERRUPTIONS),
        "ranks in place": Mutant("measures/forest/_rank_codes.py", "more = copy.copy(self)", "more = self", FORKS),
        "fewer ranks in place": Mutant(
            "measures/forest/_rank_codes.py", "fewer = copy.copy(self)", "fewer = self", FORKS
        ),
    },
)
