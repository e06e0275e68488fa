"""From p-values to wealth to alarms, all in the log domain (theory ST)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from exactcp._parameters import Allowed, number
from exactcp.exchangeability._record import Record
from exactcp.exchangeability.betting import Betting, copied, make_betting, plain_name

THRESHOLD = number("a level for alarms", "a number above 1", lambda x: x > 1)


class AlarmRule:
    """A statistic of the martingale that raises an alarm at a threshold, and then starts anew.

    Parameters
    ----------
    threshold : float, default=100.0
        Above 1, the statistic's size without any evidence; infinity means that there is never an alarm.

    Examples
    --------
    The same losses and gains by two rules that derive from it; the second forgets losses:

    >>> from exactcp.exchangeability import CUSUM, Ville
    >>> growths = [-1.0, -1.0, 1.5, 1.5]
    >>> rules = Ville(threshold=10), CUSUM(threshold=10)
    >>> [[rule.step(growth)[1] for growth in growths] for rule in rules]
    [[False, False, False, False], [False, False, False, True]]
    """

    at_start = 0.0  # logarithm of the statistic before the first bet

    def __init__(self, threshold: float = 100.0) -> None:
        THRESHOLD.check("threshold", threshold, 100.0)
        self.threshold = float(threshold)
        self._log_threshold = math.log(threshold) if threshold < math.inf else math.inf
        self._log = self.at_start

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.threshold:g})"

    def _next(self, log: float, growth: float) -> float:
        raise NotImplementedError

    def step(self, growth: float) -> tuple[float, bool]:
        """Take the next log(S_n / S_{n-1}); return the log statistic, and whether it is an alarm."""
        log = self._next(self._log, growth)
        alarm = log >= self._log_threshold
        self._log = self.at_start if alarm else log
        return log, alarm


class Ville(AlarmRule):
    """The capital S itself: exchangeable examples ever raise an alarm with probability at most 1/threshold.

    Parameters
    ----------
    threshold : float, default=100.0
        Above 1; there is an alarm when the statistic reaches it.

    Examples
    --------
    >>> from exactcp.exchangeability import Ville
    >>> rule = Ville(threshold=10)
    >>> [rule.step(growth)[1] for growth in (1.0, 1.5, 0.0)]
    [False, True, False]
    """

    def _next(self, log: float, growth: float) -> float:
        return log + growth


class CUSUM(AlarmRule):
    """The largest S_n / S_i over i < n: gamma_n = max(gamma_{n-1}, 1) S_n / S_{n-1}. It finds late changes sooner.

    Parameters
    ----------
    threshold : float, default=100.0
        Above 1; there is an alarm when the statistic reaches it.

    Notes
    -----
    There will be false alarms; if the examples are exchangeable, the mean time to one is at least the threshold.

    Examples
    --------
    What was lost before the change does not count:

    >>> from exactcp.exchangeability import CUSUM
    >>> rule = CUSUM(threshold=10)
    >>> [rule.step(growth)[1] for growth in (-2.0, 1.5, 1.0, 0.0)]
    [False, False, True, False]
    """

    at_start = -math.inf

    def _next(self, log: float, growth: float) -> float:
        return max(log, 0.0) + growth


class ShiryaevRoberts(AlarmRule):
    """The sum of S_n / S_i over i < n: R_n = (R_{n-1} + 1) S_n / S_{n-1}.

    Parameters
    ----------
    threshold : float, default=100.0
        Above 1; there is an alarm when the statistic reaches it.

    Notes
    -----
    R_n - n is a martingale if the examples are exchangeable, so the mean time to a false alarm is at least the
    threshold.

    Examples
    --------
    >>> from exactcp.exchangeability import ShiryaevRoberts
    >>> rule = ShiryaevRoberts(threshold=10)
    >>> [rule.step(growth)[1] for growth in (-2.0, 1.5, 1.0, 0.0)]
    [False, False, True, False]
    """

    at_start = -math.inf

    def _next(self, log: float, growth: float) -> float:
        return float(np.logaddexp(log, 0.0)) + growth


_RULES: dict[str, type[AlarmRule]] = {
    "ville": Ville,
    "cusum": CUSUM,
    "shiryaev_roberts": ShiryaevRoberts,
    "sr": ShiryaevRoberts,
}


ALARM = Allowed(
    "a rule",
    "'ville', 'cusum' or 'shiryaev-roberts'",
    lambda value: isinstance(value, str) and plain_name(value) in _RULES,
)


def make_alarm(alarm: Any, threshold: float) -> AlarmRule:
    """Return a rule that is at its start, from its name.

    Parameters
    ----------
    alarm : {"ville", "cusum", "shiryaev-roberts"}
    threshold : float

    Returns
    -------
    AlarmRule
    """
    ALARM.check("alarm", alarm)
    return _RULES[plain_name(alarm)](threshold)


class Martingale:
    """The wealth of a gambler, and the alarms that it raises.

    Parameters
    ----------
    betting : str or Betting, default="composite"
        How to bet: "power", "mixture", "jumper", "composite", "plugin", or a strategy with parameters.
    alarm : {"ville", "cusum", "shiryaev-roberts"}, default="ville"
        When to raise an alarm, as in `ExchangeabilityTest`.
    threshold : float, default=100.0
        Of the alarm's statistic; above 1.

    Attributes
    ----------
    log_wealth : ndarray of shape (n,)
        log S_n: the product of all bets, which no alarm interrupts.
    log_statistic : ndarray of shape (n,)
        Of the alarm rule. It starts anew after each alarm.
    alarms : ndarray of int
        The p-values, counted from 0, at which the statistic reached the threshold.

    Notes
    -----
    A p-value costs what the bet does: O(1), but O(n) with "plugin" and O(sqrt(n)) with "mixture". Two numbers are
    kept for each.

    Examples
    --------
    Small p-values from the 20th on:

    >>> from exactcp.exchangeability.martingale import Martingale
    >>> martingale = Martingale("jumper", "cusum")
    >>> for p in [0.6, 0.4] * 10 + [0.05] * 30:
    ...     alarmed = martingale.update(p)
    >>> martingale.alarms
    array([35, 48])
    """

    def __init__(self, betting: Any = "composite", alarm: str = "ville", threshold: float = 100.0) -> None:
        self._betting: Betting = make_betting(betting)
        self._rule = make_alarm(alarm, threshold)
        self._wealth, self._statistic, self._alarms = Record(), Record(), Record()
        self._log = 0.0

    def fork(self) -> Martingale:
        """Return the same martingale, which goes on by itself."""
        wealth, statistic, alarms = self._wealth.fork(), self._statistic.fork(), self._alarms.fork()
        betting, rule = self._betting.fork(), copied(self._rule)
        return copied(self, _betting=betting, _rule=rule, _wealth=wealth, _statistic=statistic, _alarms=alarms)

    def update(self, p: float) -> bool:
        """Bet on the next p-value; return whether there is an alarm.

        Parameters
        ----------
        p : float
            In (0, 1].

        Returns
        -------
        bool
        """
        return self.update_many([p])[0]

    def update_many(self, p_values: Sequence[float]) -> list[bool]:
        """Bet on the next p-values, one after another; return at which of them there is an alarm.

        Parameters
        ----------
        p_values : sequence of float
            In (0, 1].

        Returns
        -------
        list of bool
        """
        growths = self._betting.bets(p_values)
        steps = [self._rule.step(growth) for growth in growths]
        wealth = np.add.accumulate([self._log, *growths])[1:]
        logs, alarmed = [log for log, _ in steps], [alarm for _, alarm in steps]
        self._alarms.extend(len(self._wealth) + np.flatnonzero(alarmed))
        self._wealth.extend(wealth)
        self._statistic.extend(logs)
        self._log = float(wealth[-1]) if growths else self._log
        return alarmed

    def forget(self) -> None:
        """Bet as if no p-value had been seen; the wealth stays."""
        self._betting = self._betting.fresh()

    @property
    def log_wealth(self) -> np.ndarray:
        """Log S_n after each p-value."""
        return self._wealth.values

    @property
    def log_statistic(self) -> np.ndarray:
        """Logarithm of the alarm rule's statistic after each p-value."""
        return self._statistic.values

    @property
    def alarms(self) -> np.ndarray:
        """Positions of the alarms."""
        return self._alarms.values.astype(np.int64)
