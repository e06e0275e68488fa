"""`exactcp warm-up`: compile kernels now, and not when someone waits for a prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from exactcp._starting import leaving_at_once
from exactcp.cli._misuse import MisuseError, did_you_mean
from exactcp.cli._results import print_result

if TYPE_CHECKING:
    from exactcp._warming import Warmed

KILOBYTE = 1000.0


def warm_up(
    families: Annotated[
        list[str] | None, typer.Argument(metavar="[FAMILY]...", help="What to compile.", show_default="all")
    ] = None,
    list_families: Annotated[bool, typer.Option("--list", help="Print the families and exit.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Processes at a time.", show_default="one a core")] = None,
) -> None:
    """Compile now what predictions use, and keep it, so that the first one of every process starts at once.

    For images of containers and serverless functions, and after an upgrade.
    """
    if jobs is not None and jobs < 1:
        msg = f"--jobs {jobs} is too few: use 1 or more."
        raise MisuseError(msg)
    errors = Console(stderr=True)
    with errors.status("importing"), leaving_at_once():
        from joblib import cpu_count

        from exactcp._kernel_cache import check_can_keep
        from exactcp._warming import JOBS, warm_families
    if list_families:
        print_result("\n".join(sorted(JOBS)))
        return
    chosen = _known_families(families or list(JOBS), list(JOBS))
    folder = check_can_keep()
    kernels = 0
    with _showing(errors, len(chosen)) as show:
        for warmed in warm_families(chosen, jobs or cpu_count()):
            kernels += warmed.kernels
            show(warmed)
    size = sum(path.stat().st_size for path in folder.iterdir())
    what = f"compiled {_kernels(kernels)}" if kernels else "nothing was left to compile"
    print_result(f"{what}; {folder} holds {_megabytes(size)}.")


def _known_families(families: list[str], known: list[str]) -> list[str]:
    """Return the families, each once; refuse others."""
    for family in families:
        if family not in known:
            hint = did_you_mean(family, known) or f" Use some of {', '.join(sorted(known))}."
            msg = f"there is no family {family!r}.{hint}"
            raise MisuseError(msg)
    return list(dict.fromkeys(families))


def _megabytes(size: int) -> str:
    """Return a size in words.

    Examples
    --------
    >>> _megabytes(12_345_678)
    '12.3 MB'
    """
    return f"{size / KILOBYTE**2:.1f} MB"


@contextmanager
def _showing(console: Console, total: int) -> Iterator[Callable[[Warmed], None]]:
    """Show how many families are done: a bar on a terminal, a line for each elsewhere."""
    if not console.is_terminal:
        yield lambda warmed: console.print(_line(warmed), highlight=False, soft_wrap=True)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("compiling", total=total)
        yield lambda warmed: bar.update(task, advance=1, description=_line(warmed))


def _kernels(number: int) -> str:
    """Return a number of kernels in words.

    Examples
    --------
    >>> _kernels(1), _kernels(1234)
    ('1 kernel', '1,234 kernels')
    """
    return f"{number:,} kernel{'' if number == 1 else 's'}"


def _line(warmed: Warmed) -> str:
    return f"{warmed.family}: {_kernels(warmed.kernels)} in {warmed.seconds:.1f} s"
