"""Print the table of ratios: `python -m benchmarks [--quick]`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from joblib import cpu_count
from rich.console import Console
from rich.table import Table

from benchmarks import clustering, forest, jackknife, kde, lssvm, models, neighbours, regression, stream, venn

MODULES = [neighbours, kde, lssvm, forest, venn, stream, clustering, jackknife, regression, models]


def _show(console: Console, title: str, rows: Iterable[dict[str, Any]]) -> None:
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
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios, measured side by side.")
    parser.add_argument("--quick", action="store_true", help="ten times smaller data")
    quick = parser.parse_args().quick
    console = Console(width=160)
    for module in MODULES:
        name = module.__name__.split(".")[-1]
        _show(console, f"{name}: ratios of times, {cpu_count()} cores", module.rows(quick=quick))
        _show(console, f"{name}: slopes in n", module.slopes(quick=quick))


if __name__ == "__main__":
    main()
