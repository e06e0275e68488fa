"""The command line."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

app = typer.Typer(no_args_is_help=True, add_completion=True, help="Full conformal prediction, exact and fast.")


def _print_version(value: bool) -> None:
    if value:
        from exactcp import __version__

        typer.echo(f"exactcp {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Full conformal prediction, exact and fast."""


@app.command()
def demo(
    confidence: Annotated[float, typer.Option(help="Confidence level of the prediction sets.")] = 0.95,
) -> None:
    """Full and split conformal prediction on scikit-learn's digits."""
    console = Console()
    if not 0 < confidence < 1:
        Console(stderr=True).print(f"confidence={confidence} is not a probability: use a number between 0 and 1.")
        raise typer.Exit(2)
    with console.status("importing and compiling (the first run only), then fitting"):
        from exactcp.demo import run_demo

        facts = run_demo(confidence)
    console.print(_table(facts))
    console.print(
        f"A set holds the true digit with probability at least {confidence:.0%}, if the objects are exchangeable. Full "
        f"CP learns from all {facts['n_train']:,} examples, split CP from half: smaller sets and fuzziness are better."
    )


def _table(facts: dict[str, Any]) -> Table:
    sizes = f"{facts['n_train']:,} training and {facts['n_test']:,} test objects"
    table = Table(
        title=f"digits: {sizes}, {facts['confidence_level']:.0%} sets", box=SIMPLE, show_edge=False, pad_edge=False
    )
    for heading in ("predictor", "measure"):
        table.add_column(heading, no_wrap=True)
    for heading in ("coverage", "set size", "fuzziness", "fit", "predict"):
        table.add_column(heading, justify="right")
    for row in facts["rows"]:
        table.add_row(
            row["predictor"],
            row["measure"],
            f"{row['coverage']:.3f}",
            f"{row['set_size']:.3f}",
            f"{row['mean_fuzziness']:.5f}",
            f"{row['fit_seconds']:.3f} s",
            f"{row['predict_seconds']:.3f} s",
        )
    return table


def main() -> None:
    """Run the command line."""
    app()
