"""Which public names each row of docs/deviations.md is about.

A row is about the names that stand in backticks in its first column: `softmax_cross_entropy(reduce="no")` is
`chainer.functions.softmax_cross_entropy` in a call with that keyword. A comment `<!-- names: A, B(keyword) -->` in that
column replaces them, for rows whose text names no public name or names it otherwise.
"""

from __future__ import annotations

import pathlib
import re

from compatgrad.names import table

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "deviations.md"
_SECTIONS = {"Chainer": "chainer", "nnabla": "nnabla", "MXNet": "mxnet"}
_COMMENT = re.compile(r"\s*<!-- names:(.*?)-->")
# where a name without its module is looked for, in this order; all modules of one tuple count
_PLACES: dict[str, list[tuple[str, ...]]] = {
    "chainer": [
        ("chainer",),
        ("chainer.functions",),
        ("chainer.links",),
        ("chainer.distributions",),
        ("chainer.optimizers",),
        ("chainer.serializers",),
        ("chainer.training", "chainer.training.extensions"),
        ("chainer.backends.cuda",),
        ("chainer.Variable",),
        ("chainer.Distribution",),
        ("chainer.Link",),
    ],
    "nnabla": [
        ("nnabla",),
        ("nnabla.functions", "nnabla.parametric_functions"),
        ("nnabla.solvers",),
        ("nnabla.experimental.graph_converters",),
        ("nnabla.communicators",),
        ("nnabla.Variable",),
    ],
    "mxnet": [
        ("mxnet",),
        ("mxnet.ndarray", "mxnet.symbol"),
        ("mxnet.ndarray.contrib", "mxnet.symbol.contrib"),
        ("mxnet.gluon", "mxnet.gluon.nn", "mxnet.gluon.rnn", "mxnet.gluon.loss"),
        ("mxnet.optimizer",),
        ("mxnet.metric",),
        ("mxnet.contrib",),
        ("mxnet.io",),
        ("mxnet.gluon.data",),
        ("mxnet.image",),
        ("mxnet.ndarray.NDArray",),
        ("mxnet.gluon.Block",),
        ("mxnet.gluon.HybridBlock",),
        ("mxnet.executor.Executor",),
        ("mxnet.symbol.Symbol",),
    ],
}
# how documents and programs shorten modules
_SHORT = {
    "chainer": {"F": "chainer.functions", "L": "chainer.links", "cuda": "chainer.backends.cuda"},
    "nnabla": {"F": "nnabla.functions", "PF": "nnabla.parametric_functions", "nn": "nnabla", "utils": "nnabla.utils"},
    "mxnet": {"mx": "mxnet", "nd": "mxnet.ndarray", "contrib": "mxnet.contrib", "amp": "mxnet.contrib.amp"},
}


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def rows(frontend: str) -> list[dict[str, str]]:
    """The rows of the page that are about the frontend, in order."""
    found = []
    section = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        elif line.startswith("| ") and _SECTIONS.get(section.partition(":")[0]) == frontend:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if len(cells) != 4:
                raise ValueError(f"{PAGE.name}: a row has four columns: {line[:80]}")
            if cells[0] not in ("what", "---"):
                found.append(dict(zip(("what", "original", "here", "why"), cells, strict=True), anchor=anchor(section)))
    return found


def _named(what: str) -> list[tuple[str, str]]:
    """(name, keyword or "") of a row's first column."""
    comment = _COMMENT.search(what)
    spans = comment[1].strip().split(", ") if comment else re.findall(r"`([^`]+)`", what)
    found = []
    for span in spans:
        m = re.match(r"\s*([A-Za-z_][\w.]*)\s*(?:\((\w+)\s*(?:=|\)$))?", span)
        if m:
            keyword = m[2] if m[2] and ("=" in span or comment) else ""
            found.append((m[1].rstrip("."), keyword))
    return found


def _resolve(frontend: str, name: str) -> list[str]:
    from compatgrad.names import database

    first, dot, rest = name.partition(".")
    if first in table.FRONTENDS:
        candidates = [(name,)]
    else:
        candidates = [tuple(f"{place}.{name}" for place in places) for places in _PLACES[frontend]]
        if dot and first in _SHORT[frontend]:
            candidates.insert(0, (f"{_SHORT[frontend][first]}.{rest}",))
    for names in candidates:
        found = [f.name for f in map(database.find, names) if f is not None]
        if found:
            return list(dict.fromkeys(found))
    return []


def of(frontend: str, data: dict) -> tuple[list[dict[str, str]], dict[str, list]]:
    """The rows about the frontend, and name -> [[row, keyword]] for `data`, the names of the frontend."""
    from compatgrad.names import database

    old = database.read
    found = []
    differs: dict[str, list] = {}
    database.find.cache_clear()
    database.read = lambda _: data
    try:
        for row in rows(frontend):
            about = {}
            for name, keyword in _named(row["what"]):
                resolved = _resolve(frontend, name)
                if not resolved and "<!--" in row["what"]:
                    raise ValueError(f"{PAGE.name}: no name {name!r} in {table.ORIGINALS[frontend]}: {row['what']}")
                about.update({path: keyword for path in resolved})
            for path, keyword in about.items():
                differs.setdefault(path, []).append([len(found), keyword])
            found.append({**row, "what": _COMMENT.sub("", row["what"])})
    finally:
        database.read = old
        database.find.cache_clear()
    return found, differs
