"""The command line: one file a command, and here what they share.

A command raises what its work raises. `_app` turns an `Exception` into one sentence on the standard error stream and
exit code 1 (after a traceback, with ``--debug``), and a `MisuseError`, for what was typed wrong, into exit code 2.
Standard output carries results alone, so that it can be piped; progress, warnings and summaries go to standard error.

`_predict` and `_drift` read files through `_tables` and make measures of text through `_measure_option`; `_demo` and
`_predict` hand a facts dict to `exactcp.report`.
"""

from exactcp.cli._app import app, main

__all__ = ["app", "main"]
