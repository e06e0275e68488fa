"""What the bags of LS-SVM and of ridge regression share: objects, and a factorisation that learns and unlearns them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp._changes import Bag, twin
from exactcp._parallel import Effort
from exactcp.measures.least_squares._features import FeatureStore
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares.factorisations.choice import factorise
from exactcp.measures.least_squares.factorisations.form import Factorisation, Solution


class FactorisedBag(Bag):
    """Base of bags that solve regressions; the factorisation is made anew where it could not follow a change."""

    def __init__(self, store: FeatureStore | KernelStore, *, rho: float, solver: str, intercept: bool) -> None:
        self._store: Any = store
        self._rho, self._solver, self._intercept = rho, solver, intercept
        self._factorisation: Factorisation | None = None
        self._forget_solution()

    def _forget_solution(self) -> None:
        """Forget what follows from the examples."""
        raise NotImplementedError

    def fork(self) -> Self:
        """Return a bag with the same examples that may be changed while others read this one."""
        store = self._store.fork()
        factorisation = None if self._factorisation is None else self._factorisation.fork(store)
        bag: Self = twin(self, _store=store, _factorisation=factorisation)
        return bag

    def _factorised(self, effort: Effort) -> Factorisation:
        """Return the factorisation, made anew if there is none."""
        factorisation = self._factorisation
        if factorisation is None:
            factorisation = factorise(self._store, self._rho, self._solver, intercept=self._intercept, effort=effort)
            self._factorisation = factorisation
        return factorisation

    def _regressed(
        self, factorisation: Factorisation, solution: Solution, objects: np.ndarray
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return the test objects' side of g, d (m,) and F (m, k), the regressions' values."""
        coordinates = factorisation.coordinates(self._store.columns(objects))
        F = factorisation.predict(coordinates, solution)
        return *factorisation.multipliers(coordinates), F

    def _learn_objects(self, X: np.ndarray) -> None:
        self._store.check_new(X)
        prepared = self._store.prepare(X)
        self._forget_solution()
        self._give_up_beyond(X.shape[0])
        for i in range(X.shape[0]):
            x = prepared[i : i + 1]
            seen = self._store.columns(x)
            if self._factorisation is None:
                self._store.append(x, seen)
            elif not self._factorisation.learn(x, seen):
                self._factorisation = None

    def _unlearn_objects(self, positions: np.ndarray) -> None:
        self._forget_solution()
        self._give_up_beyond(positions.size)
        for position in np.sort(positions)[::-1].tolist():
            if self._factorisation is None:
                self._store.remove(position)
            elif not self._factorisation.unlearn(position):
                self._factorisation = None

    def _give_up_beyond(self, m: int) -> None:
        """Have no factorisation if making it anew is cheaper than changing it by m examples, one by one."""
        if self._factorisation is not None and not self._factorisation.can_learn(m):
            self._factorisation = None
