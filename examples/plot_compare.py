"""
Which measure for my data?
==========================

Neighbours, a forest, least squares, a density, a model and a split: all are valid, so
the choice is about size. ``exactcp.compare`` tries them in folds of your data, and puts
the best first.
"""

# %%
# Every wine is predicted once, from the other folds. ``exactcp.compare(X, y)`` alone
# tries eight predictors and scales columns by itself; a dict compares what you have in
# mind. The scaler sees all objects and no label, and treats them alike. The choice is
# made on 60 % of the wines, so that the others can fit the best predictor.

import textwrap

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import exactcp
from exactcp import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KDE, KNN, LSSVM, RandomForest

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
predictors = {
    "k-NN, k = 1": FullConformalClassifier(KNN(k=1)),
    "k-NN, k = 15": FullConformalClassifier(KNN(k=15)),
    "LS-SVM, linear": FullConformalClassifier(LSSVM()),
    "LS-SVM, rbf": FullConformalClassifier(LSSVM(kernel="rbf", gamma=1 / 13)),
    "forest": FullConformalClassifier(RandomForest(), random_state=0),
    "density": FullConformalClassifier(KDE()),
    "split, logistic regression": SplitConformalClassifier(
        LogisticRegression(), random_state=0
    ),
}
found = exactcp.compare(
    X, y, predictors, confidence_level=0.97, random_state=0, choose_on=0.6
)
columns = ["coverage", "coverage_low", "coverage_high", "set_size", "fuzziness"]
print(found[columns].round(3).to_string())

# %%
# The criterion is *fuzziness*, the sum of the p-values of all labels but the likeliest:
# small where wrong labels are ruled out at every level. Full predictors learn and
# calibrate with all wines of a fold; the split halves them, and pays for it. The
# measure matters, too: a density in 13 dimensions is hard to tell from 86 wines.

shown = found[::-1]
colours = ["#e9a13b" if "split" in name else "#2a6f97" for name in shown.index]
fig, (size, cover) = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
size.barh(shown.index, shown["fuzziness"], color=colours)
for place, value in enumerate(shown["fuzziness"]):
    size.text(value, place, f" {value:.3f}", va="center", fontsize=9)
size.set(title="Fuzziness: less is better", xlim=(0, 1.2 * shown["fuzziness"].max()))
ends = shown[["coverage_low", "coverage_high"]].to_numpy()
cover.hlines(range(len(shown)), *ends.T, color=colours, linewidth=5, alpha=0.6)
cover.scatter(shown["coverage"], range(len(shown)), color=colours, zorder=3)
cover.axvline(0.97, color="0.3", linestyle="--", linewidth=1)
cover.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
cover.set(title="Coverage, 97 % asked for", xlim=(0.88, 1.005))
for ax in (size, cover):
    ax.spines[["top", "right"]].set_visible(False)
fig.tight_layout()

# %%
# The best one, and what choosing it costs:

print(found.attrs["best"])
print(textwrap.fill(found.attrs["guarantee"], 88))
