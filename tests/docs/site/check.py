"""Checks a site that was built: links inside it, addresses outside of it that pages load, and described names."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

_LINK = re.compile(r'<(a|img|link|script)\b[^>]*?\b(?:href|src)="([^"]*)"')
_ID = re.compile(r'\bid="([^"]*)"')
# made by Sphinx; they have no page of their own to lead to
_GENERATED = ("genindex.html", "search.html", "py-modindex.html")


def dead_links(folder: Path) -> list[str]:
    """Links and pictures of the pages that lead nowhere, and files of other sites that a page loads."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.html"))}
    ids = {path: set(_ID.findall(text)) for path, text in pages.items()}
    found = []
    for path, text in pages.items():
        for tag, link in dict.fromkeys(_LINK.findall(text)):
            target, _, anchor = unquote(link).partition("#")
            if "://" in target or target.startswith(("mailto:", "data:")):
                if tag != "a":
                    found.append(f"{path.relative_to(folder)} loads {link}")
                continue
            file = (path.parent / target.partition("?")[0]).resolve() if target else path
            if not file.exists():
                found.append(f"{path.relative_to(folder)}: {link} is no file")
            elif anchor and file in ids and file.name not in _GENERATED and anchor not in ids[file]:
                found.append(f"{path.relative_to(folder)}: {link} has no such place")
    return found


def described(folder: Path) -> set[str]:
    """The names that the built pages describe, from the inventory of the site."""
    from sphinx.util.inventory import InventoryFile  # the tests of links need no Sphinx

    inventory = InventoryFile.loads((folder / "objects.inv").read_bytes(), uri="")
    data = inventory.data if hasattr(inventory, "data") else inventory
    return {name for kind, names in data.items() if kind.startswith("py:") for name in names}
