"""The columns of a stream, and the state of one that `exactcp drift --state` of release 0.1.0 has saved."""

from __future__ import annotations

from typing import Any, NamedTuple

from exactcp._estimator import Estimator


class Column(NamedTuple):
    """How the cells of a column become numbers: by constants, so that all rows are treated alike.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "label", "target", "left out"}
    centre, scale : float
        Of numbers, which are taken as (x - centre) / scale.
    categories : tuple of str or None
        Those with a place of their own; all others share one. None gives each category a place by a hash of it.
    """

    name: str
    kind: str
    centre: float = 0.0
    scale: float = 1.0
    categories: tuple[str, ...] | None = None


class WatchedStream(Estimator):
    """What a stream has come to; its `test` goes on by `update_many`.

    Parameters
    ----------
    test : ExchangeabilityTest
    columns : list of Column
        All that the stream has, in its order.
    n_rows : int, default=0
        Rows that the test has taken.
    digest : str, default=""
        Of these rows, in their order.
    beginning : str, default=""
        The digest of the first few; empty as long as there are fewer.
    """

    def __init__(
        self, test: Any, columns: list[Column], n_rows: int = 0, digest: str = "", beginning: str = ""
    ) -> None:
        self.test = test
        self.columns = columns
        self.n_rows = n_rows
        self.digest = digest
        self.beginning = beginning
