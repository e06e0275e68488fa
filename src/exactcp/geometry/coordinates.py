"""Principal coordinates: where objects lie that are known by their distances alone."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from exactcp._parallel import blas_threads

VANISHING = 1e-10  # of the largest eigenvalue: a dimension in which all objects agree, but for rounding


class PrincipalCoordinates:
    """The few dimensions in which distances are kept best; of Euclidean distances, the principal components.

    Parameters
    ----------
    dimensions : int

    Notes
    -----
    Classical scaling [1]_: with D the distances and J = I - 11'/n, the largest eigenvalues and eigenvectors of
    -J D^2 J / 2. A new object is placed by its distances, as if it had had no part in the axes [2]_.

    References
    ----------
    .. [1] W. S. Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17, 1952.
    .. [2] J. C. Gower, "Adding a point to vector diagrams in multivariate analysis", Biometrika 55, 1968.

    Examples
    --------
    Three places on a line, and one more at its end:

    >>> import numpy as np
    >>> places = np.array([0.0, 1.0, 5.0])
    >>> line = PrincipalCoordinates(1).fit(np.abs(places[:, None] - places))
    >>> new = line.transform(np.abs(np.array([[6.0]]) - places))
    >>> np.abs(np.diff(line.transform(np.abs(places[:, None] - places))[:, 0])).round(6), float(abs(new[0, 0]).round(6))
    (array([1., 4.]), 4.0)
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions

    @blas_threads(1)
    def fit(self, distances: np.ndarray) -> PrincipalCoordinates:
        """Find the axes.

        Parameters
        ----------
        distances : ndarray of shape (n, n)

        Returns
        -------
        self
        """
        n = distances.shape[0]
        squares = distances**2
        self._means = squares.mean(axis=0)
        products = -0.5 * (squares - self._means - self._means[:, None] + self._means.mean())
        values, vectors = eigh(products, subset_by_index=[max(0, n - self.dimensions), n - 1])
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = values > VANISHING * max(values[0], 0.0)
        kept[0] = True  # one dimension at least, in which all may agree
        signs = np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(values.size)] < 0, -1.0, 1.0)
        scale = np.where(kept & (values > 0), np.sqrt(np.where(values > 0, values, 1.0)), np.inf)
        self._axes = (vectors * signs / scale)[:, kept]
        return self

    @blas_threads(1)
    def transform(self, distances: np.ndarray) -> np.ndarray:
        """Return where objects lie.

        Parameters
        ----------
        distances : ndarray of shape (m, n)
            To those of `fit`.

        Returns
        -------
        ndarray of shape (m, dimensions), or fewer if the distances have fewer
        """
        return np.asarray(-0.5 * (distances**2 - self._means) @ self._axes)
