"""
More data than memory
=====================

The table has outgrown the machine. Is a sample of it enough, or can one still predict
from all examples? Cut it into shards: each is small, and together they give exactly the
p-values of one process that holds everything.
"""

# %%
# The examples lie in a file, as they would if there were a hundred times as many, and a
# memory map shows them to Dask in chunks. Without a cluster, threads of this process do
# the work, and keep in memory only what they are working on.

from pathlib import Path
from tempfile import mkdtemp

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactcp import FullConformalClassifier
from exactcp.dask import DaskFullConformalClassifier
from exactcp.measures import KNN

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=300, random_state=0)
path = Path(mkdtemp()) / "objects.npy"
np.save(path, X_train)

objects = da.from_array(np.load(path, mmap_mode="r"), chunks=(250, -1))
labels = da.from_array(y_train, chunks=250)
many = DaskFullConformalClassifier(KNN(k=5)).fit(objects, labels)
sharded = many.predict_p(X_test)

# %%
# One process that holds all of them says the same, to the last bit; a sample of one
# shard does not, and its sets are larger.

one = FullConformalClassifier(KNN(k=5)).fit(X_train, y_train)
sample = FullConformalClassifier(KNN(k=5)).fit(X_train[:250], y_train[:250])
alone = sample.predict_p(X_test)
whole = one.predict_p(X_test)
print("shards:", objects.numblocks[0])
print("equal to one process:", np.array_equal(sharded, whole))
for name, predictor in (("all examples", many), ("one shard", sample)):
    sets = np.asarray(predictor.predict_set(X_test, confidence_level=0.99))
    covered = sets[np.arange(len(y_test)), y_test].mean()
    size = sets.sum(axis=1).mean()
    print(
        f"{name}: coverage {100 * covered:.1f} % (99 % asked), {size:.2f} labels a set"
    )

fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.6), sharex=True, sharey=True)
titles = ("all shards together", "one shard of six")
for ax, p, title in zip(axes, (sharded, alone), titles, strict=True):
    ax.plot([0, 1], [0, 1], color="0.8", linewidth=1)
    ax.plot(whole.ravel(), p.ravel(), ".", color="C0", markersize=5, alpha=0.5)
    ax.set(title=title, xlabel="p-value of one process with all examples")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set(ylabel="p-value")
fig.tight_layout()

# %%
# :doc:`/dask` tells what it costs, how large shards should be, and what happens when a
# worker of a cluster dies.
