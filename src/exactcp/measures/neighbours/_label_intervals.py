"""Which way the labels of test objects are counted: by intervals of their scores, or with all of them measured."""

from __future__ import annotations

from exactcp.counting.labels import LabelCounts
from exactcp.geometry.kinds import EUCLIDEAN
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours.kernels.fill import Lists
from exactcp.measures.neighbours.kernels.label_intervals import count_labels_by_intervals
from exactcp.measures.neighbours.kernels.scores import Provisional
from exactcp.measures.neighbours.kernels.search import TestBlock


def may_have_intervals(block: TestBlock, provisional: Provisional) -> bool:
    """Tell whether intervals of scores can serve a block of test objects.

    They need a screen of Euclidean distances, and sorted scores.
    """
    is_screened = block.screened is not None and block.stored.kind == EUCLIDEAN
    return is_screened and provisional.starts.size > 0


def count_by_intervals(
    block: TestBlock, k: int, lists: Lists, provisional: Provisional, out: LabelCounts
) -> bool | None:
    """Write the counts of all labels for a block of test objects; return whether intervals pay, None if that is open.

    They do not where they leave so many labels open that measuring these costs more than measuring the k nearest of
    each label; a few test objects do not tell.
    """
    looked_at = count_labels_by_intervals(block, k, lists, provisional, out)
    knobs, rows = _tuning.KNOBS, block.rows.size
    if rows < knobs.telling_rows:
        return None
    n, n_labels = block.stored.codes.size, block.stored.n_labels
    return bool(looked_at <= rows * (n // knobs.open_share + knobs.open_pairs * k * n_labels))
