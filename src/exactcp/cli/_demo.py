"""`exactcp demo`: full and split conformal prediction on digits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from exactcp._percent import percent
from exactcp.cli import _options as typed
from exactcp.cli._mistakes import PAGES, check_confidence, check_writable
from exactcp.cli._tables import print_result, say

DEFAULT_PAGE = "exactcp-demo.html"


def demo(
    confidence: typed.Level = 0.95,
    report: Annotated[Path | None, typer.Option(help="Where the page goes.", show_default=DEFAULT_PAGE)] = None,
    as_json: typed.AsJson = False,
) -> None:
    """Full and split conformal prediction on 100 of scikit-learn's digits: a table here, and a page for a browser."""
    check_confidence(confidence)
    if report is not None:
        check_writable(report, PAGES, {})
    import pandas as pd

    from exactcp.experiments.demo import run_demo

    facts = run_demo(confidence)
    saved = _write_page(facts["report"], report)
    if as_json:
        summary = {name: value for name, value in facts.items() if name != "report"}
        print_result(json.dumps({**summary, "report": None if saved is None else str(saved)}))
        return
    print_result(
        f"digits: {facts['n_train']:,} training and {facts['n_test']:,} test objects, {percent(confidence)} sets"
    )
    print_result(pd.DataFrame(facts["rows"]).round(5).to_string(index=False))
    print_result(
        f"A set holds the true digit with probability at least {percent(confidence)}, if the objects are exchangeable. "
        f"Full CP learns from all {facts['n_train']:,} examples, split CP from half: smaller sets and fuzziness are "
        f"better. {facts['remark']}"
    )
    if saved is not None:
        print_result(f"Report: {saved}")


def _write_page(arguments: Any, page: Path | None) -> Path | None:
    """Write the page; one that was not asked for may be left out, with a sentence."""
    from exactcp.report import write_report

    try:
        return write_report(page or DEFAULT_PAGE, **arguments())
    except (ImportError, OSError) as error:
        if page is not None:
            raise
        say(f"no report was written: {error}")
        return None
