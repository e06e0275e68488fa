"""Examples with names: ids that stay what they are, while positions move up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from numbers import Number
from typing import Any

import numpy as np

from exactcp._parameters import shown
from exactcp._rows import is_missing


class Names:
    """The ids of the examples that were learned, in their order; changes give new ones.

    Parameters
    ----------
    ids : array-like
        Hashable, each once.
    n : int
        How many examples there are.

    Examples
    --------
    >>> names = Names(["Ada", "Bob", "Cleo"], 3).joined(["Dora"], 1).without(np.array([1]))
    >>> names.ids, names.positions("Dora")
    (['Ada', 'Cleo', 'Dora'], array([2]))
    """

    def __init__(self, ids: Any, n: int) -> None:
        self._number = dict(zip(_listed_ids(ids, n), range(n), strict=True))  # ascending, in the order of learning

    def __getstate__(self) -> dict[str, list[Hashable]]:
        return {"ids": self.ids}  # as a list: a file's tables cannot tell the keys 1 and "1" apart

    def __setstate__(self, state: dict[str, list[Hashable]]) -> None:
        self._number = {name: number for number, name in enumerate(state["ids"])}

    @property
    def ids(self) -> list[Hashable]:
        """The ids in the order of learning."""
        return list(self._number)

    def joined(self, ids: Any, m: int) -> Names:
        """Return the names when m more examples have been learned."""
        listed = _listed_ids(ids, m)
        known = next((one for one in listed if one in self._number), None)
        if known is not None:
            msg = f"ids has {shown(known)}, which an example has that was learned before: unlearn that one, or rename."
            raise ValueError(msg)
        first = next(reversed(self._number.values()), -1) + 1
        return self._replaced({**self._number, **dict(zip(listed, range(first, first + m), strict=True))})

    def without(self, positions: np.ndarray) -> Names:
        """Return the names when the examples at these positions have been forgotten."""
        kept, ids = dict(self._number), self.ids
        for position in positions.tolist():
            del kept[ids[position]]
        return self._replaced(kept)

    def positions(self, ids: Any) -> np.ndarray:
        """Return the positions of examples; one id that is a text or a number may stand alone."""
        wanted = _listed_ids([ids] if isinstance(ids, str | bytes | Number) else ids, None)
        unknown = next((one for one in wanted if one not in self._number), None)
        if unknown is not None:
            msg = (
                f"no example has the id {shown(unknown)}: it was never learned, or is forgotten. ids_ has those known."
            )
            raise KeyError(msg)
        numbers = np.fromiter(self._number.values(), dtype=np.int64, count=len(self._number))
        return np.searchsorted(numbers, [self._number[one] for one in wanted]).astype(np.int64)

    def _replaced(self, number: dict[Hashable, int]) -> Names:
        names = object.__new__(type(self))
        names._number = number
        return names


def _listed_ids(ids: Any, n: int | None) -> list[Hashable]:
    """Return ids as a list, one for each of n examples; refuse what is no id, or there twice."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        msg = f"ids={shown(ids)} is of type {type(ids).__name__}: expected a list or array with an id for each example."
        raise TypeError(msg)
    listed: list[Any] = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    if n is not None and len(listed) != n:
        msg = f"ids has {len(listed)} values for {n} examples: expected one for each."
        raise ValueError(msg)
    seen: set[Hashable] = set()
    for place, one in enumerate(listed):
        if is_missing(one):
            msg = f"ids has a missing value, ids[{place}]={one!r}: expected an id for each example."
            raise ValueError(msg)
        try:
            twice = one in seen
        except TypeError as error:
            msg = (
                f"ids[{place}]={shown(one)} is of type {type(one).__name__}, which cannot be looked up: expected "
                "texts, numbers, tuples or others that are hashable."
            )
            raise TypeError(msg) from error
        if twice:
            msg = f"ids has {shown(one)} twice: expected each id once, since it names one example."
            raise ValueError(msg)
        seen.add(one)
    return listed
