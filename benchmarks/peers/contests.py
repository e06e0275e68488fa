"""All contests, in the order of the page."""

from benchmarks.peers import folds, least_squares, neighbours, split, venn_abers

TASKS = {
    name: contest
    for module in (split, folds, venn_abers, least_squares, neighbours)
    for name, contest in module.CONTESTS.items()
}
