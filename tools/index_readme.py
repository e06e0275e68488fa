"""The README as a package index shows it: what links to a file of the repository there links to its address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r'\b(src|srcset)="(?!https?:)([^"]+)"')
LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")


class IndexReadme(MetadataHookInterface):
    """Called by hatchling whenever it makes the metadata of a distribution."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README, with links to the files of this version."""
        root, source = Path(self.root), metadata["urls"]["Source"]
        told = (root / "src" / "exactcp" / "_version.py").read_text(encoding="utf-8")
        version = re.findall(r'^__version__ = "(.+)"$', told, re.MULTILINE)[0]
        text = (root / "README.md").read_text(encoding="utf-8")
        text = PICTURE.sub(rf'\1="{source}/raw/v{version}/\2"', text)
        text = LINK.sub(rf"]({source}/blob/v{version}/\1)", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
