"""Mutants of counting for many labels: bounds on sums, intervals of scores, what opens a label."""

from __future__ import annotations

from mutants import Family, Mutant

TEST = "measures/neighbours/test_label_intervals.py"
KERNELS = "measures/neighbours/kernels"
CASES = (
    "grid-one large",
    "grid-ten",
    "normal-many",
    "duplicates-duplicates of many",
    "shell-many",
    "outliers-one large",
    "grid-many",
)

FAMILY = Family(
    tests=tuple(f"{TEST}::test_counts_and_best_labels_on_hostile_data[{case}]" for case in CASES),
    compiled=False,
    mutants={
        "the lower end has no room for rounding": Mutant(
            f"{KERNELS}/label_bounds.py",
            "lower[t], upper[t] = norms[t] - rounding, norms[t] + rounding",
            "lower[t], upper[t] = norms[t] + rounding, norms[t] + rounding",
        ),
        "the upper end has no room for rounding": Mutant(
            f"{KERNELS}/label_bounds.py",
            "wide = (4 * units.growth + 3 * units.slack) * largest + 2 * ETA",
            "wide = -(4 * units.growth + 3 * units.slack) * largest",
        ),
        "the sum of one less than k": Mutant(
            f"{KERNELS}/label_bounds.py",
            "largest, length = max(largest, norms[j]), min(j - starts[label] + 1, k)",
            "largest, length = max(largest, norms[j]), min(j - starts[label] + 1, max(1, k - 1))",
        ),
        "the list of the nearest has no cap": Mutant(
            f"{KERNELS}/label_bounds.py", "            if own == k:\n", "            if own == -1:\n"
        ),
        "a label's k-th place is lost": Mutant(
            f"{KERNELS}/label_bounds.py",
            "        if v >= values[position]:\n            return length\n",
            "        return length\n",
        ),
        "the interval is as wide as nothing": Mutant(
            f"{KERNELS}/label_intervals.py", "low[c, t] *= 1 - WIDE", "low[c, t] = high[c, t]"
        ),
        "no room for the tie band": Mutant(
            f"{KERNELS}/label_intervals.py",
            "WIDE = 1e-9 ",
            "WIDE = 0.0 ",
            survives="no test has scores as close as the tie band under a screen that is fine enough to tell them apart",
        ),
        "a score at the upper end is outside": Mutant(
            f"{KERNELS}/label_intervals.py",
            "is_open[c, t] = rank < n and ordered[rank] <= high[c, t]",
            "is_open[c, t] = False",
        ),
        "scores inside the interval are passed over": Mutant(
            f"{KERNELS}/label_intervals.py",
            "    stop, step = known, 4\n",
            "    stop, step = min(known + 1, ascending.shape[0]), 4\n    known = stop\n",
        ),
        "a label's scores at the end of its interval are not counted": Mutant(
            f"{KERNELS}/label_intervals.py", "out[t] += entry >= values[t]", "out[t] += entry > values[t] * 1.01"
        ),
        "others of the own label": Mutant(
            f"{KERNELS}/label_intervals.py",
            "others = others_sum(closest[t], label[t], length[t], c, k)",
            "others = others_sum(closest[t], label[t], length[t], -1, k)",
        ),
        "touched examples of the label open nothing": Mutant(
            f"{KERNELS}/label_intervals.py",
            "                elif lo[own, t] <= least <= hi[own, t]:\n                    is_open[own, t] = True\n",
            "",
        ),
        "touched examples of other labels open nothing": Mutant(
            f"{KERNELS}/label_intervals.py",
            "        if lo[c] <= score <= hi[c] and c != own:\n            is_open[c, t] = True",
            "        if False:\n            is_open[c, t] = True",
        ),
        "bounds on a new score are taken for it": Mutant(
            f"{KERNELS}/label_intervals.py", "            if is_met:\n", "            if False:\n"
        ),
        "old scores above are forgotten": Mutant(
            f"{KERNELS}/label_intervals.py",
            'elif max(most, cards[i, 0]["score"]) < (second[t] if own == lowest[t] else first[t]):',
            "elif most < first[t] + 1e-3:",
        ),
        "touched examples keep their scores": Mutant(
            f"{KERNELS}/label_intervals.py",
            "if (up != 0 or beyond != 0) and c != own:",
            "if up == 2:",
        ),
        "labels tied for the largest p-value are not measured": Mutant(
            f"{KERNELS}/label_intervals.py",
            "is_open[c, t] |= wins[c, t] and tied[t] > 1",
            "is_open[c, t] |= wins[c, t] and tied[t] > 10**6",
        ),
        "a bucket's first entry is skipped": Mutant(
            "counting/buckets.py", "    start = buckets.starts[b]\n", "    start = buckets.starts[b] + (b > 0)\n"
        ),
        "runs are merged short of one": Mutant(
            "counting/labels.py",
            "middle, last = right, min(first + 2 * size, n)",
            "middle, last = right, min(first + 2 * size, n - 1)",
            ("counting/test_label_order.py",),
        ),
    },
)
