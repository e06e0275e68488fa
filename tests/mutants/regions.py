"""Mutants of what a user reads: label sets, regions, order statistics of intervals, warnings of levels, metrics."""

from __future__ import annotations

from mutants import Family, Mutant

UNIONS = ("regression/test_regression.py::TestRegion",)
LABELS = (
    "classification/test_classification.py::TestPredictions::test_predict_breaks_ties_of_p_by_the_score",
    "classification/test_classification.py::TestPredictions::test_confidence_and_credibility",
)
WARNINGS = (
    "predicting/test_levels.py::TestRegressors::test_too_few_by_one",
    "predicting/test_levels.py::TestRegressors::test_split",
    "classification/test_classification.py::TestLevels::test_too_few_examples_for_a_level_warn_once",
    "classification/test_classification.py::TestLevels::test_enough_examples_do_not_warn",
)
INTERVALS = (
    "predicting/test_levels.py::TestRegressors::test_split",
    "predicting/test_levels.py::TestRegressors::test_left_out",
)
CATEGORIES = ("regression/test_interval_regression.py::TestEqualsPlainFormulas::test_mondrian_split",)
NORMALISED = ("regression/test_interval_regression.py::TestEqualsPlainFormulas::test_normalised_scores",)
METRICS = (
    "metrics/test_labels.py::test_a_hand_computed_example",
    "metrics/test_labels.py::test_the_set_leaves_out_p_equal_to_epsilon",
    "metrics/test_labels.py::test_criteria_equal_the_loop",
    "metrics/test_labels.py::test_error_by_label",
    "predicting/test_levels.py::test_calibration_curves",
)
DISTRIBUTIONS = ("predicting/test_levels.py::test_predictive_distributions",)

FAMILY = Family(
    tests=UNIONS,
    compiled=False,
    mutants={
        "the upper end is outside": Mutant(
            "regions.py", "(float(y) <= self.intervals[:, 1])).any()", "(float(y) < self.intervals[:, 1])).any()"
        ),
        "the lower end is outside": Mutant(
            "regions.py", "((self.intervals[:, 0] <= targets)", "((self.intervals[:, 0] < targets)"
        ),
        "in all intervals": Mutant(
            "regions.py",
            "(targets <= self.intervals[:, 1])).any(axis=-1)",
            "(targets <= self.intervals[:, 1])).all(axis=-1)",
        ),
        "a hull of the first interval": Mutant(
            "regions.py", "float(self.intervals[-1, 1]))", "float(self.intervals[0, 1]))"
        ),
        "the length of the hull": Mutant(
            "regions.py",
            "(self.intervals[:, 1] - self.intervals[:, 0]).sum()",
            "(self.intervals[-1, 1] - self.intervals[0, 0])",
        ),
        "the region's own array": Mutant("regions.py", "return self.intervals.copy()", "return self.intervals"),
        "equal by length": Mutant(
            "regions.py",
            "np.array_equal(self.intervals, other.intervals)",
            "self.intervals.shape == other.intervals.shape",
        ),
        "ties of p go to the stranger label": Mutant(
            "counting/labels.py", "scores[t, label] < scores[t, chosen]", "scores[t, label] > scores[t, chosen]", LABELS
        ),
        "the label with the smallest p": Mutant(
            "counting/labels.py", "if p[t, label] > p[t, chosen] or", "if p[t, label] < p[t, chosen] or", LABELS
        ),
        "confidence by the largest p": Mutant(
            "counting/labels.py", "chosen, 1.0 - second", "chosen, 1.0 - p[t, chosen]", LABELS
        ),
        "credibility is the second p": Mutant(
            "counting/labels.py", "1.0 - second, p[t, chosen]", "1.0 - second, second", LABELS
        ),
        "the best label so far is not the second": Mutant(
            "counting/labels.py", "                second = p[t, chosen]\n", "", LABELS
        ),
        "a warning one example too late": Mutant(
            "predicting/levels.py",
            "if (n + 1) * as_decimal(epsilon) >= 1",
            "if (n + 2) * as_decimal(epsilon) >= 1",
            WARNINGS,
        ),
        "a warning at the edge": Mutant(
            "predicting/levels.py",
            "if (n + 1) * as_decimal(epsilon) >= 1",
            "if (n + 1) * as_decimal(epsilon) > 1",
            WARNINGS,
        ),
        "a warning every time": Mutant("predicting/levels.py", "    warned.add(level)\n", "", WARNINGS),
        "a warning about the binary level": Mutant(
            "predicting/levels.py",
            "(n + 1) * as_decimal(epsilon) >= 1",
            "(n + 1) * float(epsilon) - 1e-12 >= 1",
            WARNINGS,
        ),
        "the next residual": Mutant(
            "measures/_ranked_scores.py",
            "np.concatenate([[np.inf], self._descending, [-np.inf]])[count]",
            "np.concatenate([[np.inf], self._descending, [-np.inf]])[np.where(count > 0, count + 1, 0)]",
            INTERVALS,
        ),
        "m = 0 is the largest residual": Mutant(
            "measures/_ranked_scores.py",
            "np.concatenate([[np.inf], self._descending",
            "np.concatenate([self._descending[:1], self._descending",
            ("regression/test_interval_regression.py::TestLevels::test_too_few_examples_for_a_level_warn_once",),
        ),
        "ascending residuals": Mutant(
            "measures/_ranked_scores.py", "np.sort(self._scores)[::-1]", "np.sort(self._scores)", INTERVALS
        ),
        "residuals of all categories": Mutant(
            "regression/_calibration.py",
            "{one: self._rank(members) for",
            "{one: self._rank(slice(None)) for",
            CATEGORIES,
        ),
        "widths that are not scaled": Mutant(
            "regression/_calibration.py",
            "low if own.has_unit else low * own.scale",
            "low",
            NORMALISED,
        ),
        "one number for all scales is taken for 1": Mutant(
            "measures/_ranked_scores.py",
            " and bool(self.scale[0] == 1.0)",
            "",
            ("measures/test_ranked_scores.py::test_one_scale_for_all_is_the_same_as_many",),
        ),
        "the lower end's rank": Mutant(
            "measures/_left_out.py",
            "down, up = np.asarray(counts) - 1,",
            "down, up = np.asarray(counts),",
            INTERVALS,
        ),
        "the upper end's rank": Mutant(
            "measures/_left_out.py",
            "self.residuals.size - np.asarray(counts)",
            "self.residuals.size - np.asarray(counts) - 1",
            INTERVALS,
        ),
        "the upper end without residuals": Mutant(
            "measures/_left_out.py", "np.partition(upper + widths, up", "np.partition(upper + 0 * widths, up", INTERVALS
        ),
        "extremes over the objects": Mutant(
            "measures/_left_out.py",
            "(lower - width * scale).min(axis=1)",
            "(lower - width * scale).max(axis=1)",
            INTERVALS,
        ),
        "the sign of an end": Mutant(
            "regression/_left_out.py",
            "[lower - widths * scale, upper + widths * scale]",
            "[lower + widths * scale, upper + widths * scale]",
            ("regression/test_interval_regression.py::TestEqualsPlainFormulas::test_jackknife",),
        ),
        "jackknife's rank": Mutant(
            "regression/_left_out.py", "self._descending[counts - 1]", "self._descending[counts]", INTERVALS
        ),
        "residuals of another fold": Mutant(
            "measures/_left_out.py",
            "np.lexsort((self.residuals, self.fold))",
            "np.lexsort((self.residuals, self.fold[::-1]))",
            INTERVALS,
        ),
        "residuals with a sign": Mutant(
            "measures/_ranked_scores.py", "np.abs(outside, out=outside)", "pass", INTERVALS
        ),
        "residuals below the band": Mutant(
            "measures/_ranked_scores.py",
            "np.maximum(self.lower - y, outside, out=outside)",
            "pass",
            ("measures/test_ranked_scores.py::test_one_scale_for_all_is_the_same_as_many",),
        ),
        "half of an interval's level": Mutant(
            "regression/_distributions.py",
            "half = pvalues.significance(confidence_level) / 2",
            "half = pvalues.significance(confidence_level)",
            DISTRIBUTIONS,
        ),
        "metrics of a binary level": Mutant(
            "metrics/bands.py", "1 - as_decimal(level) for level", "1 - level for level", METRICS
        ),
        "the summary's own level": Mutant(
            "metrics/labels.py",
            "sets = pvalues.exceeds(checked, pvalues.significance(confidence_level))",
            "sets = checked >= float(pvalues.significance(confidence_level))",
            METRICS,
        ),
        "errors of all labels": Mutant(
            "metrics/labels.py",
            "errors, totals = (true & ~checked).sum(axis=0)",
            "errors, totals = (~checked).sum(axis=0)",
            METRICS,
        ),
        "the largest p is kept": Mutant(
            "metrics/labels.py", "np.sort(p, axis=1)[:, :-1]", "np.sort(p, axis=1)[:, 1:]", METRICS
        ),
        "the true label is false": Mutant(
            "metrics/labels.py", '"observed_excess": size - covered', '"observed_excess": size', METRICS
        ),
    },
)
