"""Ridge regression of examples that lie in shards: products of features add, and one inverse serves all (theory LS.15).

Each shard gives Phi'Phi and Phi'T. Their sums are factorised as those of one bag are, in the primal; where that would
not keep 12 digits (by the same rule, for features that are nearly dependent, leverages near 1, or fewer examples than
features) the examples are brought together, and one bag of all of them answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from exactcp._parallel import Effort, blas_threads
from exactcp.measures._shards import Promise, Tasks, together
from exactcp.measures.least_squares._factorised_bag import FactorisedBag
from exactcp.measures.least_squares._features import FeatureMap, FeatureStore
from exactcp.measures.least_squares.factorisations.form import LEAST_DIVISOR, Factorisation
from exactcp.measures.least_squares.factorisations.primal import (
    PartialPrimal,
    divisors_of,
    inverse_root,
    penalised,
    singular_sentence,
)


class RidgeSetting(NamedTuple):
    """The parameters of a measure that shards need."""

    rho: float
    solver: str
    intercept: bool
    feature_map: Any


class FeatureSums(NamedTuple):
    """Of the features of a shard."""

    total: np.ndarray  # (q,)
    n: int
    least: np.ndarray  # (q,)
    most: np.ndarray


class Products(NamedTuple):
    """Of the rows of a shard, or of all."""

    gram: np.ndarray  # (q, q) Phi'Phi
    moments: np.ndarray  # (q, k) Phi'T
    n: int
    least: np.ndarray  # (k,) of T
    most: np.ndarray


class Factor(NamedTuple):
    """The regressions of all examples."""

    shift: np.ndarray  # (features,)
    root: np.ndarray  # (q, q) C, of which C'C is the inverse of Phi'Phi + rho I; none if there is no such
    coefficients: np.ndarray  # (q, k)
    is_accurate: bool


class FactorVerdict(NamedTuple):
    """Whether the factor serves."""

    is_used: bool
    is_accurate: bool


class PartOfAll(FactorisedBag):
    """Base of a shard's bag, whose factorisation is a part of that of all examples."""

    _part: Factorisation

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + 2 * int(self._store.rows.nbytes)

    def _factorised(self, effort: Effort) -> Factorisation:  # noqa: ARG002
        return self._part


def factorise_shards(
    tasks: Tasks, setting: RidgeSetting, shards: Sequence[Promise], targets: Callable[..., np.ndarray], *known: Any
) -> tuple[Promise, Promise]:
    """Return the `Factor` of all shards, and the `FactorVerdict` on it.

    `targets(shard, *known)` are those of the examples of a shard, (n, k).
    """
    sums = [tasks.call(_sums, setting, shard) for shard in shards]
    shift = tasks.call(_shift, setting, sums)
    products = [tasks.call(_products, setting, shard, shift, targets, *known) for shard in shards]
    factor = tasks.call(_factorised, setting, together(tasks, _summed_products, products), shift)
    least = [tasks.call(_least_divisor, setting, shard, factor) for shard in shards]
    return factor, tasks.call(_verdict, setting, factor, least)


def gather_shards(tasks: Tasks, shards: Sequence[Promise], verdict: Promise) -> Promise:
    """Return the examples of all shards in one, if they are needed, else None."""
    return tasks.call(_gathered, [tasks.call(_unless_used, shard, verdict) for shard in shards])


def part_of(setting: RidgeSetting, X: np.ndarray, factor: Factor, verdict: FactorVerdict) -> PartialPrimal:
    """Return the factorisation of a shard's examples."""
    store = _shard_store(setting, X, factor.shift)
    return PartialPrimal(store, factor.root, factor.coefficients, is_accurate=verdict.is_accurate)


def _shard_store(setting: RidgeSetting, X: np.ndarray, shift: np.ndarray) -> FeatureStore:
    return FeatureStore.shifted(FeatureMap(setting.feature_map), X, shift, intercept=setting.intercept)


def _sums(setting: RidgeSetting, shard: Any) -> FeatureSums:
    feature_map = FeatureMap(setting.feature_map)
    features = feature_map(shard.X)
    feature_map.check_rowwise(shard.X, features)
    ends = features.min(axis=0, initial=np.inf), features.max(axis=0, initial=-np.inf)
    return FeatureSums(features.sum(axis=0), features.shape[0], *ends)


def _shift(setting: RidgeSetting, sums: Sequence[FeatureSums]) -> np.ndarray:
    """Return what features are counted from, if a bias absorbs it: their mean, or what they are throughout."""
    mean = np.sum([own.total for own in sums], axis=0) / sum(own.n for own in sums)
    if not setting.intercept:
        return np.zeros(mean.size)
    least, most = np.min([own.least for own in sums], axis=0), np.max([own.most for own in sums], axis=0)
    return np.asarray(np.where(least == most, least, mean))


@blas_threads(1)
def _products(
    setting: RidgeSetting, shard: Any, shift: np.ndarray, targets: Callable[..., np.ndarray], *known: Any
) -> Products:
    rows, T = _shard_store(setting, shard.X, shift).rows, targets(shard, *known)
    ends = T.min(axis=0, initial=np.inf), T.max(axis=0, initial=-np.inf)
    return Products(rows.T @ rows, rows.T @ T, rows.shape[0], *ends)


def _summed_products(parts: Sequence[Products]) -> Products:
    gram, moments = np.sum([part.gram for part in parts], axis=0), np.sum([part.moments for part in parts], axis=0)
    least, most = np.min([part.least for part in parts], axis=0), np.max([part.most for part in parts], axis=0)
    return Products(gram, moments, sum(part.n for part in parts), least, most)


@blas_threads(1)
def _factorised(setting: RidgeSetting, products: Products, shift: np.ndarray) -> Factor:
    """Factorise the sums, if that may serve."""
    none, q = np.empty((0, 0)), products.gram.shape[0]
    if setting.solver == "svd" or (setting.solver == "auto" and products.n < q):
        return Factor(shift, none, none, is_accurate=False)
    try:
        root, is_accurate = inverse_root(penalised(products.gram, setting.rho, intercept=setting.intercept))
    except linalg.LinAlgError:
        if setting.solver == "primal":
            raise ValueError(singular_sentence(setting.rho)) from None
        return Factor(shift, none, none, is_accurate=False)
    W = np.ascontiguousarray(root.T @ (root @ products.moments))
    if setting.intercept:  # alone it is the regression of a column that does not vary
        constant = products.least == products.most
        W[:, constant], W[0, constant] = 0.0, products.least[constant]
    return Factor(shift, root, W, is_accurate)


@blas_threads(1)
def _least_divisor(setting: RidgeSetting, shard: Any, factor: Factor) -> float:
    """Return the smallest 1 - h_i of a shard."""
    if not factor.root.size:
        return -np.inf
    return float(divisors_of(_shard_store(setting, shard.X, factor.shift).rows, factor.root).min(initial=np.inf))


def _verdict(setting: RidgeSetting, factor: Factor, least: Sequence[float]) -> FactorVerdict:
    is_accurate = factor.is_accurate and min(least) >= LEAST_DIVISOR
    return FactorVerdict(is_accurate or setting.solver == "primal", is_accurate)


def _unless_used(shard: Any, verdict: FactorVerdict) -> Any:
    return None if verdict.is_used else shard


def _gathered(shards: Sequence[Any]) -> Any:
    if shards[0] is None:
        return None
    return type(shards[0])(*(np.concatenate(parts) for parts in zip(*shards, strict=True)))
