from __future__ import annotations

from itertools import islice, pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from exactcp import ConformalSequencePredictor, FullConformalClassifier
from exactcp.measures import KNN, LSSVM, NN, SimplifiedKNN
from exactcp.sequences._ranking import MarkovChain, estimate_chain, ranked_sequences
from slices import both_lanes

TRANSITION = np.array([[0.9, 0.1], [0.2, 0.8]])


def simulate(rng, T):
    """A sequence of objects with two hidden states."""
    y = np.empty(T, dtype=int)
    y[0] = rng.integers(0, 2)
    for t in range(1, T):
        y[t] = rng.random() > TRANSITION[y[t - 1], 0]
    return rng.normal(size=(T, 1)) + np.array([0.0, 2.0])[y][:, None], y


@pytest.fixture
def sequences(rng):
    return [simulate(rng, T) for T in (30, 25, 40)]


@pytest.fixture
def model(sequences):
    X, y = zip(*sequences, strict=True)
    return ConformalSequencePredictor(KNN(k=3)).fit(list(X), list(y))


class TestRanking:
    @settings(max_examples=80)
    @given(st.integers(1, 4), st.integers(2, 3), st.integers(0, 10_000), st.sampled_from([0.0, 0.5]))
    def test_equals_sorting_all_sequences(self, T, n_labels, seed, zeros):
        rng = np.random.default_rng(seed)
        draw = lambda *shape: np.where(rng.random(shape) < zeros, 0.0, rng.integers(1, 4, shape))  # noqa: E731
        with np.errstate(divide="ignore"):
            chain = MarkovChain(np.log(draw(n_labels)), np.log(draw(n_labels, n_labels)))
        sets = rng.random((T, n_labels)) < 0.8
        weights = np.log(rng.integers(1, 5, (T, n_labels))) if seed % 2 else None
        found = list(ranked_sequences(chain, sets, weights))

        def log_of(codes):
            observed = 0.0 if weights is None else weights[np.arange(T), codes].sum()
            return chain.log_probability(codes) + observed

        everyone = [np.array(codes) for codes in product(*(np.flatnonzero(row) for row in sets))]
        assert sorted(tuple(codes) for codes, _ in found) == sorted(tuple(codes) for codes in everyone)
        logs = [log for _, log in found]
        expected = sorted((log_of(codes) for codes in everyone), reverse=True)
        np.testing.assert_allclose(logs, expected, atol=1e-12)  # sums in another order
        for codes, log in found:
            assert log == pytest.approx(log_of(codes), abs=1e-12)

    def test_equally_probable_sequences_come_in_order_and_at_once(self):
        chain = MarkovChain(np.log([0.3, 0.7]), np.log(np.full((2, 2), 0.5)))
        lattice = np.ones((60, 2), dtype=bool)  # 2^60 sequences: the search must not try all beginnings
        found = [codes for codes, _ in islice(ranked_sequences(chain, lattice), 4)]
        assert [codes[-3:].tolist() for codes in found] == [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]
        assert all(codes[0] == 1 for codes in found)
        assert not any(codes[1:-3].any() for codes in found)

    def test_an_empty_set_has_no_sequence(self):
        chain = MarkovChain(np.log([0.5, 0.5]), np.log(np.full((2, 2), 0.5)))
        assert list(ranked_sequences(chain, np.array([[True, True], [False, False]]))) == []
        assert list(ranked_sequences(chain, np.empty((0, 2), dtype=bool))) == []

    def test_the_chain_counts_within_sequences_only(self):
        codes, lengths = np.array([0, 0, 1, 1, 0, 2]), np.array([3, 3])
        chain = estimate_chain(codes, lengths, 4, 0.0)
        np.testing.assert_allclose(np.exp(chain.log_initial), [0.5, 0.5, 0, 0])
        expected = [[1 / 3, 1 / 3, 1 / 3, 0], [1, 0, 0, 0], [0.25] * 4, [0.25] * 4]
        np.testing.assert_allclose(np.exp(chain.log_transition), expected)
        smooth = estimate_chain(codes, lengths, 4, 1.0)
        np.testing.assert_allclose(np.exp(smooth.log_initial), [2 / 6, 2 / 6, 1 / 6, 1 / 6])
        np.testing.assert_allclose(np.exp(smooth.log_transition[0]), [2 / 7, 2 / 7, 2 / 7, 1 / 7])


class TestPredictions:
    @pytest.mark.parametrize("mondrian", ["label", None])
    @pytest.mark.parametrize("measure", [NN(), KNN(k=3), LSSVM(fit_intercept=True), GaussianNB(var_smoothing=1e-2)])
    @pytest.mark.filterwarnings("ignore:.*Algorithm 1", "ignore:ModelScore")
    def test_p_values_are_those_of_full_cp(self, measure, mondrian, sequences, rng):
        X, y = (list(part) for part in zip(*sequences, strict=True))
        X, y = [x[:8] for x in X], [labels[:8] for labels in y]
        model = ConformalSequencePredictor(measure, mondrian=mondrian).fit(X, y)
        plain = FullConformalClassifier(measure, mondrian=mondrian).fit(np.concatenate(X), np.concatenate(y))
        tests = [simulate(rng, T)[0] for T in (1, 7)]
        for p, x in zip(model.predict_p(tests), tests, strict=True):
            np.testing.assert_array_equal(p, plain.predict_p(x))

    def test_candidates_are_lazy_and_ranked(self, model, rng):
        x = simulate(rng, 40)[0]
        sets = model.predict_set([x], confidence_level=0.99)[0]
        assert sets.sum(axis=1).prod() > 10_000
        first = list(islice(model.candidates(x, confidence_level=0.99), 20))
        logs = [candidate.log_probability for candidate in first]
        assert all(a >= b - 1e-12 for a, b in pairwise(logs))
        assert all(sets[np.arange(40), candidate.labels].all() for candidate in first)
        listed = model.predict_candidates([x], n_candidates=20, confidence_level=0.99)[0]
        assert [c.labels.tolist() for c in listed] == [c.labels.tolist() for c in first]
        assert len(first[0]) == 40
        np.testing.assert_array_equal(first[0].to_numpy(), first[0].labels)
        np.testing.assert_array_equal(model.predict([x], confidence_level=0.99)[0], first[0].labels)

    @pytest.mark.parametrize(("n_training", "spread", "share"), [(9, 3.0, 0.97), (50, 2.0, 0.92)])
    def test_predictions_use_transitions_and_observations(self, n_training, spread, share):
        """A state that stays for a while, in noise: neither the p-values nor the transitions alone find it."""
        rng = np.random.default_rng(0)
        states = [np.repeat([0, 1, 0], rng.integers(5, 20, 3)) for _ in range(n_training + 20)]
        signals = [spread * s[:, None] + rng.normal(size=(len(s), 1)) for s in states]
        model = ConformalSequencePredictor().fit(signals[:n_training], states[:n_training])
        tests, true = signals[n_training:], np.concatenate(states[n_training:])
        assert model.transition_[0, 0] > 0.7
        right = (np.concatenate(model.predict(tests, confidence_level=0.9)) == true).mean()
        alone = (np.concatenate([p.argmax(axis=1) for p in model.predict_p(tests)]) == true).mean()
        chain = [next(ranked_sequences(model._chain, np.ones((len(x), 2), bool)))[0] for x in tests]
        assert right > share
        assert right > alone + 0.02
        assert right > (np.concatenate(chain) == true).mean() + 0.2

    def test_predict_takes_the_largest_p_where_a_set_is_empty(self, sequences):
        X, y = (list(part) for part in zip(*sequences, strict=True))
        model = ConformalSequencePredictor(SimplifiedKNN(k=3)).fit(X, y)
        x = np.array([[0.0], [1.0], [500.0], [2.0]])
        assert not model.predict_set([x], confidence_level=0.5)[0].any(axis=1)[2]
        assert list(model.candidates(x, confidence_level=0.5)) == []
        assert model.predict([x], confidence_level=0.5)[0].shape == (4,)

    def test_lists_and_lengths_are_the_same(self, sequences):
        X, y = (list(part) for part in zip(*sequences, strict=True))
        lengths = [len(x) for x in X]
        names = np.array(["low", "high"])
        listed = ConformalSequencePredictor(KNN(k=3)).fit(X, [names[labels] for labels in y])
        joined = ConformalSequencePredictor(KNN(k=3)).fit(np.concatenate(X), names[np.concatenate(y)], lengths)
        framed = ConformalSequencePredictor(KNN(k=3)).fit(
            pd.DataFrame(np.concatenate(X), columns=["x"]), names[np.concatenate(y)], lengths=lengths
        )
        assert framed.feature_names_in_.tolist() == ["x"]
        expected = listed.predict(X)
        for model in (joined, clone(listed).fit(tuple(X), [names[labels].tolist() for labels in y])):
            np.testing.assert_array_equal(model.transition_, listed.transition_)
            np.testing.assert_array_equal(model.predict(np.concatenate(X), lengths), np.concatenate(expected))
        assert [len(p) for p in joined.predict_p(np.concatenate(X), lengths)] == lengths
        assert joined.predict(X[0]).shape == (lengths[0],)  # one array without lengths is one sequence


class TestBadInput:
    @pytest.mark.parametrize(
        ("X", "y", "lengths", "sentence"),
        [
            ([np.zeros((3, 1)), np.zeros((2, 2))], [[0, 1, 0], [1, 0]], None, r"shapes \(3, 1\), \(2, 2\): expected"),
            ([np.zeros((3, 1)), np.zeros((0, 1))], [[0, 1, 0], []], None, "expected .* T >= 1"),
            ([np.zeros((3, 1)), np.zeros((2, 1))], [[0, 1, 0], [1]], None, r"y has sequences of lengths \[3, 1\]"),
            (np.zeros((5, 1)), [0, 1, 0, 1, 0], [2, 2], "lengths sum to 4, and X has 5 rows"),
            (np.zeros((5, 1)), [0, 1, 0, 1, 0], [5, 0], "no lengths of sequences"),
            (np.zeros((5, 1)), [0, 1, 0, 1, 0], [2.5, 2.5], "no lengths of sequences"),
            (np.zeros((5, 1)), [0, 0, 0, 0, 0], None, "one class only"),
            (np.full((5, 1), np.nan), [0, 1, 0, 1, 0], None, "NaN"),
            (np.zeros((0, 1)), [], None, "0 sample"),
        ],
    )
    def test_fit(self, X, y, lengths, sentence, model):
        before = model.predict_p([np.array([[0.5]])])[0]
        with pytest.raises(ValueError, match=sentence):
            model.fit(X, y, lengths)
        np.testing.assert_array_equal(model.predict_p([np.array([[0.5]])])[0], before)

    @pytest.mark.parametrize(
        ("parameters", "asked", "sentence"),
        [
            ({"measure": KNN(metric="precomputed")}, {}, "wants precomputed values"),
            ({}, {"n_candidates": 0}, "n_candidates=0 is not a number of sequences"),
            ({}, {"confidence_level": 95}, "is not a probability"),
        ],
    )
    def test_parameters(self, parameters, asked, sentence, sequences):
        X, y = (list(part) for part in zip(*sequences, strict=True))
        with pytest.raises(ValueError, match=sentence):
            ConformalSequencePredictor(**parameters).fit(X, y).predict_candidates(X, **asked)


class TestGuarantee:
    """Hidden Markov sequences, each after training sequences of its own."""

    T, EPSILON = 3, 0.3

    def _missed(self, model, repetitions, epsilon):
        """Return how often a sequence has a state outside of its sets, and the mean size of sets."""
        rng, missed, sizes = np.random.default_rng(7), 0, []
        for repetition in range(repetitions):
            X, y = zip(*(simulate(rng, 20) for _ in range(2)), strict=True)
            while np.unique(np.concatenate(y)).size < 2:
                # the labels may follow any law: drawing them again until both occur is one
                X, y = zip(*(simulate(rng, 20) for _ in range(2)), strict=True)
            x, states = simulate(rng, self.T)
            model.set_params(random_state=repetition).fit(list(X), list(y))
            sets = model.predict_set([x], confidence_level=1 - epsilon)[0]
            missed += not sets[np.arange(self.T), states].all()
            sizes.append(sets.sum(axis=1).mean())
        return missed, np.mean(sizes)

    @both_lanes(300, 1000)
    @pytest.mark.parametrize("smoothed", [True, False])
    def test_sets_cover_hidden_markov_sequences(self, smoothed, repetitions):
        model = ConformalSequencePredictor(KNN(k=2), smoothed=smoothed, n_jobs=1)
        missed, size = self._missed(model, repetitions, self.EPSILON)
        assert binomtest(missed, repetitions, self.EPSILON, alternative="greater").pvalue > 1e-3
        assert size < 1.7  # of two: they say something
        if smoothed:  # each position errs with probability epsilon / T, so the bound is nearly reached
            assert missed > 0.15 * repetitions

    @pytest.mark.filterwarnings("ignore:confidence_level=0.1")
    def test_the_check_can_fail(self):
        """Without dividing epsilon by T the sequences would not be covered."""
        model = ConformalSequencePredictor(KNN(k=2), smoothed=True, n_jobs=1)
        missed, _ = self._missed(model, 200, self.T * self.EPSILON)
        assert binomtest(missed, 200, self.EPSILON, alternative="greater").pvalue < 1e-3
