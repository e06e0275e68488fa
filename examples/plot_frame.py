"""
My pipeline, my DataFrame, one line more
========================================

The table has columns of numbers and of words, some are missing, and a pipeline of
scikit-learn makes a matrix of them. The predictor takes the table as it is, and gives a
table back, with the same index.
"""

# %%
# 442 patients with diabetes; so that it is as in life, sex becomes a word and 30 blood
# pressures are lost. The pipeline fills, encodes and scales.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from exactcp import FullConformalRegressor
from exactcp.measures import RidgeResidual
from exactcp.pipeline import make_pipeline

table, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
table["sex"] = table["sex"].map({1.0: "first", 2.0: "second"})
table.loc[table.sample(30, random_state=0).index, "bp"] = np.nan
table.index = [f"patient {number}" for number in table.index]
X_train, X_test, y_train, y_test = train_test_split(
    table, y.to_numpy(), test_size=150, random_state=0
)
numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
columns = make_column_transformer(
    (OneHotEncoder(drop="first", sparse_output=False), ["sex"]),
    (numbers, table.columns.drop("sex")),
)

# %%
# This is the line more. With ``preprocess=`` the transformer is fitted to the training
# and the test objects of a question together, without targets: it treats them alike,
# and the promise stays exact. A warning tells that each question costs a fit; we ask
# once.

warnings.filterwarnings("ignore", message="preprocess=")
reg = FullConformalRegressor(RidgeResidual(rho=10.0), preprocess=columns)
found = reg.fit(X_train, y_train).predict_frame(X_test, confidence_level=0.9)
print(found.head().round(1).to_string())

# %%
# Or the predictor becomes the last step of a pipeline, which then has its methods.
# Questions cost no fit. The promise stays exact if the transformer is frozen, fitted on
# other patients: here, the first 100. The predictor learns from the rest.

elsewhere = FrozenEstimator(clone(columns).fit(X_train[:100]))
pipe = make_pipeline(elsewhere, FullConformalRegressor(RidgeResidual(rho=10.0)))
quick = pipe.fit(X_train[100:], y_train[100:]).predict_frame(
    X_test, confidence_level=0.9
)
for name, answer in (("preprocess=", found), ("the pipeline", quick)):
    print(f"mean width with {name}: {(answer['upper'] - answer['lower']).mean():.0f}")

# %%
# The answer is a frame: join it, sort it, write it to a file.

found = X_test.join(found).assign(progression=y_test)
inside = found["progression"].between(found["lower"], found["upper"])
print(f"coverage of {len(found)} patients: {100 * inside.mean():.1f} %; 90 % asked for")

found = found.sort_values("prediction")
place = range(len(found))
inside = inside[found.index]
fig, ax = plt.subplots(figsize=(8.5, 4.2))
ax.vlines(place, found["lower"], found["upper"], color="C0", alpha=0.35, linewidth=2.5)
ax.plot(place, found["prediction"], color="C0", linewidth=1.5, label="prediction")
for truth, style, name in ((True, ".k", "inside"), (False, "xC3", "outside")):
    there = np.flatnonzero(inside == truth)
    ax.plot(there, found["progression"].iloc[there], style, label=f"truth, {name}")
ax.set(title="Intervals for 150 patients, at 90 % confidence", xlim=(-1, len(found)))
ax.set(xlabel="patients, sorted by the prediction", ylabel="progression of the disease")
ax.legend(loc="upper left", ncols=3, frameon=False)
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# Classifiers and detectors have ``predict_frame``, too. That the promise shall hold for
# each value of a column is said with ``mondrian="sex"``: :doc:`plot_groups`.
