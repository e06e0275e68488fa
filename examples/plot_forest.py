"""
A forest with guarantees
========================

A random forest takes columns as they are and seldom needs tuning. But 70 % of the votes
are not 70 % probability, and promise nothing. Full conformal prediction turns votes
into p-values, without holding out a single example.
"""

# %%
# The disease of 442 diabetics went on slowly, steadily or fast. From ten columns that
# is hard to tell: an honest forest will often leave two of the three.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from exactcp import FullConformalClassifier
from exactcp.inspection import CalibrationCurveDisplay
from exactcp.measures import RandomForest
from exactcp.metrics import coverage

X, progression = load_diabetes(return_X_y=True, scaled=False)
y = np.select([progression < 100, progression < 180], ["slow", "steady"], "fast")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=192, random_state=0)

# %%
# The measure ``RandomForest`` asks, for each example, how many of the trees grown
# without it vote for its label. The test object must be in the bag, too, with each
# label it may have: the trees are not grown anew for that, only the branches that it
# changes, and the p-values are those of the textbook. ``smoothed=True`` breaks the ties
# of equal votes at random, which makes the coverage exact at every level, on average
# over training sets.

measure = RandomForest(n_estimators=50)
clf = FullConformalClassifier(measure, smoothed=True, random_state=0)
clf.fit(X_train, y_train)
forest = RandomForestClassifier(random_state=0).fit(X_train, y_train)
votes = forest.predict_proba(X_test)
right = forest.score(X_test, y_test)
print(f"the forest is right about {100 * right:.0f} % of the patients")
for level in (0.8, 0.9):
    sets = clf.predict_set(X_test, confidence_level=level)
    held = coverage(sets, y_test, classes=clf.classes_)
    print(f"sets at {100 * level:.0f} %: {100 * held:.1f} % hold the truth", end=", ")
    print(f"{sets.sum(axis=1).mean():.2f} of 3 answers are left on average")

# %%
# Left: the clearer the votes of an ordinary forest, the smaller the sets. Right: the
# coverage at every level. One training set has luck or not: here the sets at 80 % hold
# a little less, and the curve leaves the band, which is that of 192 independent tests,
# at some low levels. The promise is about the average of such curves, the diagonal.

sets = clf.predict_set(X_test, confidence_level=0.8)
names = ["up to 50 %", "to 60 %", "to 70 %", "above 70 %"]
which = np.digitize(votes.max(axis=1), [0.5, 0.6, 0.7], right=True)
fig, (bars, curve) = plt.subplots(1, 2, figsize=(9.5, 4.4))
bottom = np.zeros(4)
for size, colour in ((1, "#2a9d8f"), (2, "#e9c46a"), (3, "#c1121f")):
    share = [np.mean(sets[which == part].sum(axis=1) == size) for part in range(4)]
    bars.bar(names, share, bottom=bottom, color=colour, label=f"{size} of 3", width=0.7)
    bottom += share
bars.yaxis.set_major_formatter(lambda part, _: f"{100 * part:.0f} %")
bars.set(title="Answers left at 80 % confidence", ylim=(0, 1.15))
bars.set_yticks(np.arange(6) / 5)
bars.set(xlabel="votes for the forest's favourite")
bars.legend(loc="upper center", ncols=3, frameon=False)
CalibrationCurveDisplay.from_estimator(
    clf, X_test, y_test, name="full forest", ax=curve
)
curve.set(title="Coverage against the level")
for ax in (bars, curve):
    ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# Promised is the average over all patients; for each answer by itself it takes
# ``mondrian="label"``. The forest draws its samples from ``random_state``: another seed
# is another forest, as valid as this one.
