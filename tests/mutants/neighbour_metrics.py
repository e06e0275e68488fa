"""Mutants of other metrics: the definition of angles, their error, differences in float32, blocks across threads."""

from __future__ import annotations

from mutants import Family, Mutant

OTHERS = "measures/neighbours/test_other_metrics.py"
COUNTS = f"{OTHERS}::test_counts_are_the_textbooks"
ANGLES = tuple(
    f"{COUNTS}[cosine-{case}]"
    for case in (
        "nearly parallel-KNN",
        "noise apart-KNN",
        "clusters-KNN",
        "parallel-KNN",
        "tiny components-SimplifiedKNN",
    )
)
BITS = (f"{OTHERS}::test_distances_are_those_of_the_textbook_bit_for_bit",)
FARTHEST = (f"{OTHERS}::test_nothing_is_farther_than_2_from_a_direction",)
KINDS = "geometry/test_screen_kinds.py"
ERROR = (f"{KINDS}::test_the_largest_error_of_an_angle_drops_no_pair",)
ROUNDING = (f"{KINDS}::test_the_largest_error_of_a_difference_drops_no_pair",)
BLOCKS = (f"{OTHERS}::test_lists_do_not_depend_on_threads_or_blocks",)
PARTS = (f"{KINDS}::test_differences_are_taken_by_parts",)
DIFFERENCES = "geometry/differences.py"

FAMILY = Family(
    tests=ANGLES,
    compiled=False,
    mutants={
        "parallel rows are noise apart": Mutant(
            "geometry/angles.py", "0.0 if d < (2 * a.shape[0] + 24) * 2.0**-53 else", "0.0 if d < 0.0 else", BITS
        ),
        "what is set to 0 is half of it": Mutant(
            "geometry/angles.py", "(2 * a.shape[0] + 24) * 2.0**-53", "(a.shape[0] + 12) * 2.0**-53", BITS
        ),
        "more than 2 apart": Mutant("geometry/angles.py", "min(d, LONGEST)", "d", FARTHEST),
        "lengths by the largest entry": Mutant(
            "geometry/angles.py", "out[i, j] = out[i, j] / length if length > 0.0 else 0.0", "pass", BITS
        ),
        "correlation without its centre": Mutant(
            "geometry/angles.py", 'X if metric == "cosine" else _centred(X)', "X", BITS
        ),
        "an angle without its error": Mutant(
            "geometry/angles.py", "return (2 * p + 20) * 2.0**-52", "return 0.0", ERROR
        ),
        "an angle's error without what is set to 0": Mutant(
            "geometry/angles.py", "return (2 * p + 20) * 2.0**-52", "return (p + 4) * 2.0**-53", ERROR
        ),
        "closer than d, and no error": Mutant(
            "geometry/screen.py", "2.0 * d * units.scale**2 + units.error if", "2.0 * d * units.scale**2 if", ERROR
        ),
        "the k nearest, and no error": Mutant(
            "geometry/screen.py",
            "- units.slack * abs(certain) - 2 * ETA - units.error",
            "- units.slack * abs(certain) - 2 * ETA",
            ERROR,
        ),
        "bounds of an angle without its error": Mutant(
            "geometry/screen.py",
            "max(low - units.error, 0.0) * (1 - units.slack), (high + units.error) * (1 + units.slack)",
            "max(low, 0.0) * (1 - units.slack), high * (1 + units.slack)",
            ERROR,
        ),
        "rows are magnified without end": Mutant(
            "geometry/screen.py", "MOST_MAGNIFIED = 2.0**60", "MOST_MAGNIFIED = 2.0**600"
        ),
        "an entry is not rounded": Mutant(
            "geometry/screen.py",
            "Units(scale, growth, slack, kind, step)",
            "Units(scale, growth, slack, kind, 0.0)",
            ROUNDING,
        ),
        "a difference's threshold without growth": Mutant(
            DIFFERENCES,
            "-(d * units.scale + units.error * norm) * (1 + units.growth + units.slack)",
            "-(d * units.scale + units.error * norm)",
            ROUNDING,
        ),
        "a difference's reach without growth": Mutant(
            DIFFERENCES, "return d * units.scale * (1 + units.growth + units.slack)", "return d * units.scale", ROUNDING
        ),
        "a difference's half without rounding": Mutant(
            DIFFERENCES,
            "return -units.error * norm * (1 + units.growth + 2 * units.slack)",
            "return 0.0 * norm",
            ROUNDING,
        ),
        "a certain difference that is not": Mutant(
            DIFFERENCES,
            "return s - (2 * units.growth + units.slack) * np.abs(s) - units.error * norm",
            "return s",
            ROUNDING,
        ),
        "the k nearest without the test row's rounding": Mutant(
            DIFFERENCES,
            "certain - (units.growth + 2 * units.slack) * abs(certain) - 2 * units.error * norm",
            "certain",
            ROUNDING,
        ),
        "bounds without the entries' rounding": Mutant(
            DIFFERENCES, "abs(s) + units.error * (test_norm + norm) + eta", "abs(s) + eta", ROUNDING
        ),
        "the last features are left out": Mutant(
            DIFFERENCES,
            "    while f < stop:\n        _subtract_one",
            "    while f < stop - 1:\n        _subtract_one",
            PARTS,
        ),
        "each part of the features begins anew": Mutant(
            DIFFERENCES,
            "            if start == 0:\n                row[:] = 0",
            "            if True:\n                row[:] = 0",
            PARTS,
        ),
        "a block's columns begin with its rows": Mutant(
            "measures/neighbours/_filling.py",
            "fill_lists(store.rows_within(*rows, *columns), rows[0], columns[0], limit",
            "fill_lists(store.rows_within(*rows, *columns), rows[0], rows[0], limit",
            BLOCKS,
        ),
    },
)
