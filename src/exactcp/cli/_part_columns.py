"""What the columns of a table in parts hold: each part is looked at by itself, and what was seen is put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from exactcp.cli._objects import A_NUMBER, Encoding, column_kinds, make_objects, refuse_many_categories
from exactcp.cli._part_targets import different_targets
from exactcp.cli._parts import FilePiece, Part, read_piece
from exactcp.cli._tables import keep_whole_numbers, with_plain_decimals


@dataclass(frozen=True)
class Wanted:
    """What is looked at: the columns to learn from, how they are read, and the target where it is learned."""

    features: tuple[str, ...]
    encoding: Encoding
    target: str | None = None


class PieceFacts(NamedTuple):
    """What the rows of a piece hold.

    Attributes
    ----------
    name : str
        Of the piece.
    rows : int
    kinds : dict
        Name of a column to "number" or "category".
    largest : dict
        Name of a column of numbers to the largest absolute value.
    categories : dict
        Name of a column of categories to those it has.
    targets : Series or None
        Those that differ.
    """

    name: str
    rows: int
    kinds: dict[str, str]
    largest: dict[str, float]
    categories: dict[str, list[str]]
    targets: Any


class TableFacts(NamedTuple):
    """What the rows of all pieces hold, together."""

    kinds: dict[str, str]
    largest: dict[str, float]
    categories: dict[str, list[str]]


def read_frame(piece: FilePiece, columns: Sequence[str] | None = None, target: str = "") -> Any:
    """Return rows as a frame of pandas: numbers for decimals, and a target of whole numbers exactly."""
    return as_frame(read_piece(piece, None if columns is None else [*columns]), target)


def as_frame(table: Any, target: str) -> Any:
    """Return a table of pyarrow as such a frame."""
    frame = table.to_pandas()
    if target in frame.columns and frame[target].dtype.kind == "f":
        keep_whole_numbers(frame, target, table)
    return with_plain_decimals(frame)


def look_at_part(wanted: Wanted, part: Part) -> list[PieceFacts]:
    """Return what the pieces of a part hold, or refuse what is neither numbers nor names, with the file's name."""
    return [_look_at_piece(wanted, piece) for piece in part.pieces]


def _look_at_piece(wanted: Wanted, piece: FilePiece) -> PieceFacts:
    also = [] if wanted.target is None else [wanted.target]
    frame = read_frame(piece, [*wanted.features, *also], wanted.target or "")
    kinds = column_kinds({piece.name: frame[[*wanted.features]]}, wanted.encoding)
    objects = make_objects(frame, kinds)
    numbers = [name for name, kind in kinds.items() if kind == A_NUMBER]
    return PieceFacts(
        piece.name,
        len(frame),
        kinds,
        {name: float(np.abs(objects[name].to_numpy()).max()) for name in numbers},
        {name: objects[name].cat.categories.tolist() for name in kinds if name not in numbers},
        None if wanted.target is None else different_targets(frame[wanted.target], wanted.target, piece.name),
    )


def put_together(facts: Sequence[PieceFacts], encoding: Encoding) -> TableFacts:
    """Return what all pieces hold, or refuse columns that are numbers here and names there."""
    first = facts[0]
    for other in facts:
        for name, kind in first.kinds.items():
            if other.kinds[name] != kind:
                numbers, texts = (first, other) if kind == A_NUMBER else (other, first)
                msg = (
                    f"column {name!r} has numbers in {numbers.name} and text in {texts.name}: make them alike, or use "
                    f"--categorical {name} or --ignore {name}."
                )
                raise ValueError(msg)
    categories = {name: sorted({one for part in facts for one in part.categories[name]}) for name in first.categories}
    for name, known in categories.items():
        refuse_many_categories(pd.Series(known), name, encoding)
    largest = {name: max(part.largest[name] for part in facts) for name in first.largest}
    return TableFacts(first.kinds, largest, categories)
