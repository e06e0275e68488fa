"""The command line, also as `python -m exactcp`; without the packages that it needs, what to install."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from exactcp._optional import require


def _leave(*_: Any) -> None:
    os.write(2, b"exactcp: interrupted.\n")
    os._exit(130)


def start() -> None:
    """Run the command line, if it is installed.

    Importing takes a while, in which an interruption would end in a traceback: it ends the process at once instead.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    try:
        try:
            for package in ("typer", "rich"):
                require(package, "cli", "The command line")
        except ImportError as error:
            sys.exit(f"exactcp: {error}")
        from exactcp.cli import main
    finally:
        signal.signal(signal.SIGINT, before)
    main()


if __name__ == "__main__":
    start()
