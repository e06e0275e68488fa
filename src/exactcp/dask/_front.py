"""What both Dask predictors have in common: parts become shards, shards states, and states answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp._estimator import Estimator
from exactcp._parameters import BOOLEAN, NONE, RANDOM_STATE, VERBOSE, Allowed, check_parameters
from exactcp._rows import drop_rows, join_rows
from exactcp._seeds import draw_seed
from exactcp._validation import check_indices
from exactcp.dask._checkpoint import Checkpoint, write_state
from exactcp.dask._graph import Graph, Promised
from exactcp.dask._modules import dask_module
from exactcp.dask._parts import QUESTION_ROWS, TableParts, check_matching, lazy_array, parts_of, shard_rows
from exactcp.dask._questions import Facts, facts_of, numbered, renumbered
from exactcp.dask._running import Cluster, Threads, running
from exactcp.measures._shards import GrowingLabels
from exactcp.predicting.taxonomy import TaxonomyLike

CLIENT = (
    Allowed(
        "a client",
        "a distributed.Client",
        lambda value: hasattr(value, "scheduler_info") and not isinstance(value, type),
        error=TypeError,
    )
    | NONE
)


def _is_size(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and dask_module("dask.utils").parse_bytes(value) > 0
    except (ValueError, TypeError, AttributeError, KeyError):
        return False


MEMORY_LIMIT = Allowed("a size of memory", "a number of bytes or a text such as '2 GB'", _is_size) | NONE


class ExampleSources(NamedTuple):
    """Where the examples come from: tasks that make the parts of X and y again."""

    tasks: dict[Any, Any]
    X: list[Promised]
    y: list[Promised]


class Shards(NamedTuple):
    """The fitted shards."""

    known: dict[Any, Any]  # states and categories, or their futures, by name
    states: list[Promised]
    categories: list[Promised]  # of the examples of each shard; none if they are not compared within such
    facts: list[Facts]  # of each shard
    written: dict[Any, str]  # where the states are, if they are in files

    @property
    def sizes(self) -> list[int]:
        """How many examples each shard has."""
        return [part.n for part in self.facts]


NO_SHARDS = Shards({}, [], [], [], {})


class DaskFront(Estimator):
    """Base of the predictors whose examples lie in shards.

    A subclass says which plain predictor asks the questions, which measure is used, and how states are made.
    """

    allowed_parameters: ClassVar = {
        "smoothed": BOOLEAN,
        "random_state": RANDOM_STATE,
        "client": CLIENT,
        "memory_limit": MEMORY_LIMIT,
        "verbose": VERBOSE,
    }
    _checkpoint: Any = None
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
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.mondrian = mondrian
        self.smoothed = smoothed
        self.random_state = random_state
        self.client = client
        self.memory_limit = memory_limit
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

    def __sklearn_is_fitted__(self) -> bool:
        return "_shards" in vars(self)

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
        return self._learn(self._given(X, y, {}))

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
            return self._learn(self._given(X, y, {}))
        known = self._known_sources()
        more = self._given(X, y, known.tasks)
        return self._learn(ExampleSources(more.tasks, known.X + more.X, known.y + more.y), known=self._shards)

    @changes
    def unlearn(self, indices: Any) -> Self:
        """Forget examples; the state is then that of `fit` on the rest.

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
        for X, y, size, end in zip(sources.X, sources.y, sizes, ends, strict=True):
            gone = positions[(positions >= end - size) & (positions < end)] - (end - size)
            if gone.size < size:
                for parts, part in zip(kept, (X, y), strict=True):
                    parts.append(graph.call(drop_rows, part, gone) if gone.size else part)
        return self._learn(ExampleSources(graph.tasks, *kept))

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
        return self._plain_class(clone(question.measure), **named, verbose=self.verbose).fit(X, y)

    def _begin(self) -> None:
        """Check all parameters, and have a question that knows no examples."""
        check_parameters(self)
        seed = draw_seed(self.random_state)
        measure = self._fresh_measure(seed)
        self._sharded = measure.sharded()
        self._question = self._question_class(
            measure, mondrian=self.mondrian, smoothed=self.smoothed, random_state=seed
        )

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
            shards = self._shards
            rest = [one for one in (*shards.states, *shards.categories) if one.key not in shards.written]
            runner = self._running()
            values = runner.values(self._shard_graph(runner), rest)
            state["_shards"] = shards._replace(known={one.key: value for one, value in zip(rest, values, strict=True)})
        return state

    def _learn(self, sources: ExampleSources, known: Shards = NO_SHARDS) -> Self:
        """Make shards of these parts, and states of the shards; if that fails, nothing of it is left on a cluster.

        The first parts may be known as shards.
        """
        runner = self._running()
        runner.check_versions()
        graph, given = runner.graph(sources.tasks), {*sources.tasks, *known.known}
        _include(graph, known)
        try:
            self._make_shards(runner, graph, sources, known)
        except BaseException:
            runner.release(graph, given)
            raise
        return self

    def _make_shards(self, runner: Threads | Cluster, graph: Graph, sources: ExampleSources, shards: Shards) -> None:
        asking, n_known = self._question, len(shards.facts)
        # taking parts does not depend on a seed, which may be drawn: the same data are the same tasks
        blank = self._question_class(self.measure, mondrian=self.mondrian)
        pairs = enumerate(zip(sources.X, sources.y, strict=True))
        taken = [graph.call(blank.take_part, number, X, y) for number, (X, y) in pairs]
        more = taken[n_known:]
        runner.keep(graph, more)
        facts = [*shards.facts, *runner.values(graph, [graph.last(facts_of, part) for part in more])]
        question = asking.knowing(facts)
        states = None
        if n_known and isinstance(self._sharded, GrowingLabels):
            runner.settle(graph, [*shards.states, *more])
            states = self._extended(graph, question, shards.states, more)
        if states is None:
            runner.keep(graph, taken)
            runner.settle(graph, taken)
            states = self._states(graph, question, taken)
        categories = []
        if question.needs_categories():
            numbers = numbered(facts)[1]
            new = zip(taken[n_known:], numbers[n_known:], strict=True)
            categories = [*shards.categories, *(graph.call(renumbered, *pair) for pair in new)]
        written: dict[Any, str] = {}
        if self._checkpoint is not None:
            states, written = _filed_states(runner, graph, states, Checkpoint(self._checkpoint))
        known = runner.keep(graph, [*categories, *([] if written and runner.client is None else states)])
        self._shards = Shards(known, states, categories, facts, written)
        self._question, self._sources = question, sources
        self.measure_, self.n_features_in_ = question.measure_, question.n_features_in_
        if facts[0].names is not None:
            self.feature_names_in_ = question.feature_names_in_

    def _shard_graph(self, runner: Threads | Cluster) -> Graph:
        """Return a graph that begins with the fitted shards."""
        graph = runner.graph({})
        _include(graph, self._shards)
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

    def _gathered(
        self, runner: Threads | Cluster, graph: Graph, parts: TableParts, answers: list[Promised], like: np.ndarray
    ) -> Any:
        if parts.is_lazy:
            return lazy_array(graph, parts, answers, like)
        return np.concatenate([like, *runner.values(graph, answers)])


def _include(graph: Graph, shards: Shards) -> None:
    """Let a graph know shards."""
    for url in shards.written.values():
        graph.read(url)
    graph.tasks.update(shards.known)


def _filed_states(
    runner: Threads | Cluster, graph: Graph, states: list[Promised], checkpoint: Checkpoint
) -> tuple[list[Promised], dict[Any, str]]:
    """Have the states in files, those that are not there yet; return the promises of what is read, and from where."""
    missing = [one for one in states if not checkpoint.has(one.key)]
    runner.values(graph, [graph.last(write_state, one, checkpoint.url(one.key)) for one in missing])
    urls = [checkpoint.url(one.key) for one in states]
    read = [graph.read(url) for url in urls]
    return read, {one.key: url for one, url in zip(read, urls, strict=True)}


def _all_rows(parts: list[Any]) -> Any:
    """Return the rows of all parts."""
    whole = parts[0]
    for part in parts[1:]:
        whole = join_rows(whole, part)
    return whole
