"""Mutants of counting: the tie rule, ranks among the candidates of all labels, sets of an affine residual."""

from __future__ import annotations

from mutants import Family, Mutant

PVALUES = (
    "predicting/test_pvalues.py::test_ties_within_the_tolerance_count_as_equal",
    "predicting/test_pvalues.py::test_the_floor_makes_the_tolerance_absolute_near_zero",
    "predicting/test_pvalues.py::test_infinities_compare_exactly",
    "predicting/test_pvalues.py::test_sorted_counting_equals_plain_counting",
)
RANKS = (
    "measures/test_equals_textbook.py::test_label_counts_on_every_path[plain-KNN 3-four labels]",
    "measures/test_equals_textbook.py::test_label_counts_on_every_path[plain-KNN 3-grid with ties]",
    "measures/test_equals_textbook.py::test_label_counts_on_every_path[plain-NN-duplicates only]",
)
SETS = (
    "counting/test_affine_sets.py::test_covered_is_where_enough_sets_are[0]",
    "counting/test_affine_sets.py::test_points_that_touch_are_kept",
    "counting/test_affine_sets.py::test_touching_intervals_are_joined",
    "counting/test_affine_sets.py::test_regions_go_over_pieces",
    "counting/test_affine_sets.py::test_a_region_ends_where_its_piece_does",
)
RIDGE = tuple(
    f"measures/least_squares/test_ridge_residual.py::test_counts_and_regions_equal_the_textbook[{problem}-ordinary]"
    for problem in ("ten labels", "grid with ties", "constant targets")
)
ORIGINS = ("counting/test_affine_sets.py::test_origins",)

FAMILY = Family(
    tests=PVALUES,
    compiled=False,
    mutants={
        "a tolerance that is 0": Mutant("counting/ties.py", "slack = tolerance * max", "slack = 0.0 * max"),
        "a tolerance that is absolute": Mutant("counting/ties.py", "max(abs(score), floor)", "max(1.0, floor)"),
        "a floor that is added": Mutant("counting/ties.py", "max(abs(score), floor)", "abs(score)"),
        "infinite scores have a band": Mutant("counting/ties.py", "if math.isinf(score):", "if False:"),
        "the band lies above": Mutant(
            "counting/ties.py", "return score - slack, score + slack", "return score, score + slack"
        ),
        "the band lies below": Mutant(
            "counting/ties.py", "return score - slack, score + slack", "return score - slack, score"
        ),
        "labels in the order of their numbers": Mutant(
            "counting/labels.py",
            "scores[order[position - 1]] > scores[c]",
            "scores[position - 1] > scores[c]",
            RANKS,
        ),
        "labels in descending order": Mutant(
            "counting/labels.py",
            "scores[order[position - 1]] > scores[c]",
            "scores[order[position - 1]] < scores[c]",
            RANKS,
        ),
        "bands that are not sorted": Mutant(
            "counting/labels.py",
            "= lo[t, order[t, rank]], hi[t, order[t, rank]]",
            "= lo[t, rank], hi[t, rank]",
            RANKS,
        ),
        "below, and equal": Mutant(
            "counting/labels.py",
            "if ascending[middle] < value or (or_equal and ascending[middle] == value):",
            "if ascending[middle] <= value:",
            RANKS,
        ),
        "a search that stops one too early": Mutant(
            "counting/labels.py",
            "low, high = 0, ascending.shape[0]",
            "low, high = 0, ascending.shape[0] - 1",
            RANKS,
        ),
        "suffix sums of the rank itself": Mutant(
            "counting/labels.py", "total += jumps[t, rank + 1]", "total += jumps[t, rank]", RANKS
        ),
        "prefix sums": Mutant("counting/labels.py", "range(n_labels - 1, -1, -1)", "range(n_labels)", RANKS),
        "sums of one test object for the next": Mutant(
            "counting/labels.py",
            "    for t in range(m):\n        total = 0\n",
            "    total = 0\n    for t in range(m):\n",
            RANKS,
        ),
        "sums to the label of the rank's number": Mutant(
            "counting/labels.py", "counts[t, order[t, rank]] += total", "counts[t, rank] += total", RANKS
        ),
        "members that are none": Mutant(
            "counting/targets.py",
            "        if member[i]:\n            score",
            "        if True:\n            score",
            SETS,
        ),
        "an example's slack is taken from it": Mutant(
            "counting/targets.py", "at_least += score + slack[i] >= lo", "at_least += score - slack[i] >= lo", SETS
        ),
        "sets that touch are apart": Mutant("counting/targets.py", "starts[i] <= ends[j]", "starts[i] < ends[j]", SETS),
        "one set too many": Mutant(
            "counting/targets.py",
            "            if depth == threshold:\n                out[used, 0]",
            "            if depth == threshold + 1:\n                out[used, 0]",
            SETS,
        ),
        "threshold 1 is the line": Mutant("counting/targets.py", "if threshold <= 0:", "if threshold <= 1:", SETS),
        "a complement is an interval": Mutant(
            "counting/targets.py", "    if kappa > abs(g):", "    if kappa != abs(g):", SETS
        ),
        "the ray on the other side": Mutant(
            "counting/targets.py",
            "return (1, -math.inf, end) if end > 0 else (1, end, math.inf)",
            "return (1, -math.inf, end) if end < 0 else (1, end, math.inf)",
            SETS,
        ),
        "the ray's end": Mutant(
            "counting/targets.py", "end = A / (g + math.copysign(kappa, g))", "end = A / (g + kappa)", SETS
        ),
        "sets without their slack": Mutant(
            "counting/targets.py",
            "return slack / (1.0 + abs(g) / kappa) + 0.5 * own_slack(root, size) / (1.0 + max(1.0, abs(g) / kappa))",
            "return -slack / (1.0 + abs(g) / kappa)",
            SETS,
        ),
        "ties everywhere are nowhere": Mutant(
            "counting/targets.py",
            "        return 1, -math.inf, math.inf  # ties everywhere\n",
            "        pass\n",
            SETS,
        ),
        "the candidate's slack without its center": Mutant(
            "counting/targets.py", "max(abs(z), FLOOR * size)", "abs(z)", SETS + RIDGE
        ),
        "an origin that follows every target": Mutant(
            "counting/targets.py", "    if abs(median) <= NEAR_ZERO * spread:\n        return 0.0\n", "", ORIGINS
        ),
        "an origin of the mean": Mutant(
            "counting/targets.py",
            "median = _median(some)",
            "median = float(np.mean(some)) if some.size else 0.0",
            ORIGINS,
        ),
        "an origin that is not round": Mutant(
            "counting/targets.py",
            "return median if abs(median) * 2.0**-50 >= step else",
            "return median if True else",
            ORIGINS,
        ),
        "the piece after": Mutant(
            "measures/_affine_bag.py",
            "if y[t] <= piece.upper)",
            "if y[t] < piece.upper)",
            SETS,
            survives="where pieces meet, both have the same scores",
        ),
        "pieces are not cut": Mutant(
            "measures/_affine_bag.py",
            "[_cut(covered(ends, threshold) + piece.center, piece) for",
            "[covered(ends, threshold) + piece.center for",
            SETS,
        ),
        "intervals that touch stay apart": Mutant(
            "measures/_affine_bag.py", "intervals[1:, 0] > np.maximum", "intervals[1:, 0] >= np.maximum", SETS
        ),
        "ends outside by rounding": Mutant(
            "measures/_affine_bag.py",
            "lower - origin < intervals[:, 0], upper - origin > intervals[:, 1]",
            "lower - origin > intervals[:, 0], upper - origin < intervals[:, 1]",
            ("counting/test_affine_sets.py::test_ends_counted_from_an_origin_are_inside",),
        ),
    },
)
