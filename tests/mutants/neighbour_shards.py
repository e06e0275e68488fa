"""Mutants of nearest neighbours in shards: what they have for each other, what is merged, who is counted."""

from __future__ import annotations

from mutants import Family, Mutant

SHARDS = "measures/neighbours/test_neighbour_shards.py"
ONE_EACH = (f"{SHARDS}::test_shards_of_one_example",)
METRIC = (f"{SHARDS}::test_every_metric_takes_shards[manhattan]",)
SCREENED = (f"{SHARDS}::test_counts_of_shards_are_those_of_one_bag[screened-outliers-a tiny one]",)
VISITS = (f"{SHARDS}::test_only_who_may_matter_visits_other_shards",)
FORGETTING = (f"{SHARDS}::test_shards_forget",)

FAMILY = Family(
    tests=ONE_EACH,
    compiled=False,
    mutants={
        "what is nearer than the bound is left out": Mutant(
            "measures/neighbours/kernels/shards.py",
            "values[relation, i, length - 1] >= bounds[relation, i]",
            "values[relation, i, length - 1] < bounds[relation, i]",
        ),
        "the last entry is not merged": Mutant(
            "measures/neighbours/kernels/shards.py",
            "for _ in range(entries.lengths[relation, i]):",
            "for _ in range(entries.lengths[relation, i] - 1):",
        ),
        "the last of the nearest is not merged": Mutant(
            "measures/neighbours/kernels/shards.py",
            "for j in range(more_lengths[t, c]):",
            "for j in range(more_lengths[t, c] - 1):",
        ),
        "one shard's lists are forgotten": Mutant(
            "measures/neighbours/_shards.py", "for entries in parts:", "for entries in parts[1:]:"
        ),
        "bounds of a list that is not full": Mutant(
            "measures/neighbours/_shards.py",
            "np.where(lengths == self.k, values[:, :, -1], np.inf)",
            "np.where(lengths > 0, values[:, :, -1], np.inf)",
            METRIC,
        ),
        "the screen is half as wide": Mutant(
            "measures/neighbours/kernels/fill.py",
            "delta = bounds[relation, screen.slots[row]]",
            "delta = 0.5 * bounds[relation, screen.slots[row]]",
            SCREENED,
        ),
        "lists reach half as far": Mutant(
            "measures/neighbours/kernels/places.py", "<= bound + 2.0**-530", "<= 0.5 * bound + 2.0**-530", VISITS
        ),
        "the box of the own label is asked for others": Mutant(
            "measures/neighbours/kernels/places.py", "(relation == 0)", "(relation <= 1)", VISITS
        ),
        "guests are taken for others": Mutant(
            "measures/neighbours/_shard_places.py", "lengths[:, guests.rows] = entries.lengths", "pass", VISITS
        ),
        "lists that held who is gone at their end are kept": Mutant(
            "measures/neighbours/_shard_forgetting.py", "(distances <= last)", "(distances < last)", FORGETTING
        ),
        "examples find themselves": Mutant(
            "measures/neighbours/_shard_forgetting.py", "_without_themselves(own), *found", "own, *found", FORGETTING
        ),
        "touched examples of other categories are counted": Mutant(
            "measures/neighbours/_shard_bag.py",
            '(places[met.touches["test"]] >= 0) & (kind == category)',
            'places[met.touches["test"]] >= 0',
            METRIC,
        ),
    },
)
