"""Which way neighbours are searched for: by trees, or by products with all examples."""

from __future__ import annotations

from typing import NamedTuple

from exactcp._parameters import one_of
from exactcp.geometry.metric import Distance

ROUTES = one_of("auto", "tree", "brute")


class Route(NamedTuple):
    """How neighbours are searched for; the results do not depend on it."""

    name: str  # "tree" or "brute"
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
