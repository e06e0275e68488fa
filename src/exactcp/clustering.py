"""Conformal clustering: the connected parts of the region that is not strange."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import ndimage
from sklearn.base import ClusterMixin, clone
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted

from exactcp import pvalues
from exactcp._changes import changes, reads
from exactcp._compared import are_vectors, compares_objects
from exactcp._estimator import Estimator
from exactcp._parallel import Effort, progress
from exactcp._parameters import EFFORT, NONE, TRANSFORMER, check_parameters, integer, one_of, share
from exactcp._rows import count_rows
from exactcp._validation import check_anything, check_objects, check_square, check_training_objects
from exactcp._values import LARGEST
from exactcp.geometry.coordinates import PrincipalCoordinates
from exactcp.geometry.metric import Distance
from exactcp.geometry.objects import Store, store_of
from exactcp.measures._algorithm_1 import ONE_CLASS
from exactcp.measures._choice import LABEL_MEASURE, label_bag, objects_of, one_class_measure
from exactcp.measures._contract import Objects

__all__ = ["ConformalClusterer"]

GRID_BLOCK = 2**16  # grid points whose p-values are computed together
MOST_CELLS = 10**8
MOST_BORDERS = 8  # that are tried; sides on which p > epsilon even so end where the training objects end


class ConformalClusterer(ClusterMixin, Estimator):
    """Conformal clustering: p-values on a grid, and the connected components of the cells with p > epsilon.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, default=None
        How strange an object is to the others. None means `SimplifiedKNN()`.
    epsilon : float, default=0.1
        The larger it is, the smaller the clusters, and the more of them: about this share of objects is outside all.
    n_grid : int, default=50
        Grid points a side.
    adjacency : {"face", "full"}, default="face"
        Cells are neighbours if they share a face, or at least a corner.
    transformer : transformer, default=None
        What brings the objects to the few dimensions of the grid; X may be whatever it takes. None means PCA to two if
        there are more than two features, and nothing otherwise. See Notes for objects that are no vectors.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    labels_ : ndarray of int of shape (n,)
        Cluster of each training object; -1 for outliers.
    n_clusters_ : int
        Clusters that contain training objects. They come first.
    axes_ : list of ndarray of shape (n_grid,)
        Where the grid points are, for each dimension of the grid.
    p_values_ : ndarray of shape (n_grid, ..., n_grid)
        p-value at each grid point.
    cells_ : ndarray of int, of the same shape
        Cluster of each cell, -1 outside.
    transformer_ : transformer or None
        The fitted clone in use; None for objects without one.
    measure_ : measure
        The clone of `measure` in use.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    Notes
    -----
    A new object from the same distribution falls outside all clusters with probability at most epsilon, up to the
    grid's resolution, and if no transformer was fitted on the training objects alone [1]_. The grid begins with the
    range of the training objects, and each side moves outwards by a quarter of the range until p <= epsilon on all of
    it. A side that moves seven times in vain stays where the objects end. An object beyond the grid is inside if its
    own p-value exceeds epsilon. The cost is n n_grid^d kernel or distance evaluations in d dimensions, and
    2 d n n_grid^(d - 1) for each border that is tried; the textbook's is n^2 n_grid^d.

    Objects of any kind that a function compares (`SimplifiedKNN(metric=levenshtein)`), and those of which the distances
    are given (`metric="precomputed"`), have no grid of their own. They go to the plane in which their distances are
    kept best, of their principal coordinates: PCA, where the distances are Euclidean. The measure then is that of the
    plane, with Euclidean distances. That takes the n^2 distances in memory. With a transformer, its rows are compared.

    References
    ----------
    .. [1] G. Cherubin, I. Nouretdinov, A. Gammerman, R. Jordaney, Z. Wang, D. Papini, L. Cavallaro, "Conformal
       clustering and its application to botnet traffic", SLDS 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp import ConformalClusterer
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 8.0])
    >>> clusterer = ConformalClusterer(epsilon=0.1).fit(X)
    >>> clusterer.n_clusters_
    2
    >>> clusterer.predict([[0.0, 0.0], [8.0, 8.0], [4.0, 4.0]])
    array([ 0,  1, -1])
    """

    _store: Store | None = None  # of objects that have no grid of their own
    _is_transformed_as_given = False  # X, which is then no matrix
    _bag: Any = None  # of the training objects; a clusterer that release 0.1.0 stored has none

    allowed_parameters: ClassVar = {
        "measure": LABEL_MEASURE,
        "epsilon": share("a share of outliers"),
        "n_grid": integer("a number of grid points a side", at_least=2),
        "adjacency": one_of("face", "full"),
        "transformer": TRANSFORMER | NONE,
        **EFFORT,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        epsilon: float = 0.1,
        n_grid: int = 50,
        adjacency: str = "face",
        transformer: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.epsilon = epsilon
        self.n_grid = n_grid
        self.adjacency = adjacency
        self.transformer = transformer
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _compares(self) -> bool:
        """Whether a function compares objects, which may then be of any kind."""
        return objects_of(self.measure) is Objects.COMPARED and self.transformer is None

    def _check_parameters(self) -> None:
        check_parameters(self)
        if objects_of(self.measure) is Objects.PAIRS and (not hasattr(self.measure, "metric") or self.transformer):
            msg = (
                f"transformer={self.transformer!r} has nothing to transform: X holds precomputed values. Leave it out."
            )
            if self.transformer is None:
                msg = (
                    f"measure={self.measure!r} wants precomputed values, and grid points have none: give objects, and "
                    "a metric or kernel by name or as a function."
                )
            raise ValueError(msg)

    @changes
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002  (scikit-learn's signature)
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n, p), or a sequence of whatever the measure's function compares
            With metric="precomputed", their distances to each other.
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        X = self._take(X, reset=True)
        self.measure_ = one_class_measure(self.measure)
        Z = self._placed(X)
        if self.n_grid ** Z.shape[1] > MOST_CELLS:
            msg = (
                f"n_grid={self.n_grid} points a side in {Z.shape[1]} dimensions are {self.n_grid ** Z.shape[1]:,} "
                "cells: use a smaller grid, or a transformer to fewer dimensions."
            )
            raise ValueError(msg)
        codes, effort = np.zeros(Z.shape[0], np.int64), Effort(self.n_jobs)
        self._bag = label_bag(self.measure_, Z, codes, 1, alternative=ONE_CLASS, effort=effort)
        self._bag.warn_of_cost(self.n_grid ** Z.shape[1])
        self.axes_ = self._axes_around(Z)
        self.p_values_ = self._grid_p(self.axes_, self.verbose)
        self.cells_ = self._components(Z)
        self.labels_ = self._labels_of(Z)
        self.n_clusters_ = int(self.labels_.max(initial=-1)) + 1
        return self

    def _take(self, X: Any, *, reset: bool) -> Any:
        """Return objects as a matrix, a column, or as the transformer takes them."""
        if reset:
            self._is_transformed_as_given = self.transformer is not None and not are_vectors(X)
        if self._is_transformed_as_given:
            return check_anything(self, X, reset=reset)
        return check_training_objects(self, X, at_least=2) if reset else check_objects(self, X)

    def _placed(self, X: Any) -> np.ndarray:
        """Find out, in `fit`, how objects come to the grid; return where they are."""
        self._store = None
        self.transformer_ = None if self.transformer is None else clone(self.transformer).fit(X)
        is_matrix = objects_of(self.measure) is Objects.PAIRS
        if is_matrix or compares_objects(self):
            if is_matrix:
                check_square(X)
            if X.shape[0] < 2:
                name = type(self).__name__
                raise ValueError(f"X has n_samples=1, while a minimum of 2 is required by {name}: give more objects.")
            self._store = store_of(X, Distance(self.measure_.metric, self.measure_.metric_params))
            self.measure_.set_params(metric="euclidean", metric_params=None)
            distances = self._store.rows_within(0, X.shape[0])
            self._coordinates = PrincipalCoordinates(2).fit(distances)
            return np.ascontiguousarray(self._coordinates.transform(distances))
        if self.transformer is None and X.shape[1] > 2:
            self.transformer_ = PCA(2, svd_solver="full").fit(X)
        return self._reduced(X)

    def _reduced(self, X: Any) -> np.ndarray:
        if self._store is not None:
            return np.ascontiguousarray(self._coordinates.transform(self._store.rows_from(X)))
        Z = X if self.transformer_ is None else np.asarray(self.transformer_.transform(X), dtype=np.float64)
        if Z.ndim != 2 or Z.shape[0] != count_rows(X) or Z.shape[1] == 0 or not np.isfinite(Z).all():
            msg = (
                f"transformer gave shape {Z.shape} for {count_rows(X)} objects: expected a row of finite numbers for "
                "each."
            )
            raise ValueError(msg)
        return np.ascontiguousarray(Z)

    def _axes_around(self, Z: np.ndarray) -> list[np.ndarray]:
        """Return the axes of a grid around objects, wide enough for p <= epsilon on its border if that is found."""
        ends = own = np.array([Z.min(axis=0), Z.max(axis=0)])
        for _ in range(MOST_BORDERS):
            is_open = self._open_sides(self._axes_between(ends)) & (own[0] < own[1])
            if not is_open.any():
                return self._axes_between(ends)
            ends = ends + is_open * [[-0.25], [0.25]] * np.ptp(ends, axis=0)
        return self._axes_between(np.where(is_open, own, ends))

    def _axes_between(self, ends: np.ndarray) -> list[np.ndarray]:
        """Return n_grid points between the lowest and the highest coordinate of each dimension."""
        return [np.linspace(low, high, int(self.n_grid)) for low, high in ends.T]

    def _open_sides(self, axes: list[np.ndarray]) -> np.ndarray:
        """Tell which sides of a grid (2, d), low and high, have points with p > epsilon."""
        sides = [[[*axes[:i], axis[[end]], *axes[i + 1 :]] for i, axis in enumerate(axes)] for end in (0, -1)]
        return np.array([[pvalues.exceeds(self._grid_p(side), self.epsilon).any() for side in row] for row in sides])

    def _grid_p(self, axes: list[np.ndarray], verbose: int = 0) -> np.ndarray:
        """Return the p-value at each point of a grid, in blocks of them."""
        shape = tuple(axis.size for axis in axes)
        p = np.empty(int(np.prod(shape)))
        starts = range(0, p.size, GRID_BLOCK)
        for first in progress(starts, len(starts), verbose, "p-values on the grid"):
            cells = np.unravel_index(np.arange(first, min(first + GRID_BLOCK, p.size)), shape)
            points = np.column_stack([axis[cell] for axis, cell in zip(axes, cells, strict=True)])
            p[first : first + GRID_BLOCK] = self._p_of(points)
        return p.reshape(shape)

    def _p_of(self, Z: np.ndarray) -> np.ndarray:
        """Return the p-values of objects in the coordinates of the grid."""
        near = np.clip(Z, -LARGEST, LARGEST)  # measures refuse what is farther away
        counts = self._bag.label_counts(near, effort=Effort(self.n_jobs))
        return pvalues.deterministic_p(pvalues.marginal(counts, self._bag.n))[:, 0]

    def _components(self, Z: np.ndarray) -> np.ndarray:
        """Give numbers to the connected components of p > epsilon, those with training objects first."""
        d = self.p_values_.ndim
        structure = ndimage.generate_binary_structure(d, 1 if self.adjacency == "face" else d)
        found, number = ndimage.label(pvalues.exceeds(self.p_values_, self.epsilon), structure)
        inhabited = np.bincount(found[tuple(self._cells_of(Z)[0].T)], minlength=number + 1)[1:] > 0
        order = np.argsort(~inhabited, kind="stable")
        new = np.full(number + 1, -1, dtype=np.int64)
        new[1 + order] = np.arange(number)
        return new[found]

    def _cells_of(self, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest grid point of each object, and whether the object is within half a step of the grid."""
        low = np.array([axis[0] for axis in self.axes_])
        step = np.array([axis[1] - axis[0] for axis in self.axes_])
        flat = step == 0  # all training objects agree in this dimension
        with np.errstate(over="ignore", invalid="ignore"):
            place = np.where(flat, np.where(low == Z, 0.0, np.inf), (Z - low) / np.where(flat, 1.0, step))
        inside = ((place >= -0.5) & (place <= len(self.axes_[0]) - 0.5)).all(axis=1)
        nearest = np.clip(np.rint(np.clip(place, 0, len(self.axes_[0]) - 1)), 0, len(self.axes_[0]) - 1)
        return nearest.astype(np.int64), np.asarray(inside)

    def _labels_of(self, Z: np.ndarray) -> np.ndarray:
        """Return the clusters of objects: those of their cells, and beyond the grid what their own p-values say."""
        cells, inside = self._cells_of(Z)
        labels = np.where(inside, self.cells_[tuple(cells.T)], -1)
        if not inside.all() and self._bag is not None and self.cells_.max() >= 0:
            kept = np.flatnonzero(~inside)
            kept = kept[pvalues.exceeds(self._p_of(Z[kept]), self.epsilon)]
            near = ndimage.distance_transform_edt(self.cells_ < 0, return_distances=False, return_indices=True)
            labels[kept] = self.cells_[tuple(near[(slice(None), *cells[kept].T)])]
        return labels

    @reads
    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of each object, -1 outside all clusters.

        An object has the cluster of its cell. Beyond the grid it has that of the nearest cell of a cluster, if its own
        p-value exceeds epsilon.

        Parameters
        ----------
        X : array-like of shape (m, p), or objects as in `fit`
            With metric="precomputed", their distances to the objects of `fit`.

        Returns
        -------
        ndarray of int of shape (m,)
        """
        check_is_fitted(self)
        return self._labels_of(self._reduced(self._take(X, reset=False)))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")
