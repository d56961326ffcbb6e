"""Finds the operators in stored networks: MXNet's `-symbol.json`, nnabla's `.nnp` and `.nntxt`."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

from compatgrad.names import database
from compatgrad.names.table import ORIGINALS
from compatgrad.tools.scan.findings import FileResult, Finding

SUFFIXES = (".nnp", ".nntxt", ".json")
_LARGEST = 200_000_000  # bytes of a network's text
_FUNCTION = re.compile(r'^\s*function\s*\{\s*(?:name:\s*"[^"]*"\s*)?type:\s*"(\w+)"', re.M)


def is_network(path: Path) -> bool:
    """Whether a file in a folder holds a network; not all JSON files are symbols."""
    return path.suffix in (".nnp", ".nntxt") or path.name.endswith("-symbol.json")


def scan_model(path: Path, shown: str, frontends: frozenset[str]) -> FileResult:
    """The operators of a stored network, each as a use of the name `mxnet operator X` or `nnabla function X`."""
    found = FileResult(shown)
    frontend = "mxnet" if path.suffix == ".json" else "nnabla"
    if frontend not in frontends:
        return found
    try:
        text = _text(path)
        operators = _of_symbol(text) if frontend == "mxnet" else _FUNCTION.findall(text)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, RecursionError) as error:
        message = f"not a network that can be read: {error}"
        found.findings.append(Finding("CG311", "unknown", "", 1, 1, 1, 1, message, file=shown, source=message))
        return found
    found.lines = text.count("\n")
    found.frameworks.append(frontend)
    known = database.read(frontend)["operators"]
    kind = "operator" if frontend == "mxnet" else "function"
    for operator in operators:
        name = f"{frontend} {kind} {operator}"
        status = {1: "same", 0: "missing"}.get(known.get(operator), "unknown")
        found.uses[(name, status)] += 1
        if status == "same" or found.uses[(name, status)] > 1:
            continue  # one finding for each name of a file
        line = text[: text.index(f'"{operator}"')].count("\n") + 1 if path.suffix != ".nnp" else 1
        code = "CG102" if status == "missing" else "CG104"
        message = "compatgrad does not have it" if status == "missing" else f"{ORIGINALS[frontend]} has no such {kind}"
        found.findings.append(
            Finding(code, status, name, line, 1, line, 1, message, file=shown, source=f'"{operator}"')
        )
    return found


def _text(path: Path) -> str:
    if path.suffix != ".nnp":
        if path.stat().st_size > _LARGEST:
            raise ValueError(f"larger than {_LARGEST:,} bytes")
        return path.read_text(encoding="utf-8")
    with zipfile.ZipFile(path) as archive:
        networks = [info for info in archive.infolist() if info.filename.endswith((".nntxt", ".prototxt"))]
        if not networks or sum(info.file_size for info in networks) > _LARGEST:
            raise ValueError(f"no network's text of at most {_LARGEST:,} bytes in it")
        return "\n".join(archive.read(info).decode("utf-8") for info in networks)


def _of_symbol(text: str) -> list[str]:
    """The operators of a symbol's JSON text; those of its subgraphs, too."""
    graph = json.loads(text)
    operators = []
    for node in graph["nodes"]:
        if node["op"] != "null":
            operators.append(str(node["op"]))
        for inner in node.get("subgraphs", ()):
            operators += _of_symbol(json.dumps(inner))
    return operators
