"""Where randomness comes from: one seed for each fit, which the predictor keeps and lends to its measure."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from sklearn.utils import check_random_state


def draw_seed(random_state: Any) -> int:
    """Return the seed that a random_state means: an integer itself, else a number drawn from the generator."""
    generator = check_random_state(random_state)
    return int(random_state) if isinstance(random_state, Integral) else int(generator.randint(2**31 - 1))


def lend_seed(estimator: Any, seed: int) -> Any:
    """Give the seed to an estimator where its random_state is None, and to the estimators that it holds.

    One that has a seed of its own gives this one to those that it holds. A generator is drawn from once, so that
    whatever is fitted again is fitted alike.
    """
    states = {name: value for name, value in estimator.get_params().items() if name.split("__")[-1] == "random_state"}
    if not states:
        return estimator
    lent = seed if states.get("random_state") is None else draw_seed(states["random_state"])
    seeds = {
        name: lent if value is None or name == "random_state" else draw_seed(value) for name, value in states.items()
    }
    estimator.set_params(**seeds)  # which returns nothing for a frozen estimator
    return estimator
