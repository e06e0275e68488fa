"""One rule for randomness: a seed for each fit, and numbers that depend on the seed and the object alone."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from scipy.stats import chisquare, kstest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    ConformalSequencePredictor,
    CrossConformalClassifier,
    CVPlusRegressor,
    ExchangeabilitySelector,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
    textbook,
)
from exactcp.measures import (
    KNN,
    Bootstrap,
    KNNResidual,
    Measure,
    ModelResidual,
    ModelScore,
    RandomForest,
    SimplifiedKNN,
)
from exactcp.pvalues import tau_of_objects, tau_of_steps
from public_estimators import public_classes
from slices import sliced

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)
TARGETS = X[:, 0] + RNG.normal(size=40)
X_TEST = RNG.normal(size=(30, 3))


class Constant(Measure):
    """All examples are equally strange, so that the smoothed p-value is tau itself."""

    def fit(self, X, y):
        return self

    def score_labels(self, X, labels):
        return np.zeros((len(X), len(labels)))


SMOOTHED = {
    "full": FullConformalClassifier(KNN(k=3), smoothed=True),
    "full by label": FullConformalClassifier(KNN(k=3), mondrian="label", smoothed=True),
    "forest": FullConformalClassifier(RandomForest(3), smoothed=True),
    "split": SplitConformalClassifier(KNN(k=3), smoothed=True),
    "cross": CrossConformalClassifier(KNN(k=3), cv=3, smoothed=True),
    "aggregated": AggregatedConformalClassifier(KNN(k=3), n_splits=3, smoothed=True),
}


class TestTau:
    def test_equals_the_textbook(self):
        rows = np.concatenate([X_TEST, [[0.0, -0.0, 1e300], [-0.0, 0.0, 1e300], [5e-324, -1.0, np.pi]]])
        for seed in (0, 1, 2**32 - 1):
            expected = [textbook.algorithm.tau_of_object(seed, x) for x in rows]
            np.testing.assert_array_equal(tau_of_objects(seed, rows), expected)
            np.testing.assert_array_equal(tau_of_objects(seed, np.asfortranarray(rows)), expected)
            steps = [textbook.algorithm.tau_of_step(seed, t) for t in range(50)]
            np.testing.assert_array_equal(tau_of_steps(seed, 0, 50), steps)
            np.testing.assert_array_equal(tau_of_steps(seed, 17, 5), steps[17:22])
        frozen = rows.copy()
        frozen.setflags(write=False)
        np.testing.assert_array_equal(tau_of_objects(3, frozen), tau_of_objects(3, rows))

    def test_is_in_the_half_open_unit_interval(self):
        for tau in (tau_of_objects(0, np.arange(100_000.0)[:, None]), tau_of_steps(0, 0, 100_000)):
            assert 0 < tau.min() < 1e-3
            assert 1 - 1e-3 < tau.max() <= 1

    OBJECTS = {
        "whole numbers": np.arange(4000.0)[:, None],
        "powers of two": 2.0 ** np.arange(-1000, 1000)[:, None],
        "one bit of many": np.eye(2000),
        "last of many": np.c_[np.zeros((4000, 60)), np.arange(4000.0)],
        "a grid": np.stack(np.meshgrid(np.arange(64.0), np.arange(64.0)), axis=-1).reshape(-1, 2),
    }

    @pytest.mark.parametrize("name", OBJECTS)
    def test_is_uniform_over_objects_that_are_alike(self, name):
        objects = self.OBJECTS[name]
        for seed in (0, 1, 12345):
            tau = tau_of_objects(seed, objects)
            assert kstest(tau, "uniform").pvalue > 1e-4
            pairs = (8 * tau[:-1]).astype(int).clip(max=7) * 8 + (8 * tau[1:]).astype(int).clip(max=7)
            assert chisquare(np.bincount(pairs[::2], minlength=64)).pvalue > 1e-4  # neighbours are independent

    def test_is_uniform_over_seeds_and_steps(self):
        over_seeds = np.array([tau_of_objects(seed, np.array([[1.0, 2.0]]))[0] for seed in range(4000)])
        first_steps = np.array([tau_of_steps(seed, 0, 2) for seed in range(4000)])
        for tau in (over_seeds, first_steps[:, 0], first_steps[:, 1], tau_of_steps(0, 0, 4000)):
            assert kstest(tau, "uniform").pvalue > 1e-4
        assert abs(np.corrcoef(first_steps.T)[0, 1]) < 0.06
        assert abs(np.corrcoef(over_seeds, first_steps[:, 0])[0, 1]) < 0.06


class TestSmoothed:
    @pytest.mark.parametrize("name", SMOOTHED)
    def test_one_by_one_in_any_order_and_any_batch(self, name):
        clf = clone(SMOOTHED[name]).fit(X, Y)
        p = clf.predict_p(X_TEST)
        np.testing.assert_array_equal(np.concatenate([clf.predict_p(x[None]) for x in X_TEST]), p)
        np.testing.assert_array_equal(clf.predict_p(X_TEST[::-1])[::-1], p)
        np.testing.assert_array_equal(clf.predict_p(np.concatenate([X, X_TEST]))[40:], p)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(clf)).predict_p(X_TEST), p)
        for level, epsilon in ((0.9, 0.1), (0.8, 0.2), (0.35, 0.65)):
            np.testing.assert_array_equal(clf.predict_set(X_TEST, level), p > epsilon)
        best = clf.predict_confidence(X_TEST)
        np.testing.assert_array_equal(best.credibility, p.max(axis=1))

    def test_other_predictors(self):
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=3), smoothed=True, epsilon=0.3).fit(X)
        p = detector.predict_p(X_TEST)
        np.testing.assert_array_equal([detector.predict_p(x[None])[0] for x in X_TEST], p)
        np.testing.assert_array_equal(detector.predict(X_TEST) == -1, p <= 0.3)
        model = ConformalSequencePredictor(KNN(k=3), smoothed=True).fit([X], [Y])
        alone = np.concatenate(model.predict_p([x[None] for x in X_TEST]))
        np.testing.assert_array_equal(alone, model.predict_p([X_TEST])[0])
        reg, targets = FullConformalRegressor(KNNResidual(k=3), smoothed=True).fit(X, TARGETS), np.linspace(-5, 5, 201)
        ends = reg.predict_interval(X_TEST, 0.8)
        np.testing.assert_array_equal(np.concatenate([reg.predict_interval(x[None], 0.8) for x in X_TEST]), ends)
        for x, region in zip(X_TEST, reg.predict_region(X_TEST, 0.8), strict=True):
            p = reg.predict_p(np.repeat(x[None], 201, axis=0), targets)
            np.testing.assert_array_equal(region.contains(targets), p > 0.2)

    @pytest.mark.filterwarnings("ignore:Constant cannot learn and unlearn")
    @pytest.mark.parametrize(
        ("random_state", "predictor"),
        sliced(
            3,
            [0, 7, None],
            [
                FullConformalClassifier(Constant(), smoothed=True),
                SplitConformalClassifier(Constant(), smoothed=True),
                CrossConformalClassifier(Constant(), cv=3, smoothed=True),
                AggregatedConformalClassifier(Constant(), n_splits=3, smoothed=True),
            ],
        ),
    )
    def test_rows_of_one_fitted_predictor_have_uniform_numbers(self, predictor, random_state):
        """One at a time: drawing the same number in every call would be seen at once."""
        clf = clone(predictor).set_params(random_state=random_state).fit(X[:8], np.arange(8) % 2)
        rows = np.random.default_rng(3).normal(size=(300, 3))
        p = np.array([clf.predict_p(x[None])[0, 0] for x in rows])
        assert kstest(p, "uniform").pvalue > 1e-4
        assert len(set(p)) == 300

    def test_equal_objects_have_equal_numbers(self):
        clf = FullConformalClassifier(KNN(k=3), smoothed=True, random_state=0).fit(X, Y)
        twice = np.array([[0.0, 1.0, 2.0], [-0.0, 1.0, 2.0]])
        assert len(np.unique(clf.predict_p(twice), axis=0)) == 1
        over_seeds = [clf.set_params(random_state=s).fit(X, Y).predict_p(twice[:1])[0, 0] for s in range(30)]
        assert len(set(over_seeds)) > 20

    def test_learning_keeps_the_seed(self):
        clf = FullConformalClassifier(KNN(k=3), smoothed=True).fit(X[:30], Y[:30])
        seed = clf._seed
        clf.partial_fit(X[30:], Y[30:])
        assert clf._seed == seed
        whole = FullConformalClassifier(KNN(k=3), smoothed=True, random_state=seed).fit(X, Y)
        np.testing.assert_array_equal(clf.predict_p(X_TEST), whole.predict_p(X_TEST))
        np.testing.assert_array_equal(
            clf.unlearn([0]).partial_fit(X[:1], Y[:1]).predict_p(X_TEST), whole.predict_p(X_TEST)
        )


RANDOM = {
    **SMOOTHED,
    "forest in split": SplitConformalClassifier(RandomForest(3)),
    "bootstrap": SplitConformalClassifier(Bootstrap(DecisionTreeClassifier(max_features=1), 3)),
    "classifier": SplitConformalClassifier(RandomForestClassifier(3)),
    "pipeline": CrossConformalClassifier(make_pipeline(StandardScaler(), RandomForestClassifier(3)), cv=3),
    "split regression": SplitConformalRegressor(RandomForestRegressor(3)),
    "CV+": CVPlusRegressor(RandomForestRegressor(3), cv=3),
    "jackknife+": JackknifePlusRegressor(ModelResidual(DecisionTreeRegressor(max_features=1))),
    "samples": JackknifeAfterBootstrapRegressor(DecisionTreeRegressor(max_features=1)),
    "a forest's samples": JackknifeAfterBootstrapRegressor(RandomForestRegressor(9)),
    "detector": ConformalAnomalyDetector(IsolationForest(n_estimators=3)),
    "cross detector": ConformalAnomalyDetector(IsolationForest(n_estimators=3), cv=3),
    "Venn-Abers": VennAbersPredictor(RandomForestClassifier(3), method="inductive"),
    "cross Venn-Abers": VennAbersPredictor(RandomForestClassifier(3), method="cross", cv=3),
    "selector": ExchangeabilitySelector(),
}


def _answer(predictor):
    if isinstance(predictor, ExchangeabilitySelector):
        return predictor.p_values_
    if hasattr(predictor, "predict_proba_interval"):
        return predictor.predict_proba_interval(X_TEST)
    if hasattr(predictor, "predict_interval"):
        return predictor.predict_interval(X_TEST, 0.7)
    return predictor.predict_p(X_TEST)


def _fit(predictor):
    return clone(predictor).fit(X, TARGETS if hasattr(predictor, "predict_interval") else Y)


class TestSeeds:
    @pytest.mark.parametrize("name", RANDOM)
    def test_an_integer_makes_fits_repeat(self, name):
        first, again, *others = (_answer(_fit(clone(RANDOM[name]).set_params(random_state=s))) for s in (5, 5, 6, 7))
        np.testing.assert_array_equal(first, again)
        assert any(not np.array_equal(first, other) for other in others)

    @pytest.mark.parametrize("name", RANDOM)
    def test_none_differs_from_fit_to_fit_and_stays_within_one(self, name):
        fitted = [_fit(RANDOM[name]) for _ in range(3)]
        answers = [_answer(predictor) for predictor in fitted]
        assert any(not np.array_equal(answers[0], other) for other in answers[1:])
        assert all(np.array_equal(_answer(one), answer) for one, answer in zip(fitted, answers, strict=True))

    @pytest.mark.parametrize("name", RANDOM)
    def test_a_generator_is_drawn_from(self, name):
        first, again = (np.random.RandomState(4) for _ in range(2))
        own = clone(RANDOM[name])
        one, two = (own.set_params(random_state=first).fit(X, Y) and _answer(own) for _ in range(2))
        assert not np.array_equal(one, two)
        np.testing.assert_array_equal(_answer(own.set_params(random_state=again).fit(X, Y)), one)

    def test_none_is_the_default_everywhere(self):
        parameters = {cls.__name__: inspect.signature(cls).parameters for cls in public_classes()}
        found = {name: known["random_state"].default for name, known in parameters.items() if "random_state" in known}
        assert set(found.values()) == {None}
        assert {"SplitConformalClassifier", "CVPlusRegressor", "JackknifePlusRegressor"} <= set(found)

    def test_numpys_seed_makes_none_repeat(self):
        answers = []
        for _ in range(2):
            np.random.seed(3)  # noqa: NPY002
            answers.append(_answer(_fit(SMOOTHED["split"])))
        np.testing.assert_array_equal(*answers)

    def test_measures_take_the_predictors_seed_unless_they_have_one(self):
        def seeded(predictor, measure, y=Y):
            return predictor(measure, random_state=5).fit(X, y).measure_

        assert seeded(FullConformalClassifier, RandomForest(3)).random_state == 5
        assert seeded(FullConformalClassifier, RandomForest(3, random_state=2)).random_state == 2
        model = make_pipeline(StandardScaler(), RandomForestClassifier(3))
        inside = seeded(SplitConformalClassifier, ModelScore(model)).estimator
        assert inside.get_params()["randomforestclassifier__random_state"] == 5
        assert model.get_params()["randomforestclassifier__random_state"] is None  # the user's own stays as it is
        bootstrap = seeded(SplitConformalClassifier, Bootstrap(DecisionTreeClassifier(random_state=1), 3))
        assert (bootstrap.random_state, bootstrap.estimator.random_state) == (5, 1)
        hard = ModelResidual(DecisionTreeRegressor(), difficulty=DecisionTreeRegressor())
        hard = seeded(SplitConformalRegressor, hard, TARGETS)
        assert (hard.estimator.random_state, hard.difficulty.random_state) == (5, 5)
        drawn = FullConformalClassifier(RandomForest(3, random_state=np.random.RandomState(0))).fit(X, Y).measure_
        assert isinstance(drawn.random_state, int)

    @pytest.mark.filterwarnings("ignore:ModelScore cannot learn and unlearn")
    def test_models_are_fitted_alike_for_every_example(self):
        """A fresh seed for every refit of Algorithm 1 would make equal questions have different answers."""
        clf = FullConformalClassifier(DecisionTreeClassifier(max_features=1)).fit(X[:8], np.arange(8) % 2)
        np.testing.assert_array_equal(clf.predict_p(X_TEST[:2]), clf.predict_p(X_TEST[:2]))
