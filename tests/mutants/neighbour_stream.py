"""Mutants of streams: an example is counted against all before it and learned, from one row of distances."""

from __future__ import annotations

from mutants import Family, Mutant

BAGS = "exchangeability/test_stream.py::TestBags::"
STREAMS = tuple(
    f"{BAGS}test_stream_is_counting_and_then_learning[{measure}-{problem}]"
    for measure in ("KNN 3", "SimplifiedKNN 2", "NN manhattan")
    for problem in ("grid with ties", "singleton label", "four labels")
)
MIXED = tuple(
    f"{BAGS}test_stream_between_learning_and_unlearning[{name}]"
    for name in ("KNN 3", "SimplifiedKNN 2", "NN manhattan")
)
TEXTBOOK = "exchangeability/test_stream.py::TestEqualsTextbook::"
PREDICTOR = (
    f"{TEXTBOOK}test_without_labels[SimplifiedKNN 2-grid with ties-None]",
    f"{TEXTBOOK}test_without_labels[SimplifiedKNN 2-grid with ties-5]",
    f"{TEXTBOOK}test_with_labels[KNN 3-None]",
    f"{TEXTBOOK}test_with_labels[KNN 3-label]",
)
EMPTIED = (
    "exchangeability/test_forgetting.py::TestEmptiedWhenFull::test_each_window_is_a_stream_of_its_own[measure0-7]",
)
ALONE = ("exchangeability/test_stream.py::TestState::test_one_by_one_equals_many_between_readers",)

FAMILY = Family(
    tests=STREAMS,
    compiled=False,
    mutants={
        "an entrance one entry too far in": Mutant(
            "measures/neighbours/kernels/stream.py",
            "values[relation, slot, length - 1]",
            "values[relation, slot, max(length - 2, 0)]",
            (f"{BAGS}test_a_fork_streams_by_itself",),
        ),
        "a list that holds all is closed": Mutant(
            "measures/neighbours/kernels/stream.py",
            "math.inf if length == available else",
            "math.inf if length == 0 else",
        ),
        "equal distances do not enter": Mutant(
            "measures/neighbours/kernels/stream.py",
            "if d <= entrances[relation, i]:",
            "if d < entrances[relation, i]:",
            STREAMS + MIXED,
            survives="behind an equal distance at its end a list may hold the newcomer or not: it is cut there",
        ),
        "its own lists are too short": Mutant(
            "measures/neighbours/kernels/stream.py",
            "length = insert(values[relation], lengths[relation], width, d)",
            "length = insert(values[relation], lengths[relation], 1, d)",
        ),
        "its own lists close too early": Mutant(
            "measures/neighbours/kernels/stream.py",
            "                if length == width:\n",
            "                if length > 0:\n",
        ),
        "the lists of the example before": Mutant("measures/neighbours/kernels/stream.py", "    lengths[:] = 0\n", ""),
        "other labels' counts are all": Mutant(
            "measures/neighbours/kernels/stream.py",
            "= all_at_least - same_at_least, all_above - same_above",
            "= all_at_least, all_above - same_above",
        ),
        "greater is at least": Mutant(
            "measures/neighbours/kernels/stream.py", "np.int64(scores[i] > hi)\n", "np.int64(scores[i] > lo)\n"
        ),
        "touched beyond the k-th": Mutant(
            "measures/neighbours/kernels/stream.py",
            "        if d < kth(values[relation, i], lengths[relation, i], k):\n",
            "        if True:\n",
            survives="score_with sums the k smallest, so that a newcomer beyond the k-th leaves the score",
        ),
        "the score of before": Mutant(
            "measures/neighbours/kernels/stream.py",
            "at_least[relation] += np.int64(new >= lo) - np.int64(old >= lo)",
            "at_least[relation] += np.int64(new >= lo)",
        ),
        "equal counts in the place of greater": Mutant(
            "measures/neighbours/kernels/stream.py",
            "out[2 * relation], out[2 * relation + 1] = above[relation], at_least[relation] - above[relation]",
            "out[2 * relation], out[2 * relation + 1] = at_least[relation] - above[relation], above[relation]",
        ),
        "its entrance without itself": Mutant(
            "measures/neighbours/kernels/stream.py",
            "others = sizes[label] if relation == 0 else n - sizes[label]\n",
            "others = sizes[label] - 1 if relation == 0 else n - sizes[label]\n",
        ),
        "the entrance of a touched list stays": Mutant(
            "measures/neighbours/kernels/stream.py",
            "        entrances[relation, i] = entrance_of(",
            "        entrance_of(",
            survives="an entrance that is too wide costs time: a full list turns away what is too far",
        ),
        "a touched list counts one too few": Mutant(
            "measures/neighbours/kernels/stream.py",
            "available(relation, codes[i], sizes, n) + 1, values",
            "available(relation, codes[i], sizes, n), values",
        ),
        "touched lists are not summed": Mutant(
            "measures/neighbours/kernels/stream.py",
            "        refresh(relation, i, k, lists, sums, scores)\n        entrances",
            "        entrances",
        ),
        "sizes stay": Mutant("measures/neighbours/kernels/stream.py", "    sizes[label] += 1\n", ""),
        "the order stays": Mutant(
            "measures/neighbours/kernels/stream.py", "    examples.order[n] = n\n", "    examples.order[n] = 0\n"
        ),
        "the object is not stored": Mutant(
            "measures/neighbours/kernels/stream.py",
            "    admit(distances, label, k, examples, own, used)\n"
            "    store_object(x, distances.shape[0], is_matrix, examples.rows)\n\n\n@compiled\ndef stream",
            "    admit(distances, label, k, examples, own, used)\n\n\n@compiled\ndef stream",
        ),
        "the last distance is missing": Mutant(
            "measures/neighbours/kernels/stream.py",
            "        for i in range(size):\n",
            "        for i in range(size - 1):\n",
        ),
        "entrances outlive a change": Mutant(
            "measures/neighbours/_label_lists.py",
            "        self._entrances = np.empty((self.n_relations, 0))\n",
            "        self._entrances = getattr(self, '_entrances', np.empty((self.n_relations, 0)))\n",
            MIXED,
        ),
        "sorted scores outlive a stream": Mutant(
            "measures/neighbours/_label_stream.py",
            '        vars(self).update({**self.nothing_derived, "_pace": self._pace})\n',
            "",
            (f"{BAGS}test_what_a_prediction_keeps_is_forgotten_with_the_next_example",),
        ),
        "the screen outlives a stream": Mutant(
            "measures/neighbours/_label_stream.py",
            "        self.search.forget_screen()\n        store, examples",
            "        store, examples",
            (f"{BAGS}test_what_a_prediction_keeps_is_forgotten_with_the_next_example",),
        ),
        "a fork streams into what it shares": Mutant(
            "measures/neighbours/_label_stream.py",
            "        self._own_arrays(n + m, X)\n        self._stand_at_entrances()\n",
            "        self._owns_arrays = True\n        self._own_arrays(n + m, X)\n        self._stand_at_entrances()\n",
            (f"{BAGS}test_a_fork_streams_by_itself",),
        ),
        "an example in place loses its entrances": Mutant(
            "measures/neighbours/_label_lists.py",
            "entrances=copied_with_room(examples.entrances, room if is_streaming else 0, axis=1),",
            "entrances=copied_with_room(examples.entrances, 0, axis=1),",
            PREDICTOR,
            survives="entrances that are not there are found anew",
        ),
        "the mean of jumpers grows twice": Mutant(
            "exchangeability/kernels/jumpers.py",
            "logs[j] -= growths[t]",
            "logs[j] -= 0.0",
            ("exchangeability/test_betting.py::TestEqualsTextbook::test_formula[0.5-betting6-composite_jumper]",),
        ),
        "a fork of jumpers shares their capital": Mutant(
            "exchangeability/betting.py",
            "shares, logs, growths = self.shares.copy(), self.logs.copy(), ",
            "shares, logs, growths = self.shares, self.logs.copy(), ",
            ("exchangeability/test_betting.py::TestEveryStrategy::test_several_bets_are_those_one_after_another",),
        ),
        "steps begin anew": Mutant(
            "exchangeability/stream.py",
            "tau_of_steps(self._seed, len(self._p), codes.size)",
            "tau_of_steps(self._seed, 0, codes.size)",
            PREDICTOR,
        ),
        "the newcomer is in the total": Mutant(
            "exchangeability/stream.py", "n + np.arange(m))", "n + 1 + np.arange(m))", PREDICTOR
        ),
        "examples of the batch before it": Mutant(
            "exchangeability/stream.py", "sizes[codes] + before)", "sizes[codes])", PREDICTOR
        ),
        "other labels are left out": Mutant(
            "exchangeability/stream.py",
            "counts[:, 0] + counts[:, 2], counts[:, 1]",
            "counts[:, 0], counts[:, 1]",
            PREDICTOR,
        ),
        "a window of one more": Mutant(
            "exchangeability/stream.py",
            "self._bag.n < self.window + self._slides:",
            "self._bag.n < self.window + 1 + self._slides:",
            PREDICTOR,
        ),
        "a window is emptied one too late": Mutant(
            "exchangeability/stream.py",
            "self._bag.n < self.window + self._slides:",
            "self._bag.n < self.window + 1:",
            EMPTIED,
        ),
        "a window takes what the next one should": Mutant(
            "exchangeability/stream.py",
            "self.window - (0 if self._bag is None else self._bag.n)",
            "self.window",
            EMPTIED,
        ),
        "the newest leaves the window": Mutant(
            "exchangeability/stream.py",
            "self._bag.unlearn(np.zeros(1, dtype=np.int64), effort=ALONE)",
            "self._bag.unlearn(np.array([self._bag.n - 1]), effort=ALONE)",
            PREDICTOR,
        ),
        "labels by their names' order": Mutant(
            "exchangeability/stream.py", "known.setdefault(label, len(known))", "known.setdefault(label, 0)", PREDICTOR
        ),
    },
)
