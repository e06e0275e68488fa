"""What `exactcp predict` may be asked for with --cluster and --workers."""

from __future__ import annotations

from typing import Any, NamedTuple

from exactcp.cli._misuse import MisuseError

APPLY = {
    *("train", "test", "target", "task", "measure", "option", "confidence", "mondrian", "smoothed", "log", "low"),
    *("high", "seed", "scale", "categorical", "ignore", "keep_ids", "row_ids", "output", "as_json"),
    *("cluster", "workers"),
}  # names of options, and of arguments
DONE_ANYWAY = {"method": "full", "dates": "ignore"}  # what may be said, since it is done anyway
INSTEAD = {
    "jobs": "; workers have threads of their own",
    "impute": ", and fill the gaps before",
    "holdout": ", and write the rows to predict as TEST",
    "folds": ", and write the rows to predict as TEST",
    "model": ", and learn from TRAIN",
}


class WorkPlace(NamedTuple):
    """Where the work is done: at the address of a scheduler, or by so many processes."""

    address: str | None
    workers: int | None


def asked_place(context: Any, cluster: str | None, workers: int | None) -> WorkPlace | None:
    """Return where the work is done, None for this process; refuse options that a cluster does not have."""
    if cluster is None and workers is None:
        return None
    if cluster is not None and workers is not None:
        raise MisuseError("--cluster is where workers run, and --workers starts some here: use one of them.")
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if (
            source is None
            or source.name != "COMMANDLINE"
            or name in APPLY
            or DONE_ANYWAY.get(name) == context.params[name]
        ):
            continue
        said = f"{parameter.opts[0]} {context.params[name]}" if name in DONE_ANYWAY else parameter.opts[0]
        remedy = f"use {DONE_ANYWAY[name]}" if name in DONE_ANYWAY else f"leave it out{INSTEAD.get(name, '')}"
        msg = f"{said} is not for --cluster and --workers: {remedy}."
        raise MisuseError(msg)
    if context.params["scale"] == "robust":
        raise MisuseError("--scale robust is not for --cluster and --workers: use standard or none.")
    return WorkPlace(cluster, workers)
