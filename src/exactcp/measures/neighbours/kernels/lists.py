"""Sorted lists of the smallest distances of one example (theory NN.1 to NN.3).

A list is a row of `values` in ascending order, of which the first `length` are in use.
"""

import math

from exactcp._jit import inner


@inner
def insert(values, length, limit, d):
    """Insert d into the `limit` smallest seen so far; return the new length."""
    if length == limit:
        if d >= values[limit - 1]:
            return length
        position = limit - 1
    else:
        position = length
        length += 1
    while position > 0 and values[position - 1] > d:
        values[position] = values[position - 1]
        position -= 1
    values[position] = d
    return length


@inner
def insert_with(values, partners, length, limit, d, partner):
    """Insert d as `insert` does, and what belongs to it at the same position in `partners`."""
    # written out: one function for lists with and without partners takes 3 to 6 % longer
    if length == limit:
        if d >= values[limit - 1]:
            return length
        position = limit - 1
    else:
        position = length
        length += 1
    while position > 0 and values[position - 1] > d:
        values[position], partners[position] = values[position - 1], partners[position - 1]
        position -= 1
    values[position], partners[position] = d, partner
    return length


@inner
def insert_large(values, length, limit, s):
    """Insert s into the `limit` largest seen so far, in descending order; return the new length."""
    if length == limit:
        if s <= values[limit - 1]:
            return length
        position = limit - 1
    else:
        position = length
        length += 1
    while position > 0 and values[position - 1] < s:
        values[position] = values[position - 1]
        position -= 1
    values[position] = s
    return length


@inner
def position_of(values, length, d):
    """Return where the first entry equal to d, bit for bit, is; -1 if there is none."""
    for position in range(length):
        if values[position] == d:
            return position
    return -1


@inner
def remove(values, length, d):
    """Remove one entry equal to d, bit for bit; return the new length (the old one if there is none)."""
    position = position_of(values, length, d)
    if position < 0:
        return length
    for j in range(position, length - 1):
        values[j] = values[j + 1]
    return length - 1


@inner
def sort_in_place(values):
    """Shell's sort, for short arrays: it compiles many times faster than a call of numpy's."""
    gap = 1
    while gap < values.shape[0] // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, values.shape[0]):
            v, j = values[i], i
            while j >= gap and values[j - gap] > v:
                values[j] = values[j - gap]
                j -= gap
            values[j] = v
        gap //= 3


@inner
def kth(values, length, k):
    """Delta: the k-th smallest, +inf if fewer than k exist."""
    return values[k - 1] if length >= k else math.inf


@inner
def copy_numbers(source, target):
    """Write the numbers of one array to the start of another (a loop compiles faster than an assignment to a slice)."""
    for j in range(source.shape[0]):
        target[j] = source[j]


@inner
def sum_first(values, length, k):
    """F: the sum of the k smallest in ascending order (of all, if fewer), +inf if none exists."""
    used = min(length, k)
    if used == 0:
        return math.inf
    total = 0.0
    for j in range(used):
        total += values[j]
    return total


@inner
def sum_first_with(values, length, k, d):
    """F after d joined: the sum of the k smallest of list and d, in ascending order."""
    total = 0.0
    used = 0
    waiting = True
    for j in range(length):
        if used == k:
            return total
        if waiting and d <= values[j]:
            total += d
            used += 1
            waiting = False
            if used == k:
                return total
        total += values[j]
        used += 1
    if waiting and used < k:
        total += d
    return total


@inner
def ratio(numerator, denominator):
    """k-NN score of the two sums: no same-label example is +inf, no other-label example 0, and 0/0 is 1."""
    if math.isinf(numerator):
        return math.inf
    if math.isinf(denominator):
        return 0.0
    if denominator == 0.0:
        return 1.0 if numerator == 0.0 else math.inf
    return numerator / denominator
