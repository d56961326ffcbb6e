"""Reads programs: .py files, notebooks, and files in the syntax of Python 2 as far as possible."""

from __future__ import annotations

import ast
import json
import re
import tokenize
import warnings
from collections.abc import Iterator
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from compatgrad.tools.scan.models import is_network

SKIPPED_FOLDERS = frozenset(
    ".git .hg .svn .tox .nox .venv venv site-packages dist-packages __pycache__ node_modules .ipynb_checkpoints".split()
)
_LARGEST = 20_000_000  # bytes; larger files are data


class Part(NamedTuple):
    """The code of a file, or of one cell of a notebook."""

    tree: ast.Module
    lines: list[str]
    cell: int | None = None


class Problem(NamedTuple):
    """What is wrong with a file: a code of `findings`, where, and a sentence."""

    code: str
    line: int
    column: int
    message: str
    cell: int | None = None


def files(paths: list[Path], exclude: list[str]) -> Iterator[tuple[Path, str]]:
    """The programs below `paths`, each with the name to report: relative to the working folder where it is inside."""
    seen = set()
    here = Path.cwd()
    for path in paths:
        for found in sorted(_below(path)) if path.is_dir() else [path]:
            resolved = found.resolve()
            shown = printable((resolved.relative_to(here) if resolved.is_relative_to(here) else found).as_posix())
            if resolved not in seen and not any(fnmatch(shown, glob) or fnmatch(found.name, glob) for glob in exclude):
                seen.add(resolved)
                yield found, shown


def printable(name: str) -> str:
    """A file's name without what a terminal or UTF-8 would not take: control characters, bytes that are no text."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def _below(folder: Path) -> Iterator[Path]:
    try:
        yield from _programs(folder)
    except OSError:  # it cannot be looked into, which reading it will say
        yield folder


def _programs(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_symlink() and entry.is_dir():
            continue  # a link to a folder above would never end
        if entry.is_dir():
            if entry.name not in SKIPPED_FOLDERS:
                yield from _below(entry)
        elif entry.is_file() or entry.is_symlink():  # no pipes and devices, which would be waited for
            if entry.suffix in (".py", ".ipynb") or is_network(entry) or (not entry.suffix and _is_script(entry)):
                yield entry


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return bool(re.match(rb"#!.*\bpython", file.read(80)))
    except OSError:
        return False


def read(path: Path) -> tuple[list[Part], list[Problem]]:
    """The parts of a file that can be parsed, and what is wrong with it."""
    try:
        if path.stat().st_size > _LARGEST:
            return [], [Problem("CG311", 1, 1, f"larger than {_LARGEST:,} bytes: not read")]
        data = path.read_bytes()
    except OSError as error:
        return [], [Problem("CG311", 1, 1, f"cannot be read: {error.strerror}")]
    if path.suffix == ".ipynb":
        return _notebook(data)
    try:
        text = _decoded(data)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        return [], [Problem("CG311", 1, 1, f"cannot be decoded: {error}")]
    tree, problems = parse(text)
    return ([Part(tree, text.splitlines())] if tree else []), problems


def _decoded(data: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # comments of old programs in some code page
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", " ")


def _notebook(data: bytes) -> tuple[list[Part], list[Problem]]:
    try:
        notebook = json.loads(data)
        sheets = notebook.get("worksheets") or [notebook]  # before format 4
        cells = [cell for sheet in sheets for cell in sheet["cells"]]
        sources = [cell.get("source", cell.get("input", "")) for cell in cells if cell.get("cell_type") == "code"]
        texts = [source if isinstance(source, str) else "".join(source) for source in sources]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return [], [Problem("CG311", 1, 1, f"not a notebook: {error}")]
    parts, problems = [], []
    for number, text in enumerate(texts, 1):
        text = without_magics(text)
        tree, found = parse(text)
        problems += [problem._replace(cell=number) for problem in found]
        if tree:
            parts.append(Part(tree, text.splitlines(), number))
    return parts, problems


def without_magics(text: str) -> str:
    """A cell's code, with lines of the same numbers: magics and shell commands become `pass`."""
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%"):
        if not re.match(r"%%(time|timeit|capture|prun|memit|mprun)\b", first):
            return "\n" * (len(lines) - 1)
        lines[lines.index(first)] = ""
    for i, line in enumerate(lines):
        m = re.match(r"(\s*)(?:[\w, ]+=\s*)?([%!?]|\?\?)", line)
        if m:
            lines[i] = f"{m[1]}pass"
        elif line.rstrip().endswith("?") and re.fullmatch(r"[\s\w.]+\?+\s*", line):
            lines[i] = "pass"
    return "\n".join(lines)


def parse(text: str) -> tuple[ast.Module | None, list[Problem]]:
    """The tree of a program; of one for Python 2, what can be made of it."""
    try:
        return _tree(text), []
    except (SyntaxError, ValueError) as error:
        first = error
    except (RecursionError, MemoryError):
        return None, [Problem("CG311", 1, 1, "nested too deeply to be parsed")]
    line, column = getattr(first, "lineno", None) or 1, max(getattr(first, "offset", None) or 1, 1)
    what = getattr(first, "msg", str(first))
    changed = from_python_2(text)
    tree, left_out = _without_bad_lines(changed)
    lost = f"; {left_out} {'line' if left_out == 1 else 'lines'} left out" if tree else "; not scanned"
    lost = lost if left_out or tree is None else ""
    if changed != text:
        lines = zip(text.expandtabs(8).split("\n"), changed.split("\n"), strict=True)
        line, column = next((i for i, (old, new) in enumerate(lines, 1) if old != new), line), 1
        return tree, [Problem("CG310", line, column, f"written for Python 2, from this line on{lost}")]
    return tree, [Problem("CG311", line, column, f"cannot be parsed: {what}{lost}")]


def _tree(text: str) -> ast.Module:
    with warnings.catch_warnings():  # "invalid escape sequence", of the program
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _without_bad_lines(text: str) -> tuple[ast.Module | None, int]:
    """Replaces the lines at which Python stops by `pass`, at most 60 of them: the tree and how many."""
    lines = text.split("\n")
    gone: set[int] = set()
    while len(gone) < 60:
        try:
            return _tree("\n".join(lines)), len(gone)
        except SyntaxError as error:
            at = (error.lineno or 1) - 1
            if "expected an indented block" in (error.msg or ""):
                at = max(at - 1, 0)
                if at < len(lines) and at not in gone and lines[at].rstrip().endswith(":"):
                    lines[at] += " pass"
                    gone.add(at)
                    continue
            while at > 0 and (at >= len(lines) or at in gone or not lines[at].strip()):
                at -= 1
            if at in gone:
                break
            indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            lines[at] = "" if isinstance(error, IndentationError) else f"{indent}pass"
            gone.add(at)
        except (ValueError, RecursionError, MemoryError):
            break
    return None, len(gone)


_PRINT = re.compile(r"^(\s*(?:[^#'\"]*?[:;]\s*)?)print(?:\s+(>>\s*\w[\w.]*\s*,?)?\s*(?![=(.\s])(.*?)|\s*)(,?)\s*$")
_EXCEPT = re.compile(r"^(\s*except\s+(?:\([^)]*\)|[\w.]+))\s*,\s*(\w[\w.]*)\s*:")
_RAISE = re.compile(r"^(\s*(?:[^#'\"]*:\s*)?raise\s+[\w.]+)\s*,\s*(.+?)\s*$")
_EXEC = re.compile(r"^(\s*)exec\s+([^(=].*)$")
_NUMBERS = re.compile(r"(?<![\w.\"'])(0[0-7]+|0[xX][0-9a-fA-F]+|\d+)[lL](?!\w)")
_OCTAL = re.compile(r"(?<![\w.\"'])0([0-7]+)(?![\w.\"'])")
_TUPLE = re.compile(r"lambda\s*\(([^()]*)\)\s*:")


def from_python_2(text: str) -> str:
    """The program with the statements of Python 2 written as Python 3 has them, line by line.

    A scan needs the names and calls, not a program that runs, so strings that look like statements do no harm.
    """
    lines = text.expandtabs(8).split("\n") if re.search(r"^ *\t", text, re.M) else text.split("\n")
    for i, line in enumerate(lines):
        if not line or line.isspace():
            continue
        if "print" in line and (m := _PRINT.match(line)):
            rest = m[3] or ""
            code, comment = _comment_of(rest)
            opened = sum(code.count(c) for c in "([{") - sum(code.count(c) for c in ")]}")
            if code.endswith("\\") or opened > 0:
                line = f"{m[1]}_ = {code}{m[4]}{comment}"  # goes on in the next line
            else:
                line = f"{m[1]}print({code.rstrip().rstrip(',')}){comment}"
        if "except" in line:
            line = _EXCEPT.sub(r"\1 as \2:", line)
        if "raise" in line and (m := _RAISE.match(line)):
            line = f"{m[1]}({m[2].split(', sys.exc_info')[0]})" if "#" not in line else f"{m[1]}"
        if "exec" in line and (m := _EXEC.match(line)):
            line = f"{m[1]}exec(({m[2]}))"
        if "<>" in line:
            line = line.replace("<>", "!=")
        if "`" in line:
            line = re.sub(r"`([^`\"']+)`", r"repr(\1)", line)
        if "ur'" in line or 'ur"' in line:
            line = re.sub(r"\bur(?=['\"])", "r", line)
        if "lambda" in line:
            line = _TUPLE.sub(r"lambda \1:", line)
        line = _NUMBERS.sub(r"\1", line)
        line = _OCTAL.sub(r"0o\1", line) if re.search(r"(?<![\w.])0\d", line) else line
        if "def " in line and line.count("(") > 1:
            line = re.sub(r"(def \w+\([^()]*)\(([^()]*)\)", r"\1\2", line)
        lines[i] = line
    return "\n".join(lines)


def _comment_of(code: str) -> tuple[str, str]:
    at = code.find("#")
    quoted = at > 0 and (code[:at].count("'") % 2 or code[:at].count('"') % 2)
    return (code, "") if at < 0 or quoted else (code[:at], "  " + code[at:])
