"""
My model predicts a number: how far off is it?
==============================================

A forest predicts the progression of diabetes. Its errors on the training examples tell
little, since it nearly knows them by heart. Three ways to find out how far off it is,
with the same forest, and what each asks for.
"""

# %%
# *Split* puts half of the examples aside. *CV+* fits the model on folds and looks at
# errors on what each fit has left out. *Jackknife+-after-bootstrap* sees that a forest
# has done so already: each tree has left out a third of the examples. 80 examples, 10
# times, and the in-sample errors for comparison.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

from exactcp import (
    CVPlusRegressor,
    JackknifeAfterBootstrapRegressor,
    SplitConformalRegressor,
)
from exactcp.metrics import interval_coverage, mean_width

X, y = load_diabetes(return_X_y=True)
forest = RandomForestRegressor(50, random_state=0)


def in_sample(X_train, y_train, X_test):
    """Return intervals as wide as 90 % of the errors on the training examples."""
    fitted = clone(forest).fit(X_train, y_train)
    errors = np.abs(y_train - fitted.predict(X_train))
    middle, half = fitted.predict(X_test), np.quantile(errors, 0.9)
    return np.column_stack([middle - half, middle + half])


def conformal(make):
    """Return a function that fits a regressor and asks it for intervals at 90 %."""
    return lambda X_train, y_train, X_test: (
        make().fit(X_train, y_train).predict_interval(X_test, confidence_level=0.9)
    )


ways = {
    "in-sample errors": in_sample,
    "split": conformal(lambda: SplitConformalRegressor(forest, random_state=0)),
    "CV+, 5 folds": conformal(lambda: CVPlusRegressor(forest, cv=5, random_state=0)),
    "jackknife+-after-bootstrap": conformal(
        lambda: JackknifeAfterBootstrapRegressor(forest, random_state=0)
    ),
}
covered, width = {name: [] for name in ways}, {name: [] for name in ways}
for seed in range(10):
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=80, random_state=seed
    )
    for name, way in ways.items():
        ends = way(X_train, y_train, X_test)
        covered[name].append(interval_coverage(ends, y_test))
        width[name].append(mean_width(ends))
for name in ways:
    print(
        f"{name}: coverage {100 * np.mean(covered[name]):.1f} %, "
        f"mean width {np.mean(width[name]):.0f}"
    )

# %%
# Intervals from in-sample errors hold half of what they say. The other three hold 90 %
# or a little more; those that use all 80 examples for fitting are narrower than the
# split.

fig, (cover, widths) = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
colours = ("#8a8a8a", "C1", "C2", "C0")
for place, (name, colour) in enumerate(zip(ways, colours, strict=True)):
    for ax, values in ((cover, covered[name]), (widths, width[name])):
        ax.plot(values, np.full(10, place), "|", color=colour, markersize=16, alpha=0.7)
        ax.plot(np.mean(values), place, "o", color=colour, markersize=10)
cover.axvline(0.9, color="0.4", linestyle="--", linewidth=1)
cover.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
cover.set(title="Coverage, 90 % asked for", ylim=(3.5, -0.5), xlim=(0.3, 1.02))
cover.set_yticks(range(4), ways)
widths.set(title="Mean width of the intervals", xlim=(0, None))
for ax in (cover, widths):
    ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# Promised: 90 % by the split; 80 % by jackknife+-after-bootstrap and a little less by
# CV+, of both of which one sees about 90 %. The split fits one forest to half
# of the examples, CV+ one more than it has folds, jackknife+-after-bootstrap one in
# all. Any regressor may stand in place of the forest; jackknife+-after-bootstrap then
# draws the samples itself. With thousands of examples, take the split.
