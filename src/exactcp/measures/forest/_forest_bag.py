"""The forest bag: trees that take the test example in exactly, and examples that vote with the trees without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from exactcp._parallel import ALONE, FREE, Effort, map_blocks
from exactcp.counting.labels import LabelCounts
from exactcp.measures.forest._coded_bag import CodedBag
from exactcp.measures.forest._rank_codes import RankCodes
from exactcp.measures.forest._resampling import (
    arrival_keys,
    bernoulli_samples,
    multinomial_samples,
    object_keys,
    voters,
)
from exactcp.measures.forest._trees import ForestPlan, Sample, gather, grow_tree, recode
from exactcp.measures.forest.kernels.draws import tree_key
from exactcp.measures.forest.kernels.items import make_node_workspace
from exactcp.measures.forest.kernels.layout import Trees, as_compiled, empty_trees
from exactcp.measures.forest.kernels.tally import ALL_COUNTS, AT_LEAST, SETS, VOTES, make_tally
from exactcp.measures.forest.kernels.votes import Answers, Forest, VotingState, count_objects, make_memo


class ForestTuning(NamedTuple):
    """What changes time and memory only."""

    block: int = 64  # test objects at a time
    threads_from: int = 1000  # examples from which trees grow in several threads
    remember_from: int = 256  # examples in a branch, below which growing it again is cheap
    memory: int = 2**28  # bytes in which a thread remembers branches grown before, about


FOREST_TUNING = ForestTuning()


class ForestBag(CodedBag):
    """State of full CP with a random forest (theory FO): its trees, and the votes of the training examples.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    codes : ndarray of shape (n,)
        Labels as 0..n_labels-1.
    n_labels : int
    plan : ForestPlan

    Notes
    -----
    With multinomial resampling, `learn` and `unlearn` draw new samples and grow all trees again, since the samples'
    size is that of the bag. With Bernoulli resampling, they search only those nodes again which the example is in.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, n_labels: int, plan: ForestPlan) -> None:
        self._plan = plan
        self._codes = np.array(codes, dtype=np.int64)
        self._n_labels = n_labels
        self._arrivals = np.arange(X.shape[0])  # the number of each example in the order of all that ever came
        self._ranks = RankCodes(X)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: as_compiled(value) for name, value in state.items()})

    @property
    def _independent(self) -> bool:
        return self._plan.resampling == "bernoulli"

    def _draw(self) -> list[Sample]:
        """Draw which examples each tree holds, and who votes with it."""
        n, B = self.n, self._plan.n_estimators
        if self._independent:
            held = bernoulli_samples(arrival_keys(self._arrivals, self._plan.seed), B).T.astype(np.int32)
            stars, for_test = np.ones(held.shape[0], np.int64), np.ones(held.shape[0], bool)
        else:
            held = multinomial_samples(n + 1, B, self._plan.seed)
            stars, self._voting = held[:, n].astype(np.int64), voters(held[:, n:], B)
            for_test = np.isin(np.arange(stars.size), self._voting)
            held = held[:, :n]
        chosen = voters(held, B).ravel()
        sizes = np.bincount(chosen, minlength=held.shape[0])
        users = np.split(np.argsort(chosen, kind="stable") // B, np.cumsum(sizes)[:-1])
        return [
            Sample(b, np.flatnonzero(held[b]), held[b][held[b] > 0], users[b], int(stars[b]), bool(for_test[b]))
            for b in range(held.shape[0])
        ]

    def fill(self, *, effort: Effort = FREE) -> ForestBag:
        """Grow all trees anew from the stored examples."""
        samples = self._draw()
        return self._filled(samples, self._grow(samples, [], effort=effort))

    def grow_some(self, place: int, step: int) -> list[Trees | None]:
        """Return the trees number place, place + step, ...: those that one of several machines grows."""
        return self._grow(self._draw()[place::step], [], effort=ALONE)

    def fill_with(self, parts: Sequence[list[Trees | None]]) -> ForestBag:
        """Take the trees that several machines have grown, as `fill` takes its own."""
        samples, step = self._draw(), len(parts)
        return self._filled(samples, [as_compiled(parts[b % step][b // step]) for b in range(len(samples))])

    def _filled(self, samples: list[Sample], trees: list[Trees | None]) -> ForestBag:
        if not self._independent:
            self._star_weights = np.array([[sample.star_weight if sample.users.size else 0 for sample in samples]])
        self._take(trees, [sample.star_weight > 0 or sample.votes_for_test for sample in samples])
        return self

    def _grow(self, samples: list[Sample], olds: list[Trees | None], *, effort: Effort) -> list[Trees | None]:
        """Return the trees of samples, out of the old ones there are; None where nobody needs one."""
        examples = self._ranks.labelled(self._codes)

        def work(pair: tuple[Sample, Trees | None]) -> Trees | None:
            sample, old = pair
            if sample.users.size == 0 and not sample.votes_for_test:
                return None
            return grow_tree(examples, sample, self._plan, self._n_labels, old)

        pairs = list(zip_longest(samples, olds[: len(samples)]))
        if self.n < FOREST_TUNING.threads_from:
            effort = effort.alone()
        return map_blocks(work, pairs, effort=effort, task="growing trees")

    def _take(self, trees: list[Trees | None], needed: list[bool]) -> None:
        """Let the examples vote, and keep the trees that a test example needs."""
        votes = np.zeros(self.n, np.int64)
        for tree in trees:
            if tree is not None:
                users = tree.users["example"]
                votes[users] += tree.users["vote"] == self._codes[users]
        equal = np.zeros((self._n_labels, self._plan.n_estimators + 2), np.int64)
        np.add.at(equal, (self._codes, votes + 1), 1)
        self._votes, self._fewer = votes, equal.cumsum(axis=1)
        kept = [tree if need else None for tree, need in zip(trees, needed, strict=True)]
        self._trees = kept if self._independent else []
        self._forest = self._gathered(kept)

    def _gathered(self, trees: list[Trees | None]) -> Forest:
        """Return trees in flat arrays, as predictions want them."""
        pool, roots = gather(trees, self._n_labels)
        keys = np.array([tree_key(self._plan.seed, b) for b in range(roots.size)], dtype=np.uint64)
        return Forest(self._ranks.labelled(self._codes), pool, roots, keys, self._plan.max_depth, self._plan.n_features)

    def _columns(self, X: np.ndarray) -> tuple[Forest, np.ndarray, np.ndarray]:
        """Return the forest, each test object's weight in each tree, and the trees that vote for it.

        Weights and voting trees are one row, if all objects share it.
        """
        forest = self._forest
        if not self._independent:
            return forest, self._star_weights, self._voting
        B, n_trees = self._plan.n_estimators, len(self._trees)
        inside = bernoulli_samples(object_keys(X, self._plan.seed), B, at_least=n_trees)
        if inside.shape[1] > forest.roots.size:
            forest = self._forest = self._grown_for_tests(inside.shape[1])
        return forest, inside[:, :n_trees].astype(np.int64), voters(inside.T, B)

    def _grown_for_tests(self, n_trees: int) -> Forest:
        """Return the forest with trees that no training example votes with, but a test example does."""
        keys = arrival_keys(self._arrivals, self._plan.seed)
        held = bernoulli_samples(keys, self._plan.n_estimators, at_least=n_trees)
        nobody = np.empty(0, np.int64)
        more = []
        for b in range(len(self._trees), n_trees):
            rows = np.flatnonzero(held[:, b])
            more.append(Sample(b, rows, np.ones_like(rows), nobody, 0, votes_for_test=True))
        return self._gathered([*self._trees, *self._grow(more, [], effort=FREE)])

    def _states(self, forest: Forest, threads: int) -> SimpleQueue[VotingState]:
        """Return what each thread works with."""
        states: SimpleQueue[VotingState] = SimpleQueue()
        n_labels = self._n_labels
        for _ in range(threads):
            memo = make_memo(forest, n_labels, FOREST_TUNING.memory, FOREST_TUNING.remember_from)
            no_trees, tally = empty_trees(n_labels), make_tally(self._codes, self._votes, self._fewer)
            workspace = make_node_workspace(self._codes.size, self._ranks.codes.shape[0], n_labels)
            states.put(VotingState(forest, memo, tally, no_trees, workspace))
        return states

    def _ask(
        self, X: np.ndarray, ask: int, thresholds: np.ndarray, *, same_only: bool, effort: Effort
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the candidates' votes (m, l), counts (m, l, 4) and sets (m, l), of which `ask` says what is filled."""
        m, n_labels, size = X.shape[0], self._n_labels, FOREST_TUNING.block
        X = np.require(X, np.float64, ["C", "W"])  # a read-only array would be compiled for again
        own, counts = np.zeros((m, n_labels), np.int64), np.zeros((m, n_labels, 4), np.int64)
        inside, everyone = np.zeros((m, n_labels), bool), np.empty((m, n_labels, 0), np.int64)
        forest, star_weights, voting = self._columns(X)
        blocks = [slice(first, min(first + size, m)) for first in range(0, m, size)]
        states = self._states(forest, max(1, min(effort.threads(), len(blocks))))

        def work(block: slice) -> None:
            rows = block if star_weights.shape[0] > 1 else slice(0, 1)
            answers = Answers(own[block], counts[block], inside[block], everyone[block])
            state = states.get()
            try:
                count_objects(state, X[block], star_weights[rows], voting[rows], (ask, same_only), thresholds, answers)
            finally:
                states.put(state)  # or the next block would wait for it for ever

        map_blocks(work, blocks, effort=effort, task="predicting")
        return own, counts, inside

    def label_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts and candidate scores of all labels for every row of X."""
        return self._counts(X, ALL_COUNTS, effort=effort)

    def at_least_counts(self, X: np.ndarray, *, effort: Effort = FREE) -> LabelCounts:
        """Return label counts of which only the sums of greater and equal are right: fewer branches grow again."""
        return self._counts(X, AT_LEAST, effort=effort)

    def _counts(self, X: np.ndarray, ask: int, *, effort: Effort) -> LabelCounts:
        none = np.zeros(self._n_labels, np.int64)
        own, counts, _ = self._ask(X, ask, none, same_only=False, effort=effort)
        fewer_same, equal_same, fewer_other, equal_other = np.moveaxis(counts, 2, 0)  # fewer votes: a greater score
        return LabelCounts(fewer_same, equal_same, fewer_other, equal_other, -own.astype(np.float64))

    def label_sets(
        self, X: np.ndarray, thresholds: np.ndarray, *, same_only: bool, effort: Effort = FREE
    ) -> np.ndarray:
        """Tell for each row of X and label whether as many scores as its threshold are at least the candidate's."""
        return self._ask(X, SETS, thresholds, same_only=same_only, effort=effort)[2]

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n), and the candidates'."""
        X = np.require(X, np.float64, ["C", "W"])  # a read-only array would be compiled for again
        none, n_labels = np.zeros(self._n_labels, np.int64), self._n_labels
        own, everyone = np.empty((1, n_labels), np.int64), np.empty((1, n_labels, self.n), np.int64)
        answers = Answers(own, np.empty((1, n_labels, 4), np.int64), np.empty((1, n_labels), bool), everyone)
        forest, star_weights, voting = self._columns(X)
        state = self._states(forest, 1).get()
        for row in range(X.shape[0]):
            column = slice(row, row + 1) if star_weights.shape[0] > 1 else slice(0, 1)
            asked = X[row : row + 1], star_weights[column], voting[column], (VOTES, False), none
            count_objects(state, *asked, answers)
            yield -everyone[0].astype(np.float64), -own[0].astype(np.float64)

    def learn(self, X: np.ndarray, codes: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples."""
        first = self._ranks.first
        self._ranks, new_codes = self._ranks.extended(X)
        self._codes = np.concatenate([self._codes, codes])
        next_number = int(self._arrivals.max(initial=-1)) + 1
        self._arrivals = np.concatenate([self._arrivals, np.arange(next_number, next_number + X.shape[0])])
        if not self._independent:
            self.fill(effort=effort)
            return
        self._keep(self._grow(self._draw(), _recoded(self._trees, first, new_codes), effort=effort))

    def unlearn(self, indices: np.ndarray, *, effort: Effort = FREE) -> None:
        """Forget the examples with these positions."""
        kept = np.delete(np.arange(self.n), indices)
        self._ranks = self._ranks.without(indices)
        self._codes, self._arrivals = self._codes[kept], self._arrivals[kept]
        if not self._independent:
            self._ranks, _ = self._ranks.compacted()  # whoever is to be forgotten leaves no number behind
            self.fill(effort=effort)
            return
        trees, first = self._grow(self._draw(), self._trees, effort=effort), self._ranks.first
        self._ranks, new_codes = self._ranks.compacted()
        self._keep(_recoded(trees, first, new_codes))

    def _keep(self, trees: list[Trees | None]) -> None:
        """Take the trees of independent samples, all of which a test example may need."""
        self._take(trees, [True] * len(trees))


def _recoded(trees: list[Trees | None], first: np.ndarray, new_codes: np.ndarray) -> list[Trees | None]:
    return [None if tree is None else recode(tree, first, new_codes) for tree in trees]
