"""
Forget this example
===================

A patient withdraws consent. The file is easily deleted; but the predictor has learned
from it. Train everything anew, and make sure that it was right? ``unlearn`` takes the
example out, and what is left equals a predictor that never saw it.
"""

# %%
# Every example has an id, so that nobody has to know where it stands.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactcp import FullConformalClassifier
from exactcp.measures import KNN

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=200, random_state=0)
ids = np.array([f"writer {number}" for number in range(len(X_train))])

clf = FullConformalClassifier(KNN(k=5)).fit(X_train, y_train, ids=ids)
before = clf.predict_p(X_test)
clf.unlearn(ids=["writer 17"])
after = clf.predict_p(X_test)

# %%
# A predictor that never saw writer 17 has the same p-values: not nearly, but to the
# last bit.

rest = ids != "writer 17"
fresh = FullConformalClassifier(KNN(k=5)).fit(X_train[rest], y_train[rest])
never = fresh.predict_p(X_test)
print("writer 17 is there:", "writer 17" in list(clf.ids_))
print("equal to a fresh fit:", np.array_equal(after, never))
print(f"p-values that changed when it went: {100 * (before != after).mean():.0f} %")
print(f"by how much at most: {np.abs(before - after).max():.4f}")

# %%
# And it takes a fraction of the time of a fit.

sizes, seconds = (100, 200, 400, 800, 1597), {"fit anew": [], "unlearn": []}
for n in sizes:
    learned = FullConformalClassifier(KNN(k=5)).fit(X_train[:n], y_train[:n])
    tasks = {
        "fit anew": lambda n=n: FullConformalClassifier(KNN(k=5)).fit(
            X_train[1:n], y_train[1:n]
        ),
        "unlearn": lambda learned=learned: learned.unlearn(0),
    }
    for name, task in tasks.items():
        taken = []
        for _ in range(7):
            start = perf_counter()
            task()
            taken.append(perf_counter() - start)
        seconds[name].append(min(taken))

fig, (trace, time) = plt.subplots(1, 2, figsize=(9.5, 4.2))
steps = np.linspace(0, 1, before.size)
trace.plot(steps, np.sort(1000 * (before - never).ravel()), color="C3", linewidth=2.5)
trace.plot(steps, np.sort(1000 * (after - never).ravel()), color="C0", linewidth=2.5)
trace.text(0.03, 0.05, "after: none", color="C0", fontsize=11)
trace.text(0.03, 0.62, "before", color="C3", fontsize=11)
trace.set(title="The trace of writer 17 in 2,000 p-values")
trace.set(xlabel="p-values, sorted", ylabel="away from a fresh fit, in thousandths")
trace.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
for (name, taken), colour in zip(seconds.items(), ("C3", "C0"), strict=True):
    time.loglog(sizes, 1000 * np.array(taken), "o-", color=colour, label=name)
time.set(
    title="Time to be rid of one example", xlabel="examples", ylabel="milliseconds"
)
time.set_xticks(sizes, [f"{n:,}" for n in sizes])
time.minorticks_off()
time.legend(loc="upper left", frameon=False)
for ax in (trace, time):
    ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# What it does not reach: copies and files of the predictor, answers that were given, a
# scaler that has seen the example, and the data itself. :doc:`/unlearning` says what to
# do about each.
