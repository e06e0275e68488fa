"""Scores in order: one quantile that is selected is that of all scores sorted."""

import numpy as np
import pytest

from exactcp.measures._ranked_scores import Band, RankedScores


@pytest.mark.parametrize("y", [[], [3.0], [2.0, 2.0, 2.0], [0.5, -4.0, 1.0, -1.0, np.inf, 0.0, 1.0]])
@pytest.mark.parametrize("side", ["both", "upper", "lower"])
def test_a_selected_score_is_that_of_the_order(y, side):
    y = np.asarray(y, dtype=float)
    band = Band(np.full(y.size, -0.5), np.full(y.size, 0.5), np.linspace(1.0, 2.0, y.size))
    ranked = RankedScores(y, band, side)
    counts = np.arange(y.size + 2)
    of_all = [np.inf, *sorted(band.scores(y, side).tolist(), reverse=True), -np.inf]
    for _ in range(2):  # the second time from what was kept
        assert [float(ranked.quantile(count)) for count in counts] == of_all
    assert ranked.quantile(counts).tolist() == of_all
