"""What is asked of measures: every one, on every problem, by every route, after every history.

Routes and histories change no answer, so that most are compared with one that is written once (`frozen_store`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise, product
from typing import Any, NamedTuple

import conftest
import numpy as np
import pytest
from sklearn.base import clone

from exactcp import FullConformalClassifier, FullConformalRegressor, _numpy_first
from exactcp.geometry import screen
from exactcp.geometry.kinds import KIND_OF
from exactcp.measures import KNN, LSSVM, KNNResidual, LassoResidual, RidgeResidual, SimplifiedKNN
from exactcp.measures.density import _bag, _routes
from exactcp.measures.density.kernels import dense
from exactcp.measures.neighbours import _search, _tuning
from frozen_store import Answer, Case, case, exact, near, whole
from hostile import KINDS, LABELS, hostile
from measure_table import MEASURES
from problems import PROBLEMS
from target_problems import TARGET_PROBLEMS

HISTORIES = ("fresh", "learned", "unlearned", "mixed")
UPDATED = ("plain", "screened", "differences", "tree", "intervals")  # routes that keep what follows every change
STEPS = 200  # of a mixed history


# --- routes: what forces them is here and nowhere else; answers do not depend on them


def _screening(patch: pytest.MonkeyPatch, **knobs: float) -> None:
    patch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(**{**conftest.ALWAYS_SCREENED, **knobs}))


def _densities(patch: pytest.MonkeyPatch, compact: float) -> None:
    patch.setattr(_routes, "FEW_OBJECTS", 0)
    patch.setattr(_routes, "FEW_MULTIPLICATIONS", -1)
    patch.setattr(_routes, "BLOCK_ROWS", 2)
    patch.setattr(_bag, "SORT_FROM", 0)
    patch.setattr(dense, "EXPECTED", {})
    patch.setattr(dense, "EXPECTED_COMPACT", compact)


@contextmanager
def route(name: str) -> Iterator[None]:
    """Let measures answer by this route, whatever the size of the data; trees are asked for by a parameter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_numpy_first, "_forced", name == "numpy")
        if name == "screened float64":
            patch.setattr(screen, "_float32_resolves", lambda *_: False)
        if name in ("screened", "screened float64", "differences"):
            _screening(patch)
        if name == "sketched":
            patch.setattr(_search, "find_basis", conftest.some_basis)
            _screening(patch)
        if name == "contracted":
            conftest.contracting(patch)
        if name == "intervals":
            _screening(patch, **conftest.ALWAYS_INTERVALS)
        if name in ("sums dense", "sums direct", "sums screened"):
            _densities(patch, -1.0 if name == "sums screened" else np.inf)
        if name == "sums direct":
            patch.setattr(dense, "TRUST", 0.0)
        yield


def searching(estimator: Any, route_name: str) -> Any:
    """Return a copy of an estimator that searches by trees, where the route is theirs."""
    trees = {"search": "tree"} if route_name in ("tree", "tree one row", "contracted") else {}
    return clone(estimator).set_params(**trees)


def in_blocks(route_name: str, X_test: np.ndarray) -> list[np.ndarray]:
    """Return the test objects as a route is asked about them: one row at a time, or all together."""
    return [row[None] for row in X_test] if route_name.endswith("one row") else [X_test]


def _is_fast(measure: Any) -> bool:
    return measure.get_params().get("metric") in KIND_OF and measure.metric_params is None


def routes_of(measure: Any) -> list[str]:
    """Return the routes that a measure has, the plain one first."""
    parameters = measure.get_params()
    if "metric" in parameters:
        if not _is_fast(measure):
            return ["plain", "numpy", "one row", "float32"]
        if parameters["metric"] != "euclidean":
            return ["plain", "numpy", "one row", "differences", "screened float64", "intervals", "float32"]
        screens = ["screened", "screened float64", "sketched"]
        return ["plain", "numpy", "one row", *screens, "tree", "tree one row", "contracted", "intervals", "float32"]
    if "bandwidth" in parameters:
        return ["plain", "numpy", "one row", "sums dense", "sums direct", "sums screened", "float32"]
    return ["plain", "numpy", "one row", "float32"]


def _narrowed(route_name: str, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(array.astype(np.float32) for array in arrays) if route_name == "float32" else arrays


# --- histories: each ends with the examples of the problem, in some order


class Told(NamedTuple):
    """What a history does; the numbers are those of examples, the problem's first and then spare ones."""

    fit: Callable[[np.ndarray], Any]
    learn: Callable[[np.ndarray], Any]
    unlearn: Callable[[np.ndarray], Any]  # positions
    ask: Callable[[], Any]


def told_of(predictor: Any, arrays: tuple[np.ndarray, ...], ask: Callable[[], Any], **how: Any) -> Told:
    """Return what a history does with a predictor that learns from these arrays."""
    return Told(
        lambda some: predictor.fit(*(array[some] for array in arrays), **how),
        lambda some: predictor.partial_fit(*(array[some] for array in arrays)),
        predictor.unlearn,
        ask,
    )


class _Known:
    """The numbers of the examples that are known, after a fit to the first of them."""

    def __init__(self, told: Told, first: np.ndarray) -> None:
        self.told, self.numbers = told, first
        told.fit(first)

    def learn(self, new: np.ndarray) -> None:
        if new.size:
            self.told.learn(new)
            self.numbers = np.concatenate([self.numbers, new])

    def unlearn(self, gone: np.ndarray) -> None:
        if gone.size:
            self.told.unlearn(gone)
            self.numbers = np.delete(self.numbers, gone)


def play(history: str, n: int, n_spare: int, told: Told) -> np.ndarray:
    """Let examples come and go, with questions between; return the numbers of those that are left, all below n."""
    own, spare = np.arange(n), np.arange(n, n + n_spare)
    if history == "fresh":
        known = _Known(told, own)
    elif history == "learned":
        bounds = sorted({(n + 1) // 2, min((n + 1) // 2 + 1, n), min((n + 1) // 2 + 3, n), n})
        known = _Known(told, own[: bounds[0]])
        for first, last in pairwise(bounds):
            told.ask()
            known.learn(own[first:last])
    elif history == "unlearned":
        known = _Known(told, np.concatenate([spare[::2], own[: n // 2], spare[1::2], own[n // 2 :]]))
        for some in (spare[-1:], spare[:2], spare[2:-1]):
            told.ask()
            known.unlearn(np.flatnonzero(np.isin(known.numbers, some)))
    else:
        known = _Known(told, own[: (n + 1) // 2])
        _mix(known, np.concatenate([own, spare]), np.random.default_rng(n))
        known.learn(np.setdiff1d(own, known.numbers))
        known.unlearn(np.flatnonzero(known.numbers >= n))
    return known.numbers


def _mix(known: _Known, everyone: np.ndarray, rng: np.random.Generator) -> None:
    least = min(2, known.numbers.size)
    for step in range(STEPS):
        others, size = np.setdiff1d(everyone, known.numbers), int(rng.integers(1, 4))
        are_enough = known.numbers.size - size >= least
        if others.size and (not are_enough or rng.random() < 0.55):
            known.learn(rng.permutation(others)[:size])
        elif are_enough:
            known.unlearn(np.sort(rng.permutation(known.numbers.size)[:size]))
        if step % 20 == 0:
            known.told.ask()


# --- labels: the counts of bags, and what predictors make of them


@cache
def label_problem(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return objects, codes and test objects of a problem, with spare examples at the end, and how many are not."""
    if name in PROBLEMS:
        X, y, X_test = PROBLEMS[name]
    else:
        number = KINDS.index(name.removeprefix("hostile "))
        X, y, X_test = hostile(KINDS[number], LABELS[number % 5], number, 160, 3)
        y = np.unique(y, return_inverse=True)[1]
    spare = np.concatenate([X_test[:6], X[::4]])
    rng = np.random.default_rng(len(y))
    return (
        np.concatenate([X, spare]),
        np.concatenate([y, rng.permutation(np.resize(np.unique(y), len(spare)))]),
        X_test,
        len(y),
    )


ILL_CONDITIONED = ("outliers",)  # objects at 1e9 and -1e12: a solution has five digits that do not depend on its order


def _score_tolerance(measure: Any, problem: str) -> tuple[float, float]:
    """Say how far scores may differ: sums round by the order of the processor, and solutions by the condition."""
    if isinstance(measure, LSSVM):
        return (1e-4, 1e-4) if problem in ILL_CONDITIONED else (1e-6, 1e-6)
    return 1e-12, 1e-12 * measure.tie_floor


def _stacked(parts: list[Any], fields: int) -> list[np.ndarray]:
    return [np.concatenate([np.asarray(part[f]) for part in parts]) for f in range(fields)]


def ask_label_bag(name: str, problem: str, route_name: str, history: str) -> dict[str, Answer]:
    """Return the counts and scores of a bag, in all and within categories."""
    measure = MEASURES[name]
    X, y, X_test, n = label_problem(problem)
    X, X_test = _narrowed(route_name, X, X_test)
    n_labels, bag, on_the_way = int(y.max()) + 1, None, []

    def fit(some: np.ndarray) -> None:
        nonlocal bag
        bag = searching(measure, route_name).bag(X[some], y[some], n_labels)

    def unlearn(gone: np.ndarray) -> None:
        bag.unlearn(gone)

    def ask() -> None:
        on_the_way.append(np.concatenate([field[0] for field in bag.label_counts(X_test[:1])[:4]]))

    with route(route_name):
        told = Told(fit, lambda some: bag.learn(X[some], y[some]), unlearn, ask)
        order = play(history, n, len(y) - n, told)
        blocks = in_blocks(route_name, X_test)
        found = [bag.label_counts(block) for block in blocks]
        wanted = (np.arange(len(X_test))[:, None] + np.arange(n_labels)) % 5 - 1
        within = [
            bag.category_counts(block, order % 3, some)
            for block, some in zip(blocks, in_blocks(route_name, wanted), strict=True)
        ]
    answers = {"counts": exact(_stacked(found, 4))}
    if within[0] is not None:
        answers["categories"] = exact(_stacked(within, 4))
    if route_name != "intervals":
        scores = near(np.concatenate([part.scores for part in found]), *_score_tolerance(measure, problem))
        answers["scores"] = scores._replace(is_check=True)
    if history != "fresh":
        answers[f"counts of one row on the way, {history}"] = exact(np.array(on_the_way, np.int64).reshape(-1))
    return answers


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "": {},
    " by label": {"mondrian": "label"},
    " by place": {"mondrian": lambda X, y: (np.asarray(X)[:, 0] > 0) + 2 * (y == "a")},
    " smoothed": {"smoothed": True, "random_state": 3},
}


def _configurations(route_name: str) -> list[str]:
    """Return the names of those that a route has: draws belong to a batch."""
    return [how for how in CONFIGURATIONS if how != " smoothed" or not route_name.endswith("one row")]


def ask_classifier(name: str, problem: str, route_name: str, history: str) -> dict[str, Answer]:
    """Return what the public methods of a full conformal classifier say."""
    X, codes, X_test, n = label_problem(problem)
    X, X_test = _narrowed(route_name, X, X_test)
    y, answers = np.array(list("abcdefghij"))[codes], {}
    for how in _configurations(route_name):
        clf = FullConformalClassifier(searching(MEASURES[name], route_name), **CONFIGURATIONS[how], n_jobs=1)
        with route(route_name):
            told = told_of(clf, (X, y), lambda clf=clf: clf.predict_p(X_test[:1]), classes=np.unique(y))
            play(history, n, len(y) - n, told)
            blocks = in_blocks(route_name, X_test)
            p = np.concatenate([clf.predict_p(block) for block in blocks])
            answers[f"predict_p{how}"] = exact(p) if how else whole(p, n)
            sets = [np.asarray(clf.predict_set(block, [0.5, 0.9])) for block in blocks]
            answers[f"predict_set{how}"] = exact(np.concatenate(sets))
            if not how:
                answers["predict"] = exact(np.concatenate([clf.predict(block) for block in blocks]))
    return answers


def _operations_of_label_bag(route_name: str, history: str) -> tuple[str, ...]:
    scores = ["scores"] if route_name != "intervals" else []
    return (
        "counts",
        "categories",
        *scores,
        *([f"counts of one row on the way, {history}"] if history != "fresh" else []),
    )


def _operations_of_classifier(route_name: str) -> tuple[str, ...]:
    first, *others = _configurations(route_name)
    found = [f"predict_p{first}", f"predict_set{first}", "predict"]
    return (*found, *(f"{question}{how}" for how in others for question in ("predict_p", "predict_set")))


def _fits_float32(problem: str) -> bool:
    X = label_problem(problem)[0]
    size = np.abs(X).max()
    return bool(size == 0 or 1e-30 < size < 1e30)


def label_cases() -> Iterator[Case]:
    """Yield what is asked of the measures with labels."""
    for name, measure in MEASURES.items():
        hostiles = [f"hostile {kind}" for kind in KINDS] if _is_fast(measure) else []
        for of in product([name], [*PROBLEMS, *hostiles], routes_of(measure), HISTORIES):
            if of[2] != "float32" or _fits_float32(of[1]):
                operations = _operations_of_label_bag(*of[2:])
                yield case("label bags", ask_label_bag, of, operations, is_dear=of[3] == "mixed")


def classifier_cases() -> Iterator[Case]:
    """Yield what is asked of full conformal classifiers: all histories by the plain route, the others after a fit."""
    for name, measure in MEASURES.items():
        for of in product([name], PROBLEMS, routes_of(measure), HISTORIES):
            if of[2] == "plain" or (of[3] == "fresh" and (of[2] != "float32" or _fits_float32(of[1]))):
                operations = _operations_of_classifier(of[2])
                yield case("classifiers", ask_classifier, of, operations, is_dear=of[3] == "mixed")


# --- targets


RESIDUALS = {
    "k-NN 1": KNNResidual(k=1),
    "k-NN 4": KNNResidual(k=4),
    "k-NN 15": KNNResidual(),
    "k-NN 3 manhattan": KNNResidual(k=3, metric="manhattan"),
    "k-NN 2 chebyshev": KNNResidual(k=2, metric="chebyshev"),
    "ridge": RidgeResidual(rho=0.1),
    "ridge through the origin": RidgeResidual(rho=0.1, fit_intercept=False),
    "ordinary ridge": RidgeResidual(residual="ordinary"),
    "deleted ridge": RidgeResidual(residual="deleted"),
    "kernel ridge": RidgeResidual(kernel="rbf"),
    "ridge svd": RidgeResidual(rho=0.7, solver="svd"),
    "lasso": LassoResidual(lam=0.3),
}
LEVELS = [0.5, 0.8, 0.9]


@cache
def target_problem(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return objects, targets and test objects of a problem, with spare examples at the end, and how many are not."""
    X, y, X_test = TARGET_PROBLEMS[name]
    spare = np.concatenate([X_test[:2], X[::4], X[:1]])
    some = np.resize(np.concatenate([y[::-1], y.mean(keepdims=True)]), len(spare))
    return np.concatenate([X, spare]), np.concatenate([y, some]), X_test, len(y)


def _asked_targets(y: np.ndarray) -> np.ndarray:
    width = float(np.ptp(y)) or 1.0
    return np.concatenate([y[:3], [y.mean() + 0.01 * width, y.min() - 0.3 * width, y.max() + 0.2 * width]])


def _end_tolerance(measure: Any, problem: str, y: np.ndarray) -> tuple[float, float]:
    """Say how far ends may differ: those of k-NN are sums of few targets, those of the others come from solutions."""
    share = 1e-6 if problem not in ILL_CONDITIONED else 1e-4
    share = 1e-10 if isinstance(measure, KNNResidual) else share
    return share, share * float(np.abs(y).max())


def ask_regressor(name: str, problem: str, route_name: str, history: str) -> dict[str, Answer]:
    """Return what the public methods of a full conformal regressor say."""
    X, y, X_test, n = target_problem(problem)
    X, X_test = _narrowed(route_name, X, X_test)
    answers: dict[str, Answer] = {}
    targets, tolerance = _asked_targets(y[:n]), _end_tolerance(RESIDUALS[name], problem, y[:n])
    rows, asked = np.repeat(X_test, targets.size, axis=0), np.tile(targets, len(X_test))
    for how, parameters in (("", {}), (" by place", {"mondrian": lambda X: np.asarray(X)[:, 0] > 0})):
        reg = FullConformalRegressor(searching(RESIDUALS[name], route_name), **parameters, n_jobs=1)
        with route(route_name):
            told = told_of(reg, (X, y), lambda reg=reg: reg.predict_interval(X_test[:1], 0.5))
            play(history, n, len(y) - n, told)
            pairs = zip(in_blocks(route_name, rows), in_blocks(route_name, asked[:, None]), strict=True)
            p = np.concatenate([reg.predict_p(some, one[:, 0]) for some, one in pairs])
            intervals = np.concatenate([reg.predict_interval(block, LEVELS) for block in in_blocks(route_name, X_test)])
            answers[f"predict_p{how}"] = exact(p) if how else whole(p, n)
            answers[f"predict_interval{how}"] = near(intervals, *tolerance)
            if not how:
                regions = [region.to_numpy() for region in reg.predict_region(X_test, 0.5)]
                answers["pieces of predict_region"] = exact([len(region) for region in regions])
                answers["predict_region"] = near(np.concatenate(regions), *tolerance)
                answers["predict"] = near(reg.predict(X_test), *tolerance)
    return answers


TARGET_OPERATIONS = (
    *("predict_p", "predict_interval", "pieces of predict_region", "predict_region", "predict"),
    *("predict_p by place", "predict_interval by place"),
)


def target_cases() -> Iterator[Case]:
    """Yield what is asked of the measures with targets."""
    for name, measure in RESIDUALS.items():
        routes = [one for one in routes_of(measure) if one != "intervals"]
        for of in product([name], TARGET_PROBLEMS, routes, HISTORIES):
            if of[2] in UPDATED or of[3] != "mixed":
                yield case("regressors", ask_regressor, of, TARGET_OPERATIONS, is_dear=of[3] == "mixed")


# --- sizes at which routes are taken without force: these stay when what forces a route is another


def _large(kind: str, n: int, p: int, n_labels: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + p)
    X = rng.normal(size=(n + m, p))
    if kind == "ties":
        X = np.round(2 * X)
    if kind == "a plane":
        X = X[:, :3] @ rng.normal(size=(3, p)) + 1e-3 * X
    if kind == "finer than float32":
        X = 0.75 + 2.0**-26 * np.round(8 * X)
        X[: n // 2] -= 0.75
    y = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)])
    X[:n] += 0.3 * rng.normal(size=(n_labels, p))[y] if kind in ("normal", "a plane") else 0.0
    return X[:n], y, X[n:]


LARGE = {
    "1,500 rows of 20": ("normal", 1500, 20, 3, 400),
    "1,500 rows of 20 with ties": ("ties", 1500, 20, 2, 400),
    "1,500 rows finer than float32": ("finer than float32", 1500, 20, 2, 400),
    "6,000 rows of 3": ("normal", 6000, 3, 2, 200),
    "2,500 rows of 12 near a plane": ("a plane", 2500, 12, 2, 200),
    "2,500 rows of 40 labels": ("normal", 2500, 5, 40, 200),
}
LARGE_MEASURES = {
    "KNN 5": KNN(k=5),
    "SimplifiedKNN 3": SimplifiedKNN(k=3),
    "KNN 5 manhattan": KNN(k=5, metric="manhattan"),
    "SimplifiedKNN 3 chebyshev": SimplifiedKNN(k=3, metric="chebyshev"),
    "KNN 5 cosine": KNN(k=5, metric="cosine"),
}
LARGE_RESIDUALS = {"k-NN 5": KNNResidual(k=5), "k-NN 5 manhattan": KNNResidual(k=5, metric="manhattan")}


def ask_large(name: str, problem: str, route_name: str, history: str) -> dict[str, Answer]:
    """Return what predictors say of many rows, searched for by a public parameter or as they choose."""
    X, codes, X_test = _large(*LARGE[problem])
    is_regression, rows = name in LARGE_RESIDUALS, _rows_of(route_name)
    y = np.sin(X[:, 0]) + codes if is_regression else codes
    search = {"search": route_name.split(maxsplit=1)[0]} if route_name != "auto" else {}
    measure = clone({**LARGE_MEASURES, **LARGE_RESIDUALS}[name]).set_params(**search)
    predictor, n = (FullConformalRegressor if is_regression else FullConformalClassifier)(measure, n_jobs=1), len(y)
    if history == "fresh":
        predictor.fit(X, y)
    elif history == "learned":
        predictor.fit(X[:-40], y[:-40]).partial_fit(X[-40:-39], y[-40:-39]).partial_fit(X[-39:], y[-39:])
    else:
        spare = X[:40] + 0.5
        predictor.fit(np.concatenate([X, spare]), np.concatenate([y, y[:40]]))
        predictor.predict_p(X_test[:1], y[:1]) if is_regression else predictor.predict_p(X_test[:1])
        predictor.unlearn([n + 3]).unlearn(np.arange(n, n + 39))
    blocks = [*in_blocks(route_name, X_test[:40]), *([] if rows else [X_test])]
    if is_regression:
        p = np.concatenate([predictor.predict_p(block, np.cos(block[:, 1])) for block in blocks])
        ends = np.concatenate([predictor.predict_interval(block, LEVELS) for block in blocks])
        return {f"predict_p{rows}": whole(p, n), f"predict_interval{rows}": near(ends[:40], 1e-10, 1e-10)}
    p = np.concatenate([predictor.predict_p(block) for block in blocks])
    sets = np.concatenate([np.asarray(predictor.predict_set(block, [0.8, 0.95])) for block in blocks])
    return {f"predict_p{rows}": whole(p, n), f"predict_set{rows}": exact(sets)}


def _rows_of(route_name: str) -> str:
    """Say how many rows are asked about: fewer, where each is asked about alone."""
    return " of 40 rows" if route_name.endswith("one row") else ""


def large_cases() -> Iterator[Case]:
    """Yield what is asked where sizes decide on the route."""
    for name, measure in {**LARGE_MEASURES, **LARGE_RESIDUALS}.items():
        routes = [
            "brute",
            "auto",
            "brute one row",
            *(["tree", "tree one row"] if measure.metric == "euclidean" else []),
        ]
        second = "predict_interval" if name in LARGE_RESIDUALS else "predict_set"
        for of in product([name], LARGE, routes, HISTORIES[:3]):
            operations = tuple(f"{question}{_rows_of(of[2])}" for question in ("predict_p", second))
            yield case("sizes", ask_large, of, operations, is_dear=True)
