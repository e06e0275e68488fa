"""Objects that are not vectors: a function compares them, and every answer is the textbook's, count for count."""

from __future__ import annotations

import pickle
from collections import Counter, UserList, deque

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import exactcp
from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    ConformalClusterer,
    CrossConformalClassifier,
    CVPlusRegressor,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennPredictor,
    textbook,
)
from exactcp.measures import KNN, NN, KNNResidual, SimplifiedKNN
from exactcp.online import progressive
from object_kinds import KINDS, N, counted, levenshtein

K = 3
LABELS = np.random.default_rng(1).choice(["left", "right"], N)
TARGETS = np.round(np.random.default_rng(2).normal(size=N), 1)
WORDS = KINDS["strings"][0]
MEASURES = {
    "NN": (NN, textbook.neighbours.nn),
    "KNN": (KNN, textbook.neighbours.knn),
    "SimplifiedKNN": (SimplifiedKNN, textbook.neighbours.simplified_knn),
}


def _measure(name, metric):
    return NN(metric) if name == "NN" else MEASURES[name][0](K, metric)


def _score(name, distance):
    return textbook.neighbours.nn(distance) if name == "NN" else MEASURES[name][1](K, distance)


def _by_number(objects, metric):
    """Return the numbers of objects, which the textbook takes for vectors, and their distance."""
    return np.arange(float(len(objects)))[:, None], lambda a, b: float(metric(objects[int(a[0])], objects[int(b[0])]))


def _label_p(name, objects, metric, kept, tests, labels=LABELS):
    numbers, distance = _by_number(objects, metric)
    counts = textbook.counts(_score(name, distance), numbers[kept], labels[kept], numbers[tests], np.unique(labels))
    return (counts.greater + counts.equal + 1) / (counts.total + 1)


def _one_class_p(*asked):
    return _label_p(*asked, labels=np.zeros(N, int))[:, 0]


def _target_p(_, objects, metric, kept, tests):
    numbers, distance = _by_number(objects, metric)
    score = textbook.regression.absolute(textbook.regression.knn_residual(K, distance))
    counts = textbook.target_counts(score, numbers[kept], TARGETS[kept], numbers[tests], TARGETS[tests])
    return (counts.greater + counts.equal + 1) / (counts.total + 1)


def _probabilities(_, objects, metric, kept, tests):
    numbers, distance = _by_number(objects, metric)
    args = np.unique(LABELS), K, distance
    tables = np.array([textbook.venn.venn_table(numbers[kept], LABELS[kept], numbers[test], *args) for test in tests])
    return (tables / tables.sum(axis=2, keepdims=True)).mean(axis=1)


PREDICTORS = {
    **{
        name: (lambda metric, name=name: FullConformalClassifier(_measure(name, metric)), LABELS, _label_p)
        for name in MEASURES
    },
    "KNNResidual": (lambda metric: FullConformalRegressor(KNNResidual(K, metric)), TARGETS, _target_p),
    "Venn": (lambda metric: VennPredictor(K, metric), LABELS, _probabilities),
    "anomalies": (lambda metric: ConformalAnomalyDetector(SimplifiedKNN(K, metric)), None, _one_class_p),
}


def _of(values, positions):
    return None if values is None else values[positions]


def _ask(predictor, objects, tests):
    X = [objects[i] for i in tests]
    if isinstance(predictor, FullConformalRegressor):
        return predictor.predict_p(X, TARGETS[tests])
    return predictor.predict_proba(X) if isinstance(predictor, VennPredictor) else predictor.predict_p(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PREDICTORS)
def test_every_state_answers_as_the_textbook(name, kind):
    objects, metric = KINDS[kind]
    make, answers, expected = PREDICTORS[name]
    by = "SimplifiedKNN" if name == "anomalies" else name
    tests = [40, 41, 42]

    def check():
        np.testing.assert_allclose(
            _ask(predictor, objects, tests), expected(by, objects, metric, kept, tests), rtol=1e-12, atol=0
        )

    def take(some):
        return [objects[i] for i in some], _of(answers, some)

    kept = list(range(16))
    predictor = make(metric).fit(*take(kept))
    check()
    for more in ([16], [17], list(range(18, 21)), [21]):
        predictor.partial_fit(*take(more))
        kept += more
        check()
    for gone in ([4], [17], [0, 9, 3]):
        predictor.unlearn(gone)
        kept = [i for position, i in enumerate(kept) if position not in gone]
        check()


@pytest.mark.parametrize("kind", KINDS)
def test_streams_and_given_distances_answer_as_the_textbook(kind):
    objects, metric = KINDS[kind]
    objects = objects[:30]
    numbers, distance = _by_number(objects, metric)
    D = np.array([[metric(a, b) for b in objects] for a in objects], float)
    for metric_of, X in ((metric, objects), ("precomputed", D)):
        for measure, y in ((SimplifiedKNN(K, metric_of), None), (KNN(K, metric_of), LABELS[:30])):
            name, labels = type(measure).__name__, np.zeros(30, int) if y is None else y
            tau = np.array([textbook.algorithm.tau_of_step(0, step) for step in range(30)])
            expected = textbook.online.stream_p_values(_score(name, distance), numbers, labels, tau)
            test = ExchangeabilityTest(measure, random_state=0)
            np.testing.assert_array_equal(test.update_many(X, y), expected)
            assert not hasattr(test, "n_features_in_")


def _given(D, i, test):
    """Return the distances of example i that a test wants: to those it has, and to itself."""
    n = 0 if not test._started or test._bag is None else test._bag.n
    return D[i, i - n : i + 1]


@pytest.mark.parametrize("how", [{}, {"window": 7}, {"restart": "all", "threshold": 1.2}], ids=str)
@pytest.mark.parametrize("answers", [None, LABELS, TARGETS], ids=["objects", "labels", "targets"])
def test_one_by_one_is_many_in_a_stream_of_texts_and_of_distances(answers, how):
    D = np.array([[levenshtein(a, b) for b in WORDS] for a in WORDS], float)
    cls = SimplifiedKNN if answers is None else KNN if answers is LABELS else KNNResidual
    expected = ExchangeabilityTest(cls(K, levenshtein), random_state=0, **how).update_many(WORDS, answers)
    texts = ExchangeabilityTest(cls(K, levenshtein), random_state=0, **how)
    given = ExchangeabilityTest(cls(K, "precomputed"), random_state=0, **how)
    for i, p in enumerate(expected.tolist()):
        y = None if answers is None else answers.tolist()[i]
        assert texts.update(WORDS[i], y) == given.update(_given(D, i, given), y) == p
    parts = ExchangeabilityTest(cls(K, "precomputed"), random_state=0, **how)
    first = parts.update_many(D[:20, :20], _of(answers, slice(0, 20)))
    n = 0 if parts._bag is None else parts._bag.n
    second = parts.update_many(D[20:, 20 - n :], _of(answers, slice(20, None)))
    np.testing.assert_array_equal(np.concatenate([first, second]), expected)


def test_given_distances_of_a_stream_that_do_not_fit_are_refused():
    test = ExchangeabilityTest(SimplifiedKNN(2, "precomputed"))
    test.update([0.0])
    with pytest.raises(ValueError, match=r"have 3 precomputed values each, and need 2: with the 1 that they"):
        test.update([1.0, 2.0, 0.0])
    with pytest.raises(ValueError, match="between new examples, are not symmetric"):
        test.update_many([[1.0, 0.0, 2.0], [1.0, 3.0, 0.0]])
    assert len(test.p_values_) == 1


@pytest.mark.parametrize("delay", [0, 2])
def test_progressive_takes_texts_and_given_distances_also_where_labels_never_come(delay):
    words, n = WORDS[:36], 36
    D = np.array([[levenshtein(a, b) for b in words] for a in words], float)
    some = [None if i % 7 == 3 else label for i, label in enumerate(LABELS[:36].tolist())]
    for make, y in (
        (lambda metric: FullConformalClassifier(KNN(K, metric)), some),
        (lambda metric: FullConformalRegressor(KNNResidual(K, metric)), TARGETS[:36].tolist()),
        (lambda metric: VennPredictor(K, metric), LABELS[:36].tolist()),
    ):
        expected = progressive(make(levenshtein), (words, y), delay=delay)
        assert len(expected) > 10
        for metric, stream in (
            (levenshtein, zip(words, y, strict=True)),
            ("precomputed", (D, y)),
            ("precomputed", ((D[i, : i + 1], y[i]) for i in range(n))),
        ):
            result = progressive(make(metric), stream, delay=delay)
            for field in ("p", "size", "lower", "position"):
                np.testing.assert_array_equal(getattr(result, field), getattr(expected, field))
    fitted = FullConformalClassifier(KNN(K, "precomputed")).fit(D[:20, :20], LABELS[:20])
    texts = FullConformalClassifier(KNN(K, levenshtein)).fit(words[:20], LABELS[:20])
    np.testing.assert_array_equal(
        progressive(fitted, (D[20:], LABELS[20:36])).p, progressive(texts, (words[20:], LABELS[20:36])).p
    )
    with pytest.raises(ValueError, match="expected a y for each row"):
        progressive(clone(fitted), (D, LABELS[:5]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "make",
    [
        lambda metric: SplitConformalClassifier(KNN(K, metric), random_state=0),
        lambda metric: CrossConformalClassifier(KNN(K, metric), random_state=0),
        lambda metric: AggregatedConformalClassifier(KNN(K, metric), n_splits=2, random_state=0),
        lambda metric: SplitConformalRegressor(KNNResidual(K, metric), random_state=0),
        lambda metric: CVPlusRegressor(KNNResidual(K, metric), random_state=0),
        lambda metric: JackknifePlusRegressor(KNNResidual(K, metric)),
    ],
    ids=["split", "cross", "aggregated", "split targets", "CV+", "jackknife+"],
)
def test_other_predictors_compare_objects_as_they_compare_numbers_of_objects(make, kind):
    objects, metric = KINDS[kind]
    numbers, distance = _by_number(objects, metric)
    answers = []
    for metric_of, X in ((metric, objects), (distance, numbers)):
        predictor = make(metric_of)
        is_classifier = hasattr(predictor, "predict_set")
        predictor.fit(X[:40], (LABELS if is_classifier else TARGETS)[:40])
        answers.append(predictor.predict_p(X[40:]) if is_classifier else predictor.predict_interval(X[40:], 0.8))
    np.testing.assert_array_equal(*answers)


class TestWhatXMayBe:
    @pytest.mark.parametrize(
        "as_given",
        [
            list,
            tuple,
            deque,
            UserList,
            np.array,
            lambda words: np.array(words, dtype=object),
            lambda words: np.array(words, dtype=object)[:, None],
            pd.Series,
            lambda words: pd.Series(words, dtype="string"),
            lambda words: pd.Series(words, dtype="category"),
            pl.Series,
            lambda words: pd.DataFrame({"word": words}),
            lambda words: pl.DataFrame({"word": words}),
        ],
    )
    def test_texts_come_in_many_ways(self, as_given):
        expected = FullConformalClassifier(KNN(2, levenshtein)).fit(WORDS[:20], LABELS[:20]).predict_p(WORDS[20:30])
        clf = FullConformalClassifier(KNN(2, levenshtein)).fit(as_given(WORDS[:15]), LABELS[:15])
        clf.partial_fit(as_given(WORDS[15:20]), LABELS[15:20])
        np.testing.assert_array_equal(clf.predict_p(as_given(WORDS[20:30])), expected)

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_the_rows_of_a_mixed_frame_are_dicts(self, frame):
        records = [{"word": word, "size": len(word)} for word in WORDS]

        def distance(a, b):
            return levenshtein(a["word"], b["word"]) + abs(a["size"] - b["size"])

        X = frame(records)
        clf = FullConformalClassifier(KNN(2, distance)).fit(X[:20], LABELS[:20])
        expected = FullConformalClassifier(KNN(2, distance)).fit(records[:20], LABELS[:20])
        np.testing.assert_array_equal(clf.predict_p(X[20:30]), expected.predict_p(records[20:30]))
        assert clf.feature_names_in_.tolist() == ["word", "size"]
        with pytest.raises(ValueError, match="feature names should match"):
            clf.predict_p(frame([{"word": "a", "length": 1}]))

    def test_a_column_of_categories_stays_outside_and_a_function_sees_the_objects_as_given(self):
        frame = pd.DataFrame({"word": WORDS, "group": np.arange(N) % 2})
        seen = []

        def group(X):
            seen.append(X)
            return [len(word) % 2 for word in X]

        by_column = FullConformalClassifier(KNN(2, levenshtein), mondrian="group").fit(frame[:40], LABELS[:40])
        beside = FullConformalClassifier(KNN(2, levenshtein)).fit(WORDS[:40], LABELS[:40], categories=np.arange(40) % 2)
        expected = beside.predict_p(WORDS[40:], categories=np.arange(40, N) % 2)
        np.testing.assert_array_equal(by_column.predict_p(frame[40:]), expected)
        FullConformalClassifier(KNN(2, levenshtein), mondrian=group).fit(WORDS[:40], LABELS[:40]).predict_p(WORDS[40:])
        assert [seen[0], seen[-1]] == [WORDS[:40], WORDS[40:]]
        assert all(len(one) == 1 for one in seen[1:-1])  # the same words alone

    def test_rows_of_equal_numbers_remain_vectors(self):
        def distance(a, b):
            assert type(a) is type(b) is np.ndarray
            assert a.dtype == np.float64
            return float(np.abs(a - b).sum())

        X = [[1, 2], (3, 4), np.array([5.0, 6.0])]
        clf = FullConformalClassifier(KNN(1, distance)).fit(X, [0, 1, 0])
        assert clf.n_features_in_ == 2
        for refused, sentence in (
            (lambda: clf.predict_p([[1, 2, 3]]), "3 features, but FullConformalClassifier is expecting 2"),
            (lambda: clf.predict_p(["a", "b"]), "gets rows of numbers here, as in fit"),
            (lambda: clf.predict_p([1.0, 2.0]), "Reshape your data"),
            (lambda: clone(clf).fit([1.0, 2.0, 3.0], [0, 1, 0]), "Reshape your data"),
            (lambda: clone(clf).fit([[1.0, None], [1.0, 2.0], [1.0, 2.0]], [0, 1, 0]), "NaN"),
        ):
            with pytest.raises(ValueError, match=sentence):
                refused()

    def test_an_array_of_objects_says_that_rows_of_equal_length_are_objects(self):
        series = np.empty(3, dtype=object)
        series[:] = [(1, 2), (3, 4), (5, 6)]
        clf = FullConformalClassifier(KNN(1, levenshtein)).fit(series, [0, 1, 0])
        assert clf.partial_fit([(1, 2, 3)], [1]).predict_p([(1, 2, 3, 4)]).shape == (1, 2)
        assert not hasattr(clf, "n_features_in_")

    def test_images_are_objects(self):
        images = np.random.default_rng(0).integers(0, 2, (12, 3, 3))

        def distance(a, b):
            assert a.shape == b.shape == (3, 3)
            return int((a != b).sum())

        clf = FullConformalClassifier(KNN(2, distance)).fit(images, LABELS[:12])
        flat = FullConformalClassifier(KNN(2, "l1")).fit(images.reshape(12, 9), LABELS[:12])
        np.testing.assert_array_equal(clf.predict_p(images[:3]), flat.predict_p(images[:3].reshape(3, 9)))

    def test_a_refit_may_change_from_objects_to_vectors_and_back(self):
        def distance(a, b):
            return abs(len(a) - len(b)) if isinstance(a, str) else float(np.abs(a - b).sum())

        clf = FullConformalClassifier(KNN(1, distance)).fit(WORDS, LABELS)
        assert clf.fit(np.arange(N)[:, None], LABELS).n_features_in_ == 1
        assert clf.predict_p([[1.5]]).shape == (1, 2)
        assert not hasattr(clf.fit(WORDS, LABELS), "n_features_in_")


class TestPairs:
    """No pair is measured twice in one call, but for the sample that is asked both ways."""

    @staticmethod
    def _most_often(pairs):
        counts = Counter(pairs)
        pairs.clear()
        return max(counts.values(), default=0), counts.total()

    @pytest.mark.parametrize("name", PREDICTORS)
    def test_every_pair_is_measured_once(self, name, monkeypatch):
        monkeypatch.setattr("exactcp.geometry.metric.Distance.check_symmetric", lambda *_: None)  # none both ways
        words = [f"{word}{i}" for i, word in enumerate(WORDS)]  # ids tell them apart
        metric, pairs = counted(levenshtein)
        make, answers, _ = PREDICTORS[name]
        predictor = make(metric).fit(words[:40], _of(answers, slice(0, 40)))
        assert self._most_often(pairs) == (1, 40 * 39 / 2)
        _ask(predictor, words, np.arange(40, 50))
        assert self._most_often(pairs) == (1, 40 * 10)
        for change, *args in (
            (predictor.partial_fit, words[50:51], _of(answers, slice(50, 51))),
            (predictor.unlearn, [7]),
            (predictor.partial_fit, words[40:50], _of(answers, slice(40, 50))),  # all lists are made anew
            (predictor.unlearn, np.arange(10)),
        ):
            change(*args)
            assert self._most_often(pairs)[0] == 1

    @pytest.mark.parametrize("name", ["KNN", "KNNResidual", "anomalies"])
    def test_categories_and_distributions_ask_once_too(self, name, monkeypatch):
        monkeypatch.setattr("exactcp.geometry.metric.Distance.check_symmetric", lambda *_: None)
        metric, pairs = counted(levenshtein)
        words = [f"{word}{i}" for i, word in enumerate(WORDS)]
        make, answers, _ = PREDICTORS[name]
        predictor = make(metric).set_params(mondrian=lambda X: [len(x) % 2 for x in X])
        predictor.fit(words[:40], _of(answers, slice(0, 40)))
        pairs.clear()
        _ask(predictor, words, np.arange(40, 50))
        assert self._most_often(pairs) == (1, 40 * 10)
        if name == "KNNResidual":
            predictor.predict_distribution(words[40:50])
            assert self._most_often(pairs) == (1, 40 * 10)


def _raises(a, b):
    raise KeyError(a)


class TestRefusals:
    @pytest.mark.parametrize(
        ("metric", "sentence"),
        [
            (_raises, r"metric=_raises raised KeyError: '\w+', for '\w+' and '\w+': expected a distance"),
            (lambda a, b: len(a) - len(b), r"gave the distance -\d for '\w+' and '\w+': expected finite numbers >= 0"),
            (lambda a, b: float("nan"), "gave the distance nan for"),
            (lambda a, b: float("inf"), "gave the distance inf for"),
            (lambda a, b: None, "gave the distance None for"),
            (lambda a, b: "3", "gave the distance '3' for"),
            (lambda a, b: 1j, "gave the distance 1j for"),
            (lambda a, b: np.ones(2), r"gave the distance array\(\[1., 1.\]\) for"),
            (lambda a, b: len(a), r"gave the distance \d.0 from '\w+' to '\w+' and \d.0 back: expected a symmetric"),
        ],
    )
    def test_a_metric_that_is_none_gets_a_sentence(self, metric, sentence):
        with pytest.raises(ValueError, match=sentence):
            FullConformalClassifier(KNN(2, metric)).fit(WORDS, LABELS)

    @pytest.mark.parametrize("metric", [_raises, lambda a, b: -1.0, lambda a, b: None])
    def test_an_error_in_the_middle_of_a_change_changes_nothing(self, metric):
        def in_the_end(a, b):
            return metric(a, b) if "odd" in (a, b) else levenshtein(a, b)

        for make, answers, _ in PREDICTORS.values():
            predictor = make(in_the_end).fit(WORDS[:20], _of(answers, slice(0, 20)))
            before = pickle.dumps(_ask(predictor, WORDS, np.arange(20, 25)))
            for X in (["odd"], ["abc", "odd"], [*WORDS[:20], "odd"]):
                for call in (predictor.partial_fit, predictor.predict):
                    with pytest.raises(ValueError, match=r"gave the distance|raised KeyError"):
                        call(X, *([] if call == predictor.predict else [_of(answers, np.arange(len(X)))]))
            assert pickle.dumps(_ask(predictor, WORDS, np.arange(20, 25))) == before
            assert predictor.n_examples_ == 20

    def test_an_asymmetric_metric_is_found_in_a_stream(self):
        test = ExchangeabilityTest(SimplifiedKNN(2, lambda a, b: len(a)))
        test.update("a")
        with pytest.raises(ValueError, match="expected a symmetric function"):
            test.update("bbb")
        assert len(test.p_values_) == 1


@pytest.mark.parametrize("kind", ["strings", "tuples", "dicts", "sets"])
def test_objects_are_saved(kind, tmp_path):
    objects, metric = KINDS[kind]
    for make, answers, _ in PREDICTORS.values():
        predictor = make(metric).fit(objects[:20], _of(answers, slice(0, 20)))
        with pytest.warns(UserWarning, match=r"load it with exactcp.load\(.*trusted=\["):
            exactcp.save(predictor, tmp_path / "model")
        loaded = exactcp.load(tmp_path / "model", trusted=[metric])
        tests = np.arange(20, 30)
        np.testing.assert_array_equal(_ask(loaded, objects, tests), _ask(predictor, objects, tests))


def test_what_is_unlearned_is_gone():
    words = [*WORDS[:20], "a very secret text"]
    for make, answers, _ in PREDICTORS.values():
        predictor = make(levenshtein).fit(words, _of(answers, slice(0, 21)))
        assert b"a very secret text" in pickle.dumps(predictor)
        assert b"a very secret text" not in pickle.dumps(predictor.unlearn([20]))


class TestClusters:
    def test_objects_lie_in_the_plane_of_their_distances(self):
        words = ["kitten", "mitten", "bitten", "smitten", "kittens", "fitted"] * 3
        words += ["xylophone", "xylophones", "xylophonist", "telephone", "telephonist"] * 3
        clusterer = ConformalClusterer(SimplifiedKNN(4, levenshtein), epsilon=0.1).fit(words)
        assert clusterer.n_clusters_ >= 2
        assert not set(clusterer.labels_[:18]) & set(clusterer.labels_[18:])
        np.testing.assert_array_equal(clusterer.predict(words), clusterer.labels_)
        assert clusterer.predict(["sitten"])[0] == clusterer.labels_[0]
        assert clusterer.predict(["a text that is like none of them"])[0] == -1
        D = np.array([[levenshtein(a, b) for b in words] for a in words], float)
        given = ConformalClusterer(SimplifiedKNN(4, "precomputed"), epsilon=0.1).fit(D)
        np.testing.assert_array_equal(given.p_values_, clusterer.p_values_)
        np.testing.assert_array_equal(given.predict(D[:5]), clusterer.predict(words[:5]))

    def test_euclidean_distances_give_the_clusters_of_principal_components(self):
        rng = np.random.default_rng(0)
        X = np.concatenate([rng.normal(size=(30, 4)), rng.normal(size=(20, 4)) + 6.0])
        D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
        expected = ConformalClusterer(SimplifiedKNN(3)).fit(X)
        clusterer = ConformalClusterer(SimplifiedKNN(3, "precomputed")).fit(D)
        names = {(a, b) for a, b in zip(expected.labels_.tolist(), clusterer.labels_.tolist(), strict=True)}
        assert len(names) == len(set(expected.labels_)) == len(set(clusterer.labels_)) > 1

    def test_equal_objects_and_two_objects(self):
        assert ConformalClusterer(SimplifiedKNN(1, levenshtein)).fit(["a"] * 20).n_clusters_ == 1
        ConformalClusterer(SimplifiedKNN(1, levenshtein)).fit(["a", "b"])
        with pytest.raises(ValueError, match="n_samples=1, while a minimum of 2"):
            ConformalClusterer(SimplifiedKNN(1, levenshtein)).fit(["a"])
