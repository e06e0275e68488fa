"""Mutants of least squares: leave-one-out counts, windows, the three factorisations and their updates, ridge sets."""

from __future__ import annotations

from mutants import Family, Mutant

EQUAL = "measures/least_squares/test_lssvm.py::TestEqualsTheTextbook::"
COUNTS = (
    "measures/test_equals_textbook.py::test_label_counts[LSSVM-grid with ties]",
    "measures/test_equals_textbook.py::test_label_counts[LSSVM rbf-grid with ties]",
    "measures/test_equals_textbook.py::test_label_counts[LSSVM 0.01 intercept-singleton label]",
    f"{EQUAL}test_linear[grid-25-3-1.0-False]",
    f"{EQUAL}test_linear[duplicates-12-12-0.001-True]",
    f"{EQUAL}test_kernels[grid-rbf-1.0]",
    f"{EQUAL}test_a_linear_kernel_in_the_dual",
    f"{EQUAL}test_every_solver_where_the_problem_is_well_conditioned",
)
NEAR_TIES = (
    "measures/least_squares/test_lssvm.py::TestCounting::test_the_screen_leaves_what_is_near_a_tie_to_the_divided_score",
    "measures/least_squares/test_lssvm_windows.py::TestKernel::test_near_a_tie_the_divided_score_decides",
)
WINDOWS = (
    "measures/least_squares/test_lssvm_windows.py::TestCounts::test_any_number_of_labels[3]",
    "measures/least_squares/test_lssvm_windows.py::TestCounts::test_tiny_labels_and_a_label_without_examples",
    "measures/least_squares/test_lssvm_windows.py::TestOrder",
    *NEAR_TIES,
)
TINY_RHO = (
    "measures/least_squares/test_lssvm.py::TestDefinition::test_a_tiny_rho_costs_no_digits_where_columns_depend_on_each_other",
)
EVERY_KIND = ("measures/least_squares/test_lssvm_windows.py::TestCounts::test_every_kind_of_objects",)
LEARNING = "measures/least_squares/test_lssvm.py::TestLearning::"
UPDATES = (
    f"{LEARNING}test_a_sliding_window_equals_a_fresh_fit",
    f"{LEARNING}test_equal_objects_need_no_new_factorisation",
    f"{LEARNING}test_any_history_equals_a_fresh_fit",
    f"{LEARNING}test_new_labels_and_labels_that_leave",
)
RELABELLED = ("measures/test_learning.py::test_a_bag_that_is_relabelled_counts_like_a_fresh_one[LSSVM]",)
FORKS = tuple(
    f"measures/test_bag_forks.py::test_two_copies_change[{measure}-learn one-{second}]"
    for measure in ("primal", "dual")
    for second in ("learn one", "unlearn few", "a label goes")
)
RIDGE = tuple(
    f"measures/least_squares/test_ridge_residual.py::test_counts_and_regions_equal_the_textbook[{problem}-{residual}]"
    for residual in ("studentized", "ordinary", "deleted")
    for problem in ("grid with ties", "random", "ten labels")
)
BRACKETS = ("measures/least_squares/test_ridge_residual.py::test_brackets_decide_only_how_long_it_takes",)
RIDGE_UPDATES = ("measures/least_squares/test_ridge_residual.py::test_learning_and_unlearning_is_a_fresh_fit",)
ROUNDED = "rounding is far below this bound on any data that a test can make: it is there for certainty"

FAMILY = Family(
    tests=COUNTS,
    compiled=False,
    mutants={
        "the sign of g": Mutant(
            "measures/least_squares/kernels/leave_one_out.py",
            "return d * e - g * gap",
            "return d * e + g * gap",
        ),
        "b without d": Mutant(
            "measures/least_squares/kernels/leave_one_out.py",
            "return d * b + g * g",
            "return b + g * g",
        ),
        "the other alternative": Mutant(
            "measures/least_squares/kernels/leave_one_out.py",
            "numerator = same if c == label else other",
            "numerator = other",
        ),
        "the own label stays in the histogram": Mutant(
            "measures/least_squares/kernels/leave_one_out.py", "        at_least[1, c] -= other >= lo[c]\n", ""
        ),
        "ranks on the wrong side": Mutant(
            "measures/least_squares/kernels/leave_one_out.py",
            "jumps_above[count_below(hi_sorted, other, False)] += 1",
            "jumps_above[count_below(lo_sorted, other, False)] += 1",
        ),
        "the band alone is near": Mutant(
            "measures/least_squares/kernels/leave_one_out.py",
            "lo[c] + hi[c]) + 1.0, hi[c] - lo[c]",
            "lo[c] + hi[c]) + 1.0, 0.0",
            NEAR_TIES + COUNTS,
        ),
        "what is near is counted twice": Mutant(
            "measures/least_squares/kernels/leave_one_out.py",
            "above += np.int32(margin > band)",
            "above += np.int32(margin >= -band)",
        ),
        "a chunk has one label": Mutant(
            "measures/least_squares/kernels/leave_one_out.py",
            "CHUNK_EXAMPLES, last, starts[label + 1])",
            "CHUNK_EXAMPLES, last)",
        ),
        "the rounding of a numerator": Mutant(
            "measures/least_squares/kernels/leave_one_out.py",
            "COMPARISON_ROUNDING = 2.0**-48",
            "COMPARISON_ROUNDING = 0.0",
            survives=ROUNDED,
        ),
        "windows that are half as wide": Mutant(
            "measures/least_squares/kernels/windows.py",
            "width = steepness * (",
            "width = 0.5 * steepness * (",
            EVERY_KIND,
        ),
        "a window without the leverage of the test object": Mutant(
            "measures/least_squares/kernels/windows.py",
            "s = math.sqrt(h * ((1.0 + RELATIVE) * (d - 1.0) + ABSOLUTE))",
            "s = math.sqrt(ABSOLUTE)",
            WINDOWS,
        ),
        "examples above the window": Mutant(
            "measures/least_squares/kernels/windows.py",
            "above[alternative, c] += end - last[c]",
            "above[alternative, c] += end - first[c]",
            WINDOWS,
        ),
        "those set apart are left out": Mutant(
            "measures/least_squares/kernels/windows.py",
            "for i, j in ((start, begin), (first[c], last[c])):",
            "for i, j in ((first[c], last[c]),):",
            EVERY_KIND,
        ),
        "the gap of another label": Mutant(
            "measures/least_squares/kernels/windows.py",
            "(1.0 if c == label else -1.0) - F[label]",
            "(1.0 if c == label else -1.0) - F[c]",
            WINDOWS,
        ),
        "wide windows are counted all the same": Mutant(
            "measures/least_squares/kernels/windows.py",
            "if not 0.0 <= width < math.inf:",
            "if False:",
            (
                "measures/least_squares/test_lssvm_windows.py::TestKernel::test_objects_without_a_bound_are_left_to_the_product",
            ),
        ),
        "ratios in no order": Mutant(
            "measures/least_squares/_example_order.py",
            "order = np.argsort(ranks)",
            "order = np.arange(ranks.size)",
            WINDOWS,
        ),
        "the leverage of those set apart": Mutant(
            "measures/least_squares/_example_order.py",
            "return highest[:best], next_one[best]",
            "return highest[: best + 1], next_one[best]",
            WINDOWS,
        ),
        "a sum in another direction": Mutant(
            "measures/least_squares/kernels/updates.py",
            "_add_multiple(A[i, k], B[k], out[i])",
            "_add_multiple(A[i, k], B[:, k], out[i])",
        ),
        "the outer product is linear": Mutant(
            "measures/least_squares/kernels/updates.py",
            "factor * (vector[i] * vector[j])",
            "factor * vector[i]",
            UPDATES,
        ),
        "the bias is penalised": Mutant(
            "measures/least_squares/factorisations/primal.py",
            "penalty[0] = 0.0 if intercept else rho",
            "penalty[0] = rho",
        ),
        "the divisor with the sign of h": Mutant(
            "measures/least_squares/factorisations/primal.py",
            '= 1.0 - np.einsum("ij,ij->i", part, part)',
            '= 1.0 + np.einsum("ij,ij->i", part, part)',
        ),
        "the newcomer's own divisor": Mutant(
            "measures/least_squares/factorisations/primal.py",
            "np.concatenate([self._divisors + g * g / d[0], 1.0 / d])",
            "np.concatenate([self._divisors + g * g / d[0], 1.0 - 1.0 / d])",
            UPDATES,
        ),
        "unlearning divides by d": Mutant(
            "measures/least_squares/factorisations/primal.py", "left = 2.0 - d[0]", "left = d[0]", UPDATES
        ),
        "the matrix S stays": Mutant(
            "measures/least_squares/factorisations/primal.py",
            "        self._S = _plus_outer(self._S, phi[0], -1.0)\n",
            "",
            UPDATES,
        ),
        "an inaccurate primal form": Mutant(
            "measures/least_squares/factorisations/choice.py",
            'if solver == "primal" or primal.is_accurate:',
            "if True:",
            (
                f"{EQUAL}test_linear[duplicates-12-12-1e-06-False]",
                f"{EQUAL}test_scales",
                f"{EQUAL}test_raw_features_of_every_scale",
            ),
        ),
        "the border is not refreshed": Mutant(
            "measures/least_squares/factorisations/dual.py",
            "        self._updates += 1\n        self._refresh_border()\n",
            "        self._updates += 1\n",
            UPDATES,
        ),
        "the diagonal of equal objects": Mutant(
            "measures/least_squares/factorisations/dual.py",
            "self._rho / (count + 1) - self._rho / count",
            "self._rho / count - self._rho / (count + 1)",
            UPDATES,
        ),
        "the last object is not moved": Mutant(
            "measures/least_squares/factorisations/dual.py",
            "        room[: last + 1, gone] = room[: last + 1, last]\n",
            "",
            UPDATES,
        ),
        "counts in the slack": Mutant(
            "measures/least_squares/factorisations/dual.py",
            "self._rho / counts**2 * self._bordered_diagonal()",
            "self._rho / counts * self._bordered_diagonal()",
        ),
        "a dual fork that overwrites": Mutant(
            "measures/least_squares/factorisations/dual.py", "        self._is_own = False\n", "", FORKS
        ),
        "the bias in the svd": Mutant(
            "measures/least_squares/factorisations/singular_values.py", "            d += 1.0 / n\n", ""
        ),
        "outside the span": Mutant(
            "measures/least_squares/factorisations/singular_values.py",
            "leverage += beyond / self._rho",
            "leverage += beyond",
            (f"{EQUAL}test_linear[random-9-20-0.001-False]",),
        ),
        "rounding that is outside the span": Mutant(
            "measures/least_squares/factorisations/singular_values.py",
            "            beyond[beyond <= NOISE**2 * rows.shape[1] * size] = 0.0\n",
            "",
            TINY_RHO,
        ),
        "rounding that is a singular value": Mutant(
            "measures/least_squares/factorisations/singular_values.py",
            "rank = int((s > max(weighted.shape) * EPS * s.max(initial=0.0)).sum())",
            "rank = s.size",
            (
                "measures/least_squares/test_lssvm.py::TestDefinition::test_singular_values_that_are_rounding_have_no_say",
            ),
        ),
        "nobody is alone": Mutant(
            "measures/least_squares/factorisations/singular_values.py",
            "        if objects.size:\n",
            "        if False:\n",
            TINY_RHO,
        ),
        "a share that is rounding": Mutant(
            "measures/least_squares/factorisations/singular_values.py",
            "        share[np.abs(share) <= NOISE * np.sqrt(shares.shape[1]) * size] = 0.0\n",
            "",
            TINY_RHO,
        ),
        "rounding that an object alone leaves of 1 - h": Mutant(
            "measures/least_squares/factorisations/singular_values.py",
            "            rest[self._alone.objects] = 0.0\n",
            "            pass\n",
            TINY_RHO,
        ),
        "rounding that an object alone leaves of a target": Mutant(
            "measures/least_squares/factorisations/singular_values.py",
            "                left[self._alone.objects] = 0.0\n",
            "                pass\n",
            TINY_RHO,
        ),
        "a basis turned away": Mutant(
            "measures/least_squares/factorisations/singular_values.py",
            "            turn[:, : objects.size] *= np.sign(R.diagonal())\n",
            "",
            TINY_RHO,
        ),
        "the solution outlives a change": Mutant(
            "measures/least_squares/_lssvm_bag.py",
            "        self._n_labels = n_labels\n        self._forget_solution()\n",
            "        self._n_labels = n_labels\n",
            RELABELLED,
        ),
        "the examples in order outlive a change": Mutant(
            "measures/least_squares/_lssvm_bag.py",
            "        self._ordered: Ordered | None = None\n        self._asked",
            "        self._ordered: Ordered | None = getattr(self, '_ordered', None)\n        self._asked",
            WINDOWS,
        ),
        "a fork shares the store": Mutant(
            "measures/least_squares/_factorised_bag.py",
            "store = self._store.fork()",
            "store = self._store",
            FORKS,
        ),
        "forgotten in the order of arrival": Mutant(
            "measures/least_squares/_factorised_bag.py",
            "for position in np.sort(positions)[::-1].tolist():",
            "for position in np.sort(positions).tolist():",
            UPDATES,
        ),
        "kappa of ordinary residuals": Mutant(
            "measures/least_squares/kernels/extents.py",
            "return square if residual == DELETED else math.sqrt(square)",
            "return square if residual != DELETED else math.sqrt(square)",
            RIDGE,
        ),
        "a candidate's band without the center": Mutant(
            "measures/least_squares/kernels/extents.py",
            "own = own_slack(z[t], size[t])",
            "own = 0.0",
            ("measures/least_squares/test_ridge_residual.py::test_near_a_tie_the_candidates_slack_decides",),
        ),
        "the extents of the other side": Mutant(
            "measures/least_squares/kernels/extents.py",
            "is_short = (e * g >= 0.0) == (side == 0)",
            "is_short = (e * g >= 0.0) == (side == 1)",
            RIDGE,
        ),
        "brackets on one side": Mutant(
            "measures/least_squares/kernels/extents.py", "sign = 1.0 if side == 0 else -1.0", "sign = 1.0", BRACKETS
        ),
        "an extent at the bracket's edge": Mutant(
            "measures/least_squares/kernels/extents.py",
            "flags[i] = np.uint8(reaches_low) & np.uint8(not reaches_high)",
            "flags[i] = np.uint8(reaches_low)",
            BRACKETS,
        ),
        "the first test object for all": Mutant(
            "measures/least_squares/_ridge_bag.py",
            "some_multipliers(multipliers, slice(t, t + 1))",
            "some_multipliers(multipliers, slice(0, 1))",
            BRACKETS,
        ),
        "the rank from the other end": Mutant(
            "measures/least_squares/_ridge_bag.py",
            "places = n - thresholds[t, lost]",
            "places = thresholds[t, lost] - 1",
            RIDGE,
        ),
        "sides of an interval": Mutant(
            "measures/least_squares/_ridge_bag.py",
            "center[t] - widened(found[t, j, 1], size), center[t] + widened(found[t, j, 0], size)",
            "center[t] - widened(found[t, j, 0], size), center[t] + widened(found[t, j, 1], size)",
            RIDGE,
        ),
        "the origin of a regression through 0": Mutant(
            "measures/least_squares/_ridge_bag.py",
            "float(origin_of(y)) if intercept else 0.0",
            "float(origin_of(y))",
            RIDGE,
        ),
        "ridge targets stay": Mutant(
            "measures/least_squares/_ridge_bag.py",
            "self._y = np.delete(self._y, positions)",
            "self._y = self._y[: -positions.size]",
            RIDGE_UPDATES,
        ),
        "the ridge solution outlives a change": Mutant(
            "measures/least_squares/_factorised_bag.py",
            "        prepared = self._store.prepare(X)\n        self._forget_solution()\n",
            "        prepared = self._store.prepare(X)\n",
            RIDGE_UPDATES,
        ),
    },
)
