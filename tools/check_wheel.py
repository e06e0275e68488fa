"""Compare what a wheel and an sdist hold with the sources: `python tools/check_wheel.py dist/*.whl dist/*.tar.gz`."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
NEEDED = (
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "CITATION.cff",
    "pyproject.toml",
    "tests/conftest.py",
    "docs",
    "benchmarks",
)


def sources() -> set[str]:
    """Return all files of the package, as the wheel should hold them."""
    package = ROOT / "src" / "exactcp"
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(package.parent).as_posix() for path in files}


def faults_of_wheel(path: Path) -> list[str]:
    """Say what is missing in a wheel, and what is too much."""
    with zipfile.ZipFile(path) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        page = wheel.read(metadata).decode()
    wanted = sources()
    return (
        faults_of_page(page)
        + [f"missing in the wheel: {name}" for name in sorted(wanted - held)]
        + [f"only in the wheel: {name}" for name in sorted(held - wanted)]
    )


def faults_of_page(page: str) -> list[str]:
    """Say which links of the page that an index shows lead nowhere there, and that there are pictures."""
    links = re.findall(r'\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"', page)
    found = [link or picture for link, picture in links]
    faults = [f"an index cannot follow {link}" for link in found if not link.startswith(("https://", "#"))]
    return faults if any(picture for _, picture in links) else [*faults, "the page of an index has no picture"]


def faults_of_sdist(path: Path) -> list[str]:
    """Say what is missing in an sdist."""
    with tarfile.open(path) as sdist:
        names = [PurePosixPath(*PurePosixPath(name).parts[1:]).as_posix() for name in sdist.getnames()]
    wanted = [*(f"src/{name}" for name in sources()), *NEEDED]
    held = {*names, *(parent.as_posix() for name in names for parent in PurePosixPath(name).parents)}
    return [f"missing in the sdist: {name}" for name in sorted(set(wanted) - held)]


def main() -> None:
    """Print what is wrong, and fail then."""
    faults = []
    for path in map(Path, sys.argv[1:]):
        faults += faults_of_wheel(path) if path.suffix == ".whl" else faults_of_sdist(path)
    if len(sys.argv) < 2 or faults:
        sys.exit("\n".join(faults) or "expected wheels and sdists to look at.")


if __name__ == "__main__":
    main()
