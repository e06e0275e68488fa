"""Pipelines can be asked what their last step can be asked, and say the same."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn import config_context
from sklearn import pipeline as plain
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler, TargetEncoder
from sklearn.svm import OneClassSVM

from exactcp import (
    ConformalAnomalyDetector,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    ValidityWarning,
    VennPredictor,
)
from exactcp.measures import KNN, KNNResidual
from exactcp.pipeline import Pipeline, make_pipeline

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3)) * [1.0, 100.0, 0.01]
LABELS = np.arange(40) % 2
TARGETS = X[:, 0] + X[:, 1] / 100
X_TEST = RNG.normal(size=(6, 3)) * [1.0, 100.0, 0.01]
SCALED, SCALED_TEST = (StandardScaler().fit(X).transform(part) for part in (X, X_TEST))

APPROXIMATE = "the pipeline's steps .* are fitted on the training objects alone"
approximate = pytest.mark.filterwarnings("ignore:the pipeline's steps:exactcp.ValidityWarning")

QUESTIONS = [
    (FullConformalClassifier(KNN(3)), LABELS, "predict_p", {}),
    (FullConformalClassifier(KNN(3)), LABELS, "predict_set", {"confidence_level": 0.8}),
    (FullConformalClassifier(KNN(3)), LABELS, "predict_confidence", {}),
    (FullConformalRegressor(KNNResidual(3)), TARGETS, "predict_interval", {"confidence_level": 0.8}),
    (FullConformalRegressor(KNNResidual(3)), TARGETS, "predict_region", {"confidence_level": 0.8}),
    (FullConformalRegressor(KNNResidual(3)), TARGETS, "predict_distribution", {}),
    (FullConformalRegressor(KNNResidual(3)), TARGETS, "predict_p", {"y": np.zeros(6)}),
    (VennPredictor(3), LABELS, "predict_proba_interval", {}),
    (ConformalAnomalyDetector(), None, "select", {"fdr": 0.5}),
    (ConformalAnomalyDetector(), None, "predict_p", {}),
]


def _numbers(answer):
    """Return the numbers in an answer, whatever it is."""
    if isinstance(answer, list):
        return [one.intervals.tolist() for one in answer]
    if hasattr(answer, "credibility"):
        return answer.label, answer.confidence, answer.credibility
    return answer.mean() if hasattr(answer, "cdf") else answer


@approximate
@pytest.mark.parametrize(("predictor", "y", "question", "how"), QUESTIONS)
def test_answers_are_those_of_the_last_step(predictor, y, question, how) -> None:
    pipe = make_pipeline(StandardScaler(), clone(predictor)).fit(X, y)
    expected = getattr(clone(predictor).fit(SCALED, y), question)(SCALED_TEST, **how)
    np.testing.assert_equal(_numbers(getattr(pipe, question)(X_TEST, **how)), _numbers(expected))


def test_a_pipeline_has_what_its_last_step_has() -> None:
    pipe = make_pipeline(StandardScaler(), FullConformalClassifier(KNN(3)))
    assert hasattr(pipe, "predict_set")
    assert not hasattr(pipe, "predict_interval")
    with pytest.raises(AttributeError, match="predict_interval"):
        pipe.predict_interval(X)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    absent = ("predict_p", "predict_set", "unlearn", "calibrate", "partial_fit", "predict_frame", "select")
    assert not any(hasattr(model, name) for name in absent)
    assert model.fit(X, LABELS).predict(X_TEST).shape == (6,)


def test_not_fitted() -> None:
    pipe = make_pipeline(StandardScaler(), FullConformalClassifier(KNN(3)))
    with pytest.raises(NotFittedError):
        pipe.predict_set(X_TEST)
    with pytest.raises(NotFittedError):
        pipe.partial_fit(X, LABELS)
    with pytest.raises(NotFittedError):
        pipe.unlearn(0)


@approximate
class TestChanges:
    def test_learning_leaves_the_transformers_alone(self):
        pipe = make_pipeline(StandardScaler(), FullConformalClassifier(KNN(3))).fit(X, LABELS)
        mean = pipe[0].mean_.copy()
        assert pipe.partial_fit(X_TEST, np.ones(6, int)) is pipe
        expected = FullConformalClassifier(KNN(3)).fit(np.vstack([SCALED, SCALED_TEST]), np.append(LABELS, np.ones(6)))
        np.testing.assert_array_equal(pipe.predict_p(X_TEST), expected.predict_p(SCALED_TEST))
        np.testing.assert_array_equal(pipe[0].mean_, mean)
        assert pipe.unlearn(np.arange(40, 46)) is pipe
        np.testing.assert_array_equal(
            pipe.predict_p(X_TEST), FullConformalClassifier(KNN(3)).fit(SCALED, LABELS).predict_p(SCALED_TEST)
        )

    def test_by_name(self):
        ids = [f"row {i}" for i in range(40)]
        pipe = make_pipeline(StandardScaler(), FullConformalRegressor(KNNResidual(3)))
        pipe.fit(X, TARGETS, fullconformalregressor__ids=ids)
        pipe.partial_fit(X_TEST[:1], TARGETS[:1], ids=["new"]).unlearn(ids=["row 3", "new"])
        assert pipe[-1].ids_ == [one for one in ids if one != "row 3"]

    def test_without_labels(self):
        pipe = make_pipeline(StandardScaler(), ConformalAnomalyDetector()).fit(X).partial_fit(X_TEST)
        assert pipe[-1].n_examples_ == 46

    def test_the_first_examples_after_a_frozen_transformer(self):
        pipe = make_pipeline(FrozenEstimator(StandardScaler().fit(X)), FullConformalClassifier(KNN(3)))
        pipe.partial_fit(X, LABELS, classes=[0, 1, 2])
        assert pipe.predict_p(X_TEST).shape == (6, 3)

    def test_calibration(self):
        for predictor, y in (
            (SplitConformalClassifier(LogisticRegression(), random_state=0), LABELS),
            (SplitConformalRegressor(Ridge(), random_state=0), TARGETS),
        ):
            pipe = make_pipeline(StandardScaler(), clone(predictor)).fit(X[:20], y[:20]).calibrate(X[20:], y[20:])
            scaler = StandardScaler().fit(X[:20])
            by_hand = clone(predictor).fit(scaler.transform(X[:20]), y[:20])
            by_hand.calibrate(scaler.transform(X[20:]), y[20:])
            np.testing.assert_array_equal(pipe.predict(X_TEST), by_hand.predict(scaler.transform(X_TEST)))
        pipe = make_pipeline(StandardScaler(), ConformalAnomalyDetector(OneClassSVM(), epsilon=0.2))
        pipe.fit(X).calibrate(X_TEST[:5])
        assert pipe.predict_p(X_TEST).min() >= 1 / 6


class TestWithinScikitLearn:
    def test_names_and_options(self):
        pipe = make_pipeline(StandardScaler(), StandardScaler(), FullConformalClassifier(), memory=None, verbose=True)
        assert type(pipe) is Pipeline
        assert list(pipe.named_steps) == ["standardscaler-1", "standardscaler-2", "fullconformalclassifier"]
        assert pipe.verbose is True

    @approximate
    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_search(self):
        pipe = make_pipeline(StandardScaler(), FullConformalClassifier(KNN(3)))
        grid = {"standardscaler": [StandardScaler(), "passthrough"], "fullconformalclassifier__measure__k": [1, 3]}
        search = GridSearchCV(pipe, grid, cv=2).fit(X, LABELS)
        assert search.best_estimator_.predict_set(X_TEST, confidence_level=0.8).shape == (6, 2)
        assert cross_val_score(pipe, X, LABELS, cv=2).shape == (2,)

    @approximate
    def test_frames(self):
        frame = pd.DataFrame(X, columns=list("abc"))
        pipe = make_pipeline(StandardScaler(), FullConformalClassifier(KNN(3))).set_output(transform="pandas")
        pipe.fit(frame, LABELS)
        assert pipe[-1].feature_names_in_.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(
            pipe.predict_p(pd.DataFrame(X_TEST, columns=list("abc"))),
            FullConformalClassifier(KNN(3)).fit(SCALED, LABELS).predict_p(SCALED_TEST),
        )

    def test_steps_that_pass_through(self):
        for pipe in (
            make_pipeline("passthrough", FullConformalClassifier(KNN(3))),
            make_pipeline(FullConformalClassifier(KNN(3))),
        ):
            pipe.fit(X, LABELS).partial_fit(X_TEST, np.zeros(6, int)).unlearn(range(40, 46))
            np.testing.assert_array_equal(
                pipe.predict_p(X_TEST), FullConformalClassifier(KNN(3)).fit(X, LABELS).predict_p(X_TEST)
            )

    @approximate
    def test_a_plain_pipeline_stays_usable(self):
        pipe = plain.make_pipeline(StandardScaler(), FullConformalClassifier(KNN(3))).fit(X, LABELS)
        ours = make_pipeline(StandardScaler(), FullConformalClassifier(KNN(3))).fit(X, LABELS)
        np.testing.assert_array_equal(pipe.predict(X_TEST), ours.predict(X_TEST))
        np.testing.assert_array_equal(pipe[-1].predict_p(pipe[:-1].transform(X_TEST)), ours.predict_p(X_TEST))


class _Framing(FullConformalClassifier):
    def predict_frame(self, X, confidence_level=0.95):
        """Return a frame that has lost the index."""
        return pd.DataFrame({"label": self.predict(np.asarray(X))})


@approximate
def test_a_frame_has_the_index_of_x() -> None:
    pipe = make_pipeline(StandardScaler(), _Framing(KNN(3))).fit(X, LABELS)
    names = [f"row {i}" for i in range(6)]
    fitted_on_frame = make_pipeline(StandardScaler(), _Framing(KNN(3))).fit(
        pd.DataFrame(X, columns=list("abc")), LABELS
    )
    frame = fitted_on_frame.predict_frame(pd.DataFrame(X_TEST, index=names, columns=list("abc")))
    assert frame.index.tolist() == names
    assert frame["label"].tolist() == pipe.predict(X_TEST).tolist()
    assert pipe.predict_frame(X_TEST).index.tolist() == list(range(6))


class _Curious(TransformerMixin, BaseEstimator):
    """Passes X on, and remembers what it got."""

    def fit(self, X, y=None, sample_weight=None):
        """Remember the labels and the weights."""
        self.y_, self.sample_weight_ = y, sample_weight
        return self

    def transform(self, X):
        """Return X."""
        return X


class TestLabels:
    @pytest.mark.parametrize(
        ("step", "name"),
        [
            (SelectKBest(k=2), "SelectKBest"),
            (LinearDiscriminantAnalysis(), "LinearDiscriminantAnalysis"),
            (PLSRegression(1), "PLSRegression"),
            (make_column_transformer((TargetEncoder(), [0])), "TargetEncoder"),
            (plain.make_pipeline(FunctionTransformer(), SelectKBest(k=2)), "SelectKBest"),
            (SelectFromModel(LogisticRegression()), "SelectFromModel"),
        ],
    )
    def test_steps_that_learn_from_labels_are_refused(self, step, name):
        said = f"before FullConformalClassifier has {name}, which learns .* use SplitConformalClassifier.* FrozenEst"
        with pytest.raises(ValueError, match=said):
            make_pipeline(step, FullConformalClassifier(KNN(3))).fit(X, LABELS)

    def test_the_remedy_has_the_predictor_that_is_used(self):
        with pytest.raises(
            ValueError, match=r"use SplitConformalRegressor\(make_pipeline\(SelectKBest\(...\), model\)\)"
        ):
            make_pipeline(SelectKBest(k=2), SplitConformalRegressor(Ridge())).fit(X, TARGETS)
        with pytest.raises(ValueError, match="use a transformer that needs no y, or FrozenEstimator"):
            make_pipeline(SelectKBest(k=2), ConformalAnomalyDetector()).fit_predict(X, LABELS)

    def test_labels_that_were_not_given_are_asked_for_by_who_needs_them(self):
        with pytest.raises(ValueError, match="requires y to be passed"):
            make_pipeline(Normalizer(), FullConformalClassifier(KNN(3))).fit(X)

    @approximate
    def test_no_step_gets_labels_that_it_can_do_without(self):
        pipe = make_pipeline(_Curious(), FullConformalClassifier(KNN(3))).fit(X, LABELS)
        assert pipe[0].y_ is None
        np.testing.assert_array_equal(pipe[-1].classes_, [0, 1])
        detector = make_pipeline(_Curious(), ConformalAnomalyDetector())
        assert detector.fit_predict(X, LABELS).shape == (40,)
        assert detector[0].y_ is None

    @approximate
    def test_parameters_and_caches_go_on_working(self, tmp_path, capsys):
        pipe = make_pipeline(_Curious(), FullConformalClassifier(KNN(3)), memory=str(tmp_path), verbose=True)
        for y in (LABELS, 1 - LABELS):
            pipe.fit(X, y, _curious__sample_weight=TARGETS, fullconformalclassifier__ids=range(40))
        assert pipe[0].y_ is None
        np.testing.assert_array_equal(pipe[0].sample_weight_, TARGETS)
        assert list(pipe[-1].ids_) == list(range(40))
        assert "(step 2 of 2) Processing fullconformalclassifier" in capsys.readouterr().out

    @approximate
    def test_routing(self):
        with config_context(enable_metadata_routing=True):
            step = _Curious().set_fit_request(sample_weight=True)
            predictor = FullConformalClassifier(KNN(3)).set_fit_request(ids=True)
            pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), step, predictor)
            pipe.fit(X, LABELS, sample_weight=TARGETS, ids=[str(i) for i in range(40)])
        np.testing.assert_array_equal(pipe[1].sample_weight_, TARGETS)
        assert pipe[1].y_ is None
        assert pipe[-1].ids_[:2] == ["0", "1"]

    def test_other_estimators_stay_those_of_scikit_learn(self):
        model = make_pipeline(_Curious(), SelectKBest(k=2), LogisticRegression()).fit(X, LABELS)
        np.testing.assert_array_equal(model[0].y_, LABELS)
        SplitConformalClassifier(model, random_state=0).fit(X, LABELS)


class TestWarning:
    @pytest.mark.parametrize(
        ("predictor", "y", "says"),
        [
            (
                FullConformalClassifier(KNN(3)),
                LABELS,
                "preprocess= of FullConformalClassifier; SplitConformalClassifier",
            ),
            (
                SplitConformalRegressor(Ridge()),
                TARGETS,
                r"SplitConformalRegressor\(make_pipeline.*model\)\); calibrate",
            ),
            (VennPredictor(3), LABELS, "FrozenEstimator"),
        ],
    )
    def test_it_names_what_learns_once(self, predictor, y, says):
        columns = make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough")
        pipe = make_pipeline(columns, Normalizer(), PCA(2), predictor)
        with pytest.warns(ValidityWarning, match=APPROXIMATE) as said:
            pipe.fit(X, y)
        assert [one.filename for one in said] == [__file__]
        assert "(StandardScaler, PCA)" in str(said[0].message)
        assert "0.43 at 0.9" in str(said[0].message)
        assert re.search(says, str(said[0].message))
        assert ("preprocess=" in str(said[0].message)) == hasattr(predictor, "preprocess")

    def test_steps_that_learn_nothing_are_silent(self):
        scaler, best = FrozenEstimator(StandardScaler().fit(X)), FrozenEstimator(SelectKBest(k=2).fit(X, LABELS))
        columns = make_column_transformer((scaler, [0, 1, 2]), (FunctionTransformer(), [0]))
        for steps in (
            [scaler],
            [best],
            [columns],
            [plain.make_pipeline(Normalizer(), best)],
            ["passthrough", Normalizer()],
        ):
            pipe = make_pipeline(*steps, FullConformalClassifier(KNN(3))).fit(X, LABELS)
            assert pipe.predict_p(X_TEST).shape == (6, 2)


def test_supervised_steps_inside_a_split_model_keep_the_level() -> None:
    """With columns of noise alone, labels chosen from the training set would lower coverage to 0.6 or so."""
    hits, rng = 0, np.random.default_rng(0)
    for _ in range(60):
        noise, y = rng.normal(size=(41, 200)), np.append(np.arange(40) % 2, rng.integers(2))
        clf = SplitConformalClassifier(plain.make_pipeline(SelectKBest(k=5), LogisticRegression()), random_state=0)
        hits += clf.fit(noise[:40], y[:40]).predict_set(noise[40:], confidence_level=0.9)[0, y[40]]
    assert binomtest(int(hits), 60, 0.9, alternative="less").pvalue > 1e-3
    assert hits > 45
