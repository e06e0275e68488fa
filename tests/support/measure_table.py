"""Every measure with a bag, at several hyperparameters: one entry a measure, and all the tests run on it."""

from exactcp.measures import KDE, KNN, LSSVM, NN, SimplifiedKNN

MEASURES = {
    "NN": NN(),
    "NN manhattan": NN(metric="manhattan"),
    "KNN 1": KNN(k=1),
    "KNN 3": KNN(k=3),
    "KNN 15": KNN(),
    "KNN 100": KNN(k=100),
    "KNN 2 chebyshev": KNN(k=2, metric="chebyshev"),
    "KNN 4 minkowski 3": KNN(k=4, metric="minkowski", metric_params={"p": 3}),
    "SimplifiedKNN 1": SimplifiedKNN(k=1),
    "SimplifiedKNN 2": SimplifiedKNN(k=2),
    "SimplifiedKNN 7": SimplifiedKNN(k=7),
    "SimplifiedKNN 3 cityblock": SimplifiedKNN(k=3, metric="cityblock"),
    "KDE": KDE(),
    "KDE 0.3": KDE(bandwidth=0.3),
    "KDE tophat 1.5": KDE(bandwidth=1.5, kernel="tophat"),
    "KDE epanechnikov scott": KDE(bandwidth="scott", kernel="epanechnikov"),
    "KDE exponential silverman": KDE(bandwidth="silverman", kernel="exponential"),
    "LSSVM": LSSVM(),
    "LSSVM 0.01 intercept": LSSVM(rho=0.01, fit_intercept=True),
    "LSSVM rbf": LSSVM(kernel="rbf"),
    "LSSVM laplacian 30": LSSVM(rho=30.0, kernel="laplacian", gamma=0.2),
}
