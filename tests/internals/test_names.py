"""A top-level name is defined once in the package: grep finds it."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import exactcp

PACKAGE = Path(exactcp.__file__).parent
# entry points of programs: what they are called is what they are
ENTRANCES = {"main", "reproduce"}


def _defined(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return [name.id for name in names if isinstance(name, ast.Name)]


def test_every_name_has_one_home():
    homes = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for name in _defined(node):
                homes[name].add(path.relative_to(PACKAGE).as_posix())
    shared = {name: sorted(files) for name, files in homes.items() if len(files) > 1}
    assert shared.keys() - {"__all__"} <= ENTRANCES, shared
