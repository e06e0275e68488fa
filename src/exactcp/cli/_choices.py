"""What options of `exactcp predict` may be."""

from __future__ import annotations

from enum import StrEnum


class Task(StrEnum):
    """What is predicted."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class Scale(StrEnum):
    """How numeric columns are scaled."""

    standard = "standard"
    robust = "robust"
    none = "none"


class MethodOption(StrEnum):
    """How examples are used."""

    FULL = "full"
    SPLIT = "split"
    CROSS = "cross"
    CV_PLUS = "cv+"
    JACKKNIFE_PLUS = "jackknife+"


class Mondrian(StrEnum):
    """Categories within which p-values are valid."""

    label = "label"


class Dates(StrEnum):
    """What becomes of columns of dates."""

    ignore = "ignore"
    days = "days"
