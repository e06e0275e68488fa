"""The commands that the page shows for drift run as they stand."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from exactcp.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


@pytest.fixture
def commands(tmp_path, monkeypatch):
    if not PAGE.exists():
        pytest.skip("the documentation is not part of this distribution")
    section = PAGE.read_text(encoding="utf-8").partition("## `exactcp drift STREAM`")[2].partition("\n## ")[0]
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    pressure = 1013 + 8 * rng.normal(size=160)
    table = pd.DataFrame({"time": pd.date_range("2026-01-01", periods=160, freq="h"), "pressure": pressure})
    table["town"], table["price"] = rng.choice(["Ulm", "Bonn"], 160), rng.normal(size=160).round(2)
    table[:60].to_csv("last-year.csv", index=False)
    table[60:].to_csv("log.csv", index=False)
    table[60:].drop(columns="time").to_json("today.jsonl", orient="records", lines=True)
    return re.search(r"```sh\n(.*?)```", section, flags=re.DOTALL)[1].splitlines()


def test_each_runs_and_says_what_it_takes(commands):
    assert len(commands) == 5
    for command in commands:
        text = Path("log.csv").read_text(encoding="utf-8") if command.startswith("tail") else None
        words = shlex.split(command.rpartition("| ")[2])
        result = CliRunner().invoke(app, words[1:], input=text)
        assert result.exit_code == 0, (command, result.output)
        if text is None:
            assert "100 rows, no alarms; martingale 10^" in result.stderr, command
        else:
            assert len([json.loads(line) for line in result.stdout.splitlines()]) == 100
        if "log.csv" in command:
            assert "column 'time' has dates and is left out" in result.stderr
