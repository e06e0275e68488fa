"""Compiled loops of the nearest neighbours: arrays in, arrays out.

For labels:

- `lists` keeps the k smallest distances of an example and sums them in ascending order.
- `fill` fills the lists of the training examples (screened, or from blocks of distances).
- `search` finds, for test objects, the k nearest of each label and the training examples they touch.
- `scores` turns both into scores and counts for all labels; `label_blocks` does all of it in one call.
- `learning` takes an example into the lists and out of them; `stream` counts it against all before it as well.

For targets and for votes:

- `members` finds all who are as near as the k-th; `means` takes the mean of their targets.
- `residuals` counts and bounds; `votes` counts the votes of neighbours; `left_out` leaves one of them out.
- `member_blocks` goes from the rows of test objects to these answers in one call.
- `neighbourhoods` learns and unlearns.
"""
