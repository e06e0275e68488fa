"""
Probabilities I can trust
=========================

A classifier says 99 %, and is right in 91 of 100 such cases. Who decides by
probabilities needs them calibrated. Venn-Abers predictors give two for each object, a
lower and an upper one, and the label is as frequent as they say.
"""

# %%
# Is a digit even? Naive Bayes takes 64 pixels for independent, counts the same evidence
# many times, and is mostly sure. ``VennAbersPredictor`` learns from one half of
# the training examples and calibrates with the other.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from exactcp import VennAbersPredictor
from exactcp.inspection import VennReliabilityDisplay
from exactcp.metrics import expected_calibration_error

X, digit = load_digits(return_X_y=True)
y = np.where(digit % 2 == 0, "even", "odd")
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=800, random_state=0
)

bayes = GaussianNB(var_smoothing=0.01).fit(X_train, y_train)
venn = VennAbersPredictor(
    GaussianNB(var_smoothing=0.01), method="inductive", random_state=0
)
venn.fit(X_train, y_train)
for name, clf in (("naive Bayes", bayes), ("Venn-Abers", venn)):
    proba = clf.predict_proba(X_test)
    print(
        f"{name}: right {100 * clf.score(X_test, y_test):.1f} %, "
        f"log loss {log_loss(y_test, proba):.3f}, "
        f"calibration error "
        f"{expected_calibration_error(proba, y_test, classes=clf.classes_):.3f}"
    )

sure = bayes.predict_proba(X_test).max(axis=1) > 0.99
right = bayes.predict(X_test) == y_test
print(f"naive Bayes says more than 99 % for {100 * sure.mean():.0f} % of the digits")
print(f"and is right in {100 * right[sure].mean():.0f} % of these cases")

# %%
# Points on the dashed line are probabilities that come true. Those of naive Bayes lie
# far from it. Venn-Abers has two for each object, and the bars between them hold the
# frequency, or nearly.

fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.9), sharey=True)
is_odd = bayes.predict_proba(X_test)[:, 1]
VennReliabilityDisplay.from_predictions(
    y_test == "odd", np.column_stack([is_odd, is_odd]), label="odd", ax=axes[0]
)
VennReliabilityDisplay.from_estimator(venn, X_test, y_test, ax=axes[1])
axes[0].set(title="Naive Bayes: far off", xlabel="probability of odd")
axes[0].get_legend().remove()
axes[1].legend(loc="upper left", frameon=False)
axes[1].set(title="Venn-Abers around it: calibrated", ylabel="")
for ax in axes:
    ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# Promised: one of the two probabilities, the one for the label that the object really
# has, is perfectly calibrated, whatever the classifier is worth, if examples are
# exchangeable; the width between the two tells how much the calibration examples leave
# open. For a single number ``predict_proba`` merges them. ``method="full"`` needs no
# split, with :class:`exactcp.measures.LSSVM`; ``"cross"`` uses folds.

interval = venn.predict_proba_interval(X_test)[:, 1]
print(f"mean width between the two: {np.ptp(interval, axis=1).mean():.3f}")
lower, upper = interval.mean(axis=0)
print(f"odd digits: {100 * np.mean(y_test == 'odd'):.1f} %", end=", ")
print(f"probabilities from {100 * lower:.1f} % to {100 * upper:.1f} % on average")
