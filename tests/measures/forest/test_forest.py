"""Full CP of forests and bootstraps equals retraining every model that holds the test example, vote for vote."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from callable_kernels import callable_kernel
from exactcp import FullConformalClassifier, SplitConformalClassifier, _parallel
from exactcp._parallel import ALONE
from exactcp.checks import check_measure
from exactcp.measures import Bootstrap, RandomForest
from exactcp.measures.forest import _forest_bag
from exactcp.measures.forest._rank_codes import RankCodes
from exactcp.measures.forest._resampling import (
    bernoulli_samples,
    expected_samples,
    multinomial_samples,
    object_keys,
    voters,
)
from exactcp.measures.forest._trees import Sample, gather, grow_tree
from exactcp.measures.forest.kernels import grow
from slices import sliced

predict_label = callable_kernel(grow.predict_label)

KINDS = ["random", "grid", "constant features", "duplicates", "one decimal"]


def tune(monkeypatch, **tuning):
    monkeypatch.setattr(_forest_bag, "FOREST_TUNING", _forest_bag.ForestTuning(**tuning))


def make_problem(seed, largest=22):
    """A forest, a training set and test objects, all drawn from the seed."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, largest)), int(rng.integers(1, 7))
    n_labels = min(int(rng.integers(2, 6)), n)
    kind = KINDS[seed % len(KINDS)]
    draw = {
        "random": lambda m: rng.normal(size=(m, p)),
        "grid": lambda m: rng.integers(0, 3, (m, p)).astype(float),
        "constant features": lambda m: np.where(np.arange(p) < (p + 1) // 2, 1.0, rng.integers(0, 4, (m, p))),
        "duplicates": lambda m: rng.integers(0, 2, (m, 1)) * np.ones(p),
        "one decimal": lambda m: np.round(rng.normal(size=(m, p)), 1),
    }[kind]
    X, y = draw(n), np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)])
    X_test = np.concatenate([draw(1), rng.normal(size=(1, p)) + 1.0])
    measure = RandomForest(
        n_estimators=int(rng.integers(1, 5)),
        max_depth=[None, 0, 1, 2, 4, 10][int(rng.integers(0, 6))],
        max_features=int(rng.integers(1, p + 1)),
        resampling=["multinomial", "bernoulli"][seed % 2],
        random_state=seed,
    )
    return measure, X, y, X_test


def pair(measure, X, y):
    """The fast predictor and the textbook's."""
    return (
        FullConformalClassifier(measure).fit(X, y),
        FullConformalClassifier(measure, algorithm="standard").fit(X, y),
    )


def assert_equal_votes(fast, standard, X_test, what=""):
    found, expected = list(fast._bag.scores(X_test)), list(standard._bag.scores(X_test))
    for (training, own), (training_1, own_1) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(training, training_1, err_msg=what)
        np.testing.assert_array_equal(own, own_1, err_msg=what)


def assert_equal_answers(fast, X_test):
    """All counts, and sets by bounds alone, follow from the votes."""
    bag, y = fast._bag, fast._bag.codes()
    counts, at_least = bag.label_counts(X_test, effort=ALONE), bag.at_least_counts(X_test, effort=ALONE)
    for t, (training, own) in enumerate(bag.scores(X_test)):
        for c in range(own.size):
            same = y == c
            for part, name in ((same, "same"), (~same, "other")):
                greater, equal = (training[c][part] > own[c]).sum(), (training[c][part] == own[c]).sum()
                assert getattr(counts, f"greater_{name}")[t, c] == greater
                assert getattr(counts, f"equal_{name}")[t, c] == equal
                found = getattr(at_least, f"greater_{name}")[t, c] + getattr(at_least, f"equal_{name}")[t, c]
                assert found == greater + equal
            for threshold in range(0, y.size + 1, 3):
                thresholds = np.full(own.size, threshold)
                for same_only, part in ((False, np.ones_like(same)), (True, same)):
                    inside = bag.label_sets(X_test[t : t + 1], thresholds, same_only=same_only, effort=ALONE)[0, c]
                    assert inside == ((training[c][part] >= own[c]).sum() >= threshold)


def assert_equals_the_textbook(measure, X, y, X_test, what=""):
    fast, standard = pair(measure, X, y)
    assert_equal_votes(fast, standard, X_test, what)
    assert_equal_answers(fast, X_test)


@pytest.mark.parametrize(("chunk", "remember_from"), sliced(2, range(15), [2, 256]))
def test_every_vote_equals_the_textbook(chunk, remember_from, monkeypatch):
    tune(monkeypatch, remember_from=remember_from)
    for seed in range(6 * chunk, 6 * chunk + 6):
        assert_equals_the_textbook(*make_problem(seed + 1000 * remember_from), f"seed {seed}")


@pytest.mark.parametrize("seed", range(30))
def test_small_problems_equal_the_textbook(seed, monkeypatch):
    """Small enough for kernels that are not compiled."""
    tune(monkeypatch, remember_from=3)
    measure, *problem = make_problem(seed, largest=12)
    assert_equals_the_textbook(measure.set_params(n_estimators=min(measure.n_estimators, 2)), *problem)


@pytest.mark.parametrize(("gridded", "resampling"), sliced(2, [False, True], ["multinomial", "bernoulli"]))
def test_a_larger_problem_equals_the_textbook(resampling, gridded, monkeypatch):
    tune(monkeypatch, remember_from=16)
    X, y = make_classification(251, 6, n_informative=4, n_classes=3, random_state=1)
    X = np.round(X) if gridded else X
    measure = RandomForest(n_estimators=3, max_depth=4, resampling=resampling, random_state=2)
    assert_equal_votes(*pair(measure, X[:250], y[:250]), X[250:])


@pytest.mark.parametrize("seed", range(16))
def test_learning_and_unlearning_equal_the_textbook(seed):
    measure, X, y, X_test = make_problem(seed, largest=16)
    fast, standard = pair(measure, X, y)
    rng = np.random.default_rng(seed)
    for clf in (fast, standard):
        clf.partial_fit(np.concatenate([X_test[:1], X[:1]]), y[:2])
    assert_equal_votes(fast, standard, X_test, "learned")
    gone = rng.choice(np.arange(1, y.size + 2), 1)
    if np.unique(np.delete(np.concatenate([y, y[:2]]), gone)).size == fast.classes_.size:
        for clf in (fast, standard):
            clf.unlearn(gone)
        assert_equal_votes(fast, standard, X_test, "unlearned")


class TestBernoulliUpdates:
    def setup_method(self):
        X, y = make_classification(330, 8, n_informative=5, random_state=0)
        self.X, self.y, self.X_test, self.X_new, self.y_new = X[:300], y[:300], X[300:310], X[310:], y[310:]
        self.measure = RandomForest(n_estimators=4, resampling="bernoulli", random_state=0)

    def _votes(self, clf):
        return [np.concatenate([training.ravel(), own]) for training, own in clf._bag.scores(self.X_test)]

    def test_learning_one_by_one_equals_a_fit_on_all_and_unlearning_them_is_the_identity(self):
        clf = FullConformalClassifier(self.measure).fit(self.X, self.y)
        before = self._votes(clf)
        for i in range(self.y_new.size):
            clf.partial_fit(self.X_new[i : i + 1], self.y_new[i : i + 1])
        X, y = np.concatenate([self.X, self.X_new]), np.concatenate([self.y, self.y_new])
        fresh = FullConformalClassifier(self.measure).fit(X, y)
        np.testing.assert_array_equal(self._votes(clf), self._votes(fresh))
        clf.unlearn(np.arange(300, 320))
        np.testing.assert_array_equal(self._votes(clf), before)

    def test_updates_search_few_nodes_again(self):
        """What the old tree had is kept: a tree grown on from an old one copies all nodes it shares with it."""
        examples = RankCodes(self.X).labelled(self.y)
        rows, users = np.arange(0, 298), np.array([298, 299])
        plan = self.measure._plan(*self.X.shape)
        sample = Sample(3, rows, np.ones_like(rows), users, 1, votes_for_test=True)
        old = grow_tree(examples, sample, plan, 2)
        # an old tree with a forged threshold shows whether it was looked at
        nodes = old.nodes.copy()
        nodes["threshold"] += 0.125
        forged = old._replace(nodes=nodes)
        again = grow_tree(examples, sample, plan, 2, forged)
        assert again.nodes["threshold"][0] == forged.nodes["threshold"][0]
        fewer = sample._replace(rows=rows[:-1], weights=np.ones(297, np.int64))
        np.testing.assert_array_equal(
            grow_tree(examples, fewer, plan, 2, old).nodes["threshold"],
            grow_tree(examples, fewer, plan, 2).nodes["threshold"],
        )

    def test_each_test_object_has_its_own_column(self):
        clf = FullConformalClassifier(self.measure).fit(self.X, self.y)
        _, _, voting = clf._bag._columns(self.X_test)
        assert np.unique(voting, axis=0).shape[0] == len(self.X_test)
        alone = np.concatenate([clf.predict_p(x[None]) for x in self.X_test])
        np.testing.assert_array_equal(alone, clf.predict_p(self.X_test))


@pytest.mark.parametrize("label", [0, 1])
def test_a_sampled_point_at_ten_thousand_equals_retraining_from_scratch(label):
    X, y = make_classification(10_001, 10, n_informative=6, random_state=0)
    measure = RandomForest(n_estimators=3, max_depth=8, random_state=0)
    clf = FullConformalClassifier(measure).fit(X[:-1], y[:-1])
    training, own = next(clf._bag.scores(X[-1:]))
    labels = np.append(y[:-1], label)
    samples = measure.samples(np.arange(10_000), X[-1])
    examples, plan = RankCodes(X).labelled(labels), measure._plan(*X.shape)
    votes, left = np.zeros(10_001, int), np.full(10_001, 3)
    for b, weights in enumerate(samples):
        rows, users = np.flatnonzero(weights), np.flatnonzero((weights == 0) & (left > 0))
        left[users] -= 1
        tree = grow_tree(examples, Sample(b, rows, weights[rows], users, 0, votes_for_test=True), plan, 2)
        trees, (root,) = gather([tree], 2)
        votes[users] += np.array([predict_label(trees, root, x) for x in X[users]]) == labels[users]
    np.testing.assert_array_equal(-training[label], votes[:-1])
    assert -own[label] == votes[-1]


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer])
def test_the_forest_is_as_accurate_as_scikit_learns(load):
    X, y = load(return_X_y=True)
    ours, theirs = [], []
    for seed in range(12):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
        forest = RandomForest(10, random_state=seed).fit(X_train, y_train)
        classes = np.unique(y_train)
        ours.append((classes[forest.score_labels(X_test, classes).argmin(axis=1)] == y_test).mean())
        reference = RandomForestClassifier(10, max_depth=10, random_state=seed).fit(X_train, y_train)
        votes = np.array([tree.predict(X_test) for tree in reference.estimators_]).astype(int)
        counts = np.array([(votes == c).sum(axis=0) for c in range(classes.size)])
        theirs.append((classes[counts.argmax(axis=0)] == y_test).mean())
    assert np.mean(ours) > np.mean(theirs) - 0.01


def test_there_are_as_many_trees_as_in_scikit_learn():
    assert RandomForest().n_estimators == RandomForestClassifier().n_estimators


@pytest.mark.parametrize(
    "measure",
    [
        RandomForest(2, None, None, "bernoulli", 7),
        RandomForest(1, 2, 0.5),
        pytest.param(RandomForest(3, 4), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_contract_is_kept(measure):
    check_measure(measure)


@pytest.mark.parametrize("resampling", ["multinomial", "bernoulli"])
def test_threads_blocks_and_memory_do_not_matter(resampling, monkeypatch):
    X, y = make_classification(400, 5, random_state=0)
    clf = FullConformalClassifier(RandomForest(10, resampling=resampling), n_jobs=1).fit(X[:300], y[:300])
    p = clf.predict_p(X[300:])
    for n_jobs, tuning in ((1, {}), (2, {"block": 7}), (1, {"remember_from": 20, "memory": 2**16})):
        tune(monkeypatch, **tuning)
        clf.set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(clf.predict_p(X[300:]), p)
        np.testing.assert_array_equal(clf.predict_set(X[300:], confidence_level=0.8), p > 0.2)


def test_more_codes_than_16_bits():
    X = np.random.default_rng(0).normal(size=(33_000, 2))
    ranks = RankCodes(X)
    assert ranks.codes.dtype == np.int32
    rank = (ranks.codes.astype(np.int64) - 2) // 2
    np.testing.assert_array_equal(ranks.values[ranks.first[:-1, None] + rank].T, X)


@pytest.mark.slow  # all kernels of the forest are compiled once more, for wider codes
def test_a_forest_with_more_codes_than_16_bits():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(33_000, 2)), rng.integers(0, 2, 33_000)
    clf = FullConformalClassifier(RandomForest(n_estimators=1, max_depth=2)).fit(X, y)
    narrow = FullConformalClassifier(RandomForest(n_estimators=1, max_depth=2)).fit(np.round(X, 2), y)
    assert clf.predict_p(X[:2]).shape == narrow.predict_p(X[:2]).shape


def test_compacted_ranks_are_those_of_a_fresh_start():
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(9, 3)), rng.integers(0, 3, (30, 2)).astype(float), np.zeros((4, 1))):
        for gone in ([0], [0, 2, 3], []):
            positions = np.array(gone, dtype=np.int64)
            before = RankCodes(X).without(positions)
            (ours, moved), fresh = before.compacted(), RankCodes(np.delete(X, positions, axis=0))
            for name in ("codes", "values", "first"):
                np.testing.assert_array_equal(getattr(ours, name), getattr(fresh, name))
            assert ours.codes.dtype == fresh.codes.dtype
            for f in range(X.shape[1]):
                old = before.first[f] + (before.codes[f].astype(int) - 2) // 2
                np.testing.assert_array_equal(moved[old], fresh.codes[f])


@pytest.mark.parametrize(
    "X",
    [np.random.default_rng(0).normal(size=(40, 3)), np.random.default_rng(0).integers(0, 4, (40, 3)) * 1.0],
    ids=["reals", "grid"],
)
def test_trees_that_forget_have_cuts_between_values_that_are_there(X):
    """Code -1 would be a value that no example has any more."""
    bag = RandomForest(5, resampling="bernoulli", random_state=0).bag(X, np.arange(40) % 3, 3)
    for positions in ([3], [0, 7, 30], list(range(10))):
        bag.unlearn(np.array(positions))
        trees = [tree for tree in bag._trees if tree is not None]
        assert trees
        for tree in trees:
            assert (tree.cuts["lo"] >= 0).all()
            assert (tree.cuts["hi"] >= 0).all()


def _three_labels(seed=3, n=14):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, n - 3)])
    return np.round(rng.normal(size=(n, 2)) + y[:, None], 1), y


def _object_with(bag, n_trees):
    """An object that needs so many trees, which is more than the training examples do."""
    for seed in range(100_000):
        x = np.random.default_rng(seed).normal(size=(1, 2))
        inside = _forest_bag.bernoulli_samples(_forest_bag.object_keys(x, 0), 3, at_least=len(bag._trees))
        if inside.shape[1] == n_trees:
            return x
    raise AssertionError


def test_trees_that_another_thread_adds_meanwhile_do_not_matter(monkeypatch):
    """One thread grows few trees for its object while another adds many for its own, and counts with them."""
    X, y = _three_labels()
    bag, fresh = (RandomForest(3, 3, resampling="bernoulli").bag(X, y, 3) for _ in range(2))
    few, many = (_object_with(bag, len(bag._trees) + more) for more in (1, 3))
    expected = np.array(fresh.label_counts(many))
    keys, count_threads = _forest_bag.arrival_keys, _parallel.thread_count
    growing, grown, published = threading.Event(), threading.Event(), threading.Event()
    slow = threading.Thread(target=lambda: (bag.label_counts(few, effort=ALONE), published.set()))

    def wait_for_many(*args):
        if threading.current_thread() is slow:
            growing.set()
            assert grown.wait(60)
        return keys(*args)

    def wait_for_few(n_jobs):
        if threading.current_thread() is not slow:
            grown.set()
            assert published.wait(60)
        return count_threads(n_jobs)

    monkeypatch.setattr(_forest_bag, "arrival_keys", wait_for_many)
    monkeypatch.setattr(_parallel, "thread_count", wait_for_few)
    slow.start()
    assert growing.wait(60)
    np.testing.assert_array_equal(np.array(bag.label_counts(many, effort=ALONE)), expected)
    slow.join()


def test_a_block_that_fails_leaves_its_room_to_the_next(monkeypatch):
    """Or the next block, in the same thread, would wait for it for ever."""
    (X, y), rooms = _three_labels(), []
    bag = RandomForest(3, 3).bag(X, y, 3)
    states = bag._states
    monkeypatch.setattr(bag, "_states", lambda *args: rooms.append(states(*args)) or rooms[-1])

    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(_forest_bag, "count_objects", fail)
    with pytest.raises(MemoryError):
        bag.label_counts(X[:3], effort=ALONE)
    assert rooms[0].qsize() == 1


@pytest.mark.filterwarnings("ignore:Bootstrap trains on")
class TestBootstrap:
    @pytest.mark.parametrize(
        ("seed", "estimator"), sliced(4, range(4), [GaussianNB(), DecisionTreeClassifier(max_depth=3)])
    )
    def test_any_classifier_equals_the_textbook(self, seed, estimator):
        X, y = _three_labels(seed)
        fast, standard = pair(Bootstrap(estimator, n_estimators=3, random_state=seed), X, y)
        for clf in (fast, standard):
            clf.partial_fit(X[:2] + 0.1, y[:2]).unlearn([1, 4])
        assert_equal_votes(fast, standard, X[:2] + 0.3)
        np.testing.assert_array_equal(fast.predict_p(X[:2] + 0.3), standard.predict_p(X[:2] + 0.3))

    def test_refits_are_announced_once(self):
        X, y = _three_labels(0)
        clf = FullConformalClassifier(Bootstrap(GaussianNB(), n_estimators=2)).fit(X, y)
        n_stars = len(clf._bag._stars)
        with pytest.warns(UserWarning, match=f"{n_stars * 2 * 3:,} trainings for 2 test"):
            clf.predict_p(X[:2] + 0.3)
        clf.predict_p(X[:2] + 0.3)

    def test_processes_change_nothing(self, monkeypatch):
        X, y = _three_labels(1)
        clf = FullConformalClassifier(Bootstrap(GaussianNB(), n_estimators=2), n_jobs=1).fit(X, y)
        p = clf.predict_p(X[:2] + 0.3)
        monkeypatch.setattr(_parallel, "WORTH_PROCESSES", 0.0)
        np.testing.assert_array_equal(clf.set_params(n_jobs=2).predict_p(X[:2] + 0.3), p)

    def test_split_cp_and_one_label_only(self):
        X, y = _three_labels(2, n=60)
        clf = SplitConformalClassifier(Bootstrap(GaussianNB()), random_state=0).fit(X, y)
        sets = clf.predict_set(X, confidence_level=0.8)
        assert 1 <= sets.sum(axis=1).mean() < 3
        assert (Bootstrap(GaussianNB(), 3).fit(X[:4], ["a"] * 4).score_labels(X[:1], ["a", "b"]) == [[-3.0, 0.0]]).all()


class TestSamples:
    @pytest.mark.parametrize(("n", "n_estimators"), [(2, 3), (10, 1), (300, 10)])
    def test_everyone_is_missing_from_enough(self, n, n_estimators):
        samples = multinomial_samples(n, n_estimators, 0)
        assert (samples.sum(axis=1) == n).all()
        missing = (samples == 0).sum(axis=0)
        assert missing.min() == n_estimators
        assert ((samples[:-1] == 0).sum(axis=0).min()) == n_estimators - 1  # and no sample is drawn in vain
        chosen = voters(samples, n_estimators)
        for i in range(n):
            np.testing.assert_array_equal(chosen[i], np.flatnonzero(samples[:, i] == 0)[:n_estimators])

    def test_expected_number_agrees_with_draws(self):
        for n, n_estimators in ((50, 5), (1000, 10)):
            drawn = [len(multinomial_samples(n + 1, n_estimators, seed)) for seed in range(200)]
            error = 4 * np.std(drawn) / np.sqrt(len(drawn))
            assert abs(np.mean(drawn) - expected_samples(n_estimators, n)) < error + 0.02 * np.mean(drawn)

    def test_an_objects_column_depends_on_it_alone(self):
        X = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
        keys = object_keys(X, 3)
        assert keys[0] == keys[1] != keys[2]
        assert object_keys(X[2:], 3)[0] == keys[2] != object_keys(X[2:], 4)[0]
        assert 0.6 < bernoulli_samples(object_keys(np.random.default_rng(0).normal(size=(500, 2)), 0), 5).mean() < 0.66
