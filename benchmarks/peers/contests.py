"""All contests, in the order of the page; those with nonconform where it can be installed."""

from importlib import import_module
from importlib.util import find_spec

from benchmarks.peers import folds, least_squares, neighbours, split, venn_abers

MODULES = [split, folds, venn_abers, least_squares, neighbours]
if find_spec("nonconform") is not None:
    MODULES.append(import_module("benchmarks.peers.anomalies"))
TASKS = {name: contest for module in MODULES for name, contest in module.CONTESTS.items()}
