"""Trees give the lists and counts of brute force, bit for bit, on data that break careless bounds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import always_trees, contracting
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from exactcp import (
    ConformalClusterer,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifePlusRegressor,
    VennPredictor,
)
from exactcp._parallel import Effort
from exactcp.measures import KNN, NN, KNNResidual, SimplifiedKNN
from exactcp.measures.neighbours import _choosing, _filling, _streaming, _tuning
from exactcp.measures.neighbours.kernels.stream import stream_rows
from exactcp.measures.neighbours.kernels.tree_stream import stream_by_trees
from hostile import KINDS, LABELS, hostile
from slices import sliced

MEASURES = {"NN": NN(), "KNN 4": KNN(4), "KNN 15": KNN(), "SimplifiedKNN 3": SimplifiedKNN(3)}


def _bags(measure, X, y, n_labels=5):
    tree, brute = (clone(measure).set_params(search=search).bag(X, y, n_labels) for search in ("tree", "brute"))
    assert (tree.search.route.name, brute.search.route.name) == ("tree", "brute")
    return tree, brute


def _assert_same_counts(found, expected):
    for field, one, other in zip(found._fields, found, expected, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=field)


def _assert_same_lists(tree, brute, k):
    lengths = tree._lists.lengths
    np.testing.assert_array_equal(lengths, brute._lists.lengths)
    assert lengths.max() <= k
    used = np.arange(k) < lengths[..., None]
    np.testing.assert_array_equal(*(np.where(used, bag._lists.values[..., :k], 0.0) for bag in (tree, brute)))
    np.testing.assert_array_equal(tree._scores, brute._scores)


def _assert_same_answers(measure, kind, labels, features):
    seed = KINDS.index(kind) * 10 + LABELS.index(labels)
    X, y, asked = hostile(kind, labels, seed, n=[33, 150, 400][seed % 3], p=features[seed % 4])
    tree, brute = _bags(measure, X, y)
    _assert_same_lists(tree, brute, measure.k)
    _assert_same_counts(tree.label_counts(asked), brute.label_counts(asked))
    for row in asked[:4]:  # one at a time
        _assert_same_counts(tree.label_counts(row[None]), brute.label_counts(row[None]))
    use_ratio = measure.compares_labels
    np.testing.assert_array_equal(
        *(bag.search.candidate_scores(asked, bag.order, measure.k, use_ratio=use_ratio) for bag in (tree, brute))
    )
    return tree


@pytest.mark.parametrize("measure_name", MEASURES)
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", KINDS)
def test_lists_and_counts_are_those_of_brute_force(kind, labels, measure_name):
    _assert_same_answers(MEASURES[measure_name], kind, labels, [1, 2, 3, 5])


@pytest.mark.parametrize("measure_name", ["KNN 4", "SimplifiedKNN 3"])
@pytest.mark.parametrize("labels", ["two", "a tiny one"])
@pytest.mark.parametrize("kind", KINDS)
def test_contracted_trees_give_those_of_brute_force(kind, labels, measure_name, monkeypatch):
    contracting(monkeypatch, [1, 2, 5][KINDS.index(kind) % 3])
    tree = _assert_same_answers(MEASURES[measure_name], kind, labels, [2, 3, 6, 12])
    assert tree.search.near().grove.points.shape[1] == tree.search.contraction().shape[1] + 1


@settings(max_examples=40, deadline=None)
@given(
    columns=st.integers(0, 8),
    kind=st.sampled_from(KINDS),
    labels=st.sampled_from(LABELS),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(45, 700),
    p=st.integers(1, 9),
    k=st.sampled_from([1, 2, 5, 20, 100, 701]),
    use_ratio=st.booleans(),
)
def test_any_data_give_the_counts_of_brute_force(columns, kind, labels, seed, n, p, k, use_ratio):
    measure = KNN(k) if use_ratio else SimplifiedKNN(k)
    X, y, asked = hostile(kind, labels, seed, n, p)
    with pytest.MonkeyPatch.context() as patched:
        contracting(patched, columns)
        tree, brute = _bags(measure, X, y)
        _assert_same_lists(tree, brute, k)
        _assert_same_counts(tree.label_counts(asked), brute.label_counts(asked))


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_history_gives_the_counts_of_brute_force(data):
    kind = data.draw(st.sampled_from(KINDS), label="kind")
    X, y, asked = hostile(kind, "five", data.draw(st.integers(0, 99), label="seed"), 200, 2)
    measure = data.draw(st.sampled_from([KNN(3), SimplifiedKNN(2)]), label="measure")
    tree, brute = _bags(measure, X[:120], y[:120])
    following = 120
    for _ in range(data.draw(st.integers(1, 6), label="steps")):
        what = data.draw(st.sampled_from(["learn one", "learn many", "unlearn", "stream"]), label="step")
        m = 30 if what == "learn many" else 1
        new = slice(following, following + m)
        gone = np.array([data.draw(st.integers(0, tree.n - 1), label="gone")])
        for bag in (tree, brute):
            if what.startswith("learn"):
                bag.learn(X[new], y[new])
            elif what == "unlearn":
                bag.unlearn(gone)
            else:
                bag.stream(X[new], y[new])
        following += 0 if what == "unlearn" else m
        following = min(following, 170)
        _assert_same_counts(tree.label_counts(asked), brute.label_counts(asked))


@pytest.mark.parametrize("labels", ["five", "a tiny one"])
@pytest.mark.parametrize("measure_name", ["NN", "KNN 4", "SimplifiedKNN 3"])
@pytest.mark.parametrize("kind", KINDS)
def test_streams_are_those_of_brute_force(kind, measure_name, labels, monkeypatch):
    """With trees that are grown anew in between, over examples that came by `fit` or one by one."""
    monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(stream_part=40))
    _assert_same_streams(kind, MEASURES[measure_name], labels, p=2)
    if measure_name == "KNN 4" and labels == "five":
        contracting(monkeypatch)
        _assert_same_streams(kind, MEASURES[measure_name], labels, p=4)


def _assert_same_streams(kind, measure, labels, p):
    X, y, asked = hostile(kind, labels, KINDS.index(kind), 260, p)
    X[200::9] = asked[23]  # too far for float32
    counts, bags = [], []
    for search, start in (("tree", 1), ("brute", 1), ("tree", 90), ("brute", 90)):
        bag = clone(measure).set_params(search=search).bag(X[:start], y[:start], 5)
        found = [bag.stream(X[start:150], y[start:150])]
        bag.unlearn(np.array([3]))
        found.append(bag.stream(X[150:], y[150:]))
        counts.append(np.concatenate(found)[90 - start :])
        bags.append(bag)
    for found, bag in zip(counts, bags, strict=True):
        np.testing.assert_array_equal(found, counts[1])
        np.testing.assert_array_equal(bag._scores[bag.order], bags[1]._scores[bags[1].order])
        _assert_same_counts(bag.label_counts(asked), bags[1].label_counts(asked))


@pytest.mark.parametrize("is_faster", [False, True])
def test_a_stream_goes_the_faster_way(is_faster, monkeypatch):
    knobs = _tuning.KNOBS._replace(stream_part=10, stream_trees_from=50)
    monkeypatch.setattr(_tuning, "KNOBS", knobs)
    clock, sizes = [0.0], []
    X, y, _ = hostile("normal", "two", 0, 300, 2)

    def by_trees(X, labels, n, held, *args):
        sizes.append(held)
        clock[0] += 0.0 if is_faster else 2.0 * n * len(X)
        return stream_by_trees(X, labels, n, held, *args)

    def plainly(X, labels, n, *args):
        clock[0] += n * len(X)
        return stream_rows(X, labels, n, *args)

    monkeypatch.setattr(_streaming, "stream_by_trees", by_trees)
    monkeypatch.setattr(_streaming, "stream_rows", plainly)
    monkeypatch.setattr(_streaming.time, "thread_time", lambda: clock[0])
    auto, brute = (KNN(3, search=search).bag(X[:1], y[:1], 5) for search in ("auto", "brute"))
    found, expected = (
        np.concatenate([bag.stream(X[i : i + 13], y[i : i + 13]) for i in range(1, 300, 13)]) for bag in (auto, brute)
    )
    np.testing.assert_array_equal(found, expected)
    held = sorted(set(sizes))
    assert 50 <= held[0] < 70
    assert len(sizes) > len(held)  # trees serve several calls
    assert (len(held) > 5) == is_faster
    assert is_faster or held[1] >= 2 * held[0]


def _targets(X, y, kind):
    return y + (0.0 if kind in ("grid", "duplicates") else X[:, 0] / np.abs(X[:, 0]).max())


@pytest.mark.parametrize("is_contracted", [False, True])
@pytest.mark.parametrize(("kind", "k"), sliced(3, KINDS, [1, 4, 500]))
def test_regression_and_venn_prediction_are_those_of_brute_force(kind, k, is_contracted, monkeypatch):
    if is_contracted:
        contracting(monkeypatch)
    p = 5 if is_contracted else 3
    X, y, asked = hostile(kind, "five", KINDS.index(kind), 350, p)
    targets, answers = _targets(X, y, kind), {}
    for search in ("tree", "brute"):
        reg = FullConformalRegressor(KNNResidual(k, search=search)).fit(X, targets)
        venn = VennPredictor(k, search=search).fit(X, y)
        plus = JackknifePlusRegressor(KNNResidual(k, search=search)).fit(X[:100], targets[:100])
        assert reg.measure_.search_ == venn.search_ == reg._bag.search.told()
        assert reg.measure_.search_.name == search
        assert (reg._bag.search._near is not None) == (search == "tree")
        answers[search] = [
            reg.predict(asked),
            reg.predict_interval(asked, 0.8),
            reg.predict_p(asked, targets[:24]),
            np.concatenate([reg.predict_p(asked[t : t + 1], targets[t : t + 1]) for t in range(3)]),
            KNNResidual(k, search=search).fit(X, targets).predict(asked),
            venn.predict_proba_interval(asked),
            plus.predict_interval(asked, 0.8),
        ]
        reg.partial_fit(X[:2], targets[:2] + 1.0).unlearn([5])
        venn.partial_fit(X[:2], 4 - y[:2]).unlearn([5])
        answers[search] += [reg.predict_interval(asked, 0.8), venn.predict_proba_interval(asked)]
    for found, expected in zip(answers["tree"], answers["brute"], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_clusters_are_those_of_brute_force():
    X, _, _ = hostile("densities", "one", 1, 300, 2)
    tree, brute = (
        ConformalClusterer(SimplifiedKNN(4, search=search), n_grid=12).fit(X) for search in ("tree", "brute")
    )
    np.testing.assert_array_equal(tree.p_values_, brute.p_values_)
    np.testing.assert_array_equal(tree.labels_, brute.labels_)
    assert (tree.measure_.search_.name, brute.measure_.search_.name) == ("tree", "brute")


def test_threads_and_blocks_do_not_matter():
    X, y, asked = hostile("densities", "five", 3, 600, 3)
    asked = np.concatenate([asked] * 7)
    tree, brute = _bags(KNN(5), X, y)
    expected = brute.label_counts(asked)
    for n_jobs in (1, 3):
        bag = KNN(5, search="tree").bag(X, y, 5, effort=Effort(n_jobs))
        _assert_same_lists(bag, tree, 5)
        _assert_same_counts(bag.label_counts(asked, effort=Effort(n_jobs)), expected)


def test_threads_share_what_they_grow():
    X, y, asked = hostile("densities", "five", 5, 400, 3)
    tree, brute = (FullConformalClassifier(KNN(4, search=search)).fit(X, y) for search in ("tree", "brute"))
    expected = brute.predict_p(asked)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: tree.predict_p(asked), range(12)):
            np.testing.assert_array_equal(found, expected)


def test_trees_go_with_a_change_until_enough_has_been_asked(monkeypatch):
    monkeypatch.setattr(_filling, "choose_route", always_trees)
    X, y, asked = hostile("normal", "two", 0, 200, 2)
    clf, brute = (FullConformalClassifier(KNN(3, search=search)).fit(X[:150], y[:150]) for search in ("auto", "brute"))
    np.testing.assert_array_equal(clf.predict_p(asked), brute.predict_p(asked))
    assert clf._bag.search._near is not None
    assert clf._bag._standing is not None
    for change, follow in (
        (lambda one: one.partial_fit(X[150:151], y[150:151]), False),
        (lambda one: one.unlearn([7]), True),  # after more than 64 rows
        (lambda one: one.partial_fit(X[151:], y[151:]), False),  # so many that all lists are made anew
    ):
        change(clf)
        change(brute)
        assert (clf._bag._standing is not None) == (clf._bag._following is not None) == follow
        for _ in range(4):
            np.testing.assert_array_equal(clf.predict_p(asked), brute.predict_p(asked))
        assert clf._bag._standing is not None


def test_many_short_lists_are_met_by_products(monkeypatch):
    monkeypatch.setattr(_filling, "choose_route", always_trees)
    X, y, asked = hostile("normal", "a tiny one", 0, 300, 2)
    bag, brute = KNN(50).bag(X, y, 5), KNN(50, search="brute").bag(X, y, 5)
    _assert_same_counts(bag.label_counts(asked), brute.label_counts(asked))
    assert bag._standing is None
    assert bag._prepared.starts.size  # by the route of many rows


def test_rows_that_come_one_by_one_are_screened_when_many_have_come(monkeypatch):
    monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(few=5, small=0, plain_up_to=0))
    X, y, asked = hostile("grid", "five", 0, 200, 3)
    bag, plain = KNN(3).bag(X, y, 5), KNN(3, search="brute").bag(X, y, 5)
    expected = plain.label_counts(asked)
    for t in range(10):
        found = bag.label_counts(asked[t : t + 1])
        _assert_same_counts(found, [counts[t : t + 1] for counts in expected])
        assert (bag.search._screen is not None) == (t >= 4)
    assert bag.search._reach[0] is bag._prepared.touch
    bag.learn(X[:1], y[:1])
    plain.learn(X[:1], y[:1])
    assert bag.search._screen is bag.search._reach is None
    _assert_same_counts(bag.label_counts(asked), plain.label_counts(asked))


class TestChoice:
    @pytest.mark.parametrize(
        ("metric", "p", "least", "reason"),
        [
            ("euclidean", 2, 5000, "fewer than 5,000 examples"),
            ("euclidean", 17, 20, "more than 16 features"),
            ("manhattan", 2, 20, "only Euclidean distances have trees"),
        ],
    )
    def test_where_trees_are_not_tried(self, metric, p, least, reason, monkeypatch):
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(trees_from=least))
        X, y, _ = hostile("normal", "two", 0, 200, p)
        measure = KNN(3, metric=metric)
        assert FullConformalClassifier(measure).fit(X, y).measure_.search_ == ("brute", reason)
        assert measure.fit(X, y).search_.name == "brute"

    def test_what_is_asked_for_is_done(self):
        X, y, asked = hostile("normal", "two", 0, 200, 2)
        scores = []
        for search in ("tree", "brute"):
            measure = KNN(3, search=search)
            assert FullConformalClassifier(measure).fit(X, y).measure_.search_ == (search, "asked for")
            scores.append(measure.fit(X, y).score_labels(asked, [0, 1]))
            assert measure.search_ == (search, "asked for")
            assert (measure._search._near is not None) == (search == "tree")
        np.testing.assert_array_equal(*scores)

    def test_it_is_measured_once_for_data_of_one_shape(self, monkeypatch):
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(trees_from=1000))
        monkeypatch.setattr(_choosing, "_rates", {})
        X, y, asked = hostile("normal", "two", 0, 3000, 2)
        bag = KNN(3).bag(X, y, 5)
        assert bag.search.route.reason.startswith("measured: filling the lists by trees takes")
        rates = dict(_choosing._rates)
        assert list(rates) == [(2, 2, 3)]
        again, brute = KNN(3).bag(X, y, 5), KNN(3, search="brute").bag(X, y, 5)
        assert _choosing._rates == rates
        _assert_same_lists(again, brute, 3)
        _assert_same_counts(again.label_counts(asked), brute.label_counts(asked))

    @pytest.mark.parametrize(("rate", "chosen"), [(1.0, "tree"), (0.0, "brute")])
    def test_the_faster_one_is_chosen(self, rate, chosen, monkeypatch):
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(trees_from=100))
        monkeypatch.setattr(_choosing, "_rates", {(2, 1, 3): _choosing.Rate(rate, rate)})
        X, y, asked = hostile("grid", "two", 0, 300, 2)
        bag, brute = SimplifiedKNN(3).bag(X, y, 5), SimplifiedKNN(3, search="brute").bag(X, y, 5)
        assert bag.search.route.name == chosen
        _assert_same_lists(bag, brute, 3)
        _assert_same_counts(bag.label_counts(asked), brute.label_counts(asked))

    def test_trees_near_a_plane_have_fewer_coordinates(self, monkeypatch):
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(trees_from=100, contract_least=1000))
        monkeypatch.setattr(_choosing, "_rate", lambda *_: _choosing.Rate(1.0, 1.0))
        X, y, asked = hostile("normal", "two", 0, 3000, 3)
        plane = np.random.default_rng(1).normal(size=(3, 20))
        X, asked = X @ plane, asked @ plane
        bag, brute = KNN(3).bag(X, y, 5), KNN(3, search="brute").bag(X, y, 5)
        text = "with 4 coordinates instead of 20 features"
        assert bag.search.route.name == "tree"
        assert bag.search.route.reason.startswith(f"measured: filling the lists by trees {text} takes ")
        assert bag.search.near().grove.points.shape[1] == 4
        _assert_same_lists(bag, brute, 3)
        _assert_same_counts(bag.label_counts(asked), brute.label_counts(asked))
        for measure in (KNN(3, search="tree"), KNNResidual(3, search="tree")):
            assert measure.fit(X, y).search_ == ("tree", f"asked for, {text}")
        clf = FullConformalClassifier(KNN(3, search="tree")).fit(X, y)
        assert clf.measure_.search_ == ("tree", f"asked for, {text}")
        clf.partial_fit(X[:1], y[:1])
        assert clf._bag.search.contraction() is not None

    @pytest.mark.parametrize("ratio", [0.1, 0.8])
    def test_batches_go_by_trees_that_are_much_faster(self, ratio, monkeypatch):
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(trees_from=100))
        monkeypatch.setattr(_choosing, "_tree_seconds", lambda *_: ratio)
        monkeypatch.setattr(_choosing, "_rate", lambda *_: _choosing.Rate(2 / 300**2, 0.0))
        X, y, asked = hostile("grid", "two", 0, 300, 2)
        bag, brute = KNN(3).bag(X, y, 5), KNN(3, search="brute").bag(X, y, 5)
        assert bag.search.route.name == "tree"
        _assert_same_counts(bag.label_counts(asked), brute.label_counts(asked))
        assert (bag._standing is not None) == (ratio < _choosing.BATCH_SHARE)
        _assert_same_counts(bag.label_counts(asked[:1]), brute.label_counts(asked[:1]))
        assert bag._standing is not None

    @pytest.mark.parametrize("measure", [NN, KNN, SimplifiedKNN, KNNResidual, VennPredictor])
    def test_trees_without_the_metric_for_them_are_refused(self, measure):
        with pytest.raises(ValueError, match="search='tree' needs the Euclidean metric, and metric='manhattan' has no"):
            measure(metric="manhattan", search="tree").fit([[0.0], [1.0]], [0, 1])
