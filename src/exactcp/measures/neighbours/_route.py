"""Which way neighbours are searched for: by trees, or by products with all examples."""

from __future__ import annotations

from typing import Any, NamedTuple

from exactcp._numpy_first import is_small
from exactcp._parameters import one_of
from exactcp.geometry.metric import Distance

ROUTES = one_of("auto", "tree", "brute", "numpy")


class Route(NamedTuple):
    """How neighbours are searched for; the results do not depend on it."""

    name: str  # "tree", "brute" or "numpy"
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


ASKED_FOR = "asked for"
NOT_ASKED = Route("brute", "trees are tried when the lists of a full predictor are filled")


def contracted_to(p: int, q: int) -> str:
    """Say what a contraction by q columns does to trees."""
    return f"with {q + 1} coordinates instead of {p} features"


def check_search(search: str, distance: Distance) -> None:
    """Refuse trees for a metric that has none."""
    if search == "tree" and not distance.is_euclidean:
        msg = (
            f"search='tree' needs the Euclidean metric, and metric={distance.metric!r} has no trees: use "
            "search='auto', which then takes the other way, or metric='euclidean'."
        )
        raise ValueError(msg)


def goes_to_numpy(search: str, X: Any) -> bool:
    """Tell whether a bag of these objects starts in NumPy."""
    n, p = X.shape
    return search == "numpy" or (search == "auto" and is_small(n * n * (3.0 * p + 30.0)))


def refuse_numpy(search: str, what: str) -> None:
    """Refuse NumPy where only kernels can do what is needed."""
    if search == "numpy":
        msg = f"search='numpy' has no way for {what}: use search='auto', which then takes another."
        raise ValueError(msg)


def in_numpy(search: str) -> Route:
    """Return the route of a bag that starts in NumPy."""
    return Route("numpy", ASKED_FOR if search == "numpy" else "small, while no kernel is loaded")
