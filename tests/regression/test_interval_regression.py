from __future__ import annotations

import itertools
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, ShuffleSplit, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from exactcp import CVPlusRegressor, JackknifePlusRegressor, SplitConformalRegressor
from exactcp.measures import KNN, ModelResidual
from slices import both_lanes

X_ALL, Y_ALL = load_diabetes(return_X_y=True)
X, Y, X_TEST, Y_TEST = X_ALL[:200], Y_ALL[:200], X_ALL[200:230], Y_ALL[200:230]
CHEAP = Ridge(alpha=0.1)
REGRESSORS = [SplitConformalRegressor, CVPlusRegressor, JackknifePlusRegressor]


def _few(regressor, measure=CHEAP, **options):
    return regressor(measure, **{**({"cv": 3} if regressor is CVPlusRegressor else {}), "random_state": 0, **options})


MODELS = {
    "ridge": Ridge(alpha=0.1),
    "knn": KNeighborsRegressor(7),
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
}

# MAPIE 1.6.0, scikit-learn 1.9.1, on the first 200 rows of diabetes (split: 120 fit, 80 calibrate; CV+: KFold(7)), the
# absolute conformity score, for the objects 200 and 201 at 0.9, then at 0.8
MAPIE = {
    ("ridge", "split", None): [
        [16.7323379087, 200.7227304309],
        [-6.4325734119, 177.5578191102],
        [37.6804486638, 179.7746196758],
        [14.5155373431, 156.6097083552],
    ],
    ("ridge", "jackknife", "jackknife"): [
        [11.4898014198, 195.0891431851],
        [-9.6686347476, 173.9307070177],
        [34.7695178644, 171.8094267406],
        [13.611081697, 150.6509905732],
    ],
    ("ridge", "cv", "plus"): [
        [12.0674224148, 193.5451390136],
        [-6.1894999188, 175.28821668],
        [33.8771208448, 173.6411624154],
        [14.3880345475, 154.152076118],
    ],
    ("ridge", "jackknife", "plus"): [
        [11.7075202151, 195.1619529276],
        [-8.5514107087, 175.0479310566],
        [35.3157050297, 171.4203861606],
        [14.6401952449, 151.1743882947],
    ],
    ("ridge", "cv", "minmax"): [
        [11.091936635, 197.3680818494],
        [-8.8142585253, 177.7320149572],
        [30.9296280742, 177.5303904102],
        [11.0234329139, 157.894323518],
    ],
    ("ridge", "jackknife", "minmax"): [
        [9.5872294913, 197.5593535376],
        [-11.5018911003, 175.9868681375],
        [32.8669459359, 174.279637093],
        [11.7778253442, 152.707151693],
    ],
    ("knn", "split", None): [
        [18.0, 219.4285714286],
        [-32.4285714286, 169.0],
        [36.4285714286, 201.0],
        [-14.0, 150.5714285714],
    ],
    ("knn", "jackknife", "jackknife"): [
        [13.2857142857, 204.7142857143],
        [-28.2857142857, 163.1428571429],
        [33.1428571429, 184.8571428571],
        [-8.4285714286, 143.2857142857],
    ],
    ("knn", "cv", "plus"): [
        [-3.7142857143, 213.2857142857],
        [-38.0, 173.1428571429],
        [33.8571428571, 180.4285714286],
        [-6.7142857143, 145.0],
    ],
    ("knn", "jackknife", "plus"): [
        [13.2857142857, 204.7142857143],
        [-28.2857142857, 163.1428571429],
        [33.1428571429, 184.7142857143],
        [-9.2857142857, 143.2857142857],
    ],
    ("knn", "cv", "minmax"): [
        [-9.0, 220.4285714286],
        [-41.5714285714, 183.1428571429],
        [22.7142857143, 188.7142857143],
        [-9.8571428571, 151.4285714286],
    ],
    ("knn", "jackknife", "minmax"): [
        [1.0, 216.1428571429],
        [-40.4285714286, 164.7142857143],
        [20.8571428571, 196.2857142857],
        [-20.5714285714, 144.8571428571],
    ],
    ("tree", "split", None): [
        [-45.2380952381, 206.7047619048],
        [-40.8285714286, 211.1142857143],
        [-2.2380952381, 163.7047619048],
        [2.1714285714, 168.1142857143],
    ],
    ("tree", "jackknife", "jackknife"): [
        [-12.6323529412, 189.3676470588],
        [-12.6323529412, 189.3676470588],
        [8.7299658994, 168.0053282182],
        [8.7299658994, 168.0053282182],
    ],
    ("tree", "cv", "plus"): [
        [-25.8017418033, 198.2607581967],
        [-25.8275862069, 198.2607581967],
        [-3.1038251366, 173.9905660377],
        [2.9905660377, 173.9905660377],
    ],
    ("tree", "jackknife", "plus"): [
        [-12.0, 190.0],
        [-12.0, 190.0],
        [7.2962184874, 168.0],
        [8.7246376812, 169.4390756303],
    ],
    ("tree", "cv", "minmax"): [
        [-41.2142857143, 219.0535714286],
        [-32.842364532, 211.2285714286],
        [-15.9857142857, 193.825],
        [-7.6137931034, 186.0],
    ],
    ("tree", "jackknife", "minmax"): [
        [-31.375, 191.3055555556],
        [-17.6, 198.3454545455],
        [-10.0126811594, 169.943236715],
        [3.7623188406, 176.9831357049],
    ],
}


@pytest.mark.parametrize(
    ("name", "kind", "method"),
    [  # 200 refits of another model than ridge do not differ in what is done with them
        pytest.param(*case, marks=[pytest.mark.slow] * (case[0] != "ridge" and case[1] == "jackknife"))
        for case in MAPIE
    ],
)
def test_agrees_with_mapie_on_diabetes(name, kind, method):
    if kind == "split":
        reg = SplitConformalRegressor(MODELS[name]).fit(X[:120], Y[:120], X[120:], Y[120:])
    elif kind == "cv":
        reg = CVPlusRegressor(MODELS[name], cv=KFold(7), method=method).fit(X, Y)
    else:
        reg = JackknifePlusRegressor(MODELS[name], method=method).fit(X, Y)
    ours = np.concatenate([reg.predict_interval(X_TEST[:2], level) for level in (0.9, 0.8)])
    # golden values were written with ten decimals, and BLAS differs between machines
    np.testing.assert_allclose(ours, MAPIE[name, kind, method], rtol=1e-9, atol=1e-9)


def _wanted(level, n):
    """The smallest m with (1 + m) / (n + 1) > 1 - level, by trying."""
    return next(m for m in range(n + 1) if Fraction(1 + m, n + 1) > 1 - Fraction(str(level)))


class TestEqualsPlainFormulas:
    LEVELS = (0.5, 0.8, 0.9, 0.95, 0.985)

    @pytest.mark.parametrize("level", LEVELS)
    def test_split(self, level):
        reg = SplitConformalRegressor(CHEAP).fit(X[:120], Y[:120], X[120:], Y[120:])
        model = clone(CHEAP).fit(X[:120], Y[:120])
        residuals = np.sort(np.abs(Y[120:] - model.predict(X[120:])))[::-1]
        half = residuals[_wanted(level, 80) - 1]
        expected = np.column_stack([model.predict(X_TEST) - half, model.predict(X_TEST) + half])
        np.testing.assert_array_equal(reg.predict_interval(X_TEST, level), expected)
        np.testing.assert_array_equal(reg.predict(X_TEST), model.predict(X_TEST))
        np.testing.assert_array_equal(np.sort(reg.calibration_scores_)[::-1], residuals)

    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("method", ["plus", "minmax"])
    def test_cv(self, level, method):
        reg = CVPlusRegressor(CHEAP, cv=KFold(6), method=method).fit(X, Y)
        P, R = np.empty((len(X_TEST), len(Y))), np.empty(len(Y))
        for fitting, out in KFold(6).split(X):
            model = clone(CHEAP).fit(X[fitting], Y[fitting])
            P[:, out] = model.predict(X_TEST)[:, None]
            R[out] = np.abs(Y[out] - model.predict(X[out]))
        m = _wanted(level, 200)
        if method == "plus":
            lower, upper = np.sort(P - R, axis=1)[:, m - 1], np.sort(P + R, axis=1)[:, -m]
        else:
            lower, upper = P.min(axis=1) - np.sort(R)[-m], P.max(axis=1) + np.sort(R)[-m]
        # a block of predictions may come from another BLAS routine than all at once
        np.testing.assert_allclose(reg.predict_interval(X_TEST, level), np.column_stack([lower, upper]), rtol=1e-12)
        np.testing.assert_allclose(reg.residuals_, R, rtol=1e-12)

    @pytest.mark.parametrize("method", ["plus", "jackknife", "minmax"])
    @pytest.mark.parametrize("level", [0.5, 0.9])
    def test_jackknife(self, method, level):
        reg = JackknifePlusRegressor(CHEAP, method=method).fit(X[:40], Y[:40])
        models = [clone(CHEAP).fit(np.delete(X[:40], i, axis=0), np.delete(Y[:40], i)) for i in range(40)]
        P = np.column_stack([model.predict(X_TEST) for model in models])
        R = np.array([abs(Y[i] - models[i].predict(X[i : i + 1])[0]) for i in range(40)])
        m, center = _wanted(level, 40), clone(CHEAP).fit(X[:40], Y[:40]).predict(X_TEST)
        lower, upper = {
            "plus": (np.sort(P - R, axis=1)[:, m - 1], np.sort(P + R, axis=1)[:, -m]),
            "jackknife": (center - np.sort(R)[-m], center + np.sort(R)[-m]),
            "minmax": (P.min(axis=1) - np.sort(R)[-m], P.max(axis=1) + np.sort(R)[-m]),
        }[method]
        np.testing.assert_allclose(reg.predict_interval(X_TEST, level), np.column_stack([lower, upper]), rtol=1e-12)
        np.testing.assert_array_equal(reg.predict(X_TEST), center)

    def test_split_of_its_own(self):
        reg = SplitConformalRegressor(CHEAP, calibration_size=0.3, random_state=5).fit(X, Y)
        (fitting, out), *_ = ShuffleSplit(1, test_size=0.3, random_state=5).split(X)
        fitting, out = np.sort(fitting), np.sort(out)
        given = SplitConformalRegressor(CHEAP).fit(X[fitting], Y[fitting], X[out], Y[out])
        np.testing.assert_array_equal(reg.predict_interval(X_TEST), given.predict_interval(X_TEST))

    def test_normalised_scores(self):
        folds = KFold(5, shuffle=True, random_state=0)
        measure = ModelResidual(CHEAP, difficulty=KNeighborsRegressor(10), cv=folds)
        reg = SplitConformalRegressor(measure).fit(X[:120], Y[:120], X[120:], Y[120:])
        model = clone(CHEAP).fit(X[:120], Y[:120])
        absolute = np.abs(Y[:120] - cross_val_predict(CHEAP, X[:120], Y[:120], cv=folds))
        hard = KNeighborsRegressor(10).fit(X[:120], absolute)
        sigma = lambda Z: hard.predict(Z) + 0.1 * absolute.mean()  # noqa: E731
        scores = np.sort(np.abs(Y[120:] - model.predict(X[120:])) / sigma(X[120:]))
        half = scores[-_wanted(0.9, 80)] * sigma(X_TEST)
        expected = np.column_stack([model.predict(X_TEST) - half, model.predict(X_TEST) + half])
        np.testing.assert_allclose(reg.predict_interval(X_TEST, 0.9), expected, rtol=1e-12)
        assert np.ptp(half) > 1

    def test_mondrian_split(self):
        taxonomy = lambda Z: np.where(Z[:, 1] > 0, "man", "woman")  # noqa: E731
        reg = SplitConformalRegressor(CHEAP, mondrian=taxonomy).fit(X[:120], Y[:120], X[120:], Y[120:])
        for who in ("man", "woman"):
            chosen, tested = taxonomy(X[120:]) == who, taxonomy(X_TEST) == who
            own = SplitConformalRegressor(CHEAP).fit(X[:120], Y[:120], X[120:][chosen], Y[120:][chosen])
            np.testing.assert_array_equal(
                reg.predict_interval(X_TEST, 0.8)[tested], own.predict_interval(X_TEST[tested], 0.8)
            )
        with pytest.warns(UserWarning, match="there are 0"):
            odd = SplitConformalRegressor(CHEAP, mondrian=lambda Z: Z[:, 0] > 9).fit(X, Y).predict_interval(X_TEST + 10)
        assert np.isinf(odd).all()

    def test_the_same_for_every_block(self, monkeypatch):
        from exactcp.measures import _left_out

        reg = CVPlusRegressor(KNeighborsRegressor(5), cv=4).fit(X, Y)
        expected = reg.predict_interval(X_TEST, 0.9)
        monkeypatch.setattr(_left_out, "BLOCK_BYTES", 8 * 200 * 7)
        for n_jobs in (1, 2):
            np.testing.assert_array_equal(reg.set_params(n_jobs=n_jobs).predict_interval(X_TEST, 0.9), expected)


class TestLevels:
    @pytest.mark.parametrize("regressor", REGRESSORS)
    def test_intervals_grow_with_the_level(self, regressor):
        reg = _few(regressor).fit(X, Y)
        ends = [reg.predict_interval(X_TEST, level) for level in (0.5, 0.7, 0.9, 0.95, 0.985)]
        for inner, outer in itertools.pairwise(ends):
            assert (outer[:, 0] <= inner[:, 0]).all()
            assert (inner[:, 1] <= outer[:, 1]).all()
        assert (np.diff(ends[-1], axis=1) > np.diff(ends[0], axis=1)).all()

    @pytest.mark.parametrize("regressor", REGRESSORS)
    def test_too_few_examples_for_a_level_warn_once(self, regressor):
        reg = _few(regressor).fit(X[:18], Y[:18])
        n = 9 if regressor is SplitConformalRegressor else 18
        with pytest.warns(UserWarning, match=f"needs at least 19 examples to exclude a target, and there are {n}"):
            ends = reg.predict_interval(X_TEST, 0.95)
        assert (ends == [-np.inf, np.inf]).all()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reg.predict_interval(X_TEST, 0.95)

    @pytest.mark.parametrize("regressor", REGRESSORS)
    @pytest.mark.parametrize("level", [0, 1, -0.1, "high", None, float("nan")])
    def test_levels_outside_0_1(self, regressor, level):
        with pytest.raises(ValueError, match="is not a probability: use a number between 0 and 1"):
            _few(regressor).fit(X[:30], Y[:30]).predict_interval(X_TEST, level)

    def test_an_integer_times_epsilon(self):
        """1 - 0.9 is a little less than 0.1 in binary, but (1 + 1) / (19 + 1) does not exceed it: the second."""
        y = np.arange(19.0)
        reg = SplitConformalRegressor(LinearRegression()).fit([[0.0], [1.0]], [0.0, 0.0], y[:, None], y)
        np.testing.assert_array_equal(reg.predict_interval([[0.0]], 0.9), [[-17.0, 17.0]])
        np.testing.assert_array_equal(reg.predict_interval([[0.0]], 0.91), [[-18.0, 18.0]])


class TestCoverage:
    """Exact binomial tests at n = 9 or so; the last shows that they can fail."""

    FEW, MANY = 200, 400

    def _errors(self, make, n, level, repetitions):
        rng, errors = np.random.default_rng(0), 0
        for t in range(repetitions):
            Z = rng.normal(size=(n + 1, 1))
            y = Z[:, 0] + rng.standard_t(3, size=n + 1)
            lower, upper = make(Z[:n], y[:n], t).predict_interval(Z[n:], level)[0]
            errors += not lower <= y[n] <= upper
        return errors

    @both_lanes(FEW, MANY)
    @pytest.mark.parametrize("level", [0.8, 0.5])
    def test_split(self, level, repetitions):
        errors = self._errors(
            lambda Z, y, _: SplitConformalRegressor(LinearRegression()).fit(Z[:5], y[:5], Z[5:], y[5:]),
            15,
            level,
            repetitions,
        )
        assert binomtest(errors, repetitions, 1 - level, alternative="greater").pvalue > 1e-4
        assert errors > 0.8 * (1 - level) * repetitions

    @both_lanes(FEW, MANY)
    def test_cv_plus_errs_at_most_twice_as_often(self, repetitions):
        make = lambda Z, y, t: CVPlusRegressor(LinearRegression(), cv=3, random_state=t, n_jobs=1).fit(Z, y)  # noqa: E731
        errors = self._errors(make, 9, 0.8, repetitions)
        assert binomtest(errors, repetitions, 0.4, alternative="greater").pvalue > 1e-4

    def test_the_check_can_fail(self):
        """A split interval at 0.6 that claims 0.8 is caught."""
        errors = self._errors(
            lambda Z, y, _: SplitConformalRegressor(LinearRegression()).fit(Z[:5], y[:5], Z[5:], y[5:]),
            15,
            0.6,
            self.FEW,
        )
        assert binomtest(errors, self.FEW, 0.2, alternative="greater").pvalue < 1e-4


@pytest.mark.parametrize("regressor", REGRESSORS)
class TestDataOfAllKinds:
    def test_frames(self, regressor):
        names = [f"f{j}" for j in range(10)]
        plain = _few(regressor).fit(X[:60], Y[:60]).predict_interval(X_TEST)
        for frame in (lambda Z: pd.DataFrame(Z, columns=names), lambda Z: pl.DataFrame(Z, schema=names)):
            reg = _few(regressor).fit(frame(X[:60]), Y[:60])
            # Ridge rounds differently for columns in another order of memory
            np.testing.assert_allclose(reg.predict_interval(frame(X_TEST)), plain, rtol=1e-11)
            np.testing.assert_array_equal(reg.feature_names_in_, names)

    @pytest.mark.filterwarnings("ignore:X is in float")
    def test_clone_pickle_float32_and_read_only_memory(self, regressor):
        reg = _few(regressor).fit(X[:60], Y[:60])
        expected = reg.predict_interval(X_TEST)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(reg)).predict_interval(X_TEST), expected)
        np.testing.assert_array_equal(clone(reg).fit(X[:60], Y[:60]).predict_interval(X_TEST), expected)
        Z = X[:60].astype(np.float32)
        expected = _few(regressor).fit(Z.copy(), Y[:60]).predict_interval(X_TEST)  # a model is given what there is
        Z.setflags(write=False)
        np.testing.assert_array_equal(_few(regressor).fit(Z, Y[:60].tolist()).predict_interval(X_TEST), expected)

    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_pipeline_and_grid_search(self, regressor):
        pipeline = make_pipeline(StandardScaler(), _few(regressor))
        name = f"{regressor.__name__.lower()}__measure__alpha"
        search = GridSearchCV(pipeline, {name: [0.1, 1.0]}, cv=2).fit(X[:60], Y[:60])
        assert np.isfinite(search.best_score_)

    def test_progress_goes_to_the_error_stream(self, regressor, capfd):
        _few(regressor, verbose=1).fit(X[:30], Y[:30]).predict_interval(X_TEST, 0.8)
        captured = capfd.readouterr()
        assert captured.out == ""
        if regressor is not SplitConformalRegressor:
            assert "fitting" in captured.err


@pytest.mark.parametrize("regressor", REGRESSORS)
class TestBadInput:
    BAD_FITS = {
        "nan": (np.where(np.eye(200, 10) == 1, np.nan, X), Y, "contains NaN"),
        "nan target": (X, np.where(Y > 300, np.nan, Y), "contains NaN"),
        "infinite target": (X, np.where(Y > 300, np.inf, Y), "infinity"),
        "lengths": (X, Y[:10], "inconsistent numbers of samples"),
        "one example": (X[:1], Y[:1], "1 sample"),
        "strings": (np.full((200, 2), "red"), Y, "could not convert string to float"),
        "a flat X": (X[:, 0], Y, "Expected 2D array"),
    }

    @pytest.mark.parametrize("name", BAD_FITS)
    def test_fit_leaves_the_state(self, regressor, name):
        reg = _few(regressor).fit(X[:40], Y[:40])
        before = reg.predict_interval(X_TEST)
        Z, y, sentence = self.BAD_FITS[name]
        with pytest.raises(ValueError, match=sentence):
            reg.fit(Z, y)
        np.testing.assert_array_equal(reg.predict_interval(X_TEST), before)

    def test_predict(self, regressor):
        reg = _few(regressor).fit(X[:40], Y[:40])
        for method in (reg.predict, reg.predict_interval):
            with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 10"):
                method(X_TEST[:, :2])
            with pytest.raises(ValueError, match="contains NaN"):
                method(np.full((1, 10), np.nan))

    def test_measures(self, regressor):
        for measure in ("knn", KNN(), LogisticRegression(), Ridge):
            with pytest.raises(TypeError, match="is not a nonconformity measure of regression: use an instance"):
                regressor(measure).fit(X, Y)


def test_options():
    with pytest.raises(ValueError, match="give both, or neither"):
        SplitConformalRegressor(CHEAP).fit(X, Y, X[:3])
    with pytest.raises(ValueError, match="is expecting 10"):
        SplitConformalRegressor(CHEAP).fit(X, Y, X[:3, :2], Y[:3])
    with pytest.raises(
        ValueError, match="mondrian='label' is not a taxonomy of objects: use None, the name of a column"
    ):
        SplitConformalRegressor(CHEAP, mondrian="label").fit(X, Y)
    with pytest.raises(ValueError, match=r"mondrian returned shape \(3,\) for"):
        SplitConformalRegressor(CHEAP, mondrian=lambda Z: [1, 2, 3]).fit(X, Y)
    with pytest.raises(ValueError, match="method='cv' is not known: use 'plus' or 'minmax'"):
        CVPlusRegressor(CHEAP, method="cv").fit(X, Y)
    with pytest.raises(ValueError, match="method='naive' is not known: use 'plus' or 'jackknife' or 'minmax'"):
        JackknifePlusRegressor(CHEAP, method="naive").fit(X, Y)
    with pytest.raises(ValueError, match="expected once for every example"):
        CVPlusRegressor(CHEAP, cv=RepeatedKFold(n_splits=2, n_repeats=2)).fit(X, Y)
    with pytest.raises(ValueError, match="use a number from 2 to 200"):
        CVPlusRegressor(CHEAP, cv=201).fit(X, Y)
