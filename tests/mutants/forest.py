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
        "gap": Mutant("measures/forest/kernels/walk.py", "gap = lo < code < hi", "gap = False"),
        "constant features": Mutant(
            "measures/forest/kernels/cuts.py",
            "if not (near or isolating):",
            "if highest < 0 or not (near or isolating):",
        ),
        "fallback": Mutant(
            "measures/forest/kernels/walk.py", "outcome in (PURE_LEAF, FALLBACK)", "outcome == PURE_LEAF"
        ),
        "weight": Mutant(
            "measures/forest/kernels/grow.py",
            "weights, best, plan.star_weight, workspace",
            "weights, best, min(plan.star_weight, 1), workspace",
        ),
        "empty root": Mutant(
            "measures/forest/kernels/walk.py",
            'and node["users_end"] > node["users"]:',
            'and node["users_end"] > node["users"] and node["rows_end"] > node["rows"]:',
        ),
        "pure leaf": Mutant(
            "measures/forest/kernels/walk.py", "if outcome != PURE_LEAF or y != label:", "if outcome != PURE_LEAF:"
        ),
        "floor": Mutant("measures/forest/kernels/cuts.py", "floor[y] = min(pl, pr)", "floor[y] = max(pl, pr) + 0.05"),
        "ties of cuts, right": Mutant(
            "measures/forest/kernels/walk.py",
            'counts[y] - own, w)\n                if here > winner["value"]:',
            'counts[y] - own, w)\n                if here >= winner["value"]:',
        ),
        "ties of cuts, left": Mutant(
            "measures/forest/kernels/walk.py",
            'own, SR, right, w)\n                if here > winner["value"]:',
            'own, SR, right, w)\n                if here >= winner["value"]:',
        ),
        "unsplittable leaf": Mutant(
            "measures/forest/kernels/walk.py", "not _equals_node(examples, trees, v, u)", "False"
        ),
        "memo's side": Mutant(
            "measures/forest/kernels/votes.py",
            'if event["form"] == GOES_LEFT else memo',
            'if event["form"] != GOES_LEFT else memo',
        ),
        "bounds": Mutant("measures/forest/kernels/tally.py", "if (lowest <= a < highest)", "if (lowest < a < highest)"),
        "doubt": Mutant(
            "measures/forest/kernels/tally.py",
            'elif right:\n                known[i]["may_lose"] += 1',
            'elif not right:\n                known[i]["may_lose"] += 1',
        ),
        "same examples": Mutant(
            "measures/forest/kernels/grow.py",
            'if node["rows_end"] - node["rows"] != former["rows_end"] - former["rows"]:',
            "if before < 0:",
            UPDATES,
        ),
        "rows that left": Mutant(
            "measures/forest/_rank_codes.py", "np.delete(self.codes", "np.copy(self.codes", UPDATES
        ),
        "codes of old cuts": Mutant(
            "measures/forest/_trees.py", "return tree._replace(cuts=cuts)", "return tree", MANY_UPDATES
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
        "a fork that is none": Mutant("_changes.py", "bag: Self = twin(self)", "bag: Self = self", INTERRUPTIONS),
        "ranks in place": Mutant("measures/forest/_rank_codes.py", "more = copy.copy(self)", "more = self", FORKS),
        "fewer ranks in place": Mutant(
            "measures/forest/_rank_codes.py", "fewer = copy.copy(self)", "fewer = self", FORKS
        ),
    },
)
