"""Code paths that tests are run on, and fixtures that several folders share."""

from __future__ import annotations

import json
import math
import os
from functools import cache, partial

import numba
import numpy as np
import pandas as pd
import pytest
import typer.testing
from hypothesis import Phase, settings
from joblib import cpu_count
from threadpoolctl import threadpool_limits

import plain_lanes
from exactcp import _jit, _numpy_first, _parallel
from exactcp.geometry import angles, distances, kinds
from exactcp.measures.neighbours import _filling, _trees, _tuning
from exactcp.measures.neighbours import _search as _neighbour_search
from exactcp.measures.neighbours._route import Route
from exactcp.measures.neighbours.kernels import (
    cones,
    label_bounds,
    loose,
    standing,
    tree_block,
    tree_fill,
    tree_members,
    tree_search,
)
from slices import slow_but

_jit.load_kernels()  # which tests import: they are then what they will be

LANES = ("within", "within_cones", "within_either", "near_box", "lowest", "join", "keep_largest", "hits_among")

if numba.config.DISABLE_JIT:  # LLVM's instructions have no meaning to Python
    distances.squared_distance = plain_lanes.squared_distance
    distances.inner_product = angles.inner_product = plain_lanes.inner_product
    kinds.manhattan_distance = plain_lanes.manhattan_distance
    kinds.chebyshev_distance = plain_lanes.chebyshev_distance
    for module in (cones, label_bounds, loose, standing, tree_block, tree_fill, tree_members, tree_search):
        for name in LANES:
            if hasattr(module, name):
                setattr(module, name, getattr(plain_lanes, name))

# the same examples in every run: a failure is then a change's own; `--hypothesis-profile explore` looks for new ones,
# `hasty` does not look for the simplest failure
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.register_profile("hasty", derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate])
settings.load_profile("repeatable")

# typer builds the command line anew for every call, from the signatures of all commands: that takes longer than most
# calls themselves
typer.testing._get_command = cache(typer.testing._get_command)

# workers share the cores: threads of BLAS that wait for a core of another worker turn around meanwhile, and small
# problems then take ten times as long. Tests that are about the number of threads set it themselves
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if WORKERS > 1:
    threadpool_limits(max(1, cpu_count() // WORKERS))
    # a first task that compiles, or waits for another worker, would let the others seem to be worth processes of their
    # own, which take seconds to start. Tests that are about processes say so
    _parallel.WORTH_PROCESSES = math.inf


def some_basis(objects: np.ndarray) -> np.ndarray:
    """Orthonormal columns that have nothing to do with the objects, half as many as they have."""
    p = objects.shape[1]
    return np.linalg.qr(np.random.default_rng(p).normal(size=(p, p // 2)))[0]


def contracting(monkeypatch: pytest.MonkeyPatch, columns: int | None = None) -> None:
    """Let trees contract objects of two features or more by such columns: half as many, or another number."""

    def find(objects: np.ndarray, most: int) -> np.ndarray:
        p = objects.shape[1]
        q = p // 2 if columns is None else min(columns, p - 1)
        return np.linalg.qr(np.random.default_rng(p).normal(size=(p, q)))[0]

    monkeypatch.setattr(_trees, "find_contraction", find)
    monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(contract_from=2, contract_least=0))


def always_trees(search, lists, k):
    """Take trees wherever there are some."""
    return Route("tree" if search.has_trees() else "brute", "forced")


ALWAYS_SCREENED = {"few": 0, "small": -1, "screen_from": 0, "plain_up_to": 0}
ALWAYS_INTERVALS = {**ALWAYS_SCREENED, "many_labels": 0, "open_pairs": 10**9}


PATHS = ["plain", "numpy", "screened", "sketched", "tree", "contracted", "intervals"]


# intervals of scores concern labels only, and have a file of tests of their own, and contracted trees are trees: the
# rest is slow
@pytest.fixture(params=slow_but(PATHS[:-2], PATHS))
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on all code paths of the nearest-neighbour bag, whatever the size of the data."""
    monkeypatch.setattr(_numpy_first, "_forced", request.param == "numpy")
    if request.param == "sketched":
        monkeypatch.setattr(_neighbour_search, "find_basis", some_basis)
    if request.param == "contracted":
        contracting(monkeypatch)
    if request.param in ("tree", "contracted"):
        monkeypatch.setattr(_filling, "choose_route", always_trees)
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(regrow=0, plain_share=0))
    elif request.param not in ("plain", "numpy"):
        knobs = ALWAYS_INTERVALS if request.param == "intervals" else ALWAYS_SCREENED
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(**knobs))
    return request.param


@pytest.fixture(autouse=True)
def _numbers_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tests read the numbers of files to the last digit, as pandas does from version 3 on."""
    if int(pd.__version__.split(".")[0]) < 3:
        monkeypatch.setattr(pd, "read_csv", partial(pd.read_csv, float_precision="round_trip"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# --- commands, and tables that they are tried on


def make_table(n, seed):
    """Return rows with numbers, a boolean, a category, an ID, labels and targets."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x": rng.normal(size=n), "z": 100 * rng.normal(size=n)})
    table["color"] = rng.choice(["red", "green"], n)
    table["paid"] = rng.uniform(size=n) < 0.5
    table["customer_id"] = rng.permutation(n) + 1000 * seed
    table["kind"] = np.where(table["x"] + rng.normal(size=n) / 2 > 0, "a", "b")
    table["price"] = np.exp(table["x"] + rng.normal(size=n) / 3).round(3)
    return table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory, with rows to train with, others, and numbers alone."""
    make_table(60, 1).to_csv(tmp_path / "train.csv", index=False)
    make_table(20, 2).to_csv(tmp_path / "new.csv", index=False)
    for name in ("train", "new"):
        table = pd.read_csv(tmp_path / f"{name}.csv")
        table[["x", "z", "kind"]].to_csv(tmp_path / f"kinds_{name}.csv", index=False)
        table[["x", "z", "price"]].to_csv(tmp_path / f"prices_{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run():
    """A function that runs a command, whose words are separated by spaces, or are a list."""
    from exactcp.cli import app

    def call(command, *more, text=None):
        words = command.split() if isinstance(command, str) else command
        return typer.testing.CliRunner().invoke(app, [*words, *map(str, more)], input=text, env={"COLUMNS": "200"})

    return call


@pytest.fixture
def done(run):
    """A function that runs a command that succeeds."""

    def call(*arguments, **options):
        result = run(*arguments, **options)
        assert result.exit_code == 0, result.output
        return result

    return call


@pytest.fixture
def rows(done):
    """A function that returns the rows that `predict` writes."""

    def call(command, *more):
        done(f"predict {command}", *more, "--output", "out.csv")
        return pd.read_csv("out.csv", keep_default_na=False, na_values=["nan"])

    return call


@pytest.fixture
def summary(done):
    """A function that returns the JSON that a command prints."""

    def call(command, *more, **options):
        return json.loads(done(command, "--json", *more, **options).stdout)

    return call
