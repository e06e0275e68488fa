"""Mutants of k-NN regression: means under the symmetric tie rule, touches, intervals, learning and unlearning."""

from __future__ import annotations

from mutants import Family, Mutant

EQUAL = "measures/neighbours/test_knn_residual.py::test_counts_and_regions_equal_the_textbook"
COUNTS = tuple(
    f"{EQUAL}[{path}-{problem}-{k}]"
    for path, problem, k in (
        ("plain", "grid with ties", 3),
        ("screened", "grid with ties", 3),
        ("plain", "random", 3),
        ("screened", "random", 3),
        ("plain", "duplicates only", 3),
    )
)
KEPT = (
    "measures/neighbours/test_knn_residual.py::test_what_a_prediction_keeps_is_forgotten_with_the_next_change",
    "measures/neighbours/test_knn_residual.py::test_the_origin_follows_the_targets",
)

FAMILY = Family(
    tests=COUNTS,
    compiled=False,
    mutants={
        "the boundary is inside": Mutant(
            "measures/neighbours/kernels/means.py",
            "        if d < boundary:\n            position",
            "        if d <= boundary:\n            position",
        ),
        "the first at the boundary": Mutant(
            "measures/neighbours/kernels/means.py",
            "return at_sum if wanted == at_count else wanted * at_sum / at_count",
            "return at_sum if wanted == at_count else at_sum",
        ),
        "inner targets in the order of arrival": Mutant(
            "measures/neighbours/kernels/means.py",
            "or (inner_distances[position - 1] == d and inner[position - 1] > y)",
            "or False",
            KEPT,
            survives="whole numbers sum the same in every order, and other data of the tests have no equal distances",
        ),
        "targets are not counted from the origin": Mutant(
            "measures/neighbours/kernels/means.py",
            "d, y = distances[j], targets[j] - origin",
            "d, y = distances[j], targets[j]",
            (f"{EQUAL}[plain-ten labels-3]",),
        ),
        "a list that may be cut at the boundary": Mutant(
            "measures/neighbours/kernels/means.py",
            "(length < k or values[length - 1] == boundary)",
            "length < k",
            (*COUNTS, "measures/neighbours/test_knn_residual.py::test_many_examples_at_the_boundary_are_all_found"),
        ),
        "its own neighbour": Mutant(
            "measures/neighbours/kernels/means.py",
            "if j in (slots[r], gone):",
            "if j == gone:",
            (
                *COUNTS,
                *KEPT,
                "measures/neighbours/test_knn_residual.py::test_many_examples_at_the_boundary_are_all_found",
            ),
        ),
        "the forgotten neighbour": Mutant(
            "measures/neighbours/kernels/means.py", "if j in (slots[r], gone):", "if j == slots[r]:", KEPT
        ),
        "one inside pushes nobody out": Mutant(
            "measures/neighbours/kernels/means.py",
            "wanted = k - inner_count - 1 if at_count > 0 else 0",
            "wanted = k - inner_count if at_count > 0 else 0",
        ),
        "the weight at the boundary": Mutant(
            "measures/neighbours/kernels/means.py",
            "weight = (k - inner_count) / (k * (at_count + 1))",
            "weight = (k - inner_count) / (k * at_count)",
        ),
        "at the boundary is outside": Mutant(
            "measures/neighbours/kernels/members.py", "keep[r] = inside[r] or low == boundary[i]", "keep[r] = inside[r]"
        ),
        "pairs that bounds do not tell": Mutant(
            "measures/neighbours/kernels/members.py",
            "if low < high and low <= boundary[i] <= high:",
            "if False:",
        ),
        "a row without its sums": Mutant(
            "measures/neighbours/kernels/means.py",
            "    state.at_count[i], state.at_sum[i] = rows.at_count[r], rows.at_sum[r]\n",
            "",
            KEPT,
        ),
        "members at the k-th distance": Mutant(
            "measures/neighbours/kernels/members.py", "if d <= boundary:", "if d < boundary:"
        ),
        "gathered members at the k-th distance": Mutant(
            "measures/neighbours/kernels/members.py", "keep[r] = distance[r] <= kth(", "keep[r] = distance[r] < kth("
        ),
        "groups without their starts": Mutant(
            "measures/neighbours/kernels/members.py", "        start[t + 1] += start[t]\n", "        pass\n"
        ),
        "the size without its slack": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "at_least += int(score + slack[i] >= lo) - int(upper[i] >= lo)",
            "at_least += int(score + slack[i] >= lo)",
        ),
        "the score at the center": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "score = abs(a - g * center[t] - g * z)",
            "score = abs(a - g * z)",
        ),
        "sorted sizes at the band's edge": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "above = size - count_below(untouched.ordered_lower, hi, True)",
            "above = size - count_below(untouched.ordered_upper, lo, True)",
        ),
        "ranks that are not taken": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "return ordered[ordered.shape[0] - 1 - rank - low]",
            "return ordered[ordered.shape[0] - 1 - rank]",
        ),
        "one extent too many": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "if extents[r - 1 - middle] <= widened(size, near):",
            "if extents[r - 1 - middle] <= size - 1:",
        ),
        "the larger of two": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "smallest = min(smallest, widened(size, near))",
            "smallest = max(smallest, widened(size, near))",
        ),
        "ends on the wrong side": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "out[0, j], out[1, j] = -left, right",
            "out[0, j], out[1, j] = right, -left",
        ),
        "equal distances do not enter": Mutant(
            "measures/neighbours/kernels/neighbourhoods.py",
            "or distances[i] <= state.boundary[i]:",
            "or distances[i] < state.boundary[i]:",
            KEPT,
            survives="a distance at the boundary is at most the last of the list, which enters before",
        ),
        "the newcomer in the list, not in the sums": Mutant(
            "measures/neighbours/kernels/neighbourhoods.py",
            "return d > rows.boundary[r] or sum_up_list(r, own, n + 1, k, rows)",
            "return d >= rows.boundary[r] or sum_up_list(r, own, n + 1, k, rows)",
            KEPT,
        ),
        "another's target is removed": Mutant(
            "measures/neighbours/kernels/neighbourhoods.py",
            "if values[position] == d and partners[position] == target:",
            "if values[position] == d:",
            KEPT,
        ),
        "the moved target": Mutant(
            "measures/neighbours/kernels/neighbourhoods.py",
            "    arrays.targets[slot] = arrays.targets[last]\n",
            "",
            KEPT,
        ),
        "the moved example's order": Mutant(
            "measures/neighbours/kernels/learning.py",
            "                    order[j] = new\n",
            "                    order[j] = old\n",
            KEPT,
        ),
        "sorted sizes outlive a change": Mutant(
            "measures/neighbours/_target_bag.py",
            "        self._untouched = None\n",
            "        pass\n",
            KEPT,
        ),
        "the origin outlives a change": Mutant(
            "measures/neighbours/_target_bag.py",
            "        self._has_origin = False  #",
            "        self._has_origin = hasattr(self, '_has_origin')  #",
            ("measures/neighbours/test_knn_residual.py::test_the_origin_follows_the_targets",),
        ),
        "a fork overwrites what it shares": Mutant(
            "measures/neighbours/_neighbourhood_bag.py",
            "self._store, _owns_arrays=False, _trees=self._trees)",
            "self._store, _owns_arrays=True, _trees=self._trees)",
            KEPT,
        ),
        "a copy shares the neighbourhoods that have room": Mutant(
            "measures/neighbours/_neighbourhood_bag.py",
            "state=with_arrays(arrays.state, lambda array: copied_with_room(array, room)),",
            "state=with_arrays(arrays.state, lambda a: copied_with_room(a, room) if len(a) < room else a),",
            ("measures/neighbours/test_knn_residual.py::test_a_fork_changes_no_neighbourhood_of_its_origin",),
        ),
        "a residual where the test object is always a neighbour": Mutant(
            "measures/neighbours/kernels/means.py",
            "state.residual[i] = residual if boundary < math.inf else -math.inf",
            "state.residual[i] = residual",
            (
                "measures/neighbours/test_knn_residual.py::test_no_residual_is_known_where_a_test_object_is_always_a_neighbour",
            ),
        ),
        "pieces at the boundary": Mutant(
            "measures/neighbours/kernels/means.py",
            "if distances[i] > state.boundary[i]:",
            "if distances[i] >= state.boundary[i]:",
            ("measures/neighbours/test_knn_residual.py::test_categories_see_a_test_object_at_the_boundary",),
        ),
        "the farthest does not enter a list of all": Mutant(
            "measures/neighbours/kernels/neighbourhoods.py",
            "if length == n - 1 or distances[i] <= state.values",
            "if distances[i] <= state.values",
            ("measures/neighbours/test_knn_residual.py::test_a_list_of_all_others_takes_up_the_farthest",),
        ),
        "one fewer is left": Mutant(
            "measures/neighbours/kernels/neighbourhoods.py",
            "or sum_up_list(r, own, n - 1, k, rows)",
            "or sum_up_list(r, own, n - 2, k, rows)",
            (
                "measures/neighbours/test_knn_residual.py::test_a_list_that_lacks_one_of_those_at_the_boundary_is_made_anew",
            ),
        ),
        "a metric rounds always the same": Mutant(
            "measures/neighbours/kernels/neighbourhoods.py",
            "state.values[i, length - 1] * (1 + 1e-9):",
            "state.values[i, length - 1]:",
            (
                "measures/neighbours/test_knn_residual.py::test_the_last_of_a_list_is_forgotten_though_the_metric_rounds_it_otherwise",
            ),
        ),
        "an extent without the tie band": Mutant(
            "counting/targets.py",
            "return extent + 0.25 * own_slack(extent, size)",
            "return extent - 0.25 * own_slack(extent, size)",
            ("measures/neighbours/test_knn_residual.py::test_a_target_as_strange_as_an_example_is_inside",),
        ),
        "the row of the screen for the slot": Mutant(
            "measures/neighbours/kernels/members.py",
            "slot[r] = slots[row]",
            "slot[r] = row",
            survives="the screen sorts examples by label, and all have one: its rows are in the order of the slots",
        ),
    },
)
