"""The command line: a command reads tables, asks the library, and prints what it returns.

`_app` has the commands and turns errors into sentences. `_options` has the options that commands share and the frozen
record of what was typed; `_mistakes` the error for a user's mistake and the checks that come before any import.
`_tables` reads and writes files; `_spec` says what their columns are. `_predictors` makes predictors and encoders;
`_run` predicts rows and evaluates them. `_predict`, `_models` (fit and inspect), `_compare`, `_drift`, `_demo`,
`_reproduce` and `_warming` are the commands.
"""

from exactcp.cli._app import app, main

__all__ = ["app", "main"]
