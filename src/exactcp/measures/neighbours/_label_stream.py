"""Lists of labelled examples that count a stream: each example against all before it (theory NN.7)."""

from __future__ import annotations

from functools import partial

import numpy as np

from exactcp._changes import Change
from exactcp.geometry.kinds import OTHER
from exactcp.geometry.objects import VectorStore, has_room_for
from exactcp.measures.neighbours._label_lists import NeighbourLists
from exactcp.measures.neighbours._standing import Prepared
from exactcp.measures.neighbours._streaming import stream_vectors
from exactcp.measures.neighbours.kernels.stream import (
    commit_streamed,
    count_and_learn,
    count_example,
    count_row,
    new_own_lists,
)


class StreamedLists(NeighbourLists):
    """Lists whose examples also come one after another, each with its counts."""

    def stream(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Count each example against all before it, and learn it, one after another.

        Parameters
        ----------
        X : ndarray of shape (m, p)
        codes : ndarray of shape (m,)

        Returns
        -------
        ndarray of int of shape (m, 4)
            What `label_counts` gives for the example's label before `learn`: greater and equal scores among the same
            label, and among the others.
        """
        n, m = self.n, X.shape[0]
        self._store.check_new(X)
        if isinstance(self._store, VectorStore):  # the others take them one by one
            X = self._store.by_slot(X, self._order)
        self._own_arrays(n + m, X)
        self._stand_at_entrances()
        vars(self).update({**self.nothing_derived, "_pace": self._pace})
        self.search.forget_screen()
        store, examples = self._store, self._examples()
        own = new_own_lists(self.n_relations, self._lists.values.shape[2], n + m)
        if isinstance(store, VectorStore) and store.kind != OTHER:
            how = (self.k, store.kind, examples, own, self.search.wanted, self._pace)
            counts, self._pace = stream_vectors(X, codes, n, *how)
            store.n += m
            return counts
        out = np.empty((m, 4), np.int64)
        for t in range(m):
            x = np.ascontiguousarray(store.by_slot(X[t : t + 1], self._order))
            row, at = store.as_rows(x)[0], store.rows_from(x)[0]
            count_and_learn(at, int(codes[t]), row, store.is_matrix, self.k, examples, own, out[t])
            self.search.store = store = store.arrived(x)
        return out

    def streaming(self, X: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, Change] | None:
        """Return the counts of `stream` for one example, and prepare to learn it in place; None: a fork should."""
        store = self.search.store
        n = store.n
        if codes.size != 1 or not self._can_change(n + 1):
            return None
        store.check_new(X)
        x, code = np.ascontiguousarray(store.by_slot(X, self._order)), int(codes[0])
        if not has_room_for(store, x):
            return None
        self._stand_at_entrances()
        examples, own = self._examples(), new_own_lists(self.n_relations, self._lists.values.shape[2], n)
        counts = np.empty((1, 4), np.int64)
        if store.kind != OTHER:
            distances = np.empty(n)
            used = count_row(x[0], code, self.k, store.kind, examples, own, distances, counts[0])
        else:
            distances = store.rows_from(x)[0]
            used = count_example(distances, code, self.k, examples, own, counts[0])
        args = (distances, code, store.as_rows(x)[0], store.is_matrix, self.k, own, used)
        return counts, self._change(store.arrived(x), Prepared(partial(commit_streamed, *args)), examples)
