"""The ten criteria of efficiency (theory EF.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from exactcp.metrics._inputs import Floats, check_p, false_p, false_sizes, sizes, without_largest


def sum_of_p(p: ArrayLike) -> float:
    """Criterion S: the sum of the p-values.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> from exactcp.metrics import sum_of_p
    >>> sum_of_p([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    1.25
    """
    return float(check_p(p).sum(axis=1).mean())


def unconfidence(p: ArrayLike) -> float:
    """Criterion U: the second largest p-value, which is one minus the confidence; 0 if there is one label.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> from exactcp.metrics import unconfidence
    >>> unconfidence([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    0.25
    """
    return float(without_largest(check_p(p)).max(axis=1, initial=0.0).mean())


def fuzziness(p: ArrayLike) -> float:
    """Criterion F: the sum of the p-values without the largest.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    float, the mean of `fuzziness_per_object`

    Examples
    --------
    >>> from exactcp.metrics import fuzziness
    >>> fuzziness([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    0.375
    """
    return float(fuzziness_per_object(p).mean())


def mean_fuzziness(p: ArrayLike) -> float:
    """Fuzziness per wrong label, F / (l - 1), as in the founding paper's table; 0 if there is one label.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> from exactcp.metrics import mean_fuzziness
    >>> mean_fuzziness([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    0.1875
    """
    checked = check_p(p)
    return float(fuzziness(checked) / max(checked.shape[1] - 1, 1))


def fuzziness_per_object(p: ArrayLike) -> Floats:
    """Fuzziness of each test object: the sum of its p-values without the largest.

    Parameters
    ----------
    p : array of shape (m, l), the p-values

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> from exactcp.metrics import fuzziness_per_object
    >>> fuzziness_per_object([[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]])
    array([0.75, 0.  ])
    """
    return np.asarray(without_largest(check_p(p)).sum(axis=1))


def observed_unconfidence(p: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Criterion OU: the largest p-value of a false label; 0 if there is one label.

    Parameters
    ----------
    p : array of shape (m, l), the p-values
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> from exactcp.metrics import observed_unconfidence
    >>> p = [[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]]
    >>> observed_unconfidence(p, ["b", "a"], classes=["a", "b", "c"])
    0.375
    """
    return float(false_p(p, y, classes).max(axis=1).mean())


def observed_fuzziness(p: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Criterion OF: the sum of the p-values of the false labels.

    Parameters
    ----------
    p : array of shape (m, l), the p-values
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> from exactcp.metrics import observed_fuzziness
    >>> p = [[0.75, 0.5, 0.25], [1.0, 0.0, 0.0]]
    >>> observed_fuzziness(p, ["b", "a"], classes=["a", "b", "c"])
    0.5
    """
    return float(false_p(p, y, classes).sum(axis=1).mean())


def set_size(sets: ArrayLike) -> float:
    """Criterion N: the number of labels in the prediction set.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> from exactcp.metrics import set_size
    >>> set_size([[True, True, True], [False, False, False]])
    1.5
    """
    return float(sizes(sets).mean())


def multiple_fraction(sets: ArrayLike) -> float:
    """Criterion M: the fraction of prediction sets with more than one label.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets

    Returns
    -------
    float, the fraction of test objects

    Examples
    --------
    >>> from exactcp.metrics import multiple_fraction
    >>> multiple_fraction([[True, True, True], [False, False, False]])
    0.5
    """
    return float((sizes(sets) > 1).mean())


def excess(sets: ArrayLike) -> float:
    """Criterion E: the number of labels in the prediction set beyond the first, max(size - 1, 0).

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> from exactcp.metrics import excess
    >>> excess([[True, True, True], [False, False, False]])
    1.0
    """
    return float(np.maximum(sizes(sets) - 1, 0).mean())


def observed_multiple_fraction(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Criterion OM: the fraction of prediction sets with a false label.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column; by default those that the sets know, or 0, ..., l - 1

    Returns
    -------
    float, the fraction of test objects

    Examples
    --------
    >>> from exactcp.metrics import observed_multiple_fraction
    >>> observed_multiple_fraction([[True, True, True], [True, False, False]], [1, 0])
    0.5
    """
    return float((false_sizes(sets, y, classes) > 0).mean())


def observed_excess(sets: ArrayLike, y: ArrayLike, *, classes: ArrayLike | None = None) -> float:
    """Criterion OE: the number of false labels in the prediction set.

    Parameters
    ----------
    sets : bool array of shape (m, l), the prediction sets
    y : array of shape (m,), the true labels
    classes : array of shape (l,), the label of each column; by default those that the sets know, or 0, ..., l - 1

    Returns
    -------
    float, the mean over test objects

    Examples
    --------
    >>> from exactcp.metrics import observed_excess
    >>> observed_excess([[True, True, True], [True, False, False]], [1, 0])
    1.0
    """
    return float(false_sizes(sets, y, classes).mean())
