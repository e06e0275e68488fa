"""One level or several in one question, and a word, once, about levels that there are too few examples for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from exactcp._warning import ValidityWarning, warn
from exactcp.pvalues import as_decimal, fewest_examples, list_levels, significance

ONCE_A_FIT = {"classes", "dtype"}  # what is not said again when the examples have changed
CATEGORY = " (in the smallest category, if there are categories)"


class Levels(NamedTuple):
    """The confidence levels of a question: one number, or several."""

    given: list[Any]
    epsilons: list[Fraction]
    are_several: bool

    @classmethod
    def of(cls, confidence_level: Any) -> Levels:
        """Return the levels of what a user gave, or say what is no level."""
        given, are_several = list_levels(confidence_level)
        return cls(given, list(map(significance, given)), are_several)

    def shaped(self, answers: list[np.ndarray]) -> np.ndarray:
        """Return the answer at the level, or with several levels the answers at all, along a last axis."""
        return np.stack(answers, axis=-1) if self.are_several else answers[0]

    def names(self, name: str) -> list[str]:
        """Return what the columns of a frame are called: with several levels, their name and the level."""
        if len(set(self.epsilons)) < len(self.epsilons):
            msg = f"confidence_level={self.given} has a level twice, and a frame one column for each: give each once."
            raise ValueError(msg)
        return [f"{name}_{level}" for level in self.given] if self.are_several else [name]


def warn_of_too_few(
    estimator: Any,
    level: str,
    epsilon: Any,
    n: int | Fraction,
    *,
    purpose: str,
    result: str,
    where: str = CATEGORY,
) -> None:
    """Say once, until the examples change, that no p-value of n examples is as small as epsilon.

    Parameters
    ----------
    estimator : estimator
        It remembers what has been said in `_warned_levels`.
    level : str
        What was asked for, such as "epsilon=0.05".
    epsilon : Fraction or float
    n : int or Fraction
        The smallest p-value is 1/(n + 1).
    purpose, result : str
        What examples are needed for, and what comes of too few.
    where : str
        Which examples count.
    """
    warned = estimator.__dict__.setdefault("_warned_levels", set())
    if (n + 1) * as_decimal(epsilon) >= 1 or level in warned:
        return
    warned.add(level)
    needed = fewest_examples(epsilon)
    msg = f"{level} needs at least {needed} examples {purpose}, and there are {math.floor(n)}{where}: {result}."
    warn(msg)


def warn_of_unseen(estimator: Any, sizes: np.ndarray | None, epsilon: Fraction) -> None:
    """Say once for each fit that labels which no example has may cost more than half of epsilon.

    The share of examples that are alone with their label estimates the probability of a new label (Good and Turing).
    """
    warned = estimator.__dict__.setdefault("_warned_levels", set())
    if sizes is None or "classes" in warned:
        return
    n, alone = int(sizes.sum()), int((sizes == 1).sum())
    if alone > epsilon / 2 * n:
        msg = (
            f"{alone} of {n} examples are the only ones of their label: about {alone / n:.0%} of new objects have one "
            "that no example has and no set holds. Give all labels that may come: fit(X, y, classes=[...])."
        )
        warn(msg, ValidityWarning)
        warned.add("classes")
