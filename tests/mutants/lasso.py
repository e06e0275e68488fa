"""Mutants of the lasso: the active set, its path as a target varies, the QR factorisation, constant pieces."""

from __future__ import annotations

from mutants import Family, Mutant

EQUAL = "measures/lasso/test_lasso_residual.py::TestEqualsTextbook::"
COUNTS = (
    f"{EQUAL}test_solution",
    *(
        f"{EQUAL}test_counts[{problem}-0.3-{fit_intercept}]"
        for problem in ("long", "grid", "wide grid", "twins but for the test object", "twin columns")
        for fit_intercept in (False, True)
    ),
)
CONDITIONS = tuple(
    f"measures/lasso/test_lasso_residual.py::TestHardColumns::test_optimality_conditions[{kind}-{fit_intercept}]"
    for kind in ("one-hot", "duplicated", "nearly collinear", "dependent")
    for fit_intercept in (False, True)
)
TURNS = ("measures/lasso/test_lasso_residual.py::TestOrthogonalColumns",)
REGIONS = (
    "measures/lasso/test_lasso_residual.py::TestRegions::test_membership_is_the_count",
    "measures/lasso/test_lasso_residual.py::TestRegions::test_all_and_nothing",
)
LEARNING = ("measures/lasso/test_lasso_residual.py::TestLearning",)
PREDICTIONS = (
    "measures/lasso/test_lasso_residual.py::TestMeasure::test_is_scikit_learns_lasso",
    "measures/lasso/test_lasso_residual.py::test_targets_far_from_0",
)

FAMILY = Family(
    tests=COUNTS,
    compiled=False,
    mutants={
        "the penalty pushes away": Mutant(
            "measures/lasso/kernels/qr.py", "pull[k] = total - pull[k]", "pull[k] = total + pull[k]"
        ),
        "coefficients may change sign": Mutant(
            "measures/lasso/kernels/start.py", "if penalty[j] > 0.0 and goal[k] * signs[j] <= 0.0:", "if False:"
        ),
        "the last to reach zero": Mutant(
            "measures/lasso/kernels/start.py",
            "if reached < share or first < 0:",
            "if reached > share or first < 0:",
            CONDITIONS,
            survives="another order comes to the same solution: that it comes to an end is what rests on it",
        ),
        "the one that leaves keeps its value": Mutant(
            "measures/lasso/kernels/start.py",
            "    if first >= 0:\n        b[first] = 0.0\n    return first, rest",
            "    return first, rest",
            COUNTS + CONDITIONS,
            survives="its share was chosen so that it is zero but for rounding, and the next solution replaces it",
        ),
        "the sign of the entering column": Mutant(
            "measures/lasso/kernels/start.py",
            "signs[j] = math.copysign(1.0, correlation)",
            "signs[j] = -math.copysign(1.0, correlation)",
        ),
        "it stops one column early": Mutant(
            "measures/lasso/kernels/start.py",
            "excess = abs(correlations[j]) - penalty[j]",
            "excess = abs(correlations[j]) - 1.1 * penalty[j]",
        ),
        "dependent columns change places the wrong way": Mutant(
            "measures/lasso/kernels/start.py",
            "b[columns[k]] -= signs[entering] * step * combination[k]",
            "b[columns[k]] += signs[entering] * step * combination[k]",
            CONDITIONS,
            survives="the next solution replaces the coefficients, which only say where it comes from",
        ),
        "the intercept is penalised": Mutant("measures/lasso/_bag.py", "penalty[: int(self._intercept)] = 0.0", "pass"),
        "an unpenalised coefficient leaves": Mutant(
            "measures/lasso/kernels/path.py",
            "if penalty[j] > 0.0 and v[j] * direction * signs[j] < 0.0:",
            "if v[j] * direction * signs[j] < 0.0:",
            COUNTS + CONDITIONS,
            survives="it comes back at the same place, since its wall is 0",
        ),
        "the share of the test object": Mutant(
            "measures/lasso/kernels/path.py", "share = 1.0 / (1.0 + leverage)", "share = 1.0 - leverage"
        ),
        "the other wall": Mutant(
            "measures/lasso/kernels/path.py",
            "wall = math.copysign(penalty[j], slopes[j] * direction)",
            "wall = -math.copysign(penalty[j], slopes[j] * direction)",
        ),
        "coefficients that move away from zero": Mutant(
            "measures/lasso/kernels/path.py", "v[j] * direction * signs[j] < 0.0:", "v[j] * direction * signs[j] > 0.0:"
        ),
        "the last event": Mutant(
            "measures/lasso/kernels/path.py",
            "if distance < nearest:",
            "if nearest == math.inf or nearest < distance < math.inf:",
        ),
        "the slope without x's row": Mutant(
            "measures/lasso/kernels/path.py",
            "correlations, slopes = np.zeros(p), x.copy()",
            "correlations, slopes = np.zeros(p), np.zeros(p)",
        ),
        "a column that left keeps its sign": Mutant(
            "measures/lasso/kernels/path.py",
            "active[j], signs[j], asleep[:] = False, 0.0, False",
            "active[j], asleep[:] = False, False",
            survives="the sign of a column is only read while it is active, and set when it enters",
        ),
        "the sign of a column that enters the path": Mutant(
            "measures/lasso/kernels/path.py",
            "active[j], signs[j], asleep[:] = True, math.copysign(1.0, piece.slopes[j] * direction), False",
            "active[j], signs[j], asleep[:] = True, -math.copysign(1.0, piece.slopes[j] * direction), False",
        ),
        "an absorbing column is forgotten": Mutant(
            "measures/lasso/kernels/path.py", "if abs(outside) <= STILL * terms:", "if True:"
        ),
        "the absorbed change": Mutant(
            "measures/lasso/kernels/path.py",
            "v[entering] = 1.0 / outside",
            "v[entering] = outside",
            survives="the entering coefficient moves away from zero: others end the piece",
        ),
        "the residual before it is constant": Mutant(
            "measures/lasso/kernels/path.py",
            "residual, piece, entering = piece.share * (y - piece.f), absorbed, j",
            "residual, piece, entering = y - piece.f, absorbed, j",
        ),
        "the path down goes up": Mutant(
            "measures/lasso/kernels/path.py", "            y += direction * distance\n", "            y += distance\n"
        ),
        "Gram and Schmidt once": Mutant(
            "measures/lasso/kernels/qr.py",
            "    for _ in range(2):\n",
            "    for _ in range(1):\n",
            (
                "measures/lasso/test_lasso_residual.py::TestOrthogonalColumns::test_nearly_dependent_columns_are_orthogonal",
            ),
        ),
        "dependent columns enter": Mutant(
            "measures/lasso/kernels/qr.py", "left <= RANK * RANK * square", "left < 0.0", TURNS
        ),
        "a rotation to the wrong side": Mutant(
            "measures/lasso/kernels/qr.py",
            "            Q[row, i], Q[row + 1, i] = cosine * up + sine * down, cosine * down - sine * up",
            "            Q[row, i], Q[row + 1, i] = cosine * up - sine * down, cosine * down + sine * up",
            TURNS,
        ),
        "the column after the one that leaves": Mutant(
            "measures/lasso/kernels/qr.py", "for row in range(c + 2):", "for row in range(c + 1):", TURNS
        ),
        "substitution from the wrong end": Mutant(
            "measures/lasso/kernels/qr.py", "for k in range(size - 1, -1, -1):", "for k in range(size):", TURNS
        ),
        "the diagonal of the transpose": Mutant(
            "measures/lasso/kernels/qr.py", "b[k] -= T[row, k] * b[row]", "b[k] -= T[k, row] * b[row]"
        ),
        "what is beside the columns": Mutant(
            "measures/lasso/_bag.py",
            "residuals, across = self._beside + residuals @ self._Q.T,",
            "residuals, across = residuals @ self._Q.T,",
        ),
        "A without the share": Mutant(
            "measures/lasso/_bag.py", "residuals[k] / path.share[k], float", "residuals[k], float"
        ),
        "pieces of the way down in their order": Mutant(
            "measures/lasso/_bag.py", "self._pieces(x, -1)[::-1]", "self._pieces(x, -1)"
        ),
        "room for the first pieces only": Mutant(
            "measures/lasso/_bag.py",
            "if np.isinf(path.ends[used]):",
            "if used > 0:",
            ("measures/lasso/test_lasso_residual.py::TestRegions::test_the_same_for_every_number_of_jobs_and_room",),
        ),
        "a constant piece is all or nothing": Mutant(
            "measures/lasso/_bag.py", "1.0 * is_greater + is_at_least", "2.0 * is_at_least"
        ),
        "targets of before": Mutant(
            "measures/lasso/_bag.py",
            "np.delete(self._X, positions, axis=0), np.delete(self._y, positions)",
            "np.delete(self._X, positions, axis=0), self._y[: -len(positions)]",
            LEARNING,
        ),
        "predictions from the origin": Mutant(
            "measures/lasso/_bag.py",
            "self._columns(X) @ self._start + self._origin)",
            "self._columns(X) @ self._start)",
            PREDICTIONS,
        ),
        "the intercept counts from the origin": Mutant(
            "measures/lasso/_bag.py", "coefficients[: int(self._intercept)] += self._origin", "pass", PREDICTIONS
        ),
    },
)
