"""Mutants of counting within categories: whom a candidate meets, and what is kept of a category."""

from __future__ import annotations

from mutants import Family, Mutant

COUNTS = "measures/test_category_counts.py::"
HAND = (f"{COUNTS}TestByHand::test_ranks", f"{COUNTS}TestByHand::test_sizes_and_members")
DENSE = (f"{COUNTS}TestRoutes::test_density[gaussian-grid with ties-dense]",)
KDE = (f"{COUNTS}test_every_category_counts_its_own_scores[KDE-four labels-four]",)
LSSVM = (f"{COUNTS}TestRoutes::test_test_objects_one_by_one_or_together[linear]",)
WITHIN = "measures/least_squares/test_lssvm_windows.py::TestCategories::"
WINDOWS = (f"{WITHIN}test_as_each_by_itself[grid-4]",)
WIDE = (f"{WITHIN}test_objects_with_wide_windows_are_counted_separately",)
NEIGHBOURS = tuple(
    f"{COUNTS}test_every_category_counts_its_own_scores_on_every_path[{path}-KNN 3-four labels-four]"
    for path in ("plain", "screened")
)
OTHER = tuple(f"{COUNTS}test_other_categories_of_the_same_examples[{name}]" for name in ("KNN 3", "KDE", "LSSVM"))
TARGETS = (
    "measures/test_category_targets.py::test_counts_and_regions_of_a_category[k-NN 4-random-two]",
    "measures/test_category_targets.py::test_counts_and_regions_of_a_category[ridge-random-two]",
)

FAMILY = Family(
    tests=HAND,
    compiled=False,
    mutants={
        "ties are above": Mutant(
            "counting/categories.py", "count_below(own, hi[t], True)", "count_below(own, hi[t], False)"
        ),
        "sizes of the category before": Mutant(
            "counting/categories.py", "padded.take(wanted + 1,", "padded.take(wanted,"
        ),
        "members in no category": Mutant(
            "counting/categories.py", "if not 0 <= category < self._starts.size - 1:", "if category < 0:"
        ),
        "dense blocks count everyone": Mutant(
            "measures/density/kernels/dense.py",
            "above += (value < below) & is_member",
            "above += value < below",
            DENSE,
        ),
        "lost ranks of everyone": Mutant(
            "measures/density/kernels/log_sums.py", "(everyone or category[i] == wanted)", "(everyone or True)", KDE
        ),
        "the own label among others": Mutant(
            "measures/density/_bag.py",
            "count_ranked(everyone, own.wanted, lo, hi) - same",
            "count_ranked(everyone, own.wanted, lo, hi) - 0 * same",
            KDE,
        ),
        "the first examples are the members": Mutant(
            "measures/least_squares/_example_order.py",
            "return order if self.members is None else self.members[order]",
            "return order",
            LSSVM,
        ),
        "everyone is touched": Mutant(
            "measures/neighbours/_label_bag.py",
            "touch[slots] = everyone.touch[slots]",
            "touch[:] = everyone.touch",
            NEIGHBOURS,
        ),
        "others out of everyone": Mutant(
            "measures/neighbours/kernels/scores.py",
            "at_least[1] = ordered.shape[0] - count_below",
            "at_least[1] = provisional.scores.shape[0] - count_below",
            NEIGHBOURS,
        ),
        "other categories of neighbours": Mutant(
            "measures/neighbours/_label_bag.py", "or known.members.categories is not categories:", "or False:", OTHER
        ),
        "other categories of densities": Mutant(
            "measures/density/_bag.py", "or known.categories is not categories:", "or False:", OTHER
        ),
        "other categories of LS-SVM": Mutant(
            "measures/least_squares/_lssvm_bag.py", "or self._members.categories is not categories:", "or False:", OTHER
        ),
        "windows of other categories of LS-SVM": Mutant(
            "measures/least_squares/_lssvm_bag.py",
            "or windows.categories is not categories:",
            "or False:",
            (f"{WITHIN}test_other_categories_of_the_same_examples",),
        ),
        "windows of the next label": Mutant(
            "measures/least_squares/kernels/windows.py",
            "return category * n_labels + label if",
            "return category * n_labels + n_labels - 1 - label if",
            WINDOWS,
        ),
        "windows of the first candidate's category": Mutant(
            "measures/least_squares/kernels/windows.py", "and wanted[stop] == wanted[c]:", "and True:", WINDOWS
        ),
        "who is not counted in windows is not counted": Mutant(
            "measures/least_squares/_lssvm_bag.py", "        if rest.size:\n", "        if False:\n", WIDE
        ),
        "residuals of everyone in order": Mutant(
            "measures/neighbours/_target_bag.py",
            "ordered_upper=np.sort(upper[is_member])",
            "ordered_upper=np.sort(everyone.upper)",
            TARGETS,
        ),
        "everyone touched in regression": Mutant(
            "measures/neighbours/_target_bag.py",
            "        touch[slots] = self._touch()[slots]\n",
            "        touch[:] = self._touch()\n",
            TARGETS,
        ),
        "ridge rows of everyone": Mutant(
            "measures/least_squares/_ridge_bag.py",
            "across=self.factorisation.across(positions),",
            "across=self.across,",
            TARGETS,
        ),
    },
)
