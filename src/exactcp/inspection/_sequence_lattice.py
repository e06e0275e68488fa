"""A picture of a sequence's prediction sets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp.inspection._display import Display


class SequenceLatticeDisplay(Display):
    """The lattice of a test sequence: the labels in each position's set, and the most probable ways through them.

    Parameters
    ----------
    p_values : ndarray of shape (T, l)
        Of every label at every position.
    sets : ndarray of bool of shape (T, l)
        Which labels are in the set of a position.
    classes : array-like of shape (l,)
        The label of each column.
    paths : list of array-like of shape (T,), default=()
        Candidate sequences of labels, the best first.
    true : array-like of shape (T,), default=None
        The true labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp import ConformalSequencePredictor
    >>> from exactcp.inspection import SequenceLatticeDisplay
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 0, 1], 25)
    >>> model = ConformalSequencePredictor().fit(y[:, None] + rng.normal(size=(100, 1)), y)
    >>> display = SequenceLatticeDisplay.from_estimator(model, [[0.0], [0.5], [2.0]])
    """

    def __init__(self, p_values: Any, sets: Any, classes: Any, paths: Any = (), *, true: Any = None) -> None:
        self.p_values = np.asarray(p_values)
        self.sets = np.asarray(sets)
        self.classes = np.asarray(classes)
        self.paths = [np.asarray(path) for path in paths]
        self.true = None if true is None else np.asarray(true)
        if self.p_values.shape != self.sets.shape or self.p_values.shape[1:] != self.classes.shape:
            msg = (
                f"p_values has shape {self.p_values.shape}, sets {self.sets.shape}, classes {self.classes.shape}: "
                "expected (T, l), (T, l) and (l,)."
            )
            raise ValueError(msg)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: Any,
        *,
        confidence_level: float = 0.95,
        n_paths: int = 3,
        true: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw what a fitted `ConformalSequencePredictor` says about one sequence.

        Parameters
        ----------
        estimator : ConformalSequencePredictor
        x : array-like of shape (T, p)
        confidence_level : float, default=0.95
            That all true labels are in their sets.
        n_paths : int, default=3
            How many of the best sequences to draw.
        true : array-like of shape (T,), default=None
            The true labels.
        ax : matplotlib Axes, default=None

        Returns
        -------
        SequenceLatticeDisplay
        """
        (p,) = estimator.predict_p([x])
        (sets,) = estimator.predict_set([x], confidence_level=confidence_level)
        (best,) = estimator.predict_candidates([x], n_candidates=n_paths, confidence_level=confidence_level)
        paths = [candidate.labels for candidate in best]
        return cls(p, sets, estimator.classes_, paths, true=true).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, p_values: Any, sets: Any, classes: Any, paths: Any = (), *, true: Any = None, ax: Any = None
    ) -> Self:
        """Draw p-values, sets and sequences.

        Parameters
        ----------
        p_values : array-like of shape (T, l)
            Of every label at every position.
        sets : array-like of bool of shape (T, l)
            Which labels are in the set of a position.
        classes : array-like of shape (l,)
            The label of each column.
        paths : list of array-like of shape (T,), default=()
            Candidate sequences of labels, the best first.
        true : array-like of shape (T,), default=None
            The true labels.
        ax : matplotlib Axes, default=None

        Returns
        -------
        SequenceLatticeDisplay
        """
        return cls(p_values, sets, classes, paths, true=true).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        sizes = self.sets.sum(axis=1)
        return (
            f"Lattice of {self.sets.shape[0]} positions: the labels that each may have, {sizes.mean():.2f} on average, "
            f"and {len(self.paths)} candidate sequences through them."
        )

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None

        Returns
        -------
        self
        """
        T, n_labels = self.sets.shape
        size = (float(np.clip(1.5 + 0.45 * T, 4.5, 16.0)), float(np.clip(1.6 + 0.5 * n_labels, 2.6, 9.0)))
        ax = self._open(ax, size)
        position = np.arange(1, T + 1)
        self._edges(ax)
        for rank, path in reversed(list(enumerate(self.paths))):
            color = f"C{rank % 10}"
            ax.plot(position, self._rows(path), color=color, linewidth=5.0 - 1.2 * min(rank, 3), alpha=0.85,
                    zorder=2 + 1 / (rank + 1), label=f"candidate {rank + 1}", solid_capstyle="round")  # fmt: skip
        t, c = np.nonzero(self.sets)
        marks = ax.scatter(t + 1, c, c=self.p_values[t, c], cmap=self._greys(), vmin=-0.15, vmax=1, s=130,
                           edgecolors=self._ink(), linewidths=1, zorder=4)  # fmt: skip
        out_t, out_c = np.nonzero(~self.sets)
        ax.scatter(out_t + 1, out_c, s=8, color="0.75", zorder=3)
        if self.true is not None:
            ax.scatter(
                position, self._rows(self.true), marker="x", color="C3", s=45, linewidths=2, zorder=5, label="true"
            )
        marks.set_clim(0, 1)
        self.figure_.colorbar(marks, ax=ax, label="p-value", pad=0.02)
        ax.set(xlabel="position", xlim=(0.4, T + 0.6), ylim=(-0.5, n_labels - 0.5))
        ax.set_yticks(range(n_labels), [str(label) for label in self.classes])
        ax.xaxis.get_major_locator().set_params(integer=True)
        if self.paths or self.true is not None:
            handles, names = ax.get_legend_handles_labels()
            order = np.argsort(names)  # candidates were drawn last to first
            ax.legend(
                [handles[i] for i in order],
                [names[i] for i in order],
                loc="lower left",
                bbox_to_anchor=(0, 1.0),
                ncols=4,
                frameon=False,
                borderaxespad=0.2,
            )
        return self

    def _rows(self, labels: np.ndarray) -> np.ndarray:
        return np.array([np.flatnonzero(self.classes == label)[0] for label in labels])

    def _edges(self, ax: Any) -> None:
        """Draw every step from a set to the next."""
        for t in range(self.sets.shape[0] - 1):
            for here in np.flatnonzero(self.sets[t]):
                for there in np.flatnonzero(self.sets[t + 1]):
                    ax.plot([t + 1, t + 2], [here, there], color="0.85", linewidth=1, zorder=1)
