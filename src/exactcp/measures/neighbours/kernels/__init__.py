"""Compiled loops of the nearest neighbours: arrays in, arrays out.

For labels:

- `lists` keeps the k smallest distances of an example and sums them in ascending order.
- `fill` fills the lists of the training examples (screened, or from blocks of distances).
- `search` finds, for test objects, the k nearest of each label and the training examples they touch.
- `scores` goes from blocks of test objects to scores and counts for all labels, in one call.
- `label_bounds` and `label_intervals` do so for many labels, most of which are decided without being measured.
- `tree_search`, `tree_fill`, `tree_counts` and `tree_stream` do so by trees; `cones` tells who a candidate can make
  change sides.
- `learning` takes an example into the lists and out of them; `stream` counts it against all before it as well.

For targets and for votes:

- `members` finds all who are as near as the k-th, and whom test objects touch.
- From blocks of test objects to their answers in one call: `means` takes the mean of their neighbours' targets,
  `residuals` counts and bounds, `votes` counts the votes of neighbours, `left_out` leaves one of them out.
- `neighbourhoods` learns and unlearns.
"""
