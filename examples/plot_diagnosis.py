"""
How sure is this diagnosis?
===========================

569 tumours are benign or malignant. A classifier names one of the two for every
patient, also where it is guessing. A conformal predictor rules out what does not fit:
it leaves one diagnosis where the case is clear and both where it is not, and the truth
is among them with the probability that we ask for.
"""

# %%
# Full conformal prediction needs no calibration set: all 369 training examples are used
# to fit *and* to calibrate. ``mondrian="label"`` asks for the guarantee within each
# diagnosis, so that the malignant ones, which are rarer, do not pay for the others. The
# scaler sees all 569 objects and no label: it treats them alike, and the guarantee
# stays exact.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from exactcp import FullConformalClassifier
from exactcp.measures import LSSVM
from exactcp.metrics import error_by_label

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=200, stratify=y, random_state=0
)

clf = FullConformalClassifier(LSSVM(), mondrian="label").fit(X_train, y_train)
sets = clf.predict_set(X_test, confidence_level=0.98)
for label, rate in error_by_label(sets, y_test, classes=clf.classes_).items():
    print(f"{label}: {100 * rate:.1f} % of the sets miss it; 2 % are allowed")

# %%
# Each patient has a p-value for each diagnosis: how many known cases of it look at
# least as odd as this patient would. A diagnosis with a p-value of 2 % or less is ruled
# out: "benign" to the left of the upright line, "malignant" below the level one. At the
# upper right neither is, and a further test is called for.

epsilon = 0.02
benign, malignant = clf.predict_p(X_test).T
fig, (ax, bars) = plt.subplots(1, 2, figsize=(9.5, 4.2), width_ratios=(3, 2))
for label, colour, marker in (("benign", "C0", "o"), ("malignant", "C3", "^")):
    own = y_test == label
    ax.plot(
        benign[own], malignant[own], marker, c=colour, alpha=0.7, label=f"truly {label}"
    )
ax.axvline(epsilon, color="0.4", linestyle="--", linewidth=1)
ax.axhline(epsilon, color="0.4", linestyle="--", linewidth=1)
ax.text(0.25, 0.0045, "benign", ha="center", color="0.35")
ax.text(0.0078, 1.2, "malignant", ha="center", color="0.35")
ax.text(0.25, 0.14, "both possible", ha="center", color="0.35")
ax.loglog()
ax.set(xlim=(0.0026, 1.6), ylim=(0.0026, 2.0), title="Two p-values for every patient")
ax.set(xlabel="p-value of benign", ylabel="p-value of malignant")
ax.legend(loc="upper right", frameon=False)

holds_truth = sets[np.arange(len(sets)), np.searchsorted(clf.classes_, y_test)]
answers = {
    "one diagnosis, right": (holds_truth & ~sets.all(axis=1), "#2a9d8f"),
    "both possible": (sets.all(axis=1), "#e9c46a"),
    "one diagnosis, wrong": (~holds_truth, "#c1121f"),
}
left = np.zeros(2)
for answer, (given, colour) in answers.items():
    share = np.array([given[y_test == label].mean() for label in clf.classes_])
    bars.barh(clf.classes_, share, left=left, color=colour, label=answer, height=0.55)
    left += share
bars.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
bars.set(title="Answers at 98 % confidence", xlim=(0, 1), ylim=(-0.5, 2.1))
bars.legend(loc="upper left", frameon=False)
bars.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# The predictor never saw the test labels, and no number was tuned to them. Ask for less
# confidence and fewer patients are sent on; ask for more and fewer are missed. The same
# fitted predictor answers for every level.

for level in (0.95, 0.98, 0.99):
    both = clf.predict_set(X_test, confidence_level=level).all(axis=1).mean()
    print(f"at {level}: {100 * both:.0f} % of the patients need a further test")
