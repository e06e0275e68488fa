"""What a bag is: the state that full conformal prediction asks, which learns and unlearns examples.

`LabelBag` and `TargetBag` say all that predictors ask of one. `LabelBag` and `TargetBagBase` have the defaults of what
a bag cannot do cheaper than by its counts, so that nobody probes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from exactcp._changes import Bag, Change
from exactcp._parallel import ALONE, FREE, Effort
from exactcp.counting.categories import Within
from exactcp.counting.labels import LabelCounts


class AnyBag(Protocol):
    """State that learns and unlearns one example; `exactcp._changes` says how nobody else notices."""

    refits: ClassVar[bool]  # whether every question is answered by fitting anew

    def warn_of_cost(self, m: int) -> None:
        """Say, once, what asking about m test objects will cost, if it is worth a word."""

    @property
    def n(self) -> int:
        """Number of examples."""

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:
        """Forget the examples with these positions in the order of arrival."""

    def fork(self) -> Self:
        """Return a bag with the same examples that may be changed while others read this one."""

    def learning(self, X: np.ndarray, y: np.ndarray) -> Change | None:
        """Prepare to learn these examples in place; None if a fork should learn them."""

    def unlearning(self, positions: np.ndarray) -> Change | None:
        """Prepare to forget these examples in place; None if a fork should forget them."""


class TargetBag(AnyBag, Protocol):
    """A bag of examples with targets."""

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""

    def predict(self, X: np.ndarray, *, effort: Effort = FREE) -> np.ndarray:
        """Return the point predictions (m,)."""

    def learn(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples."""

    def counts(
        self, X: np.ndarray, y: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""

    def regions(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> list[np.ndarray]:
        """Return where thresholds[t] examples are at least as strange: disjoint closed intervals (r, 2), ascending."""

    def intervals(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the hulls (m, 2) of the regions; nan where a region is empty."""

    def intervals_at(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the hulls (m, 2, levels) of the regions of thresholds (m, levels), from one evaluation."""

    def critical_targets(self, X: np.ndarray, *, within: Within | None = None) -> Iterator[np.ndarray]:
        """Yield for every test object the targets where signed residuals of examples equal its own."""

    def stream(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Count each example against all before it, and learn it, one after another."""

    def streaming(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Change] | None:
        """Return the counts of one example of a stream, and prepare to learn it in place; None if a fork should."""


class LabelBag(Bag):
    """A bag of labelled examples. Labels are codes 0, 1, ..., n_labels - 1.

    One of your own derives from this and defines `n`, `codes`, `sizes`, `label_counts`, `scores`, `learn`, `unlearn`
    and `relabel`. The other methods have defaults; define those that the bag can do cheaper than by all of its counts.

    Attributes
    ----------
    n : int
        Number of examples.
    sizes : ndarray of shape (n_labels,)
        Number of examples of each label.
    """

    if TYPE_CHECKING:  # what there is no default of; bags of more than one base define it in any of them

        @property
        def n(self) -> int:
            """Number of examples."""

        @property
        def sizes(self) -> np.ndarray:
            """Number of examples of each label."""

        def codes(self) -> np.ndarray:
            """Labels of the examples in the order of arrival."""

        def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
            """Return, for every test object and label, counts of training scores and the candidate's own score."""

        def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
            """Yield for every test object the training scores (n_labels, n) and the candidates' (n_labels,)."""

        def learn(self, X: np.ndarray, codes: np.ndarray, *, effort: Effort = FREE) -> None:
            """Add examples."""

        def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:
            """Forget the examples with these positions in the order of arrival."""

        def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
            """Rename label c to new_codes[c], out of n_labels."""

    def at_least_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts of which only the sums of greater and equal are right."""
        return self.label_counts(X, effort=effort)

    def category_counts(
        self,
        X: np.ndarray,  # noqa: ARG002
        categories: np.ndarray,  # noqa: ARG002
        wanted: np.ndarray,  # noqa: ARG002
        *,
        effort: Effort = FREE,  # noqa: ARG002
    ) -> LabelCounts | None:
        """Return `label_counts` among examples of the wanted categories (m, n_labels) only; None: compare `scores`.

        `categories` (n,) are those of the examples, numbers from 0 on; one that no example has, -1, has no counts.
        """
        return None

    def label_sets(
        self,
        X: np.ndarray,  # noqa: ARG002
        thresholds: np.ndarray,  # noqa: ARG002
        *,
        same_only: bool,  # noqa: ARG002
        effort: Effort = FREE,  # noqa: ARG002
    ) -> np.ndarray | None:
        """Return whether these sums reach each label's threshold, (m, n_labels); None if counting is no dearer."""
        return None

    def stream(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Count each example against all before it, and learn it, one after another.

        Parameters
        ----------
        X : ndarray of shape (m, p)
        codes : ndarray of shape (m,)

        Returns
        -------
        ndarray of int of shape (m, 4)
            What `label_counts` gives for the example's label before `learn`: greater and equal scores among the same
            label, and among the others.
        """
        out = np.empty((codes.size, 4), np.int64)
        for i, code in enumerate(codes):
            counts = self.label_counts(X[i : i + 1], effort=ALONE)
            self.learn(X[i : i + 1], codes[i : i + 1], effort=ALONE)
            out[i] = [field[0, code] for field in counts[:4]]
        return out

    def streaming(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, Change] | None:  # noqa: ARG002
        """Return the counts of one example of a stream, and prepare to learn it in place; None if a fork should."""
        return None


class TargetBagBase(Bag):
    """Defaults of a bag of examples with targets that defines `regions_at`; a stream is counting and then learning.

    `within` is None, or says which examples each test object is compared with.
    """

    def regions_at(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> list[list[np.ndarray]]:
        """Return where thresholds[t, j] examples are at least as strange, for every t and j."""
        raise NotImplementedError

    def regions(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> list[np.ndarray]:
        """Return where thresholds[t] examples are at least as strange: disjoint closed intervals (r, 2), ascending."""
        return [found for (found,) in self.regions_at(X, thresholds[:, None], within=within, effort=effort)]

    def intervals_at(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the hulls (m, 2, levels) of the regions of thresholds (m, levels); nan where a region is empty."""
        hulls = np.full((*thresholds.shape, 2), np.nan)
        for t, regions in enumerate(self.regions_at(X, thresholds, within=within, effort=effort)):
            for j, region in enumerate(regions):
                if region.shape[0]:
                    hulls[t, j] = region[0, 0], region[-1, 1]
        return hulls.transpose(0, 2, 1)

    def intervals(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the hulls (m, 2) of the regions; nan where a region is empty."""
        return self.intervals_at(X, thresholds[:, None], within=within, effort=effort)[..., 0]

    def stream(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Count each example against all before it, and learn it, one after another.

        Parameters
        ----------
        X : ndarray of shape (m, p)
        y : ndarray of shape (m,)

        Returns
        -------
        ndarray of int of shape (m, 4)
            What `counts` gives before `learn`, as of one label: greater and equal scores, and none among others.
        """
        bag: Any = self
        out = np.zeros((y.size, 4), np.int64)
        for i in range(y.size):
            greater, equal, _ = bag.counts(X[i : i + 1], y[i : i + 1], effort=ALONE)
            bag.learn(X[i : i + 1], y[i : i + 1], effort=ALONE)
            out[i, :2] = greater[0], equal[0]
        return out

    def streaming(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Change] | None:  # noqa: ARG002
        """Return None: a fork should learn the example."""
        return None


class ForeignBag(LabelBag):
    """A bag that somebody wrote with the methods that a bag must have, and the defaults for all others."""

    def __init__(self, bag: Any) -> None:
        self._own = bag

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._own, name)
