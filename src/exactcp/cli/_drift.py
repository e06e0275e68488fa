"""`exactcp drift`: whether the rows of a stream are exchangeable."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from exactcp.cli import _options as typed
from exactcp.cli._measures import make_measure
from exactcp.cli._mistakes import (
    MisuseError,
    check_columns,
    check_readable,
    check_standard_output,
    is_standard,
    pasted,
    some,
)
from exactcp.cli._options import Options
from exactcp.cli._tables import lines_of_standard_input, print_result, read_table, say

Example = tuple[Any, Any]


def drift(
    stream: Annotated[Path, typer.Argument(metavar="STREAM", help="Rows in their order; - is CSV or JSON lines.")],
    *,
    target: Annotated[str | None, typer.Option("--target", "-t", help="A column of labels or numbers.")] = None,
    task: typed.TaskName = "auto",
    reference: Annotated[Path | None, typer.Option(help="Earlier rows, which say how to scale and encode.")] = None,
    measure: typed.Measure = None,
    option: typed.MeasureOption = None,
    alarm: Annotated[
        Literal["ville", "cusum", "shiryaev-roberts"],
        typer.Option(help="ville bounds the probability of a false alarm; the others find late changes sooner."),
    ] = "ville",
    threshold: Annotated[float, typer.Option(help="ville: a false alarm has probability <= 1/threshold.")] = 100.0,
    window: Annotated[int | None, typer.Option(min=1, help="Compare with the last rows only (approximate).")] = None,
    ignore: typed.Ignore = None,
    categorical: typed.Categorical = None,
    seed: typed.Seed = None,
    separator: typed.Separator = None,
    decimal: typed.Decimal = ".",
    as_json: Annotated[bool, typer.Option("--json", help="Print an object for each row.")] = False,
) -> None:
    """Detect distribution shift in a stream.

    Rows are compared with those before them. Without --reference, columns are numbers
    as they are: nothing may be estimated from the stream itself. Text needs a reference.
    """
    options = Options.of(locals())
    if not threshold > 1:
        msg = f"--threshold {threshold:g} is not a level for alarms: use a number above 1."
        raise MisuseError(msg)
    if task != "auto" and target is None:
        msg = f"--task {task} needs a target: name its column with --target."
        raise MisuseError(msg)
    files = {"STREAM": stream} | ({} if reference is None else {"--reference": reference})
    check_readable(files)
    check_standard_output(files)
    reader = StreamReader(options, reference)
    examples = reader.examples(stream)
    first = next(examples, None)
    if first is None:
        raise ValueError("the stream has no rows: expected a line of column names, then a line for each row.")
    from exactcp import ExchangeabilityTest

    test = ExchangeabilityTest(reader.measure(), alarm=alarm, threshold=threshold, window=window, random_state=seed)
    for row, (x, y) in enumerate(chain([first], examples), start=1):
        try:
            p = test.update(x, y)
        except ValueError as error:
            msg = f"row {row}: {error}"
            raise ValueError(msg) from error
        is_alarm = bool(test.alarms_.size and test.alarms_[-1] == row - 1)
        if as_json:
            log = float(test.log_martingale_[-1])
            print_result(json.dumps({"step": row, "p": p, "log_martingale": log, "alarm": is_alarm}))
        elif is_alarm and test.alarms_.size == 1 and is_standard(stream):
            print_result(f"alarm at row {row}.")
    (say if as_json else print_result)(verdict(test, alarm, threshold, window))


def verdict(test: Any, alarm: str, threshold: float, window: int | None) -> str:
    """Return what a test has found, in words."""
    n = test.p_values_.size
    if alarm == "ville":
        bound = f"a false alarm has probability at most {100 / threshold:.3g} %"
    else:
        bound = f"false alarms are at least {threshold:g} rows apart on average"
    if window is not None:
        bound += " (approximately, since the window slides)"
    if test.alarms_.size:
        return f"The rows are not exchangeable since about row {test.alarms_[0] + 1} of {n:,}; {bound}."
    largest = max(0.0, float(test.log_martingale_.max()) / math.log(10))
    return f"No evidence against exchangeability in {n:,} rows (martingale up to 10^{largest:.2f}); {bound}."


class StreamReader:
    """Examples of a stream, by constants that are fixed before its first row.

    Parameters
    ----------
    options : Options
    reference : Path or None
        Earlier rows, which say what columns are, and how they are scaled and encoded.
    """

    def __init__(self, options: Options, reference: Path | None) -> None:
        self._options, self._task = options, options.task
        self._spec: Any = None
        self._encoder: Any = None
        self._numbers: list[str] = []
        if reference is None:
            return
        from exactcp.cli._predictors import fit_encoder
        from exactcp.cli._spec import TableSpec

        table = read_table(reference, options)
        self._spec = TableSpec.learn({"the reference": table}, options)
        self._task = self._spec.task or options.task
        self._encoder = fit_encoder(self._spec.encoder(scale=True, impute=False), self._spec.objects(table))

    def examples(self, stream: Path) -> Iterator[Example]:
        """Yield objects and labels or targets; those of standard input before the next row is read."""
        if not is_standard(stream):
            yield from self._examples(read_table(stream, self._options), 1)
            return
        import pandas as pd

        for row, record in enumerate(lines_of_standard_input(self._options), start=1):
            cells = {name: _number_or_text(cell, self._options.decimal) for name, cell in record.items()}
            yield from self._examples(pd.DataFrame([cells]), row)

    def _examples(self, table: Any, row: int) -> Iterator[Example]:
        if row == 1:
            self._begin(table)
        try:
            X, y = self._objects(table, quiet=row > 1), self._targets(table)
        except ValueError as error:
            raise ValueError(str(error).replace("row 1 of", f"row {row} of", 1)) from None
        yield from zip(X, y, strict=True)

    def _objects(self, table: Any, *, quiet: bool) -> Any:
        if self._spec is not None:
            self._spec.check(table, "the stream", impute=False, quiet=quiet)
            return self._encoder.transform(self._spec.objects(table))
        for name in self._numbers:
            self._check(table[name], pasted("--ignore", name))
        return table[self._numbers].to_numpy(dtype=float)

    def _check(self, column: Any, remedy: str) -> None:
        from exactcp.cli._spec import check_missing, check_numbers

        check_missing({"the stream": column}, column.name, f"or use {remedy}")
        check_numbers({"the stream": column}, column.name, f"use {remedy}, --reference FILE for text, or --decimal ','")

    def _targets(self, table: Any) -> Iterable[Any]:
        from exactcp.cli._spec import check_missing, labels_of

        name = self._options.target
        if not name:
            return [None] * len(table)
        if self._task == "regression":
            self._check(table[name], "--task classification")
            return list(table[name].astype(float))
        check_missing({"the stream": table[name]}, name, "or leave the row out")
        return labels_of(table[name])

    def _begin(self, table: Any) -> None:
        """Decide by the names of the columns, and the look of the target, what an example is."""
        from exactcp.cli._spec import ROW_ID, choose_task

        options, names = self._options, list(table.columns)
        check_columns("--target", [options.target] if options.target else [], names, "the stream")
        learned = [] if self._spec is None else self._spec.left_out
        check_columns("--ignore", options.ignore, [*names, *learned], "the stream")
        if options.target and self._task == "auto":
            if len(table) == 1 and table[options.target].dtype.kind in "if":
                msg = f"the target {options.target} may be a label or a quantity: use --task classification or "
                raise MisuseError(msg + "--task regression.")
            is_label = len(table) == 1
            self._task = "classification" if is_label else choose_task(table[options.target], options, "the stream")[0]
        if options.categorical and self._spec is None:
            raise MisuseError("--categorical needs --reference: categories are encoded as in a file of earlier rows.")
        left_out = {options.target, *options.ignore}
        for name in names:
            if self._spec is None and name not in left_out and ROW_ID.fullmatch(name):
                say(f"warning: column {name!r} looks like a row ID; ignored. To use it, rename it.")
                left_out.add(name)
        self._numbers = [name for name in names if name not in left_out]
        if not self._numbers:
            msg = f"the stream has no column but those left out: it has {some(names)}."
            raise ValueError(msg)

    def measure(self) -> Any:
        """Return the measure that was asked for, or the default of the test, which options may be for."""
        options, task = self._options, "regression" if self._task == "regression" else "classification"
        name = options.measure or ("knn" if options.target else "simplified-knn")
        return make_measure(name, options.option, task, seed=options.seed)


def _number_or_text(cell: Any, decimal: str) -> Any:
    """Return a cell of a line as a number where it is one; None where it is empty."""
    if not isinstance(cell, str) or cell in ("True", "False"):
        return cell if cell not in ("True", "False") else cell == "True"
    try:
        return float(cell if decimal == "." else cell.replace(".", "?").replace(decimal, "."))
    except ValueError:
        return cell.strip() or None
