"""`exactcp demo`: the main job on an embedded data set."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from exactcp._percent import percent
from exactcp._starting import leaving_at_once
from exactcp.cli._formats import is_standard
from exactcp.cli._misuse import PAGES, MisuseError, check_can_write, check_confidence
from exactcp.cli._results import print_result

DEFAULT_REPORT = "exactcp-demo.html"


def demo(
    confidence: Annotated[float, typer.Option(help="Confidence level of the prediction sets.")] = 0.95,
    report: Annotated[
        Path | None, typer.Option(help="Where the report goes.", show_default=DEFAULT_REPORT, dir_okay=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the table.")] = False,
) -> None:
    """Full and split conformal prediction on 100 of scikit-learn's digits: a table here, and a report for a browser."""
    check_confidence(confidence)
    if is_standard(report):
        raise MisuseError("--report - and the table would share standard output: name a file for the report.")
    if report is not None:
        check_can_write(report, PAGES)
    with Console(stderr=True).status("importing and compiling (the first run only), then fitting"):
        with leaving_at_once():
            from exactcp.experiments.demo import run_demo
        facts = run_demo(confidence)
        saved = _save(facts["report"], report)
    if as_json:
        summary = {name: value for name, value in facts.items() if name != "report"}
        print_result(json.dumps({**summary, "report": None if saved is None else str(saved)}))
        return
    console = Console()
    console.print(_table(facts))
    told = (
        f"A set holds the true digit with probability at least {percent(confidence)}, if the objects are exchangeable. "
        f"Full CP learns from all {facts['n_train']:,} examples, split CP from half: smaller sets and fuzziness are "
        f"better. {facts['remark']}"
    )
    console.print(fill(told, console.width), soft_wrap=True)  # rich would part 96.1 from its %
    if saved is not None:
        console.print(f"Report: {saved}", soft_wrap=True)


def _save(page: Callable[[], dict[str, Any]], report: Path | None) -> Path | None:
    """Write the report; one that nobody asked for may be left out, with a sentence."""
    from exactcp.report import write_report

    if report is not None:
        return write_report(report, **page())
    try:
        return write_report(DEFAULT_REPORT, **page())
    except (ImportError, OSError) as error:
        typer.echo(f"exactcp: no report was written: {error}", err=True)
        return None


def _table(facts: dict[str, Any]) -> Table:
    sizes = f"{facts['n_train']:,} training and {facts['n_test']:,} test objects"
    table = Table(
        title=f"digits: {sizes}, {percent(facts['confidence_level'])} sets", box=SIMPLE, show_edge=False, pad_edge=False
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
