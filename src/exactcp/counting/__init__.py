"""Where scores meet candidates: one tie rule, and the counts of all measures.

- `ties` is the tie rule; everything that compares scores asks it for its band.
- `labels` counts for all labels of a test object at once: what a bag of labelled examples answers.
- `buckets` searches sorted scores many times.
- `randomness` draws the numbers that smooth, and other samples, from a seed and an object.
- `folds` finds the ends of intervals of CV+, among sorted residuals of each fold.
- `targets` tells for which targets of a test object an example is at least as strange as it, and counts.
"""
