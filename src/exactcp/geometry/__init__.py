"""Exact distances, and what spares them.

- `distances` are by direct differences, `angles` by the product of rows of length 1: the only ones that enter a score;
  `kinds` numbers them.
- `metric` is the distance that a user named or wrote; `objects` keeps the examples that it measures.
- `screen` decides with one matrix product, and a bound on its rounding error, which pairs need a distance at all.
  `differences` take the product's place for Manhattan and Chebyshev distances.
- `sketch` does so before it with a shorter product, where the data are near a subspace, as images are.
- `row_lanes` lets test objects pass an example side by side: the largest products, and which of them matter.
- `trees` decide it without a look at all pairs, where features are few; `growing` grows them, `lanes` looks at a leaf.
"""
