"""Answers as lines of text: how they are written, and what it takes for an answer to be the one that was frozen."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).parents[1] / "contracts" / "frozen"
WHOLE = {"i": 20, "s": 6, "f": 3, "n": 12, "c": 4}  # of a larger array so many numbers are written, and what is of all


class Answer(NamedTuple):
    """What was answered: numbers, or words, and how near another answer must be."""

    values: np.ndarray
    relative: float | None = None  # None: the same bits
    absolute: float = 0.0
    is_check: bool = False  # of what counts have told already


class Case(NamedTuple):
    """What is asked, and of whom; `ask` returns an answer for each operation."""

    kind: str
    measure: str
    problem: str
    route: str
    history: str
    operations: tuple[str, ...]
    ask: Callable[[], dict[str, Answer]]
    is_dear: bool = False  # takes a second or more


def case(
    kind: str,
    ask: Callable[..., dict[str, Answer]],
    of: tuple[str, str, str, str],
    operations: tuple[str, ...],
    *,
    is_own: bool = False,
    is_dear: bool = False,
) -> Case:
    """Return a case that asks about a measure, a problem, a route and a history, without warnings.

    Where the route is a predictor, which has answers of its own, the operations are named after it.
    """
    end = f" of {of[2]}" if is_own else ""

    def quiet() -> dict[str, Answer]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {f"{operation}{end}": answer for operation, answer in ask(*of).items()}

    return Case(kind, *of, tuple(f"{operation}{end}" for operation in operations), quiet, is_dear)


def exact(values: Any) -> Answer:
    """Return an answer that is the same everywhere: counts, labels, sets, and what one division makes of counts."""
    values = np.asarray(values)
    if values.dtype.kind in "biu":
        return Answer(values.astype(np.int64))
    return Answer(values.astype(np.float64) if values.dtype.kind == "f" else values.astype(str))


def near(values: Any, relative: float, absolute: float = 0.0) -> Answer:
    """Return an answer whose last digits depend on the processor: BLAS and the vector units add in their own order."""
    return Answer(np.asarray(values, np.float64), relative, absolute)


def whole(p: np.ndarray, n: int) -> Answer:
    """Return p-values of counts among n examples, times n + 1: whole numbers."""
    counts = np.rint(np.asarray(p) * (n + 1)).astype(np.int64)
    if not np.array_equal(counts / (n + 1), p):
        msg = f"expected p-values that are whole numbers over {n + 1}, got {p}"
        raise ValueError(msg)
    return Answer(counts)


def _digest(values: np.ndarray) -> str:
    if values.dtype.kind == "U":
        raw = "\0".join(values.ravel().tolist()).encode()
    else:
        kind = "<i8" if values.dtype.kind == "i" else "<f8"
        raw = (values + 0).astype(kind).tobytes()  # -0.0 is 0.0
    return blake2b(raw, digest_size=8).hexdigest()


def _kind(answer: Answer) -> str:
    """Return the letter of integers, words, floats that are exact, and those that are near, or that are a check."""
    if answer.relative is None:
        return {"i": "i", "f": "f", "U": "s"}[answer.values.dtype.kind]
    return "c" if answer.is_check else "n"


def _some(values: np.ndarray, size: int) -> np.ndarray:
    flat = values.ravel()
    return flat if flat.size <= size else flat[np.linspace(0, flat.size - 1, size).astype(np.int64)]


def _written(kind: str, values: np.ndarray) -> np.ndarray:
    """Return the numbers that are written; of many that need only be near, a sum stands for the others."""
    some = _some(values, WHOLE[kind])
    if kind not in "nc" or some.size == values.size:
        return some
    flat = values.ravel()
    weights = np.where(np.isfinite(flat), 1 + np.arange(flat.size) % 7, 0)
    return np.append(some, (weights * np.abs(np.where(weights > 0, flat, 0))).sum())


def line_of(answer: Answer) -> list[Any]:
    """Return what is written of an answer: its kind and shape, numbers, and a digest where these are not all."""
    values, kind = answer.values, _kind(answer)
    some = _written(kind, values).tolist()
    numbers = some if kind == "s" else " ".join(f"{x:.14g}" if kind in "nc" else repr(x) for x in some)
    digest = [] if len(some) == values.size and kind not in "nc" else [_digest(values)]
    return [f"{kind} {'x'.join(map(str, values.shape))}", numbers, *digest]


def _numbers(kind: str, written: Any) -> np.ndarray:
    if kind == "s":
        return np.array(written, dtype=str)
    words = written.split()
    return np.array([int(word) for word in words] if kind == "i" else [float(word) for word in words])


def difference(answer: Answer, line: list[Any], *, bits: bool = False) -> str | None:
    """Say how an answer differs from what is written; None if it does not. With `bits` no tolerance is given."""
    found = line_of(answer)
    if found == line:
        return None
    if found[0] != line[0]:
        return f"shape {found[0]}, was {line[0]}"
    kind = found[0][0]
    some, known = _written(kind, answer.values), _numbers(kind, line[1])
    if answer.relative is not None:
        is_same = np.isclose(some, known, rtol=answer.relative + 1e-13, atol=answer.absolute, equal_nan=True)
    elif kind == "f":
        is_same = (some == known) | (np.isnan(some) & np.isnan(known))
    else:
        is_same = some == known
    if is_same.all():
        return None if kind in "nc" and not bits else "another digest: digits or numbers that are not written differ"
    first = int(np.flatnonzero(~is_same)[0])
    return f"{(~is_same).sum()} of {some.size} numbers, the first at {first}: {some[first]}, was {known[first]}"


class Store:
    """The answers of one kind, by what was asked.

    Answers seldom depend on the route or the history: one is written for a measure, a problem and an operation, and
    others only for the routes, and the histories, whose answer is another.
    """

    def __init__(self, kind: str, folder: Path = FOLDER) -> None:
        self.path, self.lines = folder / f"{kind}.json", {}
        self._asked: set[str] = set()
        if self.path.exists():
            self.lines = json.loads(self.path.read_text(encoding="utf-8"))

    @staticmethod
    def _keys(case: Case, operation: str) -> list[str]:
        base = f"{case.measure} | {case.problem} | {operation}"
        return [f"{base} | {case.route} | {case.history}", f"{base} | {case.route}", base]

    def find(self, case: Case, operation: str) -> list[Any] | None:
        """Return what is written of an answer."""
        keys = self._keys(case, operation)
        self._asked.update(keys)
        return next((self.lines[key] for key in keys if key in self.lines), None)

    def add(self, case: Case, operation: str, answer: Answer) -> str | None:
        """Write an answer, if no route or history before had the same; return how it differs from these."""
        keys, line = self._keys(case, operation), self.find(case, operation)
        if line is None:
            self.lines[keys[2]] = line_of(answer)
            return None
        how = difference(answer, line)
        if how is not None:
            self.lines[keys[1] if keys[1] not in self.lines and case.history == "fresh" else keys[0]] = line_of(answer)
        return how

    def left_over(self) -> list[str]:
        """Return what is written, and was not asked for."""
        return sorted(self.lines.keys() - self._asked)

    def save(self) -> None:
        """Write all lines, sorted, each answer in one."""
        lines = [f"{json.dumps(key)}: {json.dumps(line)}" for key, line in sorted(self.lines.items())]
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def name_of(case: Case, operation: str = "") -> str:
    """Return what a failure names."""
    parts = (case.kind, case.measure, case.problem, case.route, case.history, operation)
    return " | ".join(part for part in parts if part)


def asked(case: Case) -> dict[str, Answer]:
    """Return the answers of a case, those that it names."""
    answers = case.ask()
    if tuple(answers) != case.operations:
        msg = f"{name_of(case)}: expected answers to {case.operations}, got {tuple(answers)}"
        raise ValueError(msg)
    return answers


def faults_of(case: Case, store: Store, *, bits: bool = False) -> Iterator[str]:
    """Yield a sentence for every operation whose answer is not the frozen one."""
    try:
        answers = asked(case)
    except Exception as error:  # noqa: BLE001  (an error is another answer)
        yield f"{name_of(case)}: {type(error).__name__}: {error}"
        return
    for operation, answer in answers.items():
        line = store.find(case, operation)
        how = "was never written" if line is None else difference(answer, line, bits=bits)
        if how is not None:
            yield f"{name_of(case, operation)}: {how}"


def thin(cases: Iterable[Case]) -> list[Case]:
    """Return few cases: with every measure, problem, route, history and operation; dear ones if needed."""
    kept, seen = [], set()
    everything = list(cases)
    order = np.random.default_rng(0).permutation(len(everything))
    for case in sorted((everything[i] for i in order), key=lambda case: case.is_dear):
        parts = {(case.kind, field, getattr(case, field)) for field in ("measure", "problem", "route", "history")}
        parts |= {(case.kind, "operation", operation) for operation in case.operations}
        if not parts <= seen:
            seen |= parts
            kept.append(case)
    return kept
