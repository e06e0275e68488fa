"""All criteria at once."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from numpy.typing import ArrayLike

from exactcp import pvalues
from exactcp.metrics._inputs import check_p
from exactcp.metrics.criteria import (
    excess,
    fuzziness,
    mean_fuzziness,
    multiple_fraction,
    observed_excess,
    observed_fuzziness,
    observed_multiple_fraction,
    observed_unconfidence,
    set_size,
    sum_of_p,
    unconfidence,
)
from exactcp.metrics.validity import coverage


@dataclass(frozen=True)
class EfficiencySummary:
    """Every criterion on one test set, from `efficiency_summary`.

    Attributes
    ----------
    confidence_level : float
        The level of the prediction sets.
    sum_of_p, unconfidence, fuzziness, mean_fuzziness : float
        The criteria of the p-values: S, U, F and F / (l - 1).
    set_size, multiple_fraction, excess : float
        The criteria of the prediction sets: N, M and E.
    observed_unconfidence, observed_fuzziness, observed_multiple_fraction, observed_excess : float or None
        The criteria of the false labels: OU, OF, OM and OE; None without the true labels.
    coverage : float or None
        The fraction of sets with the true label; None without the true labels.

    Examples
    --------
    >>> from exactcp.metrics import efficiency_summary
    >>> summary = efficiency_summary([[0.75, 0.125], [0.5, 0.0]], confidence_level=0.9)
    >>> summary.set_size, summary.sum_of_p, summary.coverage
    (1.5, 0.6875, None)
    """

    confidence_level: float
    sum_of_p: float
    unconfidence: float
    fuzziness: float
    mean_fuzziness: float
    set_size: float
    multiple_fraction: float
    excess: float
    observed_unconfidence: float | None = None
    observed_fuzziness: float | None = None
    observed_multiple_fraction: float | None = None
    observed_excess: float | None = None
    coverage: float | None = None

    def to_dict(self) -> dict[str, float | None]:
        """Field name to value, for a table row."""
        return asdict(self)


def efficiency_summary(
    p: ArrayLike, y: ArrayLike | None = None, *, classes: ArrayLike | None = None, confidence_level: float = 0.95
) -> EfficiencySummary:
    """All criteria of efficiency, and the coverage if the true labels are given.

    Parameters
    ----------
    p : array of shape (m, l), the p-values
    y : array of shape (m,), default=None
        True labels; None leaves out the observed criteria and the coverage.
    classes : array of shape (l,), the label of each column, default 0, ..., l - 1
    confidence_level : float in (0, 1), default=0.95
        The prediction sets are ``p > epsilon``, epsilon the decimal complement of the level: 0.05.

    Returns
    -------
    EfficiencySummary
        The mean of every criterion over the test objects.

    Examples
    --------
    >>> from exactcp.metrics import efficiency_summary
    >>> summary = efficiency_summary([[0.75, 0.125], [0.5, 0.0]], [0, 1], confidence_level=0.9)
    >>> summary.set_size, summary.observed_excess, summary.coverage
    (1.5, 1.0, 0.5)
    """
    epsilon = pvalues.significance(confidence_level)
    checked = check_p(p)
    sets = pvalues.exceeds(checked, epsilon)
    summary = EfficiencySummary(
        confidence_level=float(confidence_level),
        sum_of_p=sum_of_p(checked),
        unconfidence=unconfidence(checked),
        fuzziness=fuzziness(checked),
        mean_fuzziness=mean_fuzziness(checked),
        set_size=set_size(sets),
        multiple_fraction=multiple_fraction(sets),
        excess=excess(sets),
    )
    if y is None:
        return summary
    return replace(
        summary,
        observed_unconfidence=observed_unconfidence(checked, y, classes=classes),
        observed_fuzziness=observed_fuzziness(checked, y, classes=classes),
        observed_multiple_fraction=observed_multiple_fraction(sets, y, classes=classes),
        observed_excess=observed_excess(sets, y, classes=classes),
        coverage=coverage(sets, y, classes=classes),
    )
