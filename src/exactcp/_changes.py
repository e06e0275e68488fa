"""All or nothing: an estimator changes as a draft, which takes its place in one step that nothing can cut.

Who calls whom:

- A method that changes an estimator wears `changes`. It works on a *draft*, an object of the same class with the same
  attributes, and may set what it likes there; values that the estimator holds, a bag for one, are never changed in
  place but replaced (`bag.fork()` gives one that may be changed). When the method has returned, the draft's attributes
  become the estimator's by one assignment. An error, an interruption or a lack of memory before that changes nothing.
- Where a fork would cost more than the change itself, as for one example in the lists of n, the bag gives a
  `Change` instead: everything that can fail is done, and what remains is one compiled call, which is made together
  with the assignment. `learn` and `unlearn` choose between the two.
- A method that answers questions wears `reads`. It works on a *view*, which keeps the attributes of the moment
  together. While a view holds a bag, nothing changes that bag in place: a change then goes to a copy. So readers see
  the old or the new, and wait for nobody.

What must happen at once (taking a view; looking whether a bag has other owners, changing it and taking the draft's
attributes) is one call of functions that are not written in Python. It needs no lock, so none can be left behind.
"""

from __future__ import annotations

import copy
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from functools import partial, wraps
from inspect import Parameter, signature
from itertools import compress
from numbers import Integral
from operator import attrgetter, call, getitem
from typing import Any, ClassVar, NamedTuple, Self, TypeVar
from weakref import WeakKeyDictionary

from exactcp._parallel import Effort, blas_threads
from exactcp._parameters import unknown_name

Method = TypeVar("Method", bound=Callable[..., Any])

_PENDING = "_pending_change"
_writers: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # a lock for each estimator that has been changed
_state_of = attrgetter("__dict__")

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_writers.clear)  # which others may have held when the process was forked


class Change(NamedTuple):
    """A change that is prepared: nothing is left that can fail."""

    bag: Any  # as it will be, on the arrays of the bag as it is
    commit: Callable[[], None]  # one compiled call, a `functools.partial`, that changes these arrays
    apart: Callable[[], Any]  # returns the bag as it will be on arrays of its own; for when somebody reads the old one


class Bag:
    """What a bag can do beside its own: changes that nobody else notices."""

    refits: ClassVar[bool] = False  # whether every question is answered by fitting anew

    def warn_of_cost(self, m: int) -> None:
        """Say, once, what asking about m test objects will cost, if it is worth a word."""

    def fork(self) -> Self:
        """Return a bag with the same examples that may be changed while others read this one.

        Bags that can do it cheaper share what is never overwritten.
        """
        return copy.deepcopy(self)

    def learning(self, X: Any, y: Any) -> Change | None:  # noqa: ARG002
        """Prepare to learn these examples in place; None if a fork should learn them."""
        return None

    def unlearning(self, positions: Any) -> Change | None:  # noqa: ARG002
        """Prepare to forget these examples in place; None if a fork should forget them."""
        return None


class ReplacingBag(Bag):
    """A bag that never overwrites what it holds: its changes set new values, so a fork shares all that there is."""

    def fork(self) -> Self:
        """Return a bag with the same examples that may be changed while others read this one."""
        bag: Self = twin(self)
        return bag


def changes(method: Method) -> Method:
    """Make a method change its estimator wholly or not at all."""
    known = signature(method).parameters

    @wraps(method)
    def changed(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            _check_names(self, method, known, kwargs)
        with _writer_of(self):
            draft = twin(self)
            result = _call(method, draft, *args, **kwargs)
            attributes = draft.__dict__
            change = attributes.pop(_PENDING, None)
            if change is None or not _commit(self, attributes, change):
                if change is not None:
                    attributes["_bag"] = change.apart()
                self.__dict__ = attributes
        return self if result is draft else result

    return changed  # type: ignore[return-value]


def reads(method: Method) -> Method:
    """Make a method see one state of its estimator throughout, whatever others change meanwhile."""
    known = signature(method).parameters

    @wraps(method)
    def reading(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            _check_names(self, method, known, kwargs)
        return _call(method, twin(self), *args, **kwargs)

    return reading  # type: ignore[return-value]


def twin(original: Any, **changed: Any) -> Any:
    """Return an object of the same class with the same attributes, but for those that are given."""
    copied = object.__new__(type(original))
    attributes = copied.__dict__
    _at_once(map(attributes.update, map(_state_of, (original,))))
    attributes.update(changed)
    return copied


def _check_names(estimator: Any, method: Any, known: Any, named: dict[str, Any]) -> None:
    if not named.keys() <= known.keys() and all(one.kind is not Parameter.VAR_KEYWORD for one in known.values()):
        name = next(name for name in named if name not in known)
        raise TypeError(unknown_name(f"{type(estimator).__name__}.{method.__name__}", name, list(known)[1:]))


def learn(draft: Any, X: Any, y: Any, *, effort: Effort) -> None:
    """Let a draft's bag learn examples: in place when the draft becomes the estimator, or in a fork now."""
    bag = draft.__dict__["_bag"]
    change = bag.learning(X, y)
    if change is None:
        forked(draft).learn(X, y, effort=effort)
    else:
        draft.__dict__.update({"_bag": change.bag, _PENDING: change})


def unlearn(draft: Any, positions: Any, *, effort: Effort) -> None:
    """Let a draft's bag forget the examples with these positions in the order of arrival, as `learn` does."""
    bag = draft.__dict__["_bag"]
    change = bag.unlearning(positions)
    if change is None:
        forked(draft).unlearn(positions, effort=effort)
    else:
        draft.__dict__.update({"_bag": change.bag, _PENDING: change})


def stream(draft: Any, X: Any, y: Any) -> Any:
    """Let a draft's bag count one example against those before it and learn it, as `learn` does; return its counts."""
    bag = draft.__dict__["_bag"]
    prepared = bag.streaming(X, y)
    if prepared is None:
        return forked(draft).stream(X, y)
    counts, change = prepared
    draft.__dict__.update({"_bag": change.bag, _PENDING: change})
    return counts


def drop_bag(draft: Any) -> None:
    """Take away a draft's bag, and what was to be changed in it."""
    draft.__dict__["_bag"] = None
    draft.__dict__.pop(_PENDING, None)


def forked(draft: Any) -> Any:
    """Give a draft a bag that may be changed, and return it."""
    bag = draft.__dict__["_bag"] = draft.__dict__["_bag"].fork()
    return bag


def _call(method: Callable[..., Any], estimator: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method; models of others have the BLAS threads that the predictor allows, formulas set their own."""
    measure = estimator.__dict__.get("measure", estimator.__dict__.get("estimator"))
    n_jobs = estimator.__dict__.get("n_jobs", 0)  # of a measure or a stream 0, as of what `check_parameters` refuses
    if measure is None or getattr(measure, "is_formula", False) or not (n_jobs is None or _is_count(n_jobs)):
        return method(estimator, *args, **kwargs)
    with blas_threads(n_jobs):
        return method(estimator, *args, **kwargs)


def _is_count(n_jobs: Any) -> bool:
    return isinstance(n_jobs, Integral) and n_jobs != 0


def _writer_of(estimator: Any) -> Any:
    lock = _writers.get(estimator)
    return _writers.setdefault(estimator, threading.RLock()) if lock is None else lock


def _commit(estimator: Any, attributes: dict[str, Any], change: Change) -> bool:
    """Change the bag in place and take the draft's attributes, if nobody else holds the bag; tell whether."""
    take = partial(object.__setattr__, estimator, "__dict__", attributes)
    steps: tuple[Callable[[], Any], ...] = (change.commit, take)
    both = partial(_at_once, map(call, steps))
    is_alone = map(_ONE_OWNER.__ge__, _count_owners(estimator.__dict__))
    return bool(_at_once(map(call, compress((both,), is_alone)), maxlen=1))


def _count_owners(state: dict[str, Any]) -> map[int]:
    """Count the references to a bag, when this is asked for its next value."""
    return map(sys.getrefcount, map(getitem, (state,), ("_bag",)))


# Exhausts an iterator. Python looks for signals, and lets other threads run, between instructions of its own: there are
# none here if the iterator calls only functions that are not written in Python.
_at_once: Callable[..., deque[Any]] = partial(deque, maxlen=0)
_ONE_OWNER = next(_count_owners({"_bag": object()}))
