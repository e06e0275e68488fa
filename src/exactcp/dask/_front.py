"""What both Dask predictors have in common: parts become shards, shards states, and states answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp._estimator import Estimator
from exactcp._parameters import BOOLEAN, RANDOM_STATE, VERBOSE, check_parameters, one_of
from exactcp._rows import drop_rows, join_rows
from exactcp._seeds import draw_seed
from exactcp._validation import check_indices
from exactcp.dask._checkpoint import Checkpoint
from exactcp.dask._cluster_parameters import CLIENT, MEMORY_LIMIT
from exactcp.dask._fitted import (
    ExampleSources,
    Known,
    Made,
    Shards,
    brought_shards,
    filed_states,
    include_shards,
    n_rows,
    positions_left,
    rows_gone,
    without_rows,
)
from exactcp.dask._graph import Graph, Promised
from exactcp.dask._modules import dask_module
from exactcp.dask._parts import (
    QUESTION_ROWS,
    TableParts,
    check_matching,
    joined_frame,
    lazy_array,
    lazy_frame,
    parts_of,
    shard_rows,
)
from exactcp.dask._place import LARGEST_PLACE, laid_categories, laid_positions, lay_by_place
from exactcp.dask._questions import Facts, facts_of, numbered, renumbered
from exactcp.dask._running import Cluster, Threads, running
from exactcp.measures._shards import GrowingLabels, PlacedLabels
from exactcp.predicting.levels import Levels
from exactcp.predicting.taxonomy import TaxonomyLike

FEW_GONE = 8  # forgetting more than one example in so many makes all shards anew


class DaskFront(Estimator):
    """Base of the predictors whose examples lie in shards.

    A subclass says which plain predictor asks the questions, which measure is used, and how states are made.
    """

    allowed_parameters: ClassVar = {
        "smoothed": BOOLEAN,
        "random_state": RANDOM_STATE,
        "client": CLIENT,
        "memory_limit": MEMORY_LIMIT,
        "layout": one_of("auto", "given", "place"),
        "verbose": VERBOSE,
    }
    _checkpoint: Any = None
    _declared: Any = None  # labels that may come, of a classifier
    _question_class: ClassVar[Any]
    _plain_class: ClassVar[Any]
    _question: Any
    _sharded: Any
    _shards: Shards
    _sources: ExampleSources

    def __init__(
        self,
        measure: Any = None,
        *,
        mondrian: TaxonomyLike = None,
        smoothed: bool = False,
        random_state: Any = None,
        client: Any = None,
        memory_limit: Any = None,
        layout: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.mondrian = mondrian
        self.smoothed = smoothed
        self.random_state = random_state
        self.client = client
        self.memory_limit = memory_limit
        self.layout = layout
        self.verbose = verbose

    def _fresh_measure(self, seed: int) -> Any:
        raise NotImplementedError

    def _states(self, graph: Graph, question: Any, taken: Sequence[Promised]) -> list[Promised]:
        """Return the promises of the states of parts."""
        raise NotImplementedError

    def _extended(
        self, graph: Graph, question: Any, states: Sequence[Promised], taken: Sequence[Promised]
    ) -> list[Promised] | None:
        """Return the promises of states with more parts, if the known ones need not be made anew."""
        raise NotImplementedError

    def _placed_states(self, graph: Graph, question: Any, laid: Sequence[Promised]) -> list[Promised]:
        """Return the promises of the states of parts that lie in places."""
        raise NotImplementedError

    def _forgotten(
        self,
        graph: Graph,  # noqa: ARG002
        question: Any,  # noqa: ARG002
        states: Sequence[Promised],  # noqa: ARG002
        rows: Sequence[Any],  # noqa: ARG002
    ) -> list[Promised] | None:
        """Return the promises of states without some rows of each, if they need not be made anew."""
        return None

    def __sklearn_is_fitted__(self) -> bool:
        return "_shards" in vars(self)

    def __getattr__(self, name: str) -> Any:
        """Say what to use instead of a method that only the plain predictor has."""
        plain = self._plain_class
        if hasattr(type(self), name) or name.startswith("_") or not callable(getattr(plain, name, None)):
            return self.__getattribute__(name)  # which fails again, and says why
        instead = "predict_frame, which has its columns, or " if name == "predict_confidence" else ""
        msg = (
            f"{type(self).__name__} has no {name}, and {plain.__name__} has: use {instead}to_local().{name}, which "
            "brings all examples into this process."
        )
        raise AttributeError(msg, name=name, obj=self)

    def __sklearn_clone__(self) -> Self:
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")  # which cannot be copied, and is shared
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=client)

    @property
    def client_(self) -> Any:
        """The client in use; None where threads of this process do the work."""
        check_is_fitted(self)
        return self._running().client

    @property
    def n_examples_(self) -> int:
        """Number of examples that have been learned and not forgotten."""
        check_is_fitted(self)
        return sum(self._shards.sizes)

    def _running(self) -> Threads | Cluster:
        return running(self.client, self.verbose)

    @changes
    def fit(self, X: Any, y: Any, checkpoint: Any = None) -> Self:
        """Learn the training examples.

        Parameters
        ----------
        X : Dask array of shape (n, p) or Dask frame; or an array or frame in memory
            Each chunk or partition becomes a shard; what is in memory is cut into shards.
        y : Dask array of shape (n,) or Dask series; or an array in memory
            With the chunks or partitions of X.
        checkpoint : str or path, default=None
            A directory, or any URL that fsspec knows, where the states of shards are kept.

        Returns
        -------
        self
        """
        self._begin()
        self._checkpoint = None if checkpoint is None else Checkpoint(checkpoint).prefix
        return self._learn_anew(self._given(X, y, {}))

    @changes
    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more examples, in shards of their own; the state is then that of `fit` on all of them.

        With nearest neighbours of labels only the new shards meet the others, unless a label is new.

        Parameters
        ----------
        X : Dask array of shape (m, p) or Dask frame; or an array or frame in memory
        y : Dask array of shape (m,) or Dask series; or an array in memory

        Returns
        -------
        self
        """
        if not self.__sklearn_is_fitted__():
            self._begin()
            return self._learn_anew(self._given(X, y, {}))
        known, shards = self._known_sources(), self._shards
        more = self._given(X, y, known.tasks)
        facts = [*shards.facts, *([None] * len(more.X))]
        sources = ExampleSources(more.tasks, known.X + more.X, known.y + more.y)
        return self._learn(sources, Known(shards, facts, np.empty(0, np.int64)))

    @changes
    def unlearn(self, indices: Any) -> Self:
        """Forget examples; the state is then that of `fit` on the rest.

        With nearest neighbours of labels only lists that may have held one of them are filled again, unless a label
        goes with them, or many do.

        Parameters
        ----------
        indices : int, array-like of int, or array-like of bool of shape (n,)
            Positions among all examples in the order of learning, counted from 0, or from the end where they are
            negative; or a mask. The examples after a forgotten one move up.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        sizes = self._shards.sizes
        positions = check_indices(indices, sum(sizes))
        if not positions.size:
            return self
        if positions.size == sum(sizes):
            msg = f"unlearning all {positions.size} examples would leave none: keep one at least, or fit anew."
            raise ValueError(msg)
        sources = self._known_sources()
        graph, ends = self._running().graph(sources.tasks), np.cumsum(sizes)
        kept: tuple[list[Promised], list[Promised]] = [], []
        facts: list[Facts | None] = []
        for X, y, known, end in zip(sources.X, sources.y, self._shards.facts, ends, strict=True):
            gone = positions[(positions >= end - known.n) & (positions < end)] - (end - known.n)
            if gone.size < known.n:
                facts.append(None if gone.size else known)
                for parts, part in zip(kept, (X, y), strict=True):
                    parts.append(graph.call(drop_rows, part, gone) if gone.size else part)
        left = ExampleSources(graph.tasks, *kept)
        if len(facts) < len(sizes) or positions.size * FEW_GONE > sum(sizes):
            return self._learn_anew(left)
        return self._learn(left, Known(self._shards, facts, np.sort(positions)))

    def to_local(self) -> Any:
        """Return the plain predictor, fitted on all examples in this process, with the same answers.

        Returns
        -------
        FullConformalClassifier or FullConformalRegressor
        """
        check_is_fitted(self)
        runner, sources = self._running(), self._known_sources()
        graph = runner.graph(sources.tasks)
        parts = runner.values(graph, [*sources.X, *sources.y])
        X, y = (_all_rows(some) for some in (parts[: len(sources.X)], parts[len(sources.X) :]))
        question = self._question
        named = {"mondrian": self.mondrian, "smoothed": self.smoothed, "random_state": question.random_state}
        local = self._plain_class(clone(question.measure), **named, verbose=self.verbose)
        return local.fit(X, y) if self._declared is None else local.fit(X, y, classes=self._declared)

    def _begin(self) -> None:
        """Check all parameters, and have a question that knows no examples."""
        check_parameters(self)
        seed = draw_seed(self.random_state)
        measure = self._fresh_measure(seed)
        self._sharded = measure.sharded()
        if self.layout == "place" and not _can_use_places(self._sharded):
            msg = (
                f"layout='place' needs the Euclidean distances of NN, KNN or SimplifiedKNN, and the measure is "
                f"{measure!r}: use layout='auto', which then leaves examples in the parts that they came in."
            )
            raise ValueError(msg)
        self._question = self._question_class(
            measure, mondrian=self.mondrian, smoothed=self.smoothed, random_state=seed
        )
        self._question._declared = self._declared  # noqa: SLF001

    def _given(self, X: Any, y: Any, tasks: dict[Any, Any]) -> ExampleSources:
        """Return where examples come from."""
        runner, limit = self._running(), None
        if self.memory_limit is not None:
            limit = int(dask_module("dask.utils").parse_bytes(self.memory_limit))
        rows = shard_rows(runner.means(limit), X)
        graph, at_most = runner.graph(tasks), None if limit is None else rows
        objects, answers = parts_of(graph, X, "X", rows, at_most), parts_of(graph, y, "y", rows, at_most)
        check_matching(objects, answers)
        return ExampleSources(graph.tasks, objects.promises, answers.promises)

    def _known_sources(self) -> ExampleSources:
        if "_sources" not in vars(self):
            msg = (
                f"this {type(self).__name__} was pickled, which keeps the states of shards and not where examples come "
                "from: fit it again to change it, or to bring it to one machine."
            )
            raise ValueError(msg)
        return self._sources

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the client: states are brought here, unless they are in files."""
        state = {**super().__getstate__(), "client": None}
        state.pop("_sources", None)
        if "_shards" in state:
            runner = self._running()
            state["_shards"] = brought_shards(runner, self._shard_graph(runner), self._shards)
        return state

    def _learn_anew(self, sources: ExampleSources) -> Self:
        return self._learn(sources, Known.nothing(len(sources.X)))

    def _learn(self, sources: ExampleSources, known: Known) -> Self:
        """Make shards of these parts, and states of the shards; if that fails, nothing of it is left on a cluster."""
        runner = self._running()
        runner.check_versions()
        graph, given = runner.graph(sources.tasks), {*sources.tasks, *known.shards.known}
        include_shards(graph, known.shards)
        try:
            self._make_shards(runner, graph, sources, known)
        except BaseException:
            runner.release(graph, given)
            raise
        return self

    def _make_shards(self, runner: Threads | Cluster, graph: Graph, sources: ExampleSources, known: Known) -> None:
        # taking parts does not depend on a seed, which may be drawn: the same data are the same tasks
        blank = self._question_class(self.measure, mondrian=self.mondrian)
        pairs = enumerate(zip(sources.X, sources.y, strict=True))
        taken = [graph.call(blank.take_part, number, X, y) for number, (X, y) in pairs]
        new = [part for part, own in zip(taken, known.facts, strict=True) if own is None]
        runner.keep(graph, new)
        told = iter(runner.values(graph, [graph.last(facts_of, part) for part in new]))
        facts = [next(told) if own is None else own for own in known.facts]
        question = self._question.knowing(facts)
        made = None
        if known.gone.size:
            made = self._without(runner, graph, question, facts, known)
        elif known.shards.states:
            made = self._with_more(runner, graph, question, taken, facts, known.shards)
        if made is None:
            made = self._anew(runner, graph, question, taken, facts)
        written: dict[Any, str] = {}
        if self._checkpoint is not None:
            states, written = filed_states(runner, graph, made.states, Checkpoint(self._checkpoint))
            made = made._replace(states=states)
        in_memory = [] if written and runner.client is None else made.states
        kept = runner.keep(graph, [*made.categories, *made.positions, *in_memory])
        self._shards = Shards(kept, made, facts, written)
        self._question, self._sources = question, sources
        self.measure_, self.n_features_in_ = question.measure_, question.n_features_in_
        if facts[0].names is not None:
            self.feature_names_in_ = question.feature_names_in_

    def _anew(
        self, runner: Threads | Cluster, graph: Graph, question: Any, taken: list[Promised], facts: list[Facts]
    ) -> Made:
        """Return what shards of all parts consist of."""
        runner.keep(graph, taken)
        runner.settle(graph, taken)
        numbers, has_categories = numbered(facts)[1], question.needs_categories()
        laid = self._laid(runner, graph, taken, facts, numbers)
        if not laid:
            categories = [graph.call(renumbered, *pair) for pair in zip(taken, numbers, strict=True)]
            return Made(self._states(graph, question, taken), categories if has_categories else [], [])
        runner.keep(graph, laid)
        runner.settle(graph, laid)
        states, positions = self._placed_states(graph, question, laid), [graph.call(laid_positions, x) for x in laid]
        return Made(states, [graph.call(laid_categories, x) for x in laid] if has_categories else [], positions)

    def _laid(
        self,
        runner: Threads | Cluster,
        graph: Graph,
        taken: list[Promised],
        facts: list[Facts],
        numbers: list[np.ndarray],
    ) -> list[Promised]:
        """Return the examples of all parts by place; nothing if they should stay in their parts."""
        sizes, sharded = [part.n for part in facts], self._sharded
        mean = sum(sizes) / len(sizes)
        is_asked_for = self.layout == "place"
        pays = self.layout == "auto" and self.memory_limit is None and _can_use_places(sharded)
        pays = pays and sharded.places_pay(int(mean), facts[0].n_features)
        if len(sizes) == 1 or not (is_asked_for or pays):
            return []
        laid, laid_sizes = lay_by_place(runner, graph, taken, sizes, numbers)
        return laid if is_asked_for or max(laid_sizes) <= LARGEST_PLACE * mean else []

    def _with_more(
        self,
        runner: Threads | Cluster,
        graph: Graph,
        question: Any,
        taken: list[Promised],
        facts: list[Facts],
        shards: Shards,
    ) -> Made | None:
        """Return what known shards and more consist of, if the known ones need not be made anew."""
        more, numbers = taken[len(shards.facts) :], numbered(facts)[1][len(shards.facts) :]
        if not isinstance(self._sharded, GrowingLabels):
            return None
        runner.settle(graph, [*shards.states, *more])
        states = self._extended(graph, question, shards.states, more)
        if states is None:
            return None
        _, categories, positions = shards.made
        if question.needs_categories():
            categories = categories + [graph.call(renumbered, *pair) for pair in zip(more, numbers, strict=True)]
        if positions:
            ends = np.cumsum([part.n for part in facts]).tolist()[len(shards.facts) - 1 :]
            positions = positions + [graph.call(np.arange, *bounds) for bounds in pairwise(ends)]
        return Made(states, categories, positions)

    def _without(
        self, runner: Threads | Cluster, graph: Graph, question: Any, facts: list[Facts], known: Known
    ) -> Made | None:
        """Return what shards consist of when examples are gone, if they need not be made anew."""
        (states, categories, positions), gone = known.shards.made, known.gone
        if numbered(facts)[0] != numbered(known.shards.facts)[0]:  # then categories have other numbers
            return None
        runner.settle(graph, states)
        if positions:
            rows = [graph.call(rows_gone, own, gone) for own in positions]
            sizes = [graph.last(n_rows, graph.call(positions_left, own, gone)) for own in positions]
            if 0 in runner.values(graph, sizes):
                return None
        else:
            ends = np.cumsum(known.shards.sizes)
            parts = np.split(gone, np.searchsorted(gone, ends[:-1]))
            rows = [part - start for part, start in zip(parts, [0, *ends[:-1]], strict=True)]
        left = self._forgotten(graph, question, states, rows)
        if left is None:
            return None
        categories = [graph.call(without_rows, *pair) for pair in zip(categories, rows, strict=False)]
        return Made(left, categories, [graph.call(positions_left, own, gone) for own in positions])

    def _shard_graph(self, runner: Threads | Cluster) -> Graph:
        """Return a graph that begins with the fitted shards."""
        graph = runner.graph({})
        include_shards(graph, self._shards)
        runner.settle(graph, self._shards.states)
        runner.stay(graph)
        return graph

    def _ask(self, X: Any, answer: Callable[[Graph, Promised], Promised], like: np.ndarray) -> Any:
        """Return the answers to all parts of X: a Dask array if X is a collection of Dask.

        Parameters
        ----------
        X : objects
        answer : callable
            From a graph and the promise of a part of X to that of its answer.
        like : ndarray
            An answer without rows.

        Returns
        -------
        Dask array or ndarray
        """
        runner = self._running()
        graph = self._shard_graph(runner)
        parts = parts_of(graph, X, "X", QUESTION_ROWS)
        answers = [answer(graph, part) for part in parts.promises]
        return self._gathered(runner, graph, parts, answers, like)

    def _ask_frame(self, X: Any, levels: Levels, answer: Callable[[Graph, Promised], Promised]) -> Any:
        """Return the frames of all parts of X as one: a Dask frame if X is a collection of Dask."""
        like, runner = self._question.frame_without_rows(levels), self._running()
        graph = self._shard_graph(runner)
        parts = parts_of(graph, X, "X", QUESTION_ROWS)
        answers = [answer(graph, part) for part in parts.promises]
        if parts.is_lazy:
            return lazy_frame(graph, answers, like)
        return joined_frame(runner.values(graph, answers), like, has_index=hasattr(X, "iloc"))

    def _gathered(
        self, runner: Threads | Cluster, graph: Graph, parts: TableParts, answers: list[Promised], like: np.ndarray
    ) -> Any:
        if parts.is_lazy:
            return lazy_array(graph, parts, answers, like)
        return np.concatenate([like, *runner.values(graph, answers)])


def _can_use_places(sharded: Any) -> bool:
    return isinstance(sharded, PlacedLabels) and sharded.can_use_places()


def _all_rows(parts: list[Any]) -> Any:
    """Return the rows of all parts."""
    whole = parts[0]
    for part in parts[1:]:
        whole = join_rows(whole, part)
    return whole
