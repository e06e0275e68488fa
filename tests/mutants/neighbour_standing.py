"""Mutants of trees that follow learning and unlearning: newcomers, holes, names, widened bounds, merged scores."""

from __future__ import annotations

from mutants import Family, Mutant

FILE = "measures/neighbours/test_standing_trees.py"
STEPS = tuple(
    f"{FILE}::test_any_step_leaves_counts_of_brute_force_and_trees_that_hold[{case}]"
    for case in ("grid-a tiny one-KNN 3", "normal-two-KNN 3")
)
MERGED = (f"{FILE}::test_changes_are_merged_with_the_scores_in_order",)
SHARED = (f"{FILE}::test_copies_pickles_and_threads_see_what_there_was",)
WHEN = (f"{FILE}::test_trees_follow_when_enough_has_been_asked_and_changed",)
STANDING, CHANGES = "measures/neighbours/kernels/standing.py", "measures/neighbours/kernels/tree_changes.py"

FAMILY = Family(
    tests=STEPS,
    compiled=False,
    mutants={
        "a radius stays what it was": Mutant(
            STANDING,
            "cones.radius[leaf, j], cones.slope[leaf, j], cones.score[leaf, j] = radius, slope, score",
            "cones.slope[leaf, j], cones.score[leaf, j] = slope, score",
        ),
        "nodes keep their radius": Mutant(STANDING, "max(own[0], radius)", "own[0]"),
        "nodes keep their slope": Mutant(STANDING, "min(own[1], slope)", "own[1]"),
        "nodes keep their least score": Mutant(STANDING, "min(own[2], score)", "own[2]"),
        "nodes keep their largest score": Mutant(STANDING, "max(own[3], score)", "own[3]"),
        "only the leaf's node is widened": Mutant(
            STANDING,
            "        node = parents[node]\n\n\n@inner\ndef _widen_balls",
            "        node = -1\n\n\n@inner\ndef _widen_balls",
        ),
        "widening ends too early": Mutant(
            STANDING, "own[0] >= radius and own[1] <= slope and own[2] <= score <= own[3]", "own[0] >= radius"
        ),
        "one cone follows, not both": Mutant(
            STANDING,
            "    for relation in range(sums.shape[0]):\n        radius",
            "    for relation in range(1):\n        radius",
        ),
        "balls stay small": Mutant(STANDING, "        balls.limits[leaf, j] = limit\n", ""),
        "ball nodes stay small": Mutant(STANDING, "        largest[node] = limit\n", ""),
        "newcomers' balls have no limit": Mutant(
            STANDING, "        following.limits[leaf, j] = limit\n", "        pass\n"
        ),
        "newcomers are not among the nearest": Mutant(
            STANDING, "        if loose.label[leaf] != label:\n", "        if True:\n"
        ),
        "newcomers do not change sides": Mutant(
            "measures/neighbours/kernels/cones.py", "(loose.label[leaf] == label) == (relation == 0)", "False"
        ),
        "newcomers' lists are not entered": Mutant(
            STANDING,
            "    points, names = loose.points, loose.slot\n    for leaf in range(loose.used[0]):\n",
            "    points, names = loose.points, loose.slot\n    for leaf in range(0):\n",
        ),
        "who is gone is near": Mutant(STANDING, "        _empty(homes[NEAR, i], near.points, near.slot)\n", ""),
        "who is gone changes sides": Mutant(
            STANDING, "            _empty(homes[CONES + relation, i], asked.points, asked.slot)\n", "            pass\n"
        ),
        "who is gone has lists": Mutant(STANDING, "        _empty(homes[BALL, i], balls.points, balls.slot)\n", ""),
        "a newcomer that is gone is near": Mutant(
            STANDING,
            "        _empty(homes[NEWCOMER, i], standing.loose.points, standing.loose.slot)\n",
            "        pass\n",
        ),
        "who moves keeps its name": Mutant(STANDING, "        _rename(homes[NEAR, source], target, near.slot)\n", ""),
        "who moves has no home": Mutant(STANDING, "    homes[:, target] = homes[:, source]\n", ""),
        "who moves keeps its note": Mutant(
            STANDING, "        place[target], place[source] = place[source], -1\n", "        pass\n"
        ),
        "entrances stay": Mutant(CHANGES, "        entrances[relation, i] = entrance_of(", "        entrance_of("),
        "an entrance moves not": Mutant(
            "measures/neighbours/kernels/learning.py",
            "examples.entrances[relation, target] = examples.entrances[relation, source]",
            "pass",
        ),
        "a list is made anew with itself": Mutant(CHANGES, "length = remove(longer, length, 0.0)", "pass"),
        "a list is made anew with who goes": Mutant(
            CHANGES, "min(remove(longer, length, distances[i]), width)", "min(length, width)"
        ),
        "gone scores count": Mutant(CHANGES, "scores[slot], math.nan, ranked)", "scores[slot], scores[slot], ranked)"),
        "changed scores are not noted": Mutant(
            CHANGES, "            note_change(i, codes[i], before[r], scores[i], ranked)\n", "            pass\n"
        ),
        "trees are never outgrown": Mutant(
            "measures/neighbours/_standing.py",
            "following.changes[0] >= following.changes[1]",
            "following.changes[0] > 10 * following.changes[1]",
        ),
        "merged scores keep what is gone": Mutant(
            "measures/neighbours/kernels/ranked.py", "gone[left] == own[i]", "gone[left] == -own[i]", MERGED
        ),
        "a copy shares its trees": Mutant(
            "measures/neighbours/_standing.py",
            "        return copied_trees(self.trees)\n",
            "        return self.trees\n",
            SHARED,
        ),
        "trees follow at once": Mutant(
            "measures/neighbours/_lists_by_trees.py", "if not search.is_worth_trees(1 + search.credit) or", "if", WHEN
        ),
        "who is too far is followed": Mutant(
            CHANGES,
            "if not place(x, near, z) or not has_place(",
            "place(x, near, z)\n    if not has_place(",
            WHEN,
        ),
    },
)
