"""
Is my regressor's distribution right?
=====================================

A number and an interval are not enough for who must price a risk: the whole
distribution is asked for. That of a linear model with normal errors is wrong where
errors are not normal. A conformal predictive distribution is right, and that can be
checked.
"""

# %%
# The area of the largest nuclei of a tumour, from ten mean values of it, by ridge
# regression. The rival has the same regression, and normal errors around it. The scaler
# sees all objects and treats them alike.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from exactcp import FullConformalRegressor
from exactcp.inspection import UniformityDisplay
from exactcp.measures import RidgeResidual
from exactcp.metrics import crps

data = load_breast_cancer(as_frame=True).data
X = StandardScaler().fit_transform(data.filter(like="mean"))
X_train, X_test, y_train, y_test = train_test_split(
    X, data["worst area"].to_numpy(), train_size=300, random_state=0
)

reg = FullConformalRegressor(RidgeResidual()).fit(X_train, y_train)
found = reg.predict_distribution(X_test)

ridge = Ridge().fit(X_train, y_train)
centre, error = ridge.predict(X_test), ridge.predict(X_train) - y_train
spread = np.sqrt((error**2).sum() / (len(error) - X.shape[1] - 1))
normal = norm(centre, spread)

# %%
# Two questions. Is it *right*: does the truth fall below the 10 % quantile one time in
# ten, and so on for all? Then the probability of at most the truth (PIT) is uniform.
# And is it *sharp*: the CRPS measures how far it is from the truth, in the units of the
# target, and is smaller for a distribution that is narrow and right.

points = norm.ppf((np.arange(999) + 0.5) / 999, centre[:, None], spread)
print(f"CRPS: normal {crps(points, y_test):.1f}", end=", ")
print(f"conformal {found.crps(y_test).mean():.1f}")
for name, pit in (("normal", normal.cdf(y_test)), ("conformal", found.cdf(y_test))):
    middle = np.mean((pit > 0.25) & (pit < 0.75))
    print(f"{name}: {100 * middle:.0f} % of the truths in the middle half", end=", ")
    print(f"{100 * np.mean((pit < 0.01) | (pit > 0.99)):.1f} % in the outer 2 %")

# %%
# The normal distribution expects moderate errors for all. Really most are small and a
# few are huge: too many truths fall into its middle, and too many far outside. The
# conformal histogram keeps to the band.

fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True)
UniformityDisplay.from_predictions(
    normal.cdf(y_test), name="probability of at most the truth", ax=axes[0]
)
UniformityDisplay.from_estimator(reg, X_test, y_test, kind="pit", ax=axes[1])
for ax, title in zip(axes, ("Normal errors: a hump", "Conformal: level"), strict=True):
    ax.set(title=title, xlabel="probability of at most the truth")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].get_legend().remove()
axes[1].set_ylabel("")
fig.tight_layout()

# %%
# Promised: with a random tie-breaker (``cdf(y, tau)``) the PIT of the truth is exactly
# uniform, averaged over training sets and tumours. It is one shape, moved and widened
# by what the design says, and knows nothing of noise that depends on x. Quantiles and
# intervals come from the same object:

print(found[:2].quantile([0.05, 0.5, 0.95]).round(0))
