"""Full conformal (kernel) ridge regression: online-cp, GPyConform, and scikit-learn's Gaussian models."""

from __future__ import annotations

from typing import Any

import numpy as np
from online_cp import ConformalRidgeRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import BayesianRidge

from benchmarks.peers.contest import OURS, PLAIN, Contest, Data, targets, whole
from benchmarks.peers.split import NINE_LEVEL, around
from exactcp import FullConformalRegressor
from exactcp.measures import RidgeResidual

PEER = "online-cp"
GAUSSIAN = "GPyConform"
DISTRIBUTION = "exactcp, its distribution"  # half of the error on each side: other intervals
LENGTH, NOISE = 3.0, 0.5
KERNEL_SIZES = (50, 100, 316, 1_000)


def _ridge() -> FullConformalRegressor:
    return FullConformalRegressor(RidgeResidual(fit_intercept=False), n_jobs=1)


def _peer(data: Data) -> ConformalRidgeRegressor:
    reg = ConformalRidgeRegressor(a=1.0, warnings=False, studentised=True, epsilon=data.epsilon)
    reg.learn_initial_training_set(data.X, data.y)
    return reg


def _our_batch(data: Data) -> Any:
    return _ridge().fit(data.X, data.y).predict_distribution(data.X_test).interval(data.level)


def _their_batch(data: Data) -> Any:
    reg = _peer(data)
    return [reg.predict(x) for x in data.X_test]


def _plain_batch(data: Data) -> Any:
    points, spread = BayesianRidge(fit_intercept=False).fit(data.X, data.y).predict(data.X_test, return_std=True)
    return around(points, spread, data.level)


def _our_stream(data: Data) -> Any:
    reg = _ridge().fit(data.X, data.y)
    found = []
    for x, y in zip(data.X_test, data.y_test, strict=True):
        found.append(reg.predict_distribution(x[None]).interval(data.level)[0])
        reg.partial_fit(x[None], y[None])
    return found


def _their_stream(data: Data) -> Any:
    reg = _peer(data)
    found = []
    for x, y in zip(data.X_test, data.y_test, strict=True):
        interval, update = reg.predict(x, return_update=True)
        found.append(interval)
        reg.learn_one(x, y, update)
    return found


def _kernel_ridge() -> FullConformalRegressor:
    measure = RidgeResidual(rho=NOISE, kernel="rbf", gamma=0.5 / LENGTH**2, fit_intercept=False)
    return FullConformalRegressor(measure, n_jobs=1)


def _our_kernel(data: Data) -> Any:
    return _kernel_ridge().fit(data.X, data.y).predict_interval(data.X_test, data.level)


def _our_kernel_distribution(data: Data) -> Any:
    return _kernel_ridge().fit(data.X, data.y).predict_distribution(data.X_test).interval(data.level)


def _their_process(data: Data) -> Any:
    import gpyconform
    import gpytorch
    import torch

    class Process(gpyconform.ExactGPCP):  # as its documentation writes it
        def __init__(self, X: Any, y: Any, likelihood: Any) -> None:
            super().__init__(X, y, likelihood, cpmode="symmetric")
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.RBFKernel()

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    torch.set_num_threads(1)
    X, y, X_test = (torch.from_numpy(part) for part in (data.X, data.y, data.X_test))
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Process(X, y, likelihood).double()
    likelihood.noise, model.covar_module.lengthscale = NOISE, LENGTH
    model.eval()
    with torch.no_grad():
        return model(X_test, confs=[data.level])(data.level).numpy()


def _plain_process(data: Data) -> Any:
    model = GaussianProcessRegressor(RBF(LENGTH), alpha=NOISE, optimizer=None).fit(data.X, data.y)
    points, spread = model.predict(data.X_test, return_std=True)
    return around(points, np.sqrt(spread**2 + NOISE), data.level)


def ends(found: Any, _: Data) -> np.ndarray:
    """Return the ends of intervals that are objects."""
    return np.array([(one.intervals[0][0], one.intervals[-1][1]) for one in found])


def _nine(rng: np.random.Generator) -> Data:
    X, y = targets(rng, 10, p=3)
    return Data(X[:9], y[:9], X[:0], y[:0], X[9:], y[9:], level=NINE_LEVEL)


CONTESTS = {
    "ridge": Contest(
        "Full ridge regression",
        "Learn n rows of 20 columns, predict 100 intervals; nothing is held out (studentized, half of ε on each side).",
        "intervals",
        lambda n: whole(targets, n, 100),
        {OURS: _our_batch, PEER: _their_batch, PLAIN: _plain_batch},
        {PEER: ends},
        peak_at=100_000,
        nine=_nine,
    ),
    "online-ridge": Contest(
        "Online ridge regression",
        "Learn n rows of 20 columns, then predict and learn 100 rows one by one.",
        "intervals",
        lambda n: whole(targets, n, 100),
        {OURS: _our_stream, PEER: _their_stream},
        {PEER: ends},
    ),
    "gaussian-process": Contest(
        "Gaussian process, or kernel ridge regression",
        "Learn n rows of 20 columns, rbf kernel, predict 20 intervals. GPyConform's gamma = 2 is our studentized.",
        "intervals",
        lambda n: whole(targets, n, 20),
        {OURS: _our_kernel, GAUSSIAN: _their_process, PLAIN: _plain_process, DISTRIBUTION: _our_kernel_distribution},
        sizes=KERNEL_SIZES,
        peak_at=316,
        nine=_nine,
    ),
}
