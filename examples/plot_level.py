"""
More confidence, larger sets: which level?
==========================================

95 % is a habit. Every set at 99 % costs somebody a longer look, every error at 80 %
costs something else. One fitted predictor answers for all levels, so the choice can be
made by looking.
"""

# %%
# 300 digits for training, 500 to choose the level with, the rest to see what came of
# it. ``SimplifiedKNN`` compares an image with those of its own digit only: its sets are
# larger than need be, which gives us something to choose.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactcp import FullConformalClassifier
from exactcp.inspection import CalibrationCurveDisplay, SetSizeDisplay
from exactcp.measures import SimplifiedKNN
from exactcp.metrics import coverage, evaluate

X, y = load_digits(return_X_y=True)
X_train, X, y_train, y = train_test_split(X, y, train_size=300, random_state=0)
X_choice, y_choice, X_test, y_test = X[:500], y[:500], X[500:], y[500:]

clf = FullConformalClassifier(SimplifiedKNN(k=3)).fit(X_train, y_train)
levels = [0.8, 0.9, 0.95, 0.98, 0.99]
columns = ["confidence_level", "coverage", "mean_size", "singletons", "empty"]
print(
    evaluate(clf, X_choice, y_choice, levels)[columns].round(3).to_string(index=False)
)

# %%
# Left: the curve follows the diagonal, so that any level may be believed. Right: what a
# level costs. At 80 % one set of seven is empty; at 99 % more than half of the images
# keep several digits.

fig, (curve, sizes) = plt.subplots(1, 2, figsize=(10, 4.4), width_ratios=(2, 3))
CalibrationCurveDisplay.from_estimator(clf, X_choice, y_choice, name="digits", ax=curve)
SetSizeDisplay.from_estimator(
    clf, X_choice, confidence_level=(0.8, 0.95, 0.99), ax=sizes
)
curve.set_title("Coverage follows the level")
sizes.set_title("Digits in a set, at three levels")
for ax in (curve, sizes):
    ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# Say that an error costs as much as 20 digits that somebody must look at. Each level
# has its price on the 500 images; the cheapest is taken, and the promise is asked of
# images that had no part in the choice.

tried = np.arange(0.8, 0.996, 0.005).round(3)
prices = []
for level in tried:
    sets = clf.predict_set(X_choice, confidence_level=level)
    prices.append(sets.sum(axis=1).mean() + 20 * (1 - coverage(sets, y_choice)))
best = tried[np.argmin(prices)]
sets = clf.predict_set(X_test, confidence_level=best)
print(f"the cheapest level: {100 * best:.1f} %, {min(prices):.2f} an image")
held = coverage(sets, y_test)
print(f"new images: coverage {100 * held:.1f} %, {sets.sum(axis=1).mean():.2f} digits")
