"""Betting against the uniformity of p-values: each bet returns the logarithm of what it multiplies the capital by.

A p-value's bet is a function that integrates to 1 over [0, 1] and depends on the p-values before it only. So, if
p-values are independent and uniform, the capital is a martingale (theory ST.2), whatever the strategy.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import gammaincc, gammaln, ndtr

from exactcp._numpy_first import python_first
from exactcp._parameters import Allowed
from exactcp.exchangeability._record import Record
from exactcp.exchangeability.kernels import jumpers

BETS_BLOCK = 256  # terms of the mixture's series that are summed together

_bet_with_jumpers = python_first(jumpers.bet_with_jumpers, lambda p_values, *_: 5e3 * p_values.size)


class Betting:
    """A strategy: `bet(p)` takes the next p-value and returns log(S_n / S_{n-1}); it remembers what it must.

    Examples
    --------
    A strategy of one's own: half of the capital on the next p-value being below 1/2.

    >>> import math
    >>> from exactcp.exchangeability import Betting
    >>> class BelowHalf(Betting):
    ...     def bet(self, p):
    ...         return math.log(1.5 if p < 0.5 else 0.5)
    >>> gambler = BelowHalf()
    >>> [round(gambler.bet(p), 2) for p in (0.1, 0.2, 0.9)]
    [0.41, 0.41, -0.69]
    """

    def bet(self, p: float) -> float:
        """Return the logarithm of the factor by which this p-value multiplies the capital."""
        raise NotImplementedError

    def bets(self, p_values: Sequence[float]) -> list[float]:
        """Return what `bet` returns for several p-values, one after another."""
        return [self.bet(p) for p in p_values]

    def fresh(self) -> Self:
        """Return the same strategy with nothing remembered."""
        return replace(self)  # type: ignore[type-var]

    def fork(self) -> Self:
        """Return the same strategy with the same memory, which bets on by itself."""
        return copy.deepcopy(self)

    def log_martingale(self, p_values: Any) -> np.ndarray:
        """Return log S_1, ..., log S_n of a gambler who starts with S_0 = 1.

        Parameters
        ----------
        p_values : array-like of shape (n,)
            In the order of the stream.

        Returns
        -------
        ndarray of shape (n,)
        """
        gambler = self.fresh()
        return np.cumsum(gambler.bets(check_p_values(p_values)))


def copied(original: Any, **changed: Any) -> Any:
    """Return an object of the same class with the same attributes, but for those that are given.

    Unlike `twin` it trusts that nobody changes the original meanwhile: what a stream has taken is never changed again.
    """
    other = object.__new__(type(original))
    other.__dict__.update(original.__dict__, **changed)
    return other


def check_p_values(p_values: Any) -> list[float]:
    """Return p-values in (0, 1] as a list, or say what they are instead."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p > 0) & (p <= 1)).all():
        received = f"shape {p.shape}" if p.ndim != 1 else f"the value {p[~((p > 0) & (p <= 1))][0]}"
        msg = f"p_values have {received}: expected a flat array of numbers in (0, 1], as smoothed p-values are."
        raise ValueError(msg)
    return p.tolist()


def _check_up_to(high: float, name: str, value: float) -> None:
    if not 0.0 < value <= high:
        msg = f"{name}={value!r} is out of range: use a number above 0 and at most {high:g}."
        raise ValueError(msg)


@dataclass
class Power(Betting):
    """Bet epsilon p^(epsilon - 1), which grows when p-values are small.

    Parameters
    ----------
    epsilon : float, default=0.92
        In (0, 1]; the smaller, the bolder.

    Notes
    -----
    A bet costs O(1), and nothing is remembered.

    Examples
    --------
    >>> from exactcp.exchangeability import Power
    >>> float(Power(0.5).log_martingale([0.01, 0.25])[-1].round(6))  # 0.5 / 0.1 * 0.5 / 0.5
    1.609438
    """

    epsilon: float = 0.92

    def __post_init__(self) -> None:
        _check_up_to(1.0, "epsilon", self.epsilon)

    def fork(self) -> Self:
        """Return the same strategy with the same memory, which bets on by itself."""
        return copied(self)

    def bet(self, p: float) -> float:
        """Return log epsilon + (epsilon - 1) log p."""
        return math.log(self.epsilon) + (self.epsilon - 1.0) * math.log(p)


@dataclass
class SimpleMixture(Betting):
    """The power bets with every epsilon in [0, 1] at once: S is the integral of their capitals.

    Notes
    -----
    A bet costs O(sqrt(n)) terms of a series, and two numbers are remembered.

    Examples
    --------
    >>> from exactcp.exchangeability import SimpleMixture
    >>> float(SimpleMixture().log_martingale([0.05] * 20)[-1].round(6))
    16.298921
    """

    _n: int = field(default=0, init=False, repr=False, compare=False)
    _sum: float = field(default=0.0, init=False, repr=False, compare=False)  # P = -sum log p
    _log: float = field(default=0.0, init=False, repr=False, compare=False)

    def fork(self) -> Self:
        """Return the same strategy with the same memory, which bets on by itself."""
        return copied(self)

    def bet(self, p: float) -> float:
        """Return the change of log S, which is a function of n and P = -sum log p."""
        self._n += 1
        self._sum -= math.log(p)
        before, self._log = self._log, log_mixture(self._n, self._sum)
        return self._log - before


def log_mixture(n: int, P: float) -> float:
    """Return log of the integral of e^n exp((1 - e) P) over e in [0, 1], which is sum_k P^k / ((n+1) ... (n+1+k))."""
    if n + 1 + 5 * math.sqrt(n + 1) < P:
        # most of the Gamma density's mass lies below P: gamma_reg = 1 - gammaincc loses nothing
        return float(P + gammaln(n + 1) + np.log1p(-gammaincc(n + 1, P)) - (n + 1) * math.log(P))
    total, term, k = 0.0, 1.0 / (n + 1), 0
    # terms fall from k = max(0, P - n - 1) on, which is at most 5 sqrt(n + 1); the largest is below e^13 / (n + 1)
    while term > 1e-18 * total:
        terms = term * np.cumprod(P / np.arange(n + 2 + k, n + 2 + k + BETS_BLOCK))
        total += term + float(terms[:-1].sum())
        term, k = float(terms[-1]), k + BETS_BLOCK
    return math.log(total)


class Jumpers(NamedTuple):
    """What jumpers remember; it is replaced, not changed."""

    jumps: np.ndarray  # (j,)
    shares: np.ndarray  # (j, 3) of each one's capital, that bet with e = -1, 0 and 1
    logs: np.ndarray  # (j,) log S of each, less that of the mean

    def after(self, p_values: Sequence[float]) -> tuple[Jumpers, list[float]]:
        """Return them after bets on p-values, and the logarithms of what these multiply the mean capital by."""
        shares, logs, growths = self.shares.copy(), self.logs.copy(), np.empty(len(p_values))
        _bet_with_jumpers(np.array(p_values, dtype=np.float64), self.jumps, shares, logs, growths)
        return Jumpers(self.jumps, shares, logs), growths.tolist()


def new_jumpers(jumps: tuple[float, ...]) -> Jumpers:
    """Return jumpers that have not bet."""
    return Jumpers(np.array(jumps, dtype=np.float64), np.full((len(jumps), 3), 1 / 3), np.zeros(len(jumps)))


@dataclass
class JumperBetting(Betting):
    """What strategies of jumpers share."""

    _jumpers: Jumpers = field(init=False, repr=False, compare=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        old = state.pop("_shares", None)  # as lists of numbers
        self.__dict__.update(state)
        if old is not None:
            self.__post_init__()
            logs = np.array(self.__dict__.pop("_logs", self._jumpers.logs), dtype=np.float64)
            self._jumpers = self._jumpers._replace(shares=np.array(old, dtype=np.float64).reshape(-1, 3), logs=logs)

    def __post_init__(self) -> None:
        raise NotImplementedError

    def fork(self) -> Self:
        """Return the same strategy with the same memory, which bets on by itself."""
        return copied(self)

    def bet(self, p: float) -> float:
        """Return log of sum_e C_e (1 + e (p - 1/2)), the C_e adding up to 1 after the jump; or of the mean of such."""
        return self.bets([p])[0]

    def bets(self, p_values: Sequence[float]) -> list[float]:
        """Return what `bet` returns for several p-values, one after another."""
        self._jumpers, growths = self._jumpers.after(p_values)
        return growths


@dataclass
class SimpleJumper(JumperBetting):
    """Bet 1 + e (p - 1/2) with e = -1, 0 and 1, and move a share of the capital between them before each bet.

    Parameters
    ----------
    jump : float, default=0.01
        The share J, in (0, 1].

    Notes
    -----
    A bet costs O(1), and three numbers are remembered; many bets are one compiled loop.

    Examples
    --------
    >>> from exactcp.exchangeability import SimpleJumper
    >>> float(SimpleJumper().log_martingale([0.05] * 20)[-1].round(6))
    6.225642
    """

    jump: float = 0.01

    def __post_init__(self) -> None:
        _check_up_to(1.0, "jump", self.jump)
        self._jumpers = new_jumpers((self.jump,))


@dataclass
class CompositeJumper(JumperBetting):
    """The mean of simple jumpers: no J has to be chosen.

    Parameters
    ----------
    jumps : tuple of float, default=(1e-4, 1e-3, 1e-2, 1e-1, 1.0)
        The share J of each jumper, in (0, 1].

    Notes
    -----
    A bet costs as much as one of each jumper: O(1) a jumper, in one compiled loop.

    Examples
    --------
    >>> from exactcp.exchangeability import CompositeJumper
    >>> float(CompositeJumper().log_martingale([0.05] * 20)[-1].round(6))
    5.898279
    """

    jumps: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)

    def __post_init__(self) -> None:
        for jump in self.jumps:
            _check_up_to(1.0, "jump", jump)
        if not self.jumps:
            raise ValueError("jumps=() has no jumper: give at least one number in (0, 1].")
        self._jumpers = new_jumpers(self.jumps)


@dataclass
class PlugIn(Betting):
    """Bet the density of the past p-values: a Gaussian kernel estimate, reflected at 0 and 1.

    Parameters
    ----------
    smallest_bandwidth : float, default=0.01
        The bandwidth is Silverman's 1.06 s n^(-1/5), s the standard deviation of the past p-values, or this if that is
        smaller.

    Notes
    -----
    The first two p-values are not bet on. A bet costs O(n).

    References
    ----------
    .. [1] V. Fedorova, A. Gammerman, I. Nouretdinov, V. Vovk, "Plug-in martingales for testing exchangeability
       on-line", ICML 2012.

    Examples
    --------
    >>> from exactcp.exchangeability import PlugIn
    >>> never_leave_the_middle = [0.45, 0.55] * 50
    >>> bool(PlugIn().log_martingale(never_leave_the_middle)[-1] > 20)
    True
    """

    smallest_bandwidth: float = 0.01
    _past: Record = field(init=False, repr=False, compare=False)
    _mean: float = field(default=0.0, init=False, repr=False, compare=False)
    _squares: float = field(default=0.0, init=False, repr=False, compare=False)  # sum of (p - mean)^2

    def __post_init__(self) -> None:
        _check_up_to(0.5, "smallest_bandwidth", self.smallest_bandwidth)
        self._past = Record()

    def fork(self) -> Self:
        """Return the same strategy with the same memory, which bets on by itself."""
        return copied(self, _past=self._past.fork())

    def bet(self, p: float) -> float:
        """Return the log density at p, and remember p."""
        growth = self._log_density(p) if len(self._past) >= 2 else 0.0
        self._past.append(p)
        # Welford's update
        change = p - self._mean
        self._mean += change / len(self._past)
        self._squares += change * (p - self._mean)
        return growth

    def _log_density(self, p: float) -> float:
        past, n = self._past.values, len(self._past)
        h = max(1.06 * math.sqrt(self._squares / n) * n**-0.2, self.smallest_bandwidth)
        # the images c, -c, 2 - c cover [0, 1] as the kernel at c covers [-1, 2]
        weights = 1.0 / (ndtr((2.0 - past) / h) - ndtr((-1.0 - past) / h))
        exponents = -0.5 * ((p - np.concatenate([past, -past, 2.0 - past])) / h) ** 2
        top = float(exponents.max())
        images = np.exp(exponents - top).reshape(3, n).sum(axis=0)
        return top + math.log(float(weights @ images) / (n * h * math.sqrt(2 * math.pi)))


_STRATEGIES: dict[str, type[Betting]] = {
    "power": Power,
    "mixture": SimpleMixture,
    "simple_mixture": SimpleMixture,
    "jumper": SimpleJumper,
    "simple_jumper": SimpleJumper,
    "composite": CompositeJumper,
    "composite_jumper": CompositeJumper,
    "plugin": PlugIn,
    "plug_in": PlugIn,
}


def plain_name(name: str) -> str:
    """Return a name in one spelling: "Shiryaev-Roberts" is "shiryaev_roberts"."""
    return name.lower().replace("-", "_").replace(" ", "_")


BETTING = Allowed(
    "a strategy",
    "'power', 'mixture', 'jumper', 'composite', 'plugin', or an object from exactcp.exchangeability, such as "
    "SimpleJumper(jump=0.01)",
    lambda value: plain_name(value) in _STRATEGIES if isinstance(value, str) else isinstance(value, Betting),
)


def make_betting(betting: Any) -> Betting:
    """Return a fresh strategy from its name or from a strategy.

    Parameters
    ----------
    betting : {"power", "mixture", "jumper", "composite", "plugin"} or Betting

    Returns
    -------
    Betting
    """
    BETTING.check("betting", betting)
    return betting.fresh() if isinstance(betting, Betting) else _STRATEGIES[plain_name(betting)]()
