from exactcp.measures._bags import LabelBag, TargetBag
from exactcp.measures._contract import Measure, Objects, RegressionMeasure
from exactcp.measures.density._kde import KDE
from exactcp.measures.forest._bootstrap import Bootstrap
from exactcp.measures.forest._random_forest import RandomForest
from exactcp.measures.lasso._lasso import LassoResidual
from exactcp.measures.least_squares._lssvm import LSSVM
from exactcp.measures.least_squares._ridge import RidgeResidual
from exactcp.measures.models._quantile import ModelQuantile
from exactcp.measures.models._residual import ModelResidual
from exactcp.measures.models._score import ModelScore
from exactcp.measures.neighbours._classification import KNN, NN, SimplifiedKNN
from exactcp.measures.neighbours._regression import KNNResidual

__all__ = [
    "KDE",
    "KNN",
    "LSSVM",
    "NN",
    "Bootstrap",
    "KNNResidual",
    "LabelBag",
    "LassoResidual",
    "Measure",
    "ModelQuantile",
    "ModelResidual",
    "ModelScore",
    "Objects",
    "RandomForest",
    "RegressionMeasure",
    "RidgeResidual",
    "SimplifiedKNN",
    "TargetBag",
]
