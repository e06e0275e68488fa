"""Count modules, lines of code and public names: `python tools/count.py [FOLDER...]`, a row for each folder.

A line of code holds a token that is no comment and no docstring. Without folders: the package, its parts, its
JavaScript, the tests, the benchmarks, and the names in `__all__` of the public modules.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLANK = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
APPLICATIONS = ("cli", "experiments")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(source: str) -> int:
    """Return the number of lines that are neither blank, comment nor docstring."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            documented.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


def public_names(package: Path) -> int:
    """Return the number of different names in `__all__` of the modules without an underscore, applications apart."""
    found: set[str] = set()
    for path in package.rglob("*.py"):
        place = path.relative_to(package).with_suffix("").parts
        if any(part.startswith("_") and part != "__init__" for part in place) or place[0] in APPLICATIONS:
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                found.update(ast.literal_eval(node.value))
    return len(found - {"__version__"})


def row(name: str, folder: Path) -> str:
    """Return a folder's row: modules, lines of code, lines of the largest file."""
    sources = [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.py"))]
    largest = max((source.count("\n") for source in sources), default=0)
    return f"{name:<32}{len(sources):>6} modules {sum(map(code_lines, sources)):>8,} lines of code {largest:>6} largest"


def main() -> None:
    """Print the table."""
    package = ROOT / "src" / "exactcp"
    folders = [Path(name) for name in sys.argv[1:]]
    if not folders:
        parts = sorted(path for path in package.iterdir() if path.is_dir() and path.name != "__pycache__")
        folders = [package, *parts, ROOT / "tests", ROOT / "benchmarks"]
    for folder in folders:
        resolved = folder.resolve()
        name = str(resolved.relative_to(ROOT)) if resolved.is_relative_to(ROOT) else str(folder)
        sys.stdout.write(f"{row(name, folder)}\n")
    if not sys.argv[1:]:
        script = sum(path.read_text(encoding="utf-8").count("\n") for path in package.rglob("*.js"))
        sys.stdout.write(f"{'JavaScript':<32}{script:>29,} lines\n")
        sys.stdout.write(f"{'public names':<32}{public_names(package):>29,}\n")


if __name__ == "__main__":
    main()
