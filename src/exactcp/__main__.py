"""The command line, also as `python -m exactcp`; without the packages that it needs, what to install."""

from __future__ import annotations

import sys

from exactcp._optional import require


def start() -> None:
    """Run the command line, if it is installed."""
    try:
        for package in ("typer", "rich"):
            require(package, "cli", "The command line")
    except ImportError as error:
        sys.exit(f"exactcp: {error}")
    from exactcp.cli import main

    main()


if __name__ == "__main__":
    start()
