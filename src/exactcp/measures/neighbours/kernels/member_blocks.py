"""Blocks of test objects from their rows to their answers by neighbourhoods, in one call (see `neighbour_blocks`).

The first function of each pair takes what the screen wants, the second takes known distances.
"""

from exactcp._jit import compiled, inner
from exactcp.measures.neighbours.kernels.left_out import left_out_ends
from exactcp.measures.neighbours.kernels.means import predictions, resolve
from exactcp.measures.neighbours.kernels.members import members_plain, members_screened
from exactcp.measures.neighbours.kernels.residuals import bound_residuals, count_residuals
from exactcp.measures.neighbours.kernels.votes import venn_tables


@inner
def _put(rows, part, out):
    for t in range(rows.shape[0]):
        out[rows[t]] = part[t]


@compiled
def predict_screened(rows, X, tests, training, screen, k, targets, origin, out):
    """Write the predictions for the test objects X, rows `rows` of all, to `out` (m,)."""
    _put(rows, predictions(members_screened(X, tests, training, screen, k), targets, k, origin), out)


@compiled
def predict_plain(rows, distances, touch, k, targets, origin, out):
    """`predict_screened` from known distances."""
    _put(rows, predictions(members_plain(distances, touch, k), targets, k, origin), out)


@inner
def _count(rows, X, objects, met, y, untouched, k, targets, state, out):
    touches, center = resolve(met, X, objects, state.boundary), predictions(met, targets, k, state.origin)
    count_residuals(rows, y, center, touches, untouched, k, targets, state, out)


@compiled
def count_screened(rows, X, tests, training, screen, y, untouched, k, targets, state, out):
    """Write how many training scores are greater and equal for test objects with targets y (m,) to `out` (m, 2)."""
    met = members_screened(X, tests, training, screen, k)
    _count(rows, X, training.objects, met, y, untouched, k, targets, state, out)


@compiled
def count_plain(rows, X, objects, distances, touch, y, untouched, k, targets, state, out):
    """`count_screened` from known distances."""
    _count(rows, X, objects, members_plain(distances, touch, k), y, untouched, k, targets, state, out)


@inner
def _bound(rows, X, objects, met, thresholds, untouched, k, targets, state, out):
    touches, center = resolve(met, X, objects, state.boundary), predictions(met, targets, k, state.origin)
    bound_residuals(rows, thresholds, center, touches, untouched, k, targets, state, out)


@compiled
def bound_screened(rows, X, tests, training, screen, thresholds, untouched, k, targets, state, out):
    """Write the intervals where thresholds (m,) examples are at least as strange to `out` (m, 2)."""
    met = members_screened(X, tests, training, screen, k)
    _bound(rows, X, training.objects, met, thresholds, untouched, k, targets, state, out)


@compiled
def bound_plain(rows, X, objects, distances, touch, thresholds, untouched, k, targets, state, out):
    """`bound_screened` from known distances."""
    _bound(rows, X, objects, members_plain(distances, touch, k), thresholds, untouched, k, targets, state, out)


@compiled
def tables_screened(X, tests, training, screen, codes, k, table, balls):
    """The tables (b, l, l) of Venn prediction for the test objects X."""
    met = members_screened(X, tests, training, screen, k)
    return venn_tables(met, resolve(met, X, training.objects, balls.boundary), codes, k, table, balls)


@compiled
def tables_plain(X, objects, distances, touch, codes, k, table, balls):
    """`tables_screened` from known distances."""
    met = members_plain(distances, touch, k)
    return venn_tables(met, resolve(met, X, objects, balls.boundary), codes, k, table, balls)


@compiled
def ends_screened(rows, X, tests, training, screen, targets, k, count, left_out, out):
    """Write the ends (m, 4) of `left_out_ends` for the test objects X, rows `rows` of all, to `out`."""
    met = members_screened(X, tests, training, screen, k + 1)
    _put(rows, left_out_ends(met, targets, k, count, *left_out), out)


@compiled
def ends_plain(rows, distances, touch, targets, k, count, left_out, out):
    """`ends_screened` from known distances."""
    _put(rows, left_out_ends(members_plain(distances, touch, k + 1), targets, k, count, *left_out), out)
