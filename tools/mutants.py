"""Break the package on purpose, one place at a time, as its syntax tree suggests: the tests must notice.

python tools/mutants.py density forest       # so many mutants of these families; without names, of all
python tools/mutants.py density --number 40 --seed 1
python tools/mutants.py regions:label_set:compare:2      # this one, whatever is known of it
python tools/mutants.py density --list       # what would be broken, and how

A mutant is called `module:function:operator:n`: the n-th place in the function that the operator can break. It is
applied while its module is imported, in a process of its own that runs the family's tests; kernels run without
compilation, or with a cache directory of their own. A run that takes ten times as long as without a mutant counts as
noticed.

`tests/mutants/families.toml` says which modules and tests belong together. `tests/mutants/survivors.toml` says why a
mutant cannot be noticed, with a digest of its function's source. When the source changes, the reason is asked for
again: the entry to write is printed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib.abc
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
PACKAGE = "exactcp"
TESTS = ROOT / "tests"
TABLES = TESTS / "mutants"
CONVERSIONS = {"array", "asarray", "ascontiguousarray", "bool", "cast", "float", "int", "list", "tuple"}
OPTIONS = ["-o", "addopts=", "-m", "not slow", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile", "hasty"]
OVERFLOW = ["-W", "ignore::RuntimeWarning"]  # of integers, which compiled code does not tell
FINE = ("noticed", "explained")
PATIENCE = 10  # times the duration of the family's tests without a mutant
SWAPPED: dict[type[ast.AST], type[Any]] = {
    one: other
    for pair in (
        (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn),
        (ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.And, ast.Or), (ast.BitAnd, ast.BitOr),
    )
    for one, other in (pair, pair[::-1])
} | {ast.FloorDiv: ast.Mult}  # fmt: skip


@dataclass(frozen=True)
class Family:
    """Modules that are broken, and the tests that must notice."""

    modules: list[str]  # patterns below the package
    tests: list[str]  # below tests, the fastest first: the first failure ends the run
    compiled: bool = False  # the tests need compiled kernels
    number: int = 12  # how many mutants are drawn

    def module_names(self) -> list[str]:
        """Return the names of the modules, without the package's."""
        found: list[str] = []
        for pattern in self.modules:
            files = sorted((SOURCE / PACKAGE).glob(pattern))
            if not files:
                raise FileNotFoundError(f"No file of the package is {pattern}: correct tests/mutants/families.toml.")
            found += [".".join(file.relative_to(SOURCE / PACKAGE).with_suffix("").parts) for file in files]
        return [module for module in dict.fromkeys(found) if not module.endswith("__init__")]

    def draw(self, seed: int, number: int | None = None) -> list[Mutant]:
        """Return some mutants; most of them stay the same when another place of the modules changes."""
        found = [mutant for module in self.module_names() for mutant in Breaker(module).found.values()]
        return sorted(found, key=lambda one: hashlib.sha256(f"{seed} {one.name}".encode()).digest())[
            : number or self.number
        ]

    @cached_property
    def duration(self) -> float:
        """The seconds that the tests take without a mutant."""
        start = time.monotonic()
        passed, printed = run(self.tests, compiled=self.compiled)
        if not passed:
            raise RuntimeError(f"The tests do not pass without a mutant:\n{printed}")
        return time.monotonic() - start

    def notices(self, mutant: Mutant) -> bool:
        """Return whether the tests fail with a mutant, or come to no end."""
        return not run(self.tests, mutant.name, compiled=self.compiled, limit=PATIENCE * self.duration)[0]


@dataclass(frozen=True)
class Mutant:
    """A place of a module, and what stands there instead."""

    name: str
    line: int
    digest: str = field(repr=False)  # of the function's source
    before: ast.AST = field(repr=False)
    after: ast.AST = field(repr=False)

    def __str__(self) -> str:
        """Return the name and the two texts."""
        before, after = (ast.unparse(node).splitlines() for node in (self.before, self.after))
        return f"{self.name}, line {self.line}\n    - {before[0]}\n    + {after[0]}"


def changes(node: Any) -> Iterator[tuple[str, ast.AST]]:
    """Yield what may stand in the place of a node, each with the name of its operator."""
    match node:
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                operators = [*node.ops[:i], SWAPPED[type(operator)](), *node.ops[i + 1 :]]
                yield "compare", ast.Compare(node.left, operators, node.comparators)
        case ast.BoolOp():
            yield "logic", ast.BoolOp(SWAPPED[type(node.op)](), node.values)
        case ast.BinOp() if type(node.op) in SWAPPED:
            operator = "logic" if isinstance(node.op, ast.BitAnd | ast.BitOr) else "arithmetic"
            yield operator, ast.BinOp(node.left, SWAPPED[type(node.op)](), node.right)
        case ast.AugAssign() if type(node.op) in SWAPPED:
            yield "arithmetic", ast.AugAssign(node.target, SWAPPED[type(node.op)](), node.value)
        case ast.UnaryOp(op=ast.Not() | ast.Invert()):
            yield "not", node.operand
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            yield "number", ast.Constant(value * 10 if 0 < abs(value) < 1e-3 else value + 1)
        case ast.Slice():
            bounds = {name: getattr(node, name) for name in ("lower", "upper", "step")}
            for name in ("lower", "upper"):
                if not isinstance(bounds[name], ast.Constant | None):  # a number is moved as a number
                    yield "slice", ast.Slice(**bounds | {name: ast.BinOp(bounds[name], ast.Add(), ast.Constant(1))})
        case ast.Return():
            yield from (("return", ast.Return(first)) for first in first_argument(node.value))
        case ast.Expr(value=ast.Constant()):  # a docstring
            pass
        case ast.Expr() | ast.Break() | ast.Continue() | ast.AugAssign():
            yield "statement", ast.Pass()
        case ast.If(orelse=[]) if not isinstance(node.body[-1], ast.Raise):
            yield "statement", ast.Pass()
        case ast.Assign() if any(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            yield "statement", ast.Pass()  # without a local variable the rest would fail in any case


def first_argument(node: Any) -> Iterator[ast.AST]:
    """Yield the first argument of a call, the left side of an operation; nothing of a conversion."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in CONVERSIONS:
            pass
        case ast.Call(args=[first, *_]) if not isinstance(first, ast.Starred):
            yield first
        case ast.Call(func=ast.Attribute(value=first), args=[]) | ast.BinOp(left=first):
            yield first


class Breaker(ast.NodeTransformer):
    """Find the places that can be broken in a module's functions, and break the one that is chosen."""

    def __init__(self, module: str, chosen: str = "") -> None:
        self.module, self.chosen = module, chosen
        self.source = (SOURCE / PACKAGE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        self.found: dict[str, Mutant] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._within: list[str] = []
        self._digest = ""
        self.tree = ast.fix_missing_locations(self.visit(ast.parse(self.source)))

    def visit(self, node: Any) -> Any:
        """Return what stands in the place of a node."""
        match node:
            case ast.Raise() | ast.JoinedStr() | ast.Assert():  # sentences
                return node
            case ast.Module():
                return self._enter_members(node)
            case ast.ClassDef() | ast.FunctionDef():
                return self._enter(node)
            case ast.AnnAssign():
                node.value = node.value and self.visit(node.value)
                return node
        for operator, broken in changes(node):
            name = self._note(operator, node, broken)
            if name == self.chosen:
                return broken
        return self.generic_visit(node)

    def _enter(self, node: Any) -> Any:
        """Break what is in a function's body, not its defaults, types and decorators, or in a class's methods."""
        outer = self._digest
        self._within.append(node.name)
        if isinstance(node, ast.ClassDef):
            self._enter_members(node)
        else:
            source = ast.get_source_segment(self.source, node) or ""
            self._digest = hashlib.sha256(source.encode()).hexdigest()[:12]
            node.body = [self.visit(one) for one in node.body]
        self._within.pop()
        self._digest = outer
        return node

    def _enter_members(self, node: Any) -> Any:
        for one in node.body:
            if isinstance(one, ast.ClassDef | ast.FunctionDef):
                self.visit(one)
        return node

    def _note(self, operator: str, node: Any, broken: ast.AST) -> str:
        """Note a mutant; return its name."""
        function = ".".join(self._within)
        self._counts[function, operator] += 1
        name = f"{self.module}:{function}:{operator}:{self._counts[function, operator]}"
        self.found[name] = Mutant(name, node.lineno, self._digest, node, broken)
        return name


class BrokenLoader(SourceFileLoader):
    """Loads the module of a mutant."""

    def get_code(self, fullname: str) -> Any:
        """Compile the broken tree."""
        tree = Breaker(fullname.removeprefix(f"{PACKAGE}."), os.environ["EXACTCP_MUTANT"]).tree
        return compile(tree, self.path, "exec", dont_inherit=True)


class BrokenModule(importlib.abc.MetaPathFinder):
    """Finds the module of the mutant that the environment names."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Return how the module is loaded; None for all others."""
        if fullname != f"{PACKAGE}.{os.environ['EXACTCP_MUTANT'].split(':')[0]}":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = BrokenLoader(fullname, spec.origin)
        return spec


def run(
    tests: Iterable[str], mutant: str = "", *, compiled: bool = False, limit: float | None = None
) -> tuple[bool, str]:
    """Run tests with a mutant, or as it is; return whether all passed, and what they printed."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(SOURCE), str(Path(__file__).parent)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": folder,
            "NUMBA_DISABLE_JIT": "0" if compiled else "1",
            "EXACTCP_MUTANT": mutant,
            "EXACTCP_RECORD": "",  # what broken code measures is no number for the page
        }
        options = [*OPTIONS, *([] if compiled else OVERFLOW), *(str(TESTS / test) for test in tests)]
        start = "import sys, mutants, pytest; sys.meta_path.insert(0, mutants.BrokenModule()); sys.exit(pytest.main())"
        program = [sys.executable, "-c", start, *options]
        try:
            done = subprocess.run(
                program, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return False, "took too long"
        return done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def explained(mutant: Mutant, survivors: dict[str, dict[str, str]]) -> bool:
    """Return whether a reason says why nothing can notice a mutant, and its function is the one that was looked at."""
    known = survivors.get(mutant.name)
    return known is not None and known["digest"] == mutant.digest and bool(known["reason"])


def judge(mutants: list[Mutant], family: Family, survivors: dict[str, dict[str, str]]) -> Iterator[tuple[Mutant, str]]:
    """Return for each mutant "noticed" or "explained", or what is to do."""
    for mutant in mutants:
        known = explained(mutant, survivors)
        if family.notices(mutant):
            yield mutant, "noticed although it has a reason: remove that" if known else "noticed"
        elif known:
            yield mutant, "explained"
        else:
            entry = f'["{mutant.name}"]\ndigest = "{mutant.digest}"\nreason = ""'
            yield mutant, f"survives: write a test that notices it, or write why none can into survivors.toml:\n{entry}"


def load_families() -> dict[str, Family]:
    """Return the families by their names."""
    return {
        name: Family(**known) for name, known in tomllib.loads((TABLES / "families.toml").read_text("utf-8")).items()
    }


def load_survivors() -> dict[str, dict[str, str]]:
    """Return what is known of mutants that nothing can notice."""
    return tomllib.loads((TABLES / "survivors.toml").read_text("utf-8"))


def main() -> int:
    """Break, run and print."""
    families, survivors = load_families(), load_survivors()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"families or mutants; families: {', '.join(families)}")
    parser.add_argument("--number", type=int, help="how many of each family")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    chosen = parser.parse_args()
    verdicts: Counter[str] = Counter()
    for name in chosen.names or families:
        module = name.split(":")[0]
        family = families.get(name) or next(one for one in families.values() if module in one.module_names())
        drawn = family.draw(chosen.seed, chosen.number) if name in families else [Breaker(module).found[name]]
        if chosen.list:
            sys.stdout.writelines(f"{mutant}\n" for mutant in drawn)
            continue
        for mutant, verdict in judge(drawn, family, survivors):
            verdicts[verdict if verdict in FINE else "to do"] += 1
            sys.stdout.write(f"{mutant}\n    {verdict}\n")
            sys.stdout.flush()
        sys.stdout.write(f"after {name}: {dict(verdicts)}\n")
    return int(verdicts["to do"] > 0)


if __name__ == "__main__":
    sys.exit(main())
