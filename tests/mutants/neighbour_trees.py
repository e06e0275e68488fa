"""Mutants of exact trees: the float32 allowance, boxes, cones, walks, and what is forgotten with a change."""

from __future__ import annotations

from mutants import Family, Mutant

TREES = "measures/neighbours/test_neighbour_trees.py"
COUNTS = tuple(
    f"{TREES}::test_lists_and_counts_are_those_of_brute_force[{kind}-{labels}-{measure}]"
    for kind, labels in (("grid", "two"), ("grid", "a tiny one"), ("normal", "two"), ("finer than float32", "five"))
    for measure in ("KNN 4", "SimplifiedKNN 3")
)
LIMITS = ("geometry/test_trees.py::test_no_limit_drops_a_pair_that_is_as_close",)
GROWN = ("geometry/test_trees.py::test_every_point_is_in_its_tree_once_and_every_node_bounds_its_points",)
FAR = tuple(
    f"{TREES}::test_lists_and_counts_are_those_of_brute_force[{kind}-two-KNN 4]" for kind in ("normal", "outliers")
)
EMPTY = tuple(
    f"measures/test_equals_textbook.py::test_label_counts_on_every_path[tree-{measure}-{problem}]"
    for measure in ("KNN 3", "SimplifiedKNN 2")
    for problem in ("singleton label", "one of each label", "ten labels")
)
KEPT = (f"{TREES}::test_trees_go_with_a_change_until_enough_has_been_asked",)
STREAMS = (
    *(f"{TREES}::test_streams_are_those_of_brute_force[{kind}-KNN 4-five]" for kind in ("grid", "normal")),
    f"{TREES}::test_streams_are_those_of_brute_force[normal-KNN 4-a tiny one]",
    f"{TREES}::test_a_stream_goes_the_faster_way[True]",
)
CONTRACTED = tuple(
    f"geometry/test_contraction.py::test_no_limit_drops_a_pair_that_is_as_close[{kind}-8-{q}-False]"
    for kind in ("normal", "grid", "flat")
    for q in (1, 7)
)
LISTS = ("measures/neighbours/test_lane_lists.py",)
CONES = "measures/neighbours/kernels/cones.py"

FAMILY = Family(
    tests=COUNTS,
    compiled=False,
    mutants={
        "no room for rounded coordinates": Mutant(
            "geometry/trees.py",
            "return 2 * ULP * math.sqrt(squared) + units.least_room",
            "return units.least_room",
            LIMITS,
        ),
        "no room for squares that vanish": Mutant(
            "geometry/trees.py",
            "return 2 * ULP * math.sqrt(squared) + units.least_room",
            "return 2 * ULP * math.sqrt(squared)",
            LIMITS,
        ),
        "sums of squares do not round": Mutant("geometry/trees.py", "1.0 + (q + 8) * ULP", "1.0", LIMITS),
        "rows are never too far": Mutant(
            "geometry/trees.py",
            "return squared < FARTHEST * FARTHEST",
            "return True",
            FAR,
            survives="squares that overflow are infinite, and so are their limits: all is measured, which takes longer",
        ),
        "the rest of a row is longer": Mutant(
            "geometry/contraction.py",
            "z[q] = np.float32(math.sqrt(rest))",
            "z[q] = np.float32(1.05 * math.sqrt(rest))",
            CONTRACTED,
        ),
        "the rest of an example is longer": Mutant(
            "geometry/contraction.py",
            'np.sqrt(np.einsum("ij,ij->i", rest, rest))])',
            '1.05 * np.sqrt(np.einsum("ij,ij->i", rest, rest))])',
            CONTRACTED,
        ),
        "columns stretch a row": Mutant(
            "geometry/contraction.py", "np.float32(inside[j])", "np.float32(1.001 * inside[j])", CONTRACTED
        ),
        "the rest has what is in the columns": Mutant(
            "geometry/contraction.py", "v -= basis[f, j] * inside[j]", "v += basis[f, j] * inside[j]", CONTRACTED
        ),
        "who comes is contracted by other columns": Mutant(
            "geometry/contraction.py",
            "inside[j] += basis[f, j] * v",
            "inside[j] += basis[f, q - 1 - j] * v",
            CONTRACTED,
        ),
        "a box ends where it begins": Mutant(
            "geometry/trees.py", "z[f] - box[node, 1, f]", "z[f] - box[node, 0, f]", LIMITS
        ),
        "a node's slope is its steepest": Mutant(
            "geometry/growing.py", "min(slope, asking.slope[i])", "max(slope, asking.slope[i])", GROWN
        ),
        "a node's radius is its smallest": Mutant(
            "geometry/growing.py", "max(radius, asking.radius[i])", "min(radius, asking.radius[i])", GROWN
        ),
        "a node's cone begins at its highest score": Mutant(
            "geometry/trees.py", "max(cones[node, 2] - most, 0.0)", "max(cones[node, 3] - most, 0.0)"
        ),
        "cones are steeper": Mutant(CONES, "s * (1 - slack) * scale", "s * 1.01 * scale"),
        "cones have no room for rounding": Mutant(
            CONES,
            "s * (1 - slack) * scale",
            "s * scale",
            survives="scores tie within 1e-10: a score that rounding could move across the end of a tie band is rarer "
            "than any test",
        ),
        "cones of the own list's sum": Mutant(CONES, "s = sums[1 - relation, i]", "s = sums[relation, i]"),
        "radii are smaller": Mutant(
            CONES, "(delta + slack * (delta + sums[relation, i])) * scale", "0.7 * delta * scale"
        ),
        "ties do not change sides": Mutant(CONES, "return min(lo, TOP), hi", "return min(hi * (1 + 1e-9), TOP), hi"),
        "other labels' band the wrong way round": Mutant(
            CONES,
            "return min(1.0 / hi, TOP) if hi > 0.0 else TOP, 1.0 / lo if lo > 0.0 else math.inf",
            "return min(1.0 / lo, TOP) if lo > 0.0 else TOP, 1.0 / hi if hi > 0.0 else math.inf",
        ),
        "the own label is another label": Mutant(
            CONES, "if relation == 1 and stored.codes[i] == label:", "if relation == 2 and stored.codes[i] == label:"
        ),
        "short lists have a score": Mutant(CONES, "return math.inf, 0.0, TOP", "return math.inf, 0.0, min(u, TOP)"),
        "short lists are left out": Mutant(CONES, "return math.inf, 0.0, TOP", "return -1.0, 0.0, TOP", EMPTY),
        "an example is its own neighbour": Mutant(
            "measures/neighbours/kernels/tree_fill.py", "if leaf == other:", "if leaf == -1:"
        ),
        "the limit of a list is its first": Mutant(
            "measures/neighbours/kernels/tree_fill.py",
            "keys[j, ROOM + k - 1] * units.scale",
            "keys[j, ROOM] * units.scale",
        ),
        "the nearest label's lists are all": Mutant(
            "measures/neighbours/kernels/tree_fill.py", "n_trees if relation == 1 else 1", "min(n_trees, 2)"
        ),
        "lists without room for the k-th": Mutant(
            "measures/neighbours/kernels/lane_lists.py", "(k + ROOM - 1) // ROOM", "k // ROOM", LISTS
        ),
        "the limit of a row is its first": Mutant(
            "measures/neighbours/kernels/tree_search.py",
            "        limit = limit_of(min(bound, keys[0, ROOM + k - 1])",
            "        limit = limit_of(min(bound, keys[0, ROOM])",
        ),
        "far rows keep what trees said": Mutant(
            "measures/neighbours/_label_bag.py", "                counts[far] = some\n", "                pass\n", FAR
        ),
        "reverse trees outlive a change": Mutant(
            "measures/neighbours/_label_lists.py", '"_standing": None, "_following": None}', '"_following": None}', KEPT
        ),
        "a stream's trees outlive a change": Mutant(
            "measures/neighbours/_label_lists.py",
            "        vars(self).update(self.nothing_derived)\n        self._entrances",
            "        vars(self).update({**self.nothing_derived, '_pace': self._pace})\n        self._entrances",
            STREAMS,
        ),
        "examples since the trees were grown are not met": Mutant(
            "measures/neighbours/kernels/tree_stream.py", "start = held", "start = n", STREAMS
        ),
        "loose examples are met by one of their lists": Mutant(
            "measures/neighbours/kernels/loose.py",
            "max(entrances[0, i], entrances[entrances.shape[0] - 1, i])",
            "entrances[0, i]",
            STREAMS,
        ),
        "own lists end among the loose": Mutant(
            "measures/neighbours/kernels/loose.py", "return np.float32(np.inf)", "return np.float32(0)", STREAMS
        ),
        "loose examples too far for float32": Mutant(
            "measures/neighbours/kernels/tree_stream.py",
            "if start == held and loose.far[0] == 0:",
            "if start == held:",
            STREAMS,
        ),
        "a row finds whom the one before it touches": Mutant(
            "measures/neighbours/kernels/tree_block.py",
            "at = starts[kept.test[r] + 1]",
            "at = starts[kept.test[r]]",
            STREAMS,
        ),
        "touches without room are lost": Mutant(
            "measures/neighbours/kernels/tree_block.py", "if used > ROOM_FOR:", "if used > 10 * ROOM_FOR:", STREAMS
        ),
        "rows that are not there touch": Mutant(
            "measures/neighbours/kernels/tree_block.py",
            "largest[node]) & searched",
            "largest[node]) | searched",
            STREAMS,
        ),
        "a box has the limit of one point": Mutant(
            "measures/neighbours/kernels/tree_block.py", "node, largest[node])", "node, largest[node] / 2)", STREAMS
        ),
        "an order is that of too few scores": Mutant(
            "measures/neighbours/_streaming.py",
            "ranked=ranked, scored=n + last",
            "ranked=pace.ranked, scored=n + last",
            STREAMS,
        ),
        "scores that were count as well": Mutant(
            "measures/neighbours/kernels/ranked.py",
            "np.int64(new[r] >= lo) - np.int64(old[r] >= lo)",
            "np.int64(new[r] >= lo)",
            STREAMS,
        ),
        "a score changes once": Mutant(
            "measures/neighbours/kernels/ranked.py",
            "    ranked.new[at] = after\n",
            "        ranked.new[at] = after\n",
            STREAMS,
        ),
        "balls have no room": Mutant(
            "measures/neighbours/kernels/tree_search.py",
            "limit_of(radius[leaf, j], room_of(z, units), units.grow)",
            "0.9 * radius[leaf, j] ** 2",
            STREAMS,
        ),
        "balls of one relation": Mutant(
            "measures/neighbours/_streaming.py",
            "examples.entrances[:, :size].max(axis=0)",
            "examples.entrances[0, :size]",
            STREAMS,
        ),
        "near trees outlive a change": Mutant(
            "measures/neighbours/_search.py",
            "vars(search).update(_basis=self._basis, route=self.route, ",
            "vars(search).update(_basis=self._basis, route=self.route, _near=self._near, ",
            KEPT,
        ),
    },
)
