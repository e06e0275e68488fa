"""What each experiment measures: the paper's grid, and one that takes minutes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from joblib import cpu_count

from exactcp.experiments.paper import HOUR

PAPER_SIZES = tuple(int(n) for n in np.logspace(1, 5, 13, dtype="int"))
CLASSIFICATION = ("KNN", "LSSVM", "KDE", "RandomForest")
METHODS = ("standard", "optimized", "split")


@dataclass(frozen=True)
class Point:
    """What is to be measured: a method with a measure on data of one size, drawn with one seed.

    Attributes
    ----------
    task : {"classification", "regression", "mnist", "samples"}
        The data; "samples" draws bootstrap samples and times nothing.
    measure : str
        The name of a class in `exactcp.measures`.
    method : {"standard", "optimized", "split", "drawn"}
    n, n_test : int
        Training and test examples.
    seed : int
    jobs : int
        Threads, or processes of the standard method.
    n_estimators : int
        B, of "samples".
    data : str
        The file of MNIST.
    """

    task: str
    measure: str
    method: str
    n: int
    n_test: int
    seed: int
    jobs: int
    n_estimators: int = 0
    data: str = ""

    @property
    def line(self) -> Point:
        """What it shares with the points that differ only by n and seed: they are a line of a figure."""
        return replace(self, n=0, n_test=0, seed=0)

    def __str__(self) -> str:
        what = f"B = {self.n_estimators}" if self.task == "samples" else f"{self.measure} {self.method}"
        return f"{what}, n = {self.n:,}, seed {self.seed}"


@dataclass(frozen=True)
class Config:
    """An experiment: which points, and how long each may take.

    Attributes
    ----------
    name : str
        One of `NAMES`.
    task : str
        "classification", "regression", "mnist" or "samples".
    measures, methods : tuple of str
        What is measured, and by which algorithm.
    sizes, seeds : tuple of int
        Numbers of training examples, and the seeds of the data.
    n_test : int
        Test examples of a measurement.
    n_test_standard : int
        The same for the standard method, which needs as long for each as for any other.
    timeout, timeout_standard : float
        Seconds that one measurement may take.
    jobs : tuple of int
        Threads of a measurement; 0 means all cores. The standard method has one, unless several numbers are compared.
    n_estimators : tuple of int
        Values of B.
    large : int
        Training examples of the additional k-NN measurement of "parallel"; 0 leaves it out.
    data : str
        The file of MNIST.

    Examples
    --------
    >>> from exactcp.experiments import Config
    >>> config = Config("figure3", "classification", ("NN",), sizes=(10, 100), seeds=(0,))
    >>> len(config.plan())
    6
    """

    name: str
    task: str
    measures: tuple[str, ...]
    methods: tuple[str, ...] = METHODS
    sizes: tuple[int, ...] = PAPER_SIZES
    seeds: tuple[int, ...] = (0, 1, 2)
    n_test: int = 100
    n_test_standard: int = 5
    timeout: float = 60.0
    timeout_standard: float = 20.0
    jobs: tuple[int, ...] = (1,)
    n_estimators: tuple[int, ...] = (0,)
    large: int = 0
    data: str = ""

    def plan(self) -> list[Point]:
        """Return the points in the order of measuring: small ones first, so that an early picture is a whole one."""
        points = []
        for jobs in self.jobs:
            cores = jobs or cpu_count()
            of_standard = cores if len(self.jobs) > 1 else 1  # it has processes only where workers are compared
            for n in self.sizes:
                for measure in self.measures:
                    for method in self.methods:
                        m, threads = self.n_test, cores
                        if method == "standard":
                            m, threads = max(self.n_test_standard, of_standard), of_standard  # a worker each
                        points += [
                            Point(self.task, measure, method, n, m, seed, threads, B, self.data)
                            for B in self.n_estimators
                            for seed in self.seeds
                        ]
            if self.large:
                m = round(self.large * 3 / 7)
                points += [Point(self.task, "KNN", "optimized", self.large, m, seed, cores) for seed in self.seeds]
        return points

    def timeout_of(self, point: Point) -> float:
        """Return how many seconds a point may take."""
        return self.timeout_standard if point.method == "standard" else self.timeout

    def up_to(self, n_max: int) -> Config:
        """Return the same with no more than n_max training examples."""
        sizes = tuple(n for n in self.sizes if n <= n_max) or (n_max,)
        return replace(self, sizes=sizes, large=self.large if self.large <= n_max else 0)


_QUICK = {
    "figure1": Config("figure1", "classification", CLASSIFICATION),
    "figure2": Config("figure2", "classification", CLASSIFICATION, ("optimized",)),
    "figure3": Config("figure3", "regression", ("KNNResidual",)),
    "figure4": Config(
        "figure4", "samples", ("RandomForest",), ("drawn",), n_estimators=(1, 2, 5, 10, 20, 50, 100), n_test=0
    ),
    "figure5": Config("figure5", "classification", ("KNN", "SimplifiedKNN")),
    "mnist": Config(
        name="mnist",
        task="mnist",
        measures=("NN", "SimplifiedKNN", "KNN", "KDE", "RandomForest"),
        sizes=(60_000,),
        seeds=(0,),
        n_test=10_000,
        n_test_standard=10_000,
        timeout=900.0,
        timeout_standard=10.0,
        jobs=(0,),
    ),
    "parallel": Config(
        name="parallel",
        task="classification",
        measures=("SimplifiedKNN", "KNN", "KDE", "LSSVM", "RandomForest"),
        methods=("standard", "optimized"),
        sizes=(700,),
        n_test=300,
        n_test_standard=2,
        timeout=300.0,
        timeout_standard=60.0,
        jobs=(1, 0),
        large=70_000,
    ),
}
NAMES = tuple(_QUICK)


def make_config(name: str, *, full: bool = False) -> Config:
    """Return an experiment.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    full : bool, default=False
        The paper's grid, test examples, seeds and timeouts (10 hours, 48 for MNIST) instead of one that takes minutes.

    Returns
    -------
    Config

    Examples
    --------
    >>> from exactcp.experiments import make_config
    >>> make_config("figure3", full=True).sizes[:4]
    (10, 21, 46, 100)
    >>> len(make_config("figure3").plan())
    117
    """
    if name not in NAMES:
        msg = f"there is no experiment {name!r}: use one of {', '.join(NAMES)}."
        raise ValueError(msg)
    config = _QUICK[name]
    if not full:
        return config
    timeout = 48 * HOUR if name == "mnist" else 10 * HOUR
    seeds = config.seeds if name == "mnist" else tuple(range(5))
    return replace(config, seeds=seeds, n_test_standard=config.n_test, timeout=timeout, timeout_standard=timeout)
