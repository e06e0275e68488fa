"""Blocks of test objects from their rows to their answers: searching, and what is made of what was found, in one call.

What a search finds has no size that is known beforehand, so it does not cross the border to Python (see `_jit`).
"""

from exactcp._jit import compiled
from exactcp.measures.neighbours.kernels.scores import candidate_scores, count_labels
from exactcp.measures.neighbours.kernels.search import search_distances, search_screened


@compiled
def score_screened(rows, X, tests, training, screen, k, use_ratio, out):
    """Write the candidates' scores of the test objects X, rows `rows` of all, to `out` (m, l)."""
    _put(rows, candidate_scores(search_screened(X, tests, training, screen, k), use_ratio), out)


@compiled
def score_plain(rows, distances, touch, codes, n_labels, k, use_ratio, out):
    """`score_screened` from known distances."""
    _put(rows, candidate_scores(search_distances(distances, codes, touch, n_labels, k), use_ratio), out)


@compiled
def count_screened(rows, X, tests, training, screen, k, lists, codes, provisional, out):
    """Write the counts of all labels for the test objects X, rows `rows` of all, to `out`."""
    found = search_screened(X, tests, training, screen, k)
    _put_counts(rows, count_labels(found, X, training.objects, lists, codes, provisional, k), out)


@compiled
def count_plain(rows, X, distances, touch, objects, n_labels, k, lists, codes, provisional, out):
    """`count_screened` from known distances."""
    found = search_distances(distances, codes, touch, n_labels, k)
    _put_counts(rows, count_labels(found, X, objects, lists, codes, provisional, k), out)


@compiled
def _put(rows, part, out):
    for t in range(rows.shape[0]):
        for c in range(out.shape[1]):
            out[rows[t], c] = part[t, c]


@compiled
def _put_counts(rows, part, out):
    _put(rows, part.greater_same, out.greater_same)
    _put(rows, part.equal_same, out.equal_same)
    _put(rows, part.greater_other, out.greater_other)
    _put(rows, part.equal_other, out.equal_other)
    _put(rows, part.scores, out.scores)
