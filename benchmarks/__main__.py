"""Print the tables of ratios: `python -m benchmarks [--quick] [reach ...]`, of all families or of those named."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from joblib import cpu_count
from rich.console import Console
from rich.table import Table

from benchmarks import (
    categories,
    clustering,
    cold,
    dask,
    forest,
    frames,
    jackknife,
    kde,
    labels,
    lssvm,
    memory,
    models,
    neighbours,
    reach,
    regression,
    saving,
    stream,
    surfaces,
    venn,
)

MODULES = [
    neighbours,
    reach,
    memory,
    kde,
    lssvm,
    categories,
    forest,
    venn,
    stream,
    clustering,
    jackknife,
    regression,
    models,
    frames,
    saving,
    dask,
    cold,
]
MORE = {  # tables
    "reach": {
        "other metrics": reach.metrics,
        "many labels": labels.many_labels,
        "near a surface": surfaces.near_surfaces,
        "intervals of kernel ridge": regression.kernel_intervals,
    },
    "dask": {"shards in places, beside one process": dask.places},
}
NAMES = {module.__name__.split(".")[-1]: module for module in MODULES}


def show_table(console: Console, title: str, rows: Iterable[dict[str, Any]]) -> None:
    """Print rows as one table."""
    table: Table | None = None
    for row in rows:
        if table is None:
            table = Table(title=title)
            for heading in row:
                table.add_column(heading, justify="right")
        table.add_row(*(f"{value:,.2f}" if isinstance(value, float) else str(value) for value in row.values()))
    if table is not None:
        console.print(table)


def main() -> None:
    """Run all benchmarks, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios, measured side by side.")
    parser.add_argument("--quick", action="store_true", help="ten times smaller data")
    parser.add_argument("only", nargs="*", choices=[*NAMES, []], help="families; all if none is named")
    asked = parser.parse_args()
    quick = asked.quick
    console = Console(width=160)
    for name in asked.only or NAMES:
        module = NAMES[name]
        show_table(console, f"{name}: ratios of times, {cpu_count()} cores", module.rows(quick=quick))
        show_table(console, f"{name}: slopes in n", module.slopes(quick=quick))
        for title, table in MORE.get(name, {}).items():
            show_table(console, f"{name}: {title}", table(quick=quick))


if __name__ == "__main__":
    main()
