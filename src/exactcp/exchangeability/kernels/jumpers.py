"""Jumpers that bet on one p-value after another (theory ST.4)."""

import math

from exactcp._jit import compiled


@compiled
def bet_with_jumpers(p_values, jumps, shares, logs, growths):
    """Write the logarithms of what p-values multiply the mean capital of jumpers by.

    `shares` (j, 3) of each jumper's capital bet with e = -1, 0 and 1; `logs` (j,) are its capital over the mean. Both
    become what they are after the bets.
    """
    for t in range(p_values.shape[0]):
        edge, top = p_values[t] - 0.5, -math.inf
        for j in range(jumps.shape[0]):
            stay, moved = 1.0 - jumps[j], jumps[j] / 3.0
            low = (stay * shares[j, 0] + moved) * (1.0 - edge)
            none = stay * shares[j, 1] + moved
            high = (stay * shares[j, 2] + moved) * (1.0 + edge)
            total = low + none + high
            shares[j, 0], shares[j, 1], shares[j, 2] = low / total, none / total, high / total
            logs[j] += math.log(total)
            top = max(top, logs[j])
        mean = 0.0
        for j in range(jumps.shape[0]):
            mean += math.exp(logs[j] - top)
        growths[t] = top + math.log(mean / jumps.shape[0])
        for j in range(jumps.shape[0]):
            logs[j] -= growths[t]
