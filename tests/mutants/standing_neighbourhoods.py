"""Mutants of trees that follow the neighbourhoods of k-NN regression: entrances, lists made anew, orders merged."""

from __future__ import annotations

from mutants import Family, Mutant

FILE = "measures/neighbours/test_standing_neighbourhoods.py"
STEPS = tuple(f"{FILE}::test_any_step_leaves_what_brute_force_has[{case}]" for case in ("grid-3", "normal-1"))
SIZES = (f"{FILE}::test_sizes_are_merged_into_their_order",)
FAR = (f"{FILE}::test_trees_are_forgotten_when_somebody_too_far_comes",)
TREES, MEMBERS = "measures/neighbours/kernels/neighbourhood_trees.py", "measures/neighbours/kernels/tree_members.py"
BAG, TARGETS = "measures/neighbours/_neighbourhood_bag.py", "measures/neighbours/_target_bag.py"

FAMILY = Family(
    tests=STEPS,
    compiled=False,
    mutants={
        "an entrance is the k-th": Mutant(
            TREES, "max(state.values[i, state.lengths[i] - 1], state.boundary[i])", "state.boundary[i]"
        ),
        "who is concerned is not": Mutant(TREES, "d <= _entrance(i, state)", "d < _entrance(i, state)"),
        "a list is made anew with itself": Mutant(
            TREES, "if walk.slots[j] != own and walk.slots[j] != gone:", "if walk.slots[j] != gone:"
        ),
        "a list is made anew with who goes": Mutant(
            TREES, "if walk.slots[j] != own and walk.slots[j] != gone:", "if walk.slots[j] != own:"
        ),
        "a list is made anew without who comes": Mutant(TREES, "if comes and own < n:", "if False:"),
        "too few are looked at": Mutant(
            TREES, "note_members(centre, width + 2, objects", "note_members(centre, k, objects"
        ),
        "balls do not follow who goes": Mutant(
            TREES,
            "    _follow_balls(revised.slots, arrays.state, standing, following, spare)\n    leave_trees",
            "    leave_trees",
        ),
        "newcomers have no balls": Mutant(
            TREES,
            "    _follow_balls(revised.slots, arrays.state, standing, following, spare)\n\n\n",
            "    _follow_balls(revised.slots[:-1], arrays.state, standing, following, spare)\n\n\n",
        ),
        "who is gone stays in trees": Mutant(TREES, "    leave_trees(slot, standing, following)\n", ""),
        "names stay": Mutant(TREES, "    rename(last, slot, standing, following)\n", ""),
        "newcomers at the boundary are not found": Mutant(
            MEMBERS,
            "    return _note_loose_within(x, limit, d, objects, loose, walk, used)\n",
            "    return used\n",
        ),
        "newcomers are not touched": Mutant(
            MEMBERS,
            "    return note_loose_balls(walk.z, x, objects, loose, limits, walk.slots, walk.distances, found)\n",
            "    return found\n",
        ),
        "a copy shares its trees": Mutant(BAG, "prepared.trees_apart()", "prepared.trees"),
        "who is too far is followed": Mutant(
            BAG,
            "if trees is not None and can_take(x[0], trees[0], coordinates[0]):",
            "if trees is not None and (can_take(x[0], trees[0], coordinates[0]) or True):",
            FAR,
        ),
        "the order keeps what has changed": Mutant(
            TARGETS, "values[:common] != before[:common]", "values[:common] < before[:common]", SIZES
        ),
        "the order lacks who came": Mutant(TARGETS, "own[changed], own[common:]", "own[changed], own[:0]", SIZES),
    },
)
