"""Testing a stream for exchangeability while it comes in (theory ST).

`stream` turns examples into p-values, each before its example is learned; `betting` turns p-values into bets;
`martingale` multiplies the bets to wealth, and says when there is an alarm.
"""

from exactcp.exchangeability.betting import Betting, CompositeJumper, PlugIn, Power, SimpleJumper, SimpleMixture
from exactcp.exchangeability.martingale import CUSUM, AlarmRule, ShiryaevRoberts, Ville
from exactcp.exchangeability.stream import ExchangeabilityTest

__all__ = [
    "CUSUM",
    "AlarmRule",
    "Betting",
    "CompositeJumper",
    "ExchangeabilityTest",
    "PlugIn",
    "Power",
    "ShiryaevRoberts",
    "SimpleJumper",
    "SimpleMixture",
    "Ville",
]
