"""Mutants of measures whose examples lie in shards: lists, crowds and ranks across shards, sums that merge."""

from __future__ import annotations

from mutants import Family, Mutant

SHARDED = "measures/test_sharded.py::"
NEIGHBOURS = "measures/neighbours/test_sharded_targets.py::"
TARGETS = f"{SHARDED}test_targets_in_shards_equal_one_bag"
LABELS = f"{SHARDED}test_labels_in_shards_equal_one_bag"
ORDER = (f"{NEIGHBOURS}test_numbers_that_round_are_summed_in_one_order",)
RANKS = tuple(f"{NEIGHBOURS}test_few_quantiles_find_the_rank_too[{quantiles}]" for quantiles in (1, 2, 7))
WINDOWS = ("measures/neighbours/test_residual_windows.py",)
DENSITY = (
    f"{LABELS}[KDE-tiny scale-9]",
    f"{LABELS}[KDE-huge scale-8]",
    f"{LABELS}[KDE-shell-1]",
    f"{LABELS}[KDE-line-4]",
)
RIDGE = (f"{TARGETS}[RidgeResidual-normal-9]", f"{TARGETS}[RidgeResidual-huge scale-4]")
FOREST = (f"{LABELS}[RandomForest-normal-8]",)

FAMILY = Family(
    tests=(f"{TARGETS}[KNNResidual 4-constant-9]", *ORDER),
    compiled=False,
    mutants={
        "visitors are not noticed": Mutant(
            "measures/neighbours/kernels/meetings.py",
            "        if d < touch[i]:\n            lengths[i]",
            "        if d < 0.5 * touch[i]:\n            lengths[i]",
            RANKS,
        ),
        "entries beyond half of a bound": Mutant(
            "measures/neighbours/_target_shard.py",
            "(lists.values < bounds[:, None])",
            "(lists.values < 0.5 * bounds[:, None])",
            RANKS,
        ),
        "examples are in their own crowd": Mutant(
            "measures/neighbours/kernels/meetings.py",
            "if skips and crowd[j] == targets[i]:",
            "if False:",
        ),
        "crowds of the own shard only": Mutant(
            "measures/neighbours/_target_shard.py",
            "        sizes[part] = is_there.sum(axis=1)\n",
            "        is_there &= is_home\n        sizes[part] = is_there.sum(axis=1)\n",
        ),
        "touched examples above a window": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "rank = wanted - (window.above - (sizes.shape[0] - count_below(sizes, window.high, True)))",
            "rank = wanted - window.above",
            RANKS,
        ),
        "touched examples move no rank down": Mutant(
            "measures/neighbours/_residual_windows.py",
            "(thresholds + touched)[is_asked].max()",
            "thresholds[is_asked].max()",
            WINDOWS,
        ),
        "touched examples move no rank up": Mutant(
            "measures/neighbours/_residual_windows.py",
            "(thresholds - touched)[is_asked].min()",
            "thresholds[is_asked].min()",
            WINDOWS,
        ),
        "equal touched sizes take one rank": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "last = max(rank, last + 1)",
            "last = rank",
            WINDOWS,
        ),
        "sizes outside a window take ranks": Mutant(
            "measures/neighbours/kernels/residuals.py",
            "if low <= sizes[j] <= high:",
            "if sizes[j] <= high:",
            WINDOWS,
            survives="a window reaches as many ranks further as sizes are touched: those below it leave enough in it",
        ),
        "a label is what a shard has of it": Mutant(
            "measures/density/_sharded.py", "label.elsewhere = size - label.n", "label.elsewhere = 0", DENSITY
        ),
        "sums with different tops": Mutant(
            "measures/density/_sharded.py",
            "* np.exp(part.top[is_there] - top[is_there])",
            "* 1.0",
            DENSITY,
        ),
        "the rank is below the bounds": Mutant(
            "counting/ranks.py",
            "told[at_least >= last]",
            "told[at_least >= last - 2]",
            RIDGE,
        ),
        "what is above the bounds does not count": Mutant(
            "measures/least_squares/_ridge_shard.py",
            "place = kept.size - (int(thresholds[t]) - int(above[t, side]))",
            "place = kept.size - int(thresholds[t])",
            RIDGE,
        ),
        "every machine grows the first trees": Mutant(
            "measures/forest/_forest_bag.py",
            "self._draw()[place::step]",
            "self._draw()[0::step][: len(self._draw()[place::step])]",
            FOREST,
        ),
    },
)
