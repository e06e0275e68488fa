"""Where one route of the nearest neighbours pays more than another: these numbers decide how long a result takes."""

from typing import NamedTuple


class NeighbourTuning(NamedTuple):
    """Sizes from which the routes of the nearest neighbours differ."""

    few: int = 8  # fewer test objects since a change are not worth the preparation of a screen, nor sorting scores
    small: int = 10**7  # nor are fewer multiplications, when the screen is not there yet
    plain_up_to: int = 10**5  # multiplications of a few rows that are not worth a look through the screen
    screen_from: int = 10**6  # n^2 from which filling the lists is screened
    block_bytes: int = 2**24  # of plain distances at a time
    many: int = 8  # changing more than one example in this many makes all lists anew
    trees_from: int = 5000  # fewer examples of few features are not worth the question whether trees are faster
    trees_up_to: int = 16  # nor are data with more features, unless fewer coordinates stand for them
    contract_from: int = 10  # features from which that is looked at,
    contract_least: int = 20_000  # and examples, unless trees are asked for
    probed: int = 1024  # examples that tell what products cost
    regrow: int = 64  # rows that are asked after a change before trees are grown anew
    plain_share: int = 16  # trees do not pay if one example in this many must be met by every row
    rows_together: int = 64  # test objects that go through trees in one call
    follow_share: int = 16  # trees are grown anew when one example in this many has come or gone,
    follow_least: int = 512  # and no fewer than so many
    changed_least: int = (
        512  # scores that change before they are put in order anew: one in `follow_share`, but not fewer
    )
    changed_most: int = 8192  # nor more
    stream_trees_from: int = 8192  # examples from which trees are tried in a stream
    ranked_rows: int = 256  # rows of a stream at most, after which scores are put in order anew
    stream_share: int = 3  # trees are grown anew when one in this many examples more is in none
    stream_part: int = 512  # rows of a stream at least, after which trees are grown anew
    many_labels: int = 32  # labels from which intervals of scores are tried
    telling_rows: int = 32  # test objects of a block that tells whether these pay: they do while those of one look at
    open_share: int = 3  # less than one example in this many in open labels,
    open_pairs: int = 8  # and this many for each of the k nearest of all labels
    reserve: int = 4  # places of a list beyond the k-th: they tell whether more examples are at the boundary

    def width(self, k: int, *, forgets: bool) -> int:
        """Return how many places lists have: more when examples are forgotten, so that they seldom run short."""
        return 2 * k + 6 if forgets else k + self.reserve


KNOBS = NeighbourTuning()
