"""
Which of these are anomalies, at 10 % false discoveries?
========================================================

Somebody looks at whatever we flag, and that is expensive. If each of 150 objects is
flagged at 5 %, some usual ones will be. Better to choose so that of those chosen, 10 %
at most are false, on average.
"""

# %%
# The detector learns what benign tumours look like, from 250 of them, and never sees a
# malignant one. Each new tumour gets a p-value: the share of the benign ones, itself
# among them, that are at least as far from their neighbours. The scaler sees all
# objects and treats them alike, so that the p-values stay exact.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from exactcp import ConformalAnomalyDetector
from exactcp.measures import SimplifiedKNN
from exactcp.metrics import select_discoveries

data = load_breast_cancer()
rng = np.random.default_rng(0)
benign = rng.permutation(np.flatnonzero(data.target == 1))
malignant = rng.permutation(np.flatnonzero(data.target == 0))
train, new = benign[:250], np.concatenate([benign[250:], malignant[:50]])
is_anomaly = data.target[new] == 0

X = StandardScaler().fit_transform(data.data[np.concatenate([train, new])])
detector = ConformalAnomalyDetector(SimplifiedKNN(k=10)).fit(X[: len(train)])
p = detector.predict_p(X[len(train) :])

rules = {"p ≤ 5 %": p <= 0.05, "Benjamini-Hochberg, 10 %": select_discoveries(p, q=0.1)}
for name, chosen in rules.items():
    print(
        f"{name}: {chosen.sum()} of {len(new)} chosen, "
        f"{(chosen & ~is_anomaly).sum()} of them benign; "
        f"{(chosen & is_anomaly).sum()} of {is_anomaly.sum()} malignant ones found"
    )

# %%
# The rule of Benjamini and Hochberg sorts the p-values and takes all up to the last one
# under a line that rises to 10 %. It asks more of each the fewer there are to find.

order = np.argsort(p, kind="stable")
rank = np.arange(1, len(p) + 1)
fig, ax = plt.subplots(figsize=(8.5, 4.4))
for truth, colour, marker, name in (
    (False, "C0", "o", "benign"),
    (True, "C3", "^", "malignant"),
):
    own = is_anomaly[order] == truth
    ax.plot(rank[own], p[order][own], marker, color=colour, alpha=0.75, label=name)
ax.plot(rank, 0.1 * rank / len(p), "--", color="0.3", label="line of the rule")
found = rules["Benjamini-Hochberg, 10 %"].sum()
ax.axvspan(0.5, found + 0.5, color="C1", alpha=0.15, linewidth=0)
ax.text(found / 2, 0.42, f"{found} chosen", ha="center", fontsize=12, color="0.25")
ax.set(yscale="log", title="The p-values of the new tumours, sorted")
ax.set(xlabel="rank", ylabel="p-value", xlim=(0, len(p) + 1), ylim=(0.003, 1.15))
ax.legend(loc="lower right", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# Promised for each tumour: a benign one has a p-value of 5 % or less with probability
# 5 % at most. The share of false ones among the chosen is proven for Benjamini and
# Hochberg's rule if the p-values are independent, or come from a split (a detector
# that was fitted on other objects); here it is what one sees, not a theorem.
# ``method="by"`` is proven for any p-values, and has no use for so few. And no p-value
# is below 1 / (n + 1), 1 / 251 here: to find a few among very many, n must be large.

print(
    "Benjamini-Yekutieli, 10 %:",
    select_discoveries(p, q=0.1, method="by").sum(),
    "chosen",
)
