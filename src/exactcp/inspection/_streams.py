"""Pictures of streams and of clusters: martingales, errors of a progressive run, the field of p-values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from exactcp.inspection._display import Display
from exactcp.inspection._validity import UniformityDisplay
from exactcp.pvalues import exceeds

LOG_10 = math.log(10)
MOST_NAMES = 10  # martingales that the legend names


class MartingaleDisplay(Display):
    """The path of a martingale with its alarms and the histogram of its p-values, or the paths of several martingales.

    Parameters
    ----------
    p_values : array-like of shape (n,), or None
        In the order of the stream; None: there is no histogram.
    log_martingale : array-like of shape (n,), or (n, D) of several martingales
        Natural logarithms. Of several, those that reach the threshold are named.
    alarms : array-like of int, default=()
        Positions in the stream, counted from 0.
    log_statistic : array-like of shape (n,), default=None
        Of the alarm rule; drawn where it is not the martingale itself.
    threshold : float, default=None
        Of the alarm rule.
    names : array-like of str of shape (D,), default=None
        Of several martingales; None means x0, x1 and so on.
    change : int, default=None
        Where the change is known to be.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        Of the path and of the histogram; without p-values, the axes of the paths.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp import ExchangeabilityTest
    >>> from exactcp.inspection import MartingaleDisplay
    >>> test = ExchangeabilityTest(random_state=0)
    >>> p = test.update_many(np.random.default_rng(0).normal(size=(100, 2)))
    >>> display = MartingaleDisplay.from_estimator(test)
    """

    def __init__(
        self,
        p_values: Any,
        log_martingale: Any,
        alarms: Any = (),
        *,
        log_statistic: Any = None,
        threshold: float | None = None,
        names: Any = None,
        change: int | None = None,
    ) -> None:
        self.p_values = None if p_values is None else np.asarray(p_values)
        self.log_martingale = np.asarray(log_martingale)
        self.alarms = np.asarray(alarms, dtype=np.int64)
        self.log_statistic = None if log_statistic is None else np.asarray(log_statistic)
        self.threshold, self.change = threshold, change
        self._log_threshold = math.inf if threshold is None else math.log(threshold)
        number = self.log_martingale.shape[1] if self.log_martingale.ndim == 2 else 1
        self.names = [f"x{j}" for j in range(number)] if names is None else [str(name) for name in names]
        if len(self.names) != number:
            raise ValueError(f"there are {len(self.names)} names for {number} features: expected one for each.")

    @classmethod
    def from_estimator(cls, test: Any, *, ax: Any = None, change: int | None = None) -> Self:
        """Draw an `ExchangeabilityTest`, or the martingale of each feature of a fitted `ExchangeabilitySelector`.

        Parameters
        ----------
        test : ExchangeabilityTest or ExchangeabilitySelector
        ax : sequence of two matplotlib Axes, or, of a selector, matplotlib Axes, default=None
        change : int, default=None
            Where the change is known to be.

        Returns
        -------
        MartingaleDisplay
        """
        if hasattr(test, "log_martingales_"):
            names, threshold = getattr(test, "feature_names_in_", None), math.exp(test.log_threshold_)
            display = cls(None, test.log_martingales_, threshold=threshold, names=names, change=change)
        else:
            options = {"log_statistic": test.log_statistic_, "threshold": test.threshold, "change": change}
            display = cls(test.p_values_, test.log_martingale_, test.alarms_, **options)
        return display.plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        if self.log_martingale.ndim == 2:
            n, number = self.log_martingale.shape
            return f"Martingales of {number} features over {n:,} examples; {self._reach().sum()} cross the threshold."
        last = self.log_martingale[-1] / LOG_10 if self.log_martingale.size else 0.0
        return (
            f"Wealth of a martingale over {self.log_martingale.size:,} examples, {self.alarms.size} alarms, at the end "
            f"10 to the power {last:.2g}{'' if self.p_values is None else '; beside it a histogram of the p-values'}."
        )

    def plot(self, *, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, or two of them if there are p-values, default=None

        Returns
        -------
        self
        """
        import matplotlib.pyplot as plt

        if self.p_values is None:
            path = self._open(ax, (7, 4.2))
        else:
            if ax is None:
                _, ax = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=[2.4, 1], layout="constrained")
            self.ax_ = np.asarray(ax)
            path, histogram = self.ax_.ravel()
            self.figure_ = path.figure
            if self.p_values.size:
                UniformityDisplay(self.p_values, name="p-value").plot(ax=histogram)
        ink = path.xaxis.label.get_color()
        if self.log_martingale.ndim == 2:
            self._plot_paths(path)
        else:
            steps = np.arange(1, self.log_martingale.size + 1)
            if self.log_statistic is not None and not np.array_equal(self.log_statistic, self.log_martingale):
                path.plot(steps, self.log_statistic / LOG_10, color="tab:orange", linewidth=1, label="alarm statistic")
            path.plot(steps, self.log_martingale / LOG_10, color="tab:blue", label="martingale")
        if self.threshold is not None and math.isfinite(self.threshold):
            label = f"threshold {self.threshold:g}"
            path.axhline(self._log_threshold / LOG_10, color=ink, linewidth=1, linestyle="--", label=label)
        if self.change is not None:
            path.axvline(self.change, color="tab:green", linewidth=1.5, linestyle=":", label="change")
        for i, alarm in enumerate(self.alarms):
            label = f"alarm ({self.alarms.size})" if self.alarms.size > 1 else "alarm"
            path.axvline(alarm + 1, color="tab:red", linewidth=1, alpha=0.7, label=label if i == 0 else None)
        path.yaxis.set_major_formatter(lambda value, _: f"$10^{{{value:g}}}$")
        path.set(xlabel="examples", ylabel="wealth (log scale)", xlim=(0, max(1, len(self.log_martingale))))
        path.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, borderaxespad=0.2)
        return self

    def _plot_paths(self, ax: Any) -> None:
        """Draw several paths from 1 on: those that reach the threshold in colours, the highest first."""
        paths = np.vstack([np.zeros(len(self.names)), self.log_martingale]) / LOG_10
        reach = self._reach()
        for number, j in enumerate(np.flatnonzero(~reach)):
            ax.plot(paths[:, j], color="0.65", linewidth=1, label=None if number else "below the threshold")
        order = np.flatnonzero(reach)[np.argsort(-paths.max(axis=0)[reach], kind="stable")]
        for number, j in enumerate(order):
            name = self.names[j] if number < MOST_NAMES else None
            ax.plot(paths[:, j], color=f"C{number % 10}", linewidth=1.6, label=name)
            first = int(np.argmax(paths[:, j] >= self._log_threshold / LOG_10))
            ax.plot(first, paths[first, j], "o", color=f"C{number % 10}", markersize=5)

    def _reach(self) -> np.ndarray:
        return np.asarray(self.log_martingale.max(axis=0) >= self._log_threshold)


class ProgressiveDisplay(Display):
    """Cumulative errors of a conformal predictor on a stream, against what epsilon allows.

    A Venn predictor has no epsilon: its errors are drawn against what its probabilities of being right say.

    Parameters
    ----------
    result : ProgressiveResult
        From `exactcp.online.progressive`.
    epsilons : sequence of float, default=None
        Levels to draw. None means that of the result, if it has one, and 0.05, 0.1 and 0.2 as well if it has p-values.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.utils import shuffle
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.inspection import ProgressiveDisplay
    >>> stream = shuffle(*load_iris(return_X_y=True), random_state=0)
    >>> display = ProgressiveDisplay.from_estimator(FullConformalClassifier(), tuple(stream))
    """

    def __init__(self, result: Any, epsilons: Sequence[float] | None = None) -> None:
        self.result = result
        if epsilons is None:
            usual = () if np.isnan(result.p).all() else (0.05, 0.1, 0.2)
            epsilons = () if np.isnan(result.epsilon) else sorted({round(result.epsilon, 9), *usual})
        self.epsilons = tuple(epsilons)

    @classmethod
    def from_estimator(cls, predictor: Any, stream: Any, *, ax: Any = None, **how: Any) -> Self:
        """Run a predictor on a stream, and draw the result.

        Parameters
        ----------
        predictor : conformal predictor with `partial_fit`
            It learns the stream.
        stream : iterable of pairs (x, y), or the pair (X, y) of arrays
            As in `exactcp.online.progressive`.
        ax : matplotlib Axes, default=None
        **how
            Of `exactcp.online.progressive`.

        Returns
        -------
        ProgressiveDisplay
        """
        from exactcp.online import progressive

        return cls(progressive(predictor, stream, **how)).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        return f"Errors so far of {len(self.result):,} predictions, one after another, beside what their level allows."

    def plot(self, *, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        ax, result = self._open(ax, (6, 4)), self.result
        steps = np.arange(1, len(result) + 1)

        def draw(wrong: np.ndarray, name: str, color: str) -> None:
            rate = wrong.mean() if wrong.size else 0.0
            ax.plot(steps, np.cumsum(wrong), color=color, drawstyle="steps-post", label=f"{name}: {rate:.3f}")

        for i, epsilon in enumerate(self.epsilons):
            draw(result.errors_at(epsilon), rf"$\epsilon$ = {epsilon:.3g}", f"C{i}")
            ax.plot(steps, epsilon * steps, color=f"C{i}", linewidth=1, linestyle="--")
        if self.epsilons:
            ax.plot([], [], color=self._ink(), linewidth=1, linestyle="--", label=r"$\epsilon$ times examples")
        else:
            draw(np.diff(result.cumulative_errors, prepend=0), "wrong labels", "C0")
            fewest, most = np.cumsum(1 - result.upper), np.cumsum(1 - result.lower)
            ax.fill_between(
                steps, fewest, most, color="C0", alpha=0.25, linewidth=0, label="as their probabilities say"
            )
        ax.set(xlabel="examples", ylabel="cumulative errors", xlim=(0, max(1, steps.size)))
        ax.set_ylim(bottom=0)
        ax.legend(loc="upper left", frameon=False, title="errors per example")
        return self


class ClusterDisplay(Display):
    """The field of p-values on a grid of two dimensions, the outlines of the clusters, and objects in their colours.

    Parameters
    ----------
    axes : sequence of two ndarrays
        Where the grid points are.
    p_values : ndarray of shape (q, r)
        One at each grid point.
    epsilon : float
        The clusters are where p > epsilon.
    objects : ndarray of shape (n, 2), default=None
        What to draw as points, in the coordinates of the grid.
    labels : ndarray of shape (n,), default=None
        Cluster of each object, -1 for outliers.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp import ConformalClusterer
    >>> from exactcp.inspection import ClusterDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 8.0])
    >>> display = ClusterDisplay.from_estimator(ConformalClusterer().fit(X), X)
    """

    def __init__(self, axes: Any, p_values: Any, epsilon: float, objects: Any = None, labels: Any = None) -> None:
        self.axes = [np.asarray(axis) for axis in axes]
        self.p_values = np.asarray(p_values)
        self.epsilon = epsilon
        self.objects = None if objects is None else np.asarray(objects)
        self.labels = None if labels is None else np.asarray(labels)
        if self.p_values.ndim != 2:
            raise ValueError(f"the grid has {self.p_values.ndim} dimension(s): expected 2, which a picture has.")

    @classmethod
    def from_estimator(cls, clusterer: Any, X: Any = None, *, ax: Any = None) -> Self:
        """Draw a fitted `ConformalClusterer`.

        Parameters
        ----------
        clusterer : ConformalClusterer
            With a grid of two dimensions.
        X : array-like of shape (n, p), default=None
            Objects to draw.
        ax : matplotlib Axes, default=None

        Returns
        -------
        ClusterDisplay
        """
        objects = labels = None
        if X is not None:
            labels = clusterer.predict(X)
            objects = X if clusterer.transformer_ is None else clusterer.transformer_.transform(X)
        return cls(clusterer.axes_, clusterer.p_values_, clusterer.epsilon, objects, labels).plot(ax=ax)

    @property
    def alt_text(self) -> str:
        """What the picture shows."""
        found = "" if self.labels is None else f" {self._count()} clusters are outlined."
        return f"p-values on a plane, large where objects are at home, at significance {self.epsilon:g}.{found}"

    def plot(self, *, ax: Any = None) -> Self:
        """Draw; see `Display.plot`."""
        from matplotlib.colors import LinearSegmentedColormap

        ax = self._open(ax, (6, 4.8))
        greys = LinearSegmentedColormap.from_list("paper to ink", [ax.get_facecolor(), self._ink()])
        field = ax.pcolormesh(*self.axes, self.p_values.T, cmap=greys, vmin=0, vmax=1, alpha=0.8, shading="nearest")
        self.figure_.colorbar(field, ax=ax, label="p-value")
        self._outline(ax)
        if self.objects is not None and self.labels is not None:
            outside = self.labels < 0
            inside = self.objects[~outside]
            ax.scatter(*inside.T, c=self.labels[~outside] % 10, cmap="tab10", vmin=0, vmax=9, s=14, edgecolors="white",
                       linewidths=0.4)  # fmt: skip
            ax.scatter(*self.objects[outside].T, marker="x", color=self._ink(), s=18, linewidths=1, label="outlier")
            if outside.any():
                ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
        found = "" if self.labels is None else f", {self._count()} cluster{'s' * (self._count() != 1)}"
        ax.set(title=rf"$\epsilon$ = {self.epsilon:g}{found}")
        return self

    def _count(self) -> int:
        return 0 if self.labels is None else int(np.unique(self.labels[self.labels >= 0]).size)

    def _outline(self, ax: Any) -> None:
        """Draw the edges between cells inside and outside: the clusters are made of cells, not of level lines."""
        kept = np.pad(exceeds(self.p_values, self.epsilon), 1)
        x, y = (_edges(axis) for axis in self.axes)
        lines = [[(x[i], y[j]), (x[i], y[j + 1])] for i, j in np.argwhere(kept[1:, 1:-1] != kept[:-1, 1:-1])]
        lines += [[(x[i], y[j]), (x[i + 1], y[j])] for i, j in np.argwhere(kept[1:-1, 1:] != kept[1:-1, :-1])]
        from matplotlib.collections import LineCollection

        ax.add_collection(LineCollection(lines, colors="tab:red", linewidths=1.2))


def _edges(axis: np.ndarray) -> np.ndarray:
    """Return the edges of the cells around grid points."""
    step = axis[1] - axis[0]
    return np.append(axis - step / 2, axis[-1] + step / 2)
