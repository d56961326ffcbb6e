"""The other packages that a program imports: which are not installed here, and what is known of these."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import sys
from pathlib import Path

from compatgrad.names import table

CODE = "CG330"
LACKING = "the program's package has no such module; perhaps it is a C extension, which must be built"


@functools.cache
def _known() -> dict[str, tuple[str, str]]:
    """The rows of `compatgrad/names/packages.txt`: module -> (how to install it, what is known)."""
    found = {}
    for number, line in enumerate((table.FOLDER / "packages.txt").read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            name, *columns = line.split("\t")
            if len(columns) not in (1, 2) or not all(columns):
                raise ValueError(f"packages.txt:{number}: a line is a name, how to install it, and perhaps a remark")
            found[name] = columns[0], columns[1] if len(columns) > 1 else ""
    return found


@functools.cache
def installed(root: str) -> bool:
    """Whether a package or module can be imported; nothing is imported."""
    if root in sys.stdlib_module_names or root in table.FRONTENDS or root == "compatgrad":
        return True
    try:
        return importlib.util.find_spec(root) is not None
    except (ImportError, ValueError):  # a module that is loaded and says nothing of its origin
        return root in sys.modules


def about(root: str) -> tuple[str, str]:
    """What is known of a package that is not installed, and how to install it."""
    how, known = _known().get(root, ("", ""))
    if not how and root.startswith("_"):
        return "not installed; perhaps a C extension of the program, which must be built", ""
    if not how:
        return "not installed; compatgrad does not know it: a package, or a file that is not among those scanned", ""
    return f"not installed{f'; {known}' if known else ''}", how if how != "-" else ""


def own_names(paths: list[Path], files: list[Path]) -> set[str]:
    """Names under which files of the program import each other: of the files, of the folders above them up to PATH, and
    of what lies beside a file that is a PATH. Programs add folders to `sys.path` as they like."""
    found = {file.stem for file in files}
    for path in paths:
        with contextlib.suppress(OSError):
            found.update(beside.stem for beside in path.parent.iterdir() if path.is_file())
    folders = [path for path in paths if path.is_dir()]
    for file in files:
        for folder in folders:
            if file.is_relative_to(folder):
                found.update(file.relative_to(folder).parts[:-1])
    return found
