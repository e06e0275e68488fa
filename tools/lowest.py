"""Print the lowest version of every package that `pyproject.toml` allows for the tests, as `name==version`.

A resolver that is asked for the lowest versions takes a later one where another package wants it (river wants a later
pandas than we do): what is printed here is installed after it, without dependencies.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]


def lowest(requirements: list[str]) -> set[str]:
    """Return the pins of requirements, and of the extras that they name."""
    pins: set[str] = set()
    for requirement in map(Requirement, requirements):
        if requirement.name == PROJECT["name"]:
            for extra in requirement.extras:
                pins |= lowest(PROJECT["optional-dependencies"][extra])
        else:
            (bound,) = (each.version for each in requirement.specifier if each.operator == ">=")
            pins.add(f"{requirement.name}=={bound}")
    return pins


sys.stdout.write("\n".join(sorted(lowest([*PROJECT["dependencies"], "exactcp[test]"]))) + "\n")
