"""Tables that the commands are tried on, in a folder of their own."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

N, M = 60, 20


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
    make_table(N, 1).to_csv(tmp_path / "train.csv", index=False)
    make_table(M, 2).to_csv(tmp_path / "new.csv", index=False)
    for name in ("train", "new"):
        table = pd.read_csv(tmp_path / f"{name}.csv")
        table[["x", "z", "kind"]].to_csv(tmp_path / f"kinds_{name}.csv", index=False)
        table[["x", "z", "price"]].to_csv(tmp_path / f"prices_{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run():
    """A function that runs a command, whose words are separated by spaces, or are a list."""

    from typer.testing import CliRunner

    from exactcp.cli import app

    def call(command, *more, text=None):
        words = command.split() if isinstance(command, str) else command
        return CliRunner().invoke(app, [*words, *map(str, more)], input=text, env={"COLUMNS": "200"})

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
