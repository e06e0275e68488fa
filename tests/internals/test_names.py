"""A class and a public name are defined once in the package: grep finds them. Functions may share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import exactcp

PACKAGE = Path(exactcp.__file__).parent
# entry points of programs: what they are called is what they are
ENTRANCES = {"main", "reproduce"}
TREES = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}


def _assigned(node):
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_a_class_and_a_public_name_are_defined_once():
    files, kept = defaultdict(list), set()
    for file, tree in TREES.items():
        for node in tree.body:
            names = {node.name} if isinstance(node, ast.ClassDef | ast.FunctionDef) else _assigned(node)
            if isinstance(node, ast.ClassDef):
                kept |= names
            if "__all__" in names:
                kept |= set(ast.literal_eval(node.value))
            for name in names:
                files[name].append(file)
    assert {"KNN", "FullConformalClassifier"} <= kept
    assert not {name: found for name in kept - ENTRANCES if len(found := files[name]) > 1}
