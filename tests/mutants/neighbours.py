"""Mutants of the nearest-neighbour measures of classification: lists, search, screen, counts, learning, forks."""

from __future__ import annotations

from mutants import Family, Mutant

EQUAL = "measures/test_equals_textbook.py::test_label_counts_on_every_path"
COUNTS = tuple(
    f"{EQUAL}[{path}-{measure}-{problem}]"
    for path in ("plain", "screened", "sketched")
    for measure in ("KNN 3", "SimplifiedKNN 2")
    for problem in ("grid with ties", "four labels", "singleton label")
)
SCREEN = ("geometry/test_screen.py::test_the_largest_rounding_error_drops_no_pair",)
SORTED = ("measures/neighbours/test_sorted_lists.py",)
KEPT = ("measures/test_learning.py::test_what_a_prediction_keeps_is_forgotten_with_the_next_change",)
UPDATES = (
    *(
        f"measures/test_learning.py::test_learning_one_by_one_and_unlearning_equal_a_fresh_fit[{measure}-{problem}]"
        for measure in ("KNN 3", "SimplifiedKNN 2")
        for problem in ("grid with ties", "singleton label")
    ),
    "measures/test_learning.py::test_a_sliding_window_equals_a_fresh_fit[KNN 3]",
)
COPIES = tuple(f"internals/test_changes.py::test_a_shallow_copy_changes_by_itself[KNN-<lambda>{i}]" for i in range(4))
FORKS = tuple(
    f"measures/test_bag_forks.py::test_two_copies_change[KNN-{first}-{second}]"
    for first in ("learn one", "a label comes")
    for second in ("unlearn few", "a label goes")
)
MATRICES = ("measures/test_equals_textbook.py::test_precomputed_distances_equal_the_metric",)
NARROW = "measures/neighbours/test_float32.py::Test"
WIDENED = (f"{NARROW}Changes::test_float64_widens_what_is_kept", f"{NARROW}Changes::test_of_a_stream")

FAMILY = Family(
    tests=COUNTS,
    compiled=False,
    mutants={
        "an entry too many is compared": Mutant(
            "measures/neighbours/kernels/lists.py",
            'return the new length."""\n    if length == limit:\n        if d >= values[limit - 1]:',
            'return the new length."""\n    if length == limit:\n        if d >= values[0]:',
        ),
        "the list shifts one place too few": Mutant(
            "measures/neighbours/kernels/lists.py",
            "    while position > 0 and values[position - 1] > d:\n        values[position] = values",
            "    while position > 1 and values[position - 1] > d:\n        values[position] = values",
        ),
        "a list of k is not full": Mutant(
            "measures/neighbours/kernels/lists.py", "values[k - 1] if length >= k", "values[k - 1] if length > k"
        ),
        "the sum takes one more": Mutant(
            "measures/neighbours/kernels/lists.py", "used = min(length, k)", "used = min(length, k + 1)", UPDATES
        ),
        "the newcomer is summed twice": Mutant(
            "measures/neighbours/kernels/lists.py",
            "            waiting = False\n",
            "            waiting = used < k\n",
            SORTED,
        ),
        "0/0": Mutant(
            "measures/neighbours/kernels/lists.py", "1.0 if numerator == 0.0 else", "0.0 if numerator == 0.0 else"
        ),
        "pairs meet in one direction": Mutant(
            "measures/neighbours/kernels/fill.py",
            "insert_partner(column, row, relation, distances[i, j], k, values, lengths, partners)",
            "insert_partner(row, row, relation, distances[i, j], k, values, lengths, partners)",
        ),
        "an example meets itself": Mutant(
            "measures/neighbours/kernels/fill.py", "max(0, row + 1 - left)", "max(0, row - left)"
        ),
        "the last column of a block is left out": Mutant(
            "measures/neighbours/kernels/fill.py",
            "n_relations, end = values.shape[0], first + products.shape[1]",
            "n_relations, end = values.shape[0], first + products.shape[1] - 1",
        ),
        "a full list's reach is the nearest's": Mutant(
            "measures/neighbours/kernels/fill.py",
            "reach[relation, row] = column_reach(delta, units)",
            "reach[relation, row] = column_reach(delta / 4, units)",
        ),
        "only the row is offered the pair": Mutant(
            "measures/neighbours/kernels/fill.py",
            "if enters_column and insert_partner(there",
            "if False and insert_partner(there",
        ),
        "the search finds k - 1 of a label": Mutant(
            "measures/neighbours/kernels/search.py",
            "lengths[t, label] = insert(nearest[t, label], lengths[t, label], k, d)",
            "lengths[t, label] = insert(nearest[t, label], lengths[t, label], max(k - 1, 1), d)",
        ),
        "the threshold of the nearest loosens": Mutant(
            "measures/neighbours/kernels/search.py",
            "least = min(least, certain_product(s, norms[i], units))",
            "least = certain_product(-top[0], norms[i], units)",
        ),
        "touches beyond the screen": Mutant(
            "measures/neighbours/kernels/search.py", "if is_near or s + reach[column] > half:", "if is_near:"
        ),
        "a touch of another test object": Mutant(
            "measures/neighbours/kernels/search.py",
            "touched[touches], low[touches], high[touches] = t, slot, near, far",
            "touched[touches], low[touches], high[touches] = t, row, near, far",
            KEPT,
        ),
        "bounds without the rounding of the product": Mutant(
            "geometry/screen.py",
            "low = squared - (units.growth + 2 * units.slack) * test_norm - units.slack * norm - 2 * ETA",
            "low = squared",
            SCREEN,
        ),
        "the upper bound is the product": Mutant(
            "geometry/screen.py",
            "squared + (units.growth + 2 * units.slack) * test_norm + (4 * units.growth + 2 * units.slack) * norm + 2 "
            "* ETA",
            "squared",
            SCREEN,
        ),
        "a row's threshold without its slack": Mutant(
            "geometry/screen.py",
            "((1 - units.growth) * norm - squared) / 2 - units.slack * (norm + squared) - ETA",
            "(norm - squared) / 2",
            SCREEN,
        ),
        "half without the rounding": Mutant(
            "geometry/screen.py", "(1 - units.growth) * norm / 2 - units.slack * norm - ETA", "norm / 2", SCREEN
        ),
        "a column's norm without its rounding": Mutant(
            "geometry/screen.py", "folded = (growth - 0.5) * norms", "folded = -0.5 * norms", SCREEN
        ),
        "a certain product that is not": Mutant(
            "geometry/screen.py", "return s - (2 * units.growth + units.slack) * norm", "return s", SCREEN
        ),
        "others of the own label": Mutant(
            "measures/neighbours/kernels/scores.py", "if summed < k and closest_label[j] != label:", "if summed < k:"
        ),
        "the 2k closest of all are k": Mutant(
            "measures/neighbours/kernels/scores.py",
            "closest, closest_label = np.empty(2 * k), np.empty(2 * k, np.int64)",
            "closest, closest_label = np.empty(k), np.empty(k, np.int64)",
        ),
        "an example is touched at delta": Mutant(
            "measures/neighbours/kernels/scores.py",
            "                if d >= delta:\n                    continue\n",
            "                if d > delta:\n                    continue\n",
            survives="at d = delta the newcomer takes the place of an equal distance: the sum keeps its bits",
        ),
        "sorted scores below the band": Mutant(
            "measures/neighbours/kernels/scores.py",
            "at_least[0] = own.shape[0] - count_below(own, lo, False)",
            "at_least[0] = own.shape[0] - count_below(own, lo, True)",
        ),
        "sorted scores above the band": Mutant(
            "measures/neighbours/kernels/scores.py",
            "above[0] = own.shape[0] - count_below(own, hi, True)",
            "above[0] = own.shape[0] - count_below(own, lo, True)",
        ),
        "the own label stays in the histogram": Mutant(
            "measures/neighbours/kernels/scores.py", "at_least[t, 1, c] -= own_at_least", "at_least[t, 1, c] -= 0"
        ),
        "the old score is counted as well": Mutant(
            "measures/neighbours/kernels/scores.py",
            "jumps_above[t, count_below(hi_sorted[t], old, False)] -= 1",
            "jumps_above[t, rank_hi] -= 1",
        ),
        "bounds of a ratio the wrong way round": Mutant(
            "measures/neighbours/kernels/scores.py",
            "return ratio(fixed, most) * (1 - 1e-13), ratio(fixed, least) * (1 + 1e-13)",
            "return ratio(fixed, most) * (1 - 1e-13), ratio(fixed, most) * (1 + 1e-13)",
        ),
        "the score of the other relation": Mutant(
            "measures/neighbours/kernels/scores.py", 'cards[1 - relation]["total"]', 'cards[relation]["total"]'
        ),
        "counts of the block's place": Mutant(
            "measures/neighbours/kernels/scores.py",
            "out[rows[t], c]",
            "out[t, c]",
            (*(f"{EQUAL}[screened-KNN 3-{problem}]" for problem in ("outliers",)),),
        ),
        "the new example counts itself as available": Mutant(
            "measures/neighbours/kernels/learning.py",
            "return sizes[label] - 1 if relation == 0 else n - sizes[label]",
            "return sizes[label] if relation == 0 else n - sizes[label]",
            UPDATES,
        ),
        "sizes stay": Mutant("measures/neighbours/kernels/learning.py", "    sizes[label] += 1\n", "", UPDATES),
        "the last example's order stays": Mutant(
            "measures/neighbours/kernels/learning.py",
            "                    order[j] = new\n",
            "                    order[j] = old\n",
            UPDATES,
        ),
        "the order keeps the example": Mutant(
            "measures/neighbours/kernels/learning.py",
            "for j in range(position, last):",
            "for j in range(position + 1, last):",
            UPDATES,
        ),
        "lists that run short stay short": Mutant(
            "measures/neighbours/kernels/learning.py",
            "or length - 1 < min(k, left)",
            "or length < min(k, left)",
            UPDATES,
        ),
        "the moved example leaves its label": Mutant(
            "measures/neighbours/kernels/learning.py",
            "    examples.codes[target] = examples.codes[source]\n",
            "",
            UPDATES,
        ),
        "a column of the matrix does not move": Mutant(
            "measures/neighbours/kernels/learning.py",
            "        rows[: last + 1, slot] = rows[: last + 1, last]\n",
            "",
            MATRICES,
        ),
        "a learned column of the matrix": Mutant(
            "measures/neighbours/kernels/learning.py", "        rows[:n, n] = x[:n]\n", "", MATRICES
        ),
        "changed sums are not scored": Mutant(
            "measures/neighbours/kernels/learning.py", "    scores[slot] = score_of(sums, slot)\n", "", UPDATES
        ),
        "the sorted scores outlive a change": Mutant(
            "measures/neighbours/_label_bag.py",
            '        "_prepared": None,\n',
            "",
            KEPT,
        ),
        "the screen outlives a change": Mutant(
            "measures/neighbours/_label_lists.py",
            "        self.search.forget_screen()\n        vars(self)",
            "        vars(self)",
            KEPT,
        ),
        "a fork overwrites what it shares": Mutant(
            "measures/neighbours/_label_lists.py",
            "self._store, _owns_arrays=False,",
            "self._store, _owns_arrays=True,",
            FORKS,
        ),
        "a copy shares the sizes": Mutant(
            "measures/neighbours/_label_lists.py", "sizes=examples.sizes.copy(),", "sizes=examples.sizes,", COPIES
        ),
        "a label that goes keeps its size": Mutant(
            "measures/neighbours/_label_lists.py",
            "sizes[new_codes[kept]] = self.sizes[kept]",
            "sizes[kept] = self.sizes[kept]",
            KEPT,
        ),
        "many examples go in their slots' order": Mutant(
            "measures/neighbours/_label_lists.py",
            "kept = np.delete(self.order, indices)",
            "kept = np.delete(np.arange(self.n), indices)",
            ("measures/test_learning.py::test_any_history_equals_a_fresh_fit",),
        ),
        "a test object is rounded": Mutant(
            "geometry/objects.py",
            "return narrow if (narrow == X).all() else np.asarray(X, np.float64)",
            "return narrow",
            (f"{NARROW}Answers::test_a_test_object_is_not_rounded",),
        ),
        "an example is rounded": Mutant(
            "geometry/objects.py",
            "return np.can_cast(store.as_rows(X).dtype, store.room.dtype)",
            "return True",
            WIDENED,
        ),
        "what is kept is not widened": Mutant(
            "measures/neighbours/_label_lists.py",
            "wide = None if fits else np.dtype(np.float64)",
            "wide = None",
            WIDENED,
        ),
        "an example of a stream is rounded in place": Mutant(
            "measures/neighbours/_label_stream.py",
            "        if not has_room_for(store, x):",
            "        if store.n < 0:",
            WIDENED,
        ),
        "lists never get a longer reserve": Mutant(
            "measures/neighbours/_label_lists.py",
            "if self._lists.values.shape[2] < width:",
            "if width < 0:",
            (f"{NARROW}Memory::test_lists_have_a_long_reserve_only_once_something_is_forgotten",),
        ),
        "a function of categories compares in float32": Mutant(
            "predicting/front_door.py",
            "return objects.astype(np.float64) if is_narrow else objects",
            "return objects",
            (f"{NARROW}Answers::test_smoothing_and_categories_do_not_depend_on_the_precision",),
        ),
    },
)
