"""Mutants of p-values: the formulas, thresholds of levels, randomness of objects and steps, seeds."""

from __future__ import annotations

from mutants import Family, Mutant

FORMULAS = (
    "predicting/test_pvalues.py::test_formulas",
    "predicting/test_pvalues.py::test_counts_of_all_examples_and_of_a_labels",
    "predicting/test_pvalues.py::test_ties_within_the_tolerance_count_as_equal",
    "predicting/test_pvalues.py::test_nan_marks_examples_outside_the_category",
    "predicting/test_pvalues.py::test_sorted_counting_equals_plain_counting",
    "predicting/test_pvalues.py::test_residuals_are_compared_with_the_slack_of_both",
    "predicting/test_pvalues.py::test_chains_of_ties_are_one_group",
)
THRESHOLDS = (
    "predicting/test_levels.py::TestThreshold::test_is_the_smallest_count_above_epsilon_for_all_n_and_levels[100]",
    "predicting/test_levels.py::TestThreshold::test_tau_counts_exactly",
    "predicting/test_levels.py::TestThreshold::test_levels_are_what_they_print_as",
    "predicting/test_levels.py::TestThreshold::test_means_of_p_values_are_exact",
    "predicting/test_levels.py::TestThreshold::test_sets_by_counts_and_by_p_values_are_the_rational_ones[100]",
)
TAU = ("contracts/test_randomness.py::TestTau::test_equals_the_textbook",)
SEEDS = "contracts/test_randomness.py::TestSeeds::"

FAMILY = Family(
    tests=FORMULAS,
    compiled=False,
    mutants={
        "the candidate is not counted": Mutant(
            "pvalues.py",
            "np.asarray((counts.greater + counts.equal + 1) / (counts.total + 1), dtype=np.float64)",
            "np.asarray((counts.greater + counts.equal) / (counts.total + 1), dtype=np.float64)",
        ),
        "n for n + 1": Mutant(
            "pvalues.py",
            "(counts.greater + counts.equal + 1) / (counts.total + 1), dtype",
            "(counts.greater + counts.equal + 1) / (counts.total), dtype",
        ),
        "ties are smoothed without the candidate": Mutant(
            "pvalues.py", "tau * (counts.equal + 1)", "tau * counts.equal"
        ),
        "greater scores are smoothed": Mutant(
            "pvalues.py", "(counts.greater + tau * (counts.equal + 1))", "(tau * (counts.greater + counts.equal + 1))"
        ),
        "nan counts as a member": Mutant(
            "pvalues.py",
            "return Counts(greater, at_least - greater, (~np.isnan(training_scores)).sum(axis=1))",
            "return Counts(greater, at_least - greater, np.full(scores.shape, training_scores.shape[1]))",
        ),
        "the wrong axis": Mutant(
            "pvalues.py", "(training_scores > hi[:, None]).sum(axis=1)", "(training_scores > hi[:, None]).sum(axis=0)"
        ),
        "above from the lower end": Mutant(
            "pvalues.py", "(training_scores > hi[:, None])", "(training_scores > lo[:, None])"
        ),
        "sorted on the wrong side": Mutant(
            "pvalues.py", 'np.searchsorted(ascending, hi, side="right")', 'np.searchsorted(ascending, lo, side="left")'
        ),
        "residuals without the candidate's slack": Mutant(
            "pvalues.py", "greater = (scores - slack > score + own).sum()", "greater = (scores - slack > score).sum()"
        ),
        "residuals without the examples' slack": Mutant(
            "pvalues.py",
            "at_least = (scores + slack >= score - own).sum()",
            "at_least = (scores >= score - own).sum()",
        ),
        "groups of ties by the score before": Mutant(
            "pvalues.py", "np.cumsum(ascending[:-1] < lo[1:])", "np.cumsum(ascending[:-1] < ascending[1:])"
        ),
        "other labels' ties": Mutant(
            "pvalues.py",
            "return Counts(greater, counts.equal_same + counts.equal_other, total)",
            "return Counts(greater, counts.equal_same, total)",
        ),
        "the sizes of all": Mutant(
            "pvalues.py",
            "np.broadcast_to(sizes, counts.greater_same.shape)",
            "np.full(counts.greater_same.shape, sizes.sum())",
        ),
        "p equal to epsilon is inside": Mutant(
            "pvalues.py", "whole + (np.asarray(tau) <= rest)", "whole + (np.asarray(tau) < rest)", THRESHOLDS
        ),
        "a level is its binary number": Mutant(
            "_levels.py", "else _read(str(number))", "else Fraction(float(number))", THRESHOLDS
        ),
        "a rest that is rounded up": Mutant(
            "pvalues.py",
            "math.nextafter(nearest, -math.inf) if is_greater else nearest",
            "nearest",
            THRESHOLDS,
        ),
        "n examples for n + 1": Mutant(
            "pvalues.py", "totals = np.asarray(n) + 1\n", "totals = np.asarray(n)\n", THRESHOLDS
        ),
        "a threshold of n + 2": Mutant(
            "pvalues.py",
            "np.clip(whole + (np.asarray(tau) <= rest), 0, totals)",
            "np.clip(whole + (np.asarray(tau) <= rest), 0, totals - 1)",
            THRESHOLDS,
        ),
        "one example too many is needed": Mutant(
            "pvalues.py", "math.ceil(1 / as_decimal(epsilon)) - 1", "math.ceil(1 / as_decimal(epsilon))", THRESHOLDS
        ),
        "sets that hold what is outside": Mutant(
            "pvalues.py",
            "counts.greater + counts.equal >= wanted",
            "counts.greater + counts.equal > wanted",
            THRESHOLDS,
        ),
        "p at epsilon exceeds it": Mutant("pvalues.py", "p > float(epsilon)", "p >= float(epsilon)", THRESHOLDS),
        "means over different totals": Mutant("pvalues.py", "* (common // total) for part", "* 1 for part", THRESHOLDS),
        "the numerator of a mean": Mutant(
            "pvalues.py", "Counts(np.asarray(p - 1),", "Counts(np.asarray(p),", THRESHOLDS
        ),
        "tau may be 0": Mutant(
            "counting/randomness.py",
            "(np.float64(key >> _11) + 1.0) * 2.0**-53",
            "np.float64(key >> _11) * 2.0**-53",
            TAU,
        ),
        "tau above 1": Mutant(
            "counting/randomness.py",
            "(np.float64(key >> _11) + 1.0) * 2.0**-53",
            "(np.float64(key >> _11) + 1.0) * 2.0**-52",
            TAU,
        ),
        "-0.0 is another object": Mutant(
            "counting/randomness.py", "(np.uint64(0) if word == _MINUS_ZERO else word)", "word", TAU
        ),
        "only the last feature counts": Mutant(
            "counting/randomness.py", "key = mix_one(key ^ (", "key = mix_one(key & np.uint64(0) ^ (", TAU
        ),
        "steps from 0": Mutant("counting/randomness.py", "np.uint64(first + i)", "np.uint64(i)", TAU),
        "one purpose for all": Mutant(
            "counting/randomness.py",
            "TEST_COLUMN, TAU_OF_OBJECT, TAU_OF_STEP = 2, 3, 4",
            "TEST_COLUMN, TAU_OF_OBJECT, TAU_OF_STEP = 2, 4, 4",
            TAU,
        ),
        "the seed is not mixed": Mutant(
            "counting/randomness.py",
            "np.uint64(seed) ^ (np.uint64(purpose) << _32)",
            "np.uint64(0) ^ (np.uint64(purpose) << _32)",
            TAU,
        ),
        "objects in single precision": Mutant(
            "_rows.py",
            "np.require(array.reshape(array.shape[0], -1), np.float64",
            "np.require(np.float32(array).reshape(array.shape[0], -1), np.float64",
            TAU,
        ),
        "an integer seeds a generator": Mutant(
            "_seeds.py",
            "int(random_state) if isinstance(random_state, Integral) else",
            "",
            (f"{SEEDS}test_measures_take_the_predictors_seed_unless_they_have_one",),
        ),
        "None is seed 0": Mutant(
            "_seeds.py",
            "generator = check_random_state(random_state)",
            "generator = check_random_state(random_state or 0)",
            (f"{SEEDS}test_none_differs_from_fit_to_fit_and_stays_within_one[full]",),
        ),
        "a measure's own seed is overwritten": Mutant(
            "_seeds.py",
            'lent if value is None or name == "random_state" else draw_seed(value)',
            "lent",
            (
                f"{SEEDS}test_measures_take_the_predictors_seed_unless_they_have_one",
                f"{SEEDS}test_models_are_fitted_alike_for_every_example",
            ),
        ),
        "a measure without a seed keeps none": Mutant(
            "_seeds.py",
            'lent = seed if states.get("random_state") is None else draw_seed(states["random_state"])',
            'lent = states.get("random_state")',
            (f"{SEEDS}test_measures_take_the_predictors_seed_unless_they_have_one",),
        ),
    },
)
