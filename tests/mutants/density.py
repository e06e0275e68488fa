"""Mutants of kernel density: kernels, the three routes of their sums, counts, learning and unlearning, forks."""

from __future__ import annotations

from mutants import Family, Mutant

COUNTED = (
    ("gaussian-1.0", "grid with ties"),
    ("gaussian-0.4", "far halves"),
    ("exponential-0.4", "four labels"),
    ("epanechnikov-1.0", "edges"),
    ("tophat-1.0", "grid with ties"),
    ("tophat-0.4", "singleton label"),
    ("gaussian-1.0", "pixels"),
    ("gaussian-scott", "singleton label"),
)
COUNTS = tuple(
    f"measures/density/test_kde.py::test_every_route_counts_like_the_textbook[{measure}-{problem}]"
    for measure, problem in COUNTED
)
KERNELS = ("measures/density/test_kde.py::test_all_distances_have_the_same_bits",)
HISTORY = "measures/density/test_kde.py::TestHistory::"
UPDATES = (
    f"{HISTORY}test_learning_one_by_one_and_unlearning_equal_a_fresh_fit[gaussian-1.0-grid with ties]",
    f"{HISTORY}test_learning_one_by_one_and_unlearning_equal_a_fresh_fit[gaussian-scott-random]",
    f"{HISTORY}test_any_history_equals_a_fresh_fit",
    f"{HISTORY}test_drift_is_noticed",
)
KEPT = (f"{HISTORY}test_what_a_prediction_keeps_is_forgotten_with_the_next_change",)
STREAMS = (
    "exchangeability/test_stream.py::TestBags::test_stream_is_counting_and_then_learning[KDE-four labels]",
    "exchangeability/test_stream.py::TestBags::test_stream_is_counting_and_then_learning[KDE-singleton label]",
)
FORKS = tuple(
    f"measures/test_bag_forks.py::test_two_copies_change[{measure}-{first}-{second}]"
    for measure in ("KDE",)
    for first in ("learn one", "a label comes")
    for second in ("unlearn few", "learn many")
)
LABELS = (f"{HISTORY}test_classes_come_and_go",)
PRODUCTS = ("measures/density/test_kde.py::test_products_are_as_exact_as_their_bound_says",)

FAMILY = Family(
    tests=COUNTS,
    compiled=False,
    mutants={
        "the edge is inside": Mutant(
            "measures/density/kernels/kernel_functions.py", "    if d >= bandwidth:", "    if d > bandwidth:"
        ),
        "the edge of a block is inside": Mutant(
            "measures/density/kernels/kernel_functions.py", "else out < bandwidth\n", "else out <= bandwidth\n"
        ),
        "the exponential kernel is squared": Mutant(
            "measures/density/kernels/kernel_functions.py", "return -u\n", "return -u * u\n"
        ),
        "the last objects of eight": Mutant(
            "measures/density/kernels/kernel_functions.py",
            "even = n - n % 8",
            "even = n - n % 8 - 8 * (n % 8 == 1)",
            KERNELS,
            survives="one at a time or eight at a time: each sum has the same order",
        ),
        "features beyond the fourth": Mutant(
            "measures/density/kernels/kernel_functions.py",
            "padded = p + (-p) % 4",
            "padded = max(4, p - p % 4)",
            KERNELS,
        ),
        "a tile is not cleared": Mutant(
            "measures/density/kernels/kernel_functions.py", "            total[:] = 0.0\n", "", KERNELS
        ),
        "the constant of the sum": Mutant("measures/density/kernels/log_sums.py", "top = max(top, k)", "top = k"),
        "a term that is the largest": Mutant(
            "measures/density/kernels/log_sums.py", "return k, 1.0 + total * math.exp(top - k)", "return k, 1.0 + total"
        ),
        "a kernel of 0 at an empty sum": Mutant(
            "measures/density/kernels/log_sums.py",
            "    if k == -np.inf:\n        return top, total\n",
            "",
            survives="the sum is then no number, and not above 0: it counts as empty all the same",
        ),
        "ranks lost at the lower end": Mutant(
            "measures/density/kernels/log_sums.py",
            "fewer_above += old > hi and new <= hi",
            "fewer_above += old > lo and new <= hi",
            ("measures/test_equals_textbook.py::test_label_counts[KDE tophat 1.5-grid with ties]",),
        ),
        "scores that are lower already": Mutant("measures/density/kernels/log_sums.py", "if old >= lo and k", "if k"),
        "touched by half": Mutant("measures/density/kernels/log_sums.py", "TOUCH = 37.0", "TOUCH = 1.0"),
        "an example in its own sum": Mutant(
            "measures/density/kernels/log_sums.py", "if own[t] >= 0:", "if own[t] > 0:"
        ),
        "N for N - 1": Mutant(
            "measures/density/_label_sums.py", "math.log(max(self.size - 1, 1))", "math.log(max(self.size, 1))"
        ),
        "the window is the nearest alone": Mutant(
            "measures/density/kernels/screened.py", "math.sqrt(2.0 * WINDOW)) *", "math.sqrt(0.02 * WINDOW)) *"
        ),
        "flags of the row before": Mutant(
            "measures/density/kernels/screened.py",
            "    for j in range(size, flags.shape[0]):\n        flags[j] = 0\n",
            "",
        ),
        "equal is below": Mutant(
            "measures/density/kernels/dense.py", "above += value < below", "above += value <= at_most"
        ),
        "the bias of the diagonal": Mutant(
            "measures/density/kernels/dense.py",
            "                np.fill_diagonal(kernels, 0.0)\n",
            "                pass\n",
        ),
        "columns of the own tile twice": Mutant(
            "measures/density/kernels/dense.py", "after = max(left, bottom)", "after = max(left, top + 1)"
        ),
        "products beyond trust": Mutant(
            "measures/density/kernels/dense.py", "TRUST = 3e-11", "TRUST = 1.0", PRODUCTS + COUNTS
        ),
        "the far test row is trusted": Mutant(
            "measures/density/kernels/dense.py",
            "(norms + dense.largest) < TRUST",
            "dense.largest < TRUST",
            survives="a row beyond all objects by 37 bandwidths has kernels of 0; nearer, the bound doubles at most",
        ),
        "sums that underflow": Mutant(
            "measures/density/kernels/dense.py", "return kernel in (GAUSSIAN, EXPONENTIAL)", "return False"
        ),
        "the own row in a block": Mutant(
            "measures/density/_routes.py", "kernels[np.arange(chosen.size), rows[chosen]] = 0.0", "pass"
        ),
        "columns from the start": Mutant(
            "measures/density/_routes.py",
            "total[total.size - column.size :] += column",
            "total[: column.size] += column",
        ),
        "the own label among the others": Mutant(
            "measures/density/_bag.py",
            "all_at_least - own_at_least, all_above - own_above",
            "all_at_least - own_at_least, all_above",
        ),
        "sorted on the wrong side": Mutant(
            "measures/density/_bag.py",
            'np.searchsorted(everyone, lo, side="left")',
            'np.searchsorted(everyone, hi, side="right")',
        ),
        "the bandwidth of before": Mutant(
            "measures/density/_bag.py", "                label.bandwidth = h\n", "", UPDATES
        ),
        "error is forgotten": Mutant(
            "measures/density/kernels/learning.py", " and error <= LARGEST_ERROR * rest", "", UPDATES
        ),
        "half of a sum goes": Mutant(
            "measures/density/kernels/learning.py",
            "if 2.0 * term < total and",
            "if",
            UPDATES,
            survives="the bound of the error alone keeps sums exact enough; this condition spares them the worst of it",
        ),
        "the last one does not move": Mutant(
            "measures/density/kernels/learning.py", "j = last if i == slot else i", "j = i", UPDATES
        ),
        "the new sum's own kernels": Mutant(
            "measures/density/kernels/learning.py", "            top, total = add_term(top, total, k)\n", "", UPDATES
        ),
        "slots of the moved": Mutant(
            "measures/density/_bag.py", "slots[moved[codes[moved] == c]] = slot", "slots[moved] = slot", KEPT
        ),
        "the next one to go has moved": Mutant(
            "measures/density/_bag.py", "gone[i + 1 :][gone[i + 1 :] == label.n] = slot", "pass", KEPT
        ),
        "what is derived outlives a change": Mutant(
            "measures/density/_label_sums.py",
            "        self._rows.append(objects)\n        self.changed()\n",
            "        self._rows.append(objects)\n",
            KEPT,
        ),
        "sorted sums outlive a change": Mutant(
            "measures/density/_label_sums.py",
            "        self._rows.drop_for_last(slot)\n        self.changed()\n",
            "        self._rows.drop_for_last(slot)\n        self._dense = self._screen = self._log = None\n",
            KEPT,
        ),
        "relabelled in place": Mutant(
            "measures/density/_bag.py", "labels[new_codes[c]] = label", "labels[c] = label", LABELS
        ),
        "a stream counts the others by its own band": Mutant(
            "measures/density/_bag.py", "if other is not label]", "]", STREAMS
        ),
        "a stream's slot": Mutant(
            "measures/density/_bag.py",
            "self._slots.append(np.array([label.n]))",
            "self._slots.append(np.array([self.n - 1]))",
            STREAMS + UPDATES,
        ),
        "a fork shares its labels": Mutant(
            "measures/density/_bag.py",
            "labels = [label.fork() for label in self._labels]",
            "labels = self._labels",
            FORKS,
        ),
        "a fork shares the list of codes": Mutant("measures/density/_bag.py", "_codes=self._codes.fork(), ", "", FORKS),
        "room that is taken": Mutant(
            "_growing.py",
            "        return mark == first\n",
            "        return True\n",
            ("exchangeability/test_stream.py::TestBags::test_a_fork_streams_by_itself[KDE]",),
        ),
    },
)
