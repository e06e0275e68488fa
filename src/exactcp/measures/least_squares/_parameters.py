"""The parameters that LS-SVM and ridge regression share, checked, and where they put their objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from exactcp._parallel import ALONE, Effort
from exactcp._parameters import BOOLEAN, Allowed, check_parameters, number, one_of, positive
from exactcp.measures._contract import Objects, pairs_or_vectors
from exactcp.measures.least_squares._features import FEATURE_MAP, FeatureMap, FeatureStore
from exactcp.measures.least_squares._kernel_function import KERNEL_PARAMETERS, KernelFunction
from exactcp.measures.least_squares._kernel_matrix import KernelStore, Memory
from exactcp.measures.least_squares._shard_factor import RidgeSetting
from exactcp.measures.least_squares.factorisations.choice import SOLVERS

MATRICES = {"dual": 3, "svd": 4, "auto": 4}  # n x n arrays of float64 that a kernel needs at once


class RidgeParameters:
    """Mixin of measures with these parameters, which `LSSVM` describes."""

    rho: float
    kernel: str | Callable[[np.ndarray, np.ndarray], float]
    gamma: float | None
    degree: int
    coef0: float
    feature_map: Any
    fit_intercept: bool
    solver: str
    memory_limit: float
    is_formula: ClassVar[bool] = True
    why_whole: ClassVar[str] = "its kernel is compared between each two of them"
    allowed_parameters: ClassVar[Mapping[str, Allowed]] = {
        "rho": positive("a regularisation", "a number > 0"),
        **KERNEL_PARAMETERS,
        "feature_map": FEATURE_MAP,
        "fit_intercept": BOOLEAN,
        "solver": one_of(*SOLVERS),
        "memory_limit": number("a number of bytes", "a number > 0, such as 8 * 2**30", lambda x: x > 0),
    }

    def __sklearn_clone__(self) -> Self:
        # a fitted feature map is part of the definition: cloning it would unfit it
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        feature_map = params.pop("feature_map")
        return type(self)(**{name: clone(value, safe=False) for name, value in params.items()}, feature_map=feature_map)  # type: ignore[call-arg]

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return pairs_or_vectors(self.kernel)

    def _parameters_of_textbook(self) -> dict[str, Any] | None:
        """Return the parameters that are no matter of numerics, None if the textbook cannot have the kernel."""
        if self.kernel == "precomputed":
            return None
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: value for name, value in params.items() if name not in ("solver", "memory_limit")}

    def _sharded_setting(self) -> RidgeSetting:
        """Check the parameters, refuse those that compare examples with each other, and return what shards need."""
        check_parameters(self)
        if self.kernel != "linear" or self.solver == "dual":
            refuse: Callable[[str], None] = self._refuse_shards  # type: ignore[attr-defined]
            refuse("kernel='linear', with a feature_map or without, and another solver than 'dual'")
        FeatureMap(self.feature_map)
        return RidgeSetting(float(self.rho), self.solver, bool(self.fit_intercept), self.feature_map)

    def _stored(self, X: np.ndarray, *, effort: Effort = ALONE) -> FeatureStore | KernelStore:
        """Check the parameters, and put objects where the solver wants them."""
        check_parameters(self)
        kernel = KernelFunction(self.kernel, self.gamma, self.degree, self.coef0)
        if self.feature_map is not None and self.kernel != "linear":
            msg = f"feature_map goes with kernel='linear', and kernel={self.kernel!r}: give one of them."
            raise ValueError(msg)
        if self.kernel != "linear" and self.solver == "primal":
            msg = f"solver='primal' needs kernel='linear' (with or without a feature_map), and kernel={self.kernel!r}."
            raise ValueError(msg)
        if self.solver != "dual":
            feature_map = (
                kernel.explicit(*X.shape) if self.kernel == "poly" and self.solver == "auto" else self.feature_map
            )
            if self.kernel == "linear" or feature_map is not None:
                return FeatureStore(FeatureMap(feature_map), X, intercept=bool(self.fit_intercept))
        memory = Memory(self.memory_limit, MATRICES[self.solver])
        return KernelStore(kernel, X, FeatureMap(self.feature_map), memory, effort=effort)
