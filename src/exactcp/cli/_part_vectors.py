"""Columns of a table in parts become vectors: numbers are scaled by all rows together, names are columns of 0 and 1.

Means and deviations are those of all rows, of whole numbers of 52 bits that are summed without rounding. So they do not
depend on how rows are cut into parts or ordered: all rows are treated alike, and stay exchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from exactcp.cli._objects import A_NUMBER, make_objects
from exactcp.cli._part_columns import read_frame
from exactcp.cli._part_targets import Target
from exactcp.cli._parts import Part

BITS, HALF_BITS = 52, 26  # of the whole numbers, and of the parts whose products 64 bits hold a thousand of
SUMMED_AT_ONCE = 1024


class ColumnScale(NamedTuple):
    """A column is divided by a power of two, less its mean, by its standard deviation."""

    exponent: int
    mean: float
    deviation: float

    def scaled(self, numbers: np.ndarray) -> np.ndarray:
        """Return a column as it is learned."""
        return np.asarray((np.ldexp(numbers, -self.exponent) - self.mean) / self.deviation)


@dataclass(frozen=True)
class Recipe:
    """How rows become examples.

    Attributes
    ----------
    kinds : dict
        The columns that are learned from, in their order, and whether each holds numbers or categories.
    categories : dict
        Those of each column of categories.
    target : Target
    scales : dict
        Of columns of numbers; those that are not there stay what they are.
    """

    kinds: Mapping[str, str]
    categories: Mapping[str, list[str]]
    target: Target
    scales: Mapping[str, ColumnScale] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        """The length of a vector."""
        return sum(len(self.categories.get(name, [0])) for name in self.kinds)

    def vectors(self, frame: Any) -> np.ndarray:
        """Return the vectors of rows."""
        objects = make_objects(frame, self.kinds)
        columns: list[np.ndarray] = []
        for name, kind in self.kinds.items():
            column = objects[name]
            if kind == A_NUMBER:
                numbers = column.to_numpy()
                columns.append((self.scales[name].scaled(numbers) if name in self.scales else numbers)[:, None])
            else:
                known = self.categories[name]
                places = pd.Index(known).get_indexer(column.cat.categories)[column.cat.codes]
                columns.append(places[:, None] == np.arange(len(known)))
        return np.concatenate(columns, axis=1, dtype=np.float64)


def part_vectors(recipe: Recipe, part: Part) -> np.ndarray:
    """Return the vectors of the rows of a part."""
    return np.concatenate([recipe.vectors(read_frame(piece, list(recipe.kinds))) for piece in part.pieces])


def part_answers(recipe: Recipe, part: Part) -> np.ndarray:
    """Return the labels or numbers to learn of the rows of a part."""
    name = recipe.target.name
    found = [recipe.target.learned(read_frame(one, [name], name)[name], one.name) for one in part.pieces]
    return np.concatenate(found)


def check_learned_answers(recipe: Recipe, part: Part) -> list[None]:
    """Refuse targets that cannot be learned before work is spent; there is nothing to tell of the others."""
    part_answers(recipe, part)
    return []


def check_known_answers(recipe: Recipe, part: Part) -> list[None]:
    """Refuse targets of test rows that cannot judge."""
    name = recipe.target.name
    for piece in part.pieces:
        if name in piece.file.columns:
            recipe.target.known(read_frame(piece, [name], name)[name], piece.name)
    return []


class ColumnSums(NamedTuple):
    """Of some rows: how many they are, the sum of a column's whole numbers, and that of their squares."""

    rows: int
    values: int
    squares: int


def exponents(largest: Mapping[str, float]) -> dict[str, int]:
    """Return the powers of two that columns stay below."""
    return {name: int(np.frexp(most)[1]) for name, most in largest.items()}


def part_sums(powers: Mapping[str, int], part: Part) -> list[dict[str, ColumnSums]]:
    """Return the sums of columns of numbers, for each piece of a part."""
    found = []
    for piece in part.pieces:
        objects = make_objects(read_frame(piece, list(powers)), dict.fromkeys(powers, A_NUMBER))
        found.append({name: exact_sums(objects[name].to_numpy(), power) for name, power in powers.items()})
    return found


def exact_sums(numbers: np.ndarray, power: int) -> ColumnSums:
    """Return the sums of numbers below a power of two, in units of its 52nd part of two.

    Examples
    --------
    >>> exact_sums(np.array([0.5, -0.25]), 0) == (2, 2**50, 2**102 + 2**100)
    True
    """
    whole = np.rint(np.ldexp(numbers, BITS - power)).astype(np.int64)
    whole = np.append(whole, np.zeros(-whole.size % SUMMED_AT_ONCE, np.int64)).reshape(-1, SUMMED_AT_ONCE)
    high, low = whole >> HALF_BITS, whole & (2**HALF_BITS - 1)
    values, twice, mixed, once = (sum(one.sum(axis=1).tolist()) for one in (whole, high * high, high * low, low * low))
    return ColumnSums(numbers.size, values, (twice << 2 * HALF_BITS) + (mixed << HALF_BITS + 1) + once)


def scales_of(powers: Mapping[str, int], sums: Iterable[Mapping[str, ColumnSums]]) -> dict[str, ColumnScale]:
    """Return the scales of columns, by the sums of all pieces."""
    every = list(sums)
    found = {}
    for name, power in powers.items():
        n, values, squares = (sum(part[name][place] for part in every) for place in range(3))
        variance = Fraction(n * squares - values**2, n * n << 2 * BITS)
        found[name] = ColumnScale(power, float(Fraction(values, n << BITS)), math.sqrt(variance) or 1.0)
    return found
