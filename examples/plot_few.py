"""
Full against split, 60 examples
===============================

The usual way to calibrate a classifier sets half of the examples aside. With thousands
nobody misses them. With 60, the model learns from 30 and is calibrated with 30, and the
sets show it.
"""

# %%
# The same nearest neighbours three times: *full* prediction learns and calibrates with
# all 60 digits, *cross* prediction with five folds of them, *split* prediction with
# halves. 25 random choices of 60 images, so that luck plays no part.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactcp import (
    CrossConformalClassifier,
    FullConformalClassifier,
    SplitConformalClassifier,
)
from exactcp.measures import KNN
from exactcp.metrics import coverage

X, y = load_digits(return_X_y=True)
covered, size = {}, {}
for seed in range(25):
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=60, test_size=500, random_state=seed
    )
    predictors = {
        "full": FullConformalClassifier(KNN(k=3)),
        "cross": CrossConformalClassifier(KNN(k=3), cv=5, random_state=seed),
        "split": SplitConformalClassifier(KNN(k=3), random_state=seed),
    }
    for name, clf in predictors.items():
        sets = clf.fit(X_train, y_train).predict_set(X_test, confidence_level=0.95)
        held = coverage(sets, y_test)
        covered.setdefault(name, []).append(held)
        size.setdefault(name, []).append(sets.sum(axis=1).mean())
for name in predictors:
    print(
        f"{name}: coverage {100 * np.mean(covered[name]):.1f} %, "
        f"{np.mean(size[name]):.1f} digits in a set on average"
    )

# %%
# Each point is one choice of 60. All three cover what they promise on average. A split
# leaves three times as many digits in its sets as full prediction does; in some choices
# all ten.

fig, ax = plt.subplots(figsize=(8, 4.4))
styles = {"full": ("C0", "o"), "cross": ("C2", "s"), "split": ("C1", "^")}
for name, (colour, marker) in styles.items():
    ax.plot(size[name], covered[name], marker, color=colour, alpha=0.6, label=name)
    ax.plot(np.mean(size[name]), np.mean(covered[name]), marker, color=colour,
            markersize=15, markeredgecolor="black")  # fmt: skip
ax.axhline(0.95, color="0.4", linestyle="--", linewidth=1)
ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
ax.set(title="60 examples, 95 % asked for: large marks are means", xlim=(0, 10.2))
ax.set(xlabel="digits in a set (of 10)", ylabel="coverage")
ax.legend(loc="lower left", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# Promised are 95 % by full and by split prediction, and a little less than 90 % by
# cross prediction, which is cautious in practice, as here. Cross prediction takes any
# classifier in place of ``KNN``, and fits it five times; full prediction is fast with
# the measures of ``exactcp.measures``, and fits a model of yours for each label of each
# object. Ten labels make 60 examples few. With the wines of three growers, scaled, the
# three differ by a tenth of a label; with thousands of examples they come together, and
# a split is cheapest.
