"""The pages of the site that are written by hand: where they come from, and how their links are changed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# documents outside of docs/ -> their place on the site
_OUTSIDE = {
    "README.md": "tour.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "tests/programs/README.md": "programs.md",
}
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]*)(#[^)\s]*)?\)")


def _shown() -> dict[str, str]:
    found = dict(_OUTSIDE)
    found |= {f"examples/{p.parent.name}/README.md": f"examples/{p.parent.name}.md" for p in _readmes()}
    found |= {f"docs/{p.relative_to(ROOT / 'docs')}": str(p.relative_to(ROOT / "docs")) for p in documents()}
    return found


def documents() -> list[Path]:
    """The pages below docs/."""
    return sorted((ROOT / "docs").rglob("*.md"))


def _readmes() -> list[Path]:
    return sorted((ROOT / "examples").glob("*/README.md"))


def notebooks() -> dict[str, str]:
    """The notebooks with their output, by their place on the site."""
    files = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))
    return {f"notebooks/{p.name}": p.read_text(encoding="utf-8") for p in files}


# path in the repository -> path on the site
SHOWN = _shown()


def text(path: str) -> str:
    """The text of a document of the repository, with links to documents of the site.

    A link to another file of the repository, which the site does not have, becomes its text.
    """
    place = SHOWN[path]

    def change(match: re.Match[str]) -> str:
        shown, target, anchor = match[1], match[2], match[3] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        meant = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if (ROOT / meant).is_dir():
            meant += "/README.md"
        if meant in SHOWN:
            return f"[{shown}]({os.path.relpath(SHOWN[meant], os.path.dirname(place) or '.')}{anchor})"
        if meant.startswith("docs/"):  # a picture, or a page that is generated
            inside = meant.removeprefix("docs/")
            return f"[{shown}]({os.path.relpath(inside, os.path.dirname(place) or '.')}{anchor})"
        return shown

    return _one_title(outside_code(lambda part: _LINK.sub(change, part), (ROOT / path).read_text(encoding="utf-8")))


def _one_title(whole: str) -> str:
    """A document with several titles is one page of the site: the sections below the second title move down."""
    titles = 0

    def lower(part: str) -> str:
        nonlocal titles
        lines = part.split("\n")
        for i, line in enumerate(lines):
            titles += line.startswith("# ")
            if titles > 1 and re.match(r"#+ ", line):
                lines[i] = f"#{line}"
        return "\n".join(lines)

    return outside_code(lower, whole)


def outside_code(change: Callable[[str], str], whole: str) -> str:
    """The text with `change` applied to what is outside of code blocks."""
    parts = re.split(r"(^ *```.*?^ *```[ \t]*$)", whole, flags=re.M | re.S)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))
