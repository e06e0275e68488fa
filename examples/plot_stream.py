"""
Is my stream still the same?
============================

A model was tested on shuffled data; in use the examples come one after the other, from
other hands, machines and days. A test that bets on every example says when the stream
has become another one, and may be looked at after each.
"""

# %%
# ``ExchangeabilityTest`` gives each example a p-value before it learns it, and bets
# against these being uniform. If the order of the examples does not matter, its wealth,
# 1 at first, ever reaches 100 with a probability of at most 1 %. The 1,797 digits of
# scikit-learn, written by 13 people, come here twice: shuffled, and in the order of
# their file. ``mondrian="label"`` compares each digit with its own kind, so that in
# which order the *labels* come does not count.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from exactcp import ExchangeabilityTest

X, y = load_digits(return_X_y=True)
shuffled = np.random.default_rng(0).permutation(len(X))
tests = {}
for name, order in (("shuffled", shuffled), ("in the file's order", slice(None))):
    tests[name] = ExchangeabilityTest(mondrian="label", random_state=0)
    tests[name].update_many(X[order], y[order])
    alarms = tests[name].alarms_
    first = (
        f"the first after {alarms[0] + 1} images" if len(alarms) else "as it should be"
    )
    print(f"{name}: {len(alarms)} alarms, {first}; p-value {tests[name].p_value_:.1g}")

# %%
# The shuffled digits raise no alarm. In the order of the file the evidence is
# overwhelming after some hundred images; the writers seem to come one after the other.
# Whoever learns from the first of them and predicts the last has no guarantee, however
# many digits there are. (The line is the wealth that no alarm resets.)

fig, ax = plt.subplots(figsize=(8.5, 4.2))
colours = ("C0", "C3")
for (name, test), colour in zip(tests.items(), colours, strict=True):
    wealth = test.log_martingale_ / np.log(10)
    ax.plot(np.arange(1, wealth.size + 1), wealth, color=colour, linewidth=2)
    ax.text(1815, wealth[-1], name, color=colour, va="center", fontsize=11)
ax.axhline(2, color="0.4", linestyle="--", linewidth=1)
ax.text(1790, 2.4, "alarm: by chance in 1 of 100", ha="right", color="0.3")
first = tests["in the file's order"].alarms_[0]
ax.plot(first + 1, 2, "o", color="C3", markersize=9)
ax.yaxis.set_major_formatter(lambda power, _: f"$10^{{{power:g}}}$")
ax.set(title="Evidence that the digits have changed", xlim=(0, 1800))
ax.set(xlabel="images so far", ylabel="wealth of the gambler")
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# The bound holds for the whole stream, however long, and however often one looks. What
# the test does not say is *what* has changed, and no alarm is no proof that nothing
# has. What to do after an alarm: collect new examples, or let the level follow the
# errors with :class:`exactcp.online.AdaptiveLevel`.
# :class:`exactcp.inspection.MartingaleDisplay` draws one test with its p-values.
