"""Where one route of the nearest neighbours pays more than another: these numbers decide how long a result takes."""

from typing import NamedTuple


class NeighbourTuning(NamedTuple):
    """Sizes from which the routes of the nearest neighbours differ."""

    few: int = 8  # fewer test objects are not worth the preparation of a screen, nor sorting scores
    small: int = 10**7  # nor are fewer multiplications, when the screen is not there yet
    screen_from: int = 10**6  # n^2 from which filling the lists is screened
    block_bytes: int = 2**24  # of plain distances at a time
    many: int = 8  # changing more than one example in this many makes all lists anew
    reserve: int = 4  # distances beyond the k-th that tell whether more examples are at the boundary


KNOBS = NeighbourTuning()
