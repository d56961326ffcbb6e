"""Writes the site's sources and builds it.

python -m tests.docs.site [--no-frontends] [--external-links] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from tests.docs.site import check, pages, reference, support

HERE = Path(__file__).resolve().parent


def sources(frontends: bool = True) -> dict[str, str]:
    """All pages of the site: their path, and their text; without the reference of the frontends if so asked."""
    found = {place: pages.text(path) for path, place in pages.SHOWN.items()} | pages.notebooks()
    found |= {f"reference/{name}.md": text for name, text in reference.pages(frontends).items()}
    found |= {f"support/{name}.md": text for name, text in support.pages().items()}
    return found


def write(folder: Path, found: dict[str, str]) -> None:
    """Writes the pages; files that have not changed keep their time, so that Sphinx need not read them again."""
    for path, text in found.items():
        file = folder / path
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    for file in [*folder.rglob("*.md"), *folder.rglob("*.ipynb")]:
        if str(file.relative_to(folder)) not in found:
            file.unlink()
    if (pages.ROOT / "docs/pictures").exists():
        shutil.copytree(pages.ROOT / "docs/pictures", folder / "pictures", dirs_exist_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.docs.site", description="Builds the documentation site.")
    parser.add_argument("--output", type=Path, help="folder (build/docs, or build/docs-short without the frontends)")
    parser.add_argument(
        "--external-links", action="store_true", help="ask the other sites for the pages that links name"
    )
    parser.add_argument("--no-frontends", action="store_true", help="leave the reference of the frontends out")
    options = parser.parse_args()
    # two folders: Sphinx writes a page again if its text has changed, not if a name that it links has gone
    output = options.output or pages.ROOT / ("build/docs-short" if options.no_frontends else "build/docs")
    from sphinx.cmd.build import build_main

    start = time.perf_counter()
    source = output / "source"
    found = sources(not options.no_frontends)
    write(source, found)
    print(f"{len(found)} pages written in {time.perf_counter() - start:.0f} s", flush=True)
    builder = "linkcheck" if options.external_links else "html"
    arguments = [
        "-b",
        builder,
        "-c",
        str(HERE),
        "-d",
        str(output / "doctrees"),
        "-q",
        "-j",
        str(os.cpu_count()),
    ]
    code = build_main([*arguments, "-W", "--keep-going", str(source), str(output / builder)])
    if options.external_links:
        return code
    html = output / "html"
    dead = check.dead_links(html)
    wanted = reference.names(not options.no_frontends)
    lacking = sorted(wanted - check.described(html))
    for line in [*dead, *(f"{name} is described nowhere" for name in lacking)]:
        print(line)
    print(
        f"{len(list(html.rglob('*.html')))} pages, {len(wanted) - len(lacking):,} of {len(wanted):,} names, "
        f"{len(dead)} dead links, after {time.perf_counter() - start:.0f} s: {html / 'index.html'}"
    )
    return code or int(bool(dead or lacking))


if __name__ == "__main__":
    sys.exit(main())
