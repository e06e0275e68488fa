"""Ranking the sequences of a lattice by a Markov chain and what is observed: the best first, one at a time."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np


class MarkovChain(NamedTuple):
    """Logarithms of the estimated initial and transition probabilities of labels."""

    log_initial: np.ndarray  # (l,)
    log_transition: np.ndarray  # (l, l), from the row's label to the column's

    def log_probability(self, codes: np.ndarray) -> float:
        """Return the log probability of a sequence of labels."""
        return float(self.log_initial[codes[0]] + self.log_transition[codes[:-1], codes[1:]].sum())


def estimate_chain(codes: np.ndarray, lengths: np.ndarray, n_labels: int, smoothing: float) -> MarkovChain:
    """Count first labels and transitions in labelled sequences, each count `smoothing` larger than it is.

    Where nothing has been counted, not even a smoothed nothing, all labels are as likely.
    """
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    initial = np.bincount(codes[starts], minlength=n_labels) + float(smoothing)
    follows = np.ones(codes.size, dtype=bool)
    follows[starts] = False
    after = np.flatnonzero(follows)
    transition = np.full((n_labels, n_labels), float(smoothing))
    np.add.at(transition, (codes[after - 1], codes[after]), 1.0)
    return MarkovChain(_log_shares(initial[None])[0], _log_shares(transition))


def _log_shares(counts: np.ndarray) -> np.ndarray:
    totals = counts.sum(axis=1, keepdims=True)
    counts = np.where(totals > 0, counts, 1.0)
    with np.errstate(divide="ignore"):  # log 0 is -inf: such a sequence comes last
        return np.asarray(np.log(counts) - np.log(counts.sum(axis=1, keepdims=True)))


def ranked_sequences(
    chain: MarkovChain, sets: np.ndarray, log_weights: np.ndarray | None = None
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the sequences of a lattice, sets (T, l), and their log probabilities, the most probable first.

    `log_weights` (T, l) are added for the labels of a sequence, if given.

    Best-first search: a beginning is as good as its best completion, which one backward pass (Viterbi) tells. A new
    sequence costs O(T l) steps of a heap, however many there are. Equally probable ones come in the order of labels.
    """
    T = sets.shape[0]
    if T == 0 or not sets.any(axis=1).all():
        return
    weights = np.zeros(sets.shape) if log_weights is None else log_weights
    rest = np.where(sets, weights, -np.inf)  # of a label and the best completion after it
    for t in range(T - 2, -1, -1):
        rest[t] += (chain.log_transition + rest[t + 1]).max(axis=1)
    heap: list[tuple[float, tuple[int, ...], float]] = []

    def push_all(regret: float, codes: tuple[int, ...], log: float, steps: np.ndarray) -> None:
        t = len(codes)
        regrets = _regrets(steps + rest[t])
        for code in np.flatnonzero(sets[t]).tolist():
            grown = log + float(steps[code]) + float(weights[t, code])
            heapq.heappush(heap, (regret + float(regrets[code]), (*codes, code), grown))

    push_all(0.0, (), 0.0, chain.log_initial)
    while heap:
        regret, codes, log = heapq.heappop(heap)
        if len(codes) == T:
            yield np.array(codes, dtype=np.int64), log
        else:
            push_all(regret, codes, log, chain.log_transition[codes[-1]])


def _regrets(values: np.ndarray) -> np.ndarray:
    """How much less than the best each is.

    The best has exactly 0. So a beginning's best continuation ranks exactly as the beginning, and the search goes
    straight on; sums that round differently would let it try all beginnings of equally good sequences first.
    """
    best = values.max()
    return np.zeros_like(values) if best == -np.inf else best - values
