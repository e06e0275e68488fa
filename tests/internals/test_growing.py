"""Arrays that grow and shrink are, after any history of forks, what plain lists would be."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from exactcp._growing import Rows, Square

STEPS = 400


def _rows_step(rows, plain, rng):
    if plain.shape[0] == 0 or rng.random() < 0.6:
        new = rng.normal(size=(rng.integers(1, 4), 2))
        rows.append(new)
        return np.concatenate([plain, new])
    return _shrunk(rows, plain, rng, lambda kept: plain[kept])


def _square_step(square, plain, rng):
    if plain.shape[0] == 0 or rng.random() < 0.6:
        column, corner = rng.normal(size=plain.shape[0]), rng.normal()
        square.append(column, corner)
        return np.block([[plain, column[:, None]], [column[None], np.array([[corner]])]])
    return _shrunk(square, plain, rng, lambda kept: plain[np.ix_(kept, kept)])


def _shrunk(growing, plain, rng, keep):
    n, position = plain.shape[0], rng.integers(plain.shape[0])
    way = rng.integers(3)
    if way == 0:
        growing.drop(int(position))
        return keep(np.delete(np.arange(n), position))
    if way == 1:
        growing.drop_for_last(int(position))
        kept = np.arange(n - 1)
        kept[position : position + 1] = n - 1
        return keep(kept)
    kept = rng.permutation(n)[: n - 1]
    growing.keep(kept)
    return keep(kept)


def _assert_is(growing, plain, *, look):
    assert growing.n == plain.shape[0]
    if isinstance(growing, Square):
        np.testing.assert_array_equal(growing.diagonal(), plain.diagonal())
        vector = np.arange(plain.shape[0], dtype=float)
        np.testing.assert_allclose(growing.times(vector), plain @ vector, rtol=1e-12, atol=1e-12)  # another order
    else:
        np.testing.assert_array_equal(growing.values(lambda rows: rows[:, 1]), plain[:, 1])
        if growing.n:
            np.testing.assert_array_equal(growing.row(growing.n // 2), plain[growing.n // 2])
    if look:  # which also puts the entries in order
        np.testing.assert_array_equal(growing.array, plain)


@pytest.mark.parametrize(
    ("step", "empty"), [(_rows_step, Rows(np.empty((0, 2)))), (_square_step, Square(np.empty((0, 0))))]
)
def test_forks_do_not_notice_each_other(step, empty, rng):
    held = [(empty, empty.array.copy())]
    for i in range(STEPS):
        parent, plain = held[rng.integers(len(held))]
        fork = parent.fork() if i % 3 else pickle.loads(pickle.dumps(parent))
        changed = step(fork, plain, rng)
        held.append((fork, changed))
        if len(held) > 8:
            held.pop(rng.integers(len(held)))
        for growing, expected in held:
            _assert_is(growing, expected, look=i % 5 == 0)


def test_learning_in_turn_shares_memory():
    rows = Rows(np.zeros((100, 2)))
    rows.append(np.ones((1, 2)))
    for i in range(50):
        before, rows = rows, rows.fork()
        rows.append(np.full((1, 2), i))
        assert np.shares_memory(rows.array, before.array)
    second = before.fork()
    second.append(np.full((1, 2), -1.0))
    assert not np.shares_memory(second.array, rows.array), "the room behind these rows is taken"
    assert rows.array[-1, 0] == 49


def test_what_cannot_be_written_is_copied():
    array = np.zeros((4, 4))
    array.flags.writeable = False
    rows, square = Rows(array), Square(array)
    rows.append(np.ones((1, 4)))
    square.append(np.ones(4), 2.0)
    assert rows.n == square.n == 5
