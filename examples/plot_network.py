"""
A network trained elsewhere
===========================

The network is there, trained by others on their images; on ours it is too sure of
itself, and nobody will train it again. Some hundred labelled images of our own turn its
outputs into sets that keep what they promise.
"""

# %%
# The stand-in is a small network that learned from 700 digits. Our scanner moves the
# paper by a pixel while it looks, which the network has never seen. What it says about
# our 1,097 images is all that is needed: probabilities from any framework, in a file.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from exactcp import SplitConformalClassifier
from exactcp.measures import ModelScore
from exactcp.metrics import coverage

images, y = load_digits(return_X_y=True)
images /= 16
theirs, ours, y_theirs, y = train_test_split(images, y, train_size=700, random_state=0)
network = MLPClassifier((64, 64), learning_rate_init=0.01, random_state=0)
network.fit(theirs, y_theirs)
moved = np.roll(ours.reshape(-1, 8, 8), 1, axis=2).reshape(-1, 64)
scanned = (ours + 2 * moved) / 3
outputs = network.predict_proba(scanned)
print(f"right about their images: {100 * network.score(theirs, y_theirs):.0f} %")
print(f"right about ours: {100 * network.score(scanned, y):.0f} %")
print(f"as sure as it says it is: {100 * outputs.max(axis=1).mean():.0f} %")

# %%
# 500 of our images calibrate, and the rest are for testing. ``ModelScore`` with
# "precomputed" takes the probabilities instead of the images; a model that Python can
# call is given as ``SplitConformalClassifier(FrozenEstimator(network))``, and is never
# fitted again. For comparison, the network's own word: the likeliest digits until their
# probabilities add up to the level.

levels = np.array([0.8, 0.85, 0.9, 0.95, 0.98])
clf = SplitConformalClassifier(ModelScore("precomputed"), random_state=0)
clf.fit(outputs[:500], y[:500])
new, y_new = outputs[500:], y[500:]
conformal = [clf.predict_set(new, confidence_level=level) for level in levels]

order = np.argsort(-new, axis=1)
before = np.cumsum(np.take_along_axis(new, order, axis=1), axis=1)
before = np.hstack([np.zeros((len(new), 1)), before[:, :-1]])
own = [np.empty_like(new, dtype=bool) for _ in levels]
for sets, level in zip(own, levels, strict=True):
    np.put_along_axis(sets, order, before < level, axis=1)

kinds = {"the network's own": (own, "C1"), "conformal": (conformal, "C0")}
for name, (found, _) in kinds.items():
    print(
        f"{name} sets at 95 %: coverage {100 * coverage(found[3], y_new):.1f} %, "
        f"{found[3].sum(axis=1).mean():.2f} digits on average"
    )

# %%
# The network's sets cover far less than they say. The conformal ones cover what is
# asked for, and are larger, because the network is not good: no calibration makes it
# better, but nobody is deceived.

fig, (cover, sizes) = plt.subplots(1, 2, figsize=(9.5, 4.2))
for name, (found, colour) in kinds.items():
    held = [coverage(sets, y_new) for sets in found]
    cover.plot(levels, held, "o-", color=colour, label=name)
    sizes.plot(levels, [s.sum(axis=1).mean() for s in found], "o-", color=colour)
cover.plot(levels, levels, "--", color="0.4", linewidth=1, label="what they say")
cover.set(title="The network is too sure, the sets are not", ylim=(0.6, 1.02))
cover.set_ylabel("sets that hold the true digit")
cover.legend(loc="lower right", frameon=False)
sizes.set(title="Digits in a set", ylim=(0, None))
for axis in (cover.xaxis, cover.yaxis, sizes.xaxis):
    axis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
for ax in (cover, sizes):
    ax.set(xlabel="confidence level", xticks=levels)
    ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# The scanner is made up so that the network errs. On images like its own, the sets that
# it makes hold more than they say and are larger than need be; the conformal ones are
# right there, too.
#
# Promised: if the rows that calibrate and the new ones are exchangeable, a set holds
# the truth with at least the probability asked for, averaged over both. The rows that
# the network was trained on must not calibrate: it knows them too well.
