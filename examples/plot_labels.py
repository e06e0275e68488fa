"""
Which of these labels can I rule out?
=====================================

A reader of handwriting meets ten digits. "It is an 8" is an answer; "it is an 8 or a 1,
and no other" is an honest one. Every digit gets a p-value, those with a small one are
ruled out, and the true one is ruled out as seldom as we ask for.
"""

# %%
# 150 images are all that is known. ``KNN`` compares the distances to the nearest images
# of the same digit with those to the nearest of all others, and full conformal
# prediction uses the 150 for everything: none is held out.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactcp import FullConformalClassifier
from exactcp.measures import KNN
from exactcp.metrics import coverage

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=150, random_state=0
)

clf = FullConformalClassifier(KNN(k=3)).fit(X_train, y_train)
p = clf.predict_p(X_test)
sets = clf.predict_set(X_test, confidence_level=0.98)
print(f"{100 * coverage(sets, y_test):.1f} % of {len(sets):,} sets hold the true digit")
print(f"{(~sets).sum(axis=1).mean():.2f} of 10 digits are ruled out on average")
sizes = sets.sum(axis=1)
for size in range(6):
    print(f"{100 * (sizes == size).mean():5.1f} % of the sets have {size} digits")

# %%
# The p-value of a digit is the share of images, this one among them, that are at least
# as odd as it would be. Up to 2 % a digit is ruled out (pale bars, below the line);
# what is left is the set (dark bars; green is the truth). Four images of five keep one
# digit only, and the others say between which they waver.

shown = [np.flatnonzero(sizes == size)[0] for size in (1, 2, 3, 4)]
fig, axes = plt.subplots(2, 4, figsize=(10, 5), height_ratios=(1, 1.3))
fig.suptitle("What can this digit be, at 98 % confidence?", fontsize=13)
for (image, bars), i in zip(axes.T, shown, strict=True):
    image.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    image.set_axis_off()
    said = " or ".join(map(str, clf.classes_[sets[i]])) or "none of them fits"
    image.set_title(said, fontsize=15, weight="bold")
    colours = np.where(sets[i], "#5c6f82", "#d5dbe1")
    if sets[i, y_test[i]]:
        colours[y_test[i]] = "#13795b"
    bars.bar(range(10), p[i], color=colours)
    bars.axhline(0.02, color="C3", linestyle="--", linewidth=1.2)
    bars.set(xticks=range(10), yscale="log", ylim=(0.003, 1))
    bars.set(xlabel=f"digit (the truth is {y_test[i]})")
    bars.spines[["top", "right"]].set_visible(False)
axes[1, 0].set_ylabel("p-value")
fig.tight_layout()

# %%
# What is promised is the average: over training sets and test images, a set misses with
# probability 2 % at most. It is not promised for each digit by itself; that is
# ``mondrian="label"``, as in :doc:`plot_diagnosis`. The sets as they are used:

frame = clf.predict_frame(X_test[shown], confidence_level=0.98)
print(frame[["prediction", "set", "credibility"]].to_string())
