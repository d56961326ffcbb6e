"""The names of the originals that compatgrad does not have: `absent_FRONTEND.txt`, one file for each frontend, and
`earlier_FRONTEND.txt` for names of other versions of the originals.

This is the only place where the reasons of absences are written: errors, `compatgrad scan`, the support pages and the
census of names (`tests/census`) read them here.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import NamedTuple

from compatgrad.names.originals import FRONTENDS as FRONTENDS
from compatgrad.names.originals import NOT_RECORDED as NOT_RECORDED
from compatgrad.names.originals import ORIGINALS as ORIGINALS

FOLDER = Path(__file__).parent
GUIDE = "docs/tools.md#missing-names"
# a name that is to come; such a line has no wildcard
PENDING = "it is not there yet"


class Row(NamedTuple):
    """A line of a table. `name` may contain `*`, which stands for any text."""

    name: str
    reason: str
    instead: str = ""
    where: str = GUIDE

    def sentence(self) -> str:
        """The reason, what to use instead and where more is written."""
        instead = f" Use instead: {self.instead}." if self.instead else ""
        return f"{self.reason}.{instead} See {self.where}."


def parse(text: str, path: str = "") -> list[Row]:
    """The rows of a table's text. Raises ValueError for a line without a reason."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, *columns = line.split("\t")
        if not columns or not columns[0].strip() or len(columns) > 3:
            raise ValueError(f"{path}:{number}: a line is a name, a tab, a reason, and perhaps two more columns")
        if columns[0] == PENDING and "*" in name:
            raise ValueError(f"{path}:{number}: a line of what is not there yet names one name")
        found.append(Row(name, *columns))
    return found


def path_of(frontend: str, which: str = "absent") -> Path:
    """The file of the frontend's table; `which` is "absent" or "earlier"."""
    return FOLDER / f"{which}_{frontend}.txt"


@functools.cache
def rows(frontend: str, which: str = "absent") -> tuple[Row, ...]:
    """The rows of the frontend's table."""
    path = path_of(frontend, which)
    return tuple(parse(path.read_text(encoding="utf-8"), path.name))


def pattern(name: str) -> re.Pattern[str]:
    """The regular expression of a row's name."""
    return re.compile(".*".join(map(re.escape, name.split("*"))))


@functools.cache
def _compiled(frontend: str, which: str) -> tuple[dict[str, Row], list[tuple[re.Pattern[str], Row]]]:
    exact = {row.name: row for row in rows(frontend, which) if "*" not in row.name}
    return exact, [(pattern(row.name), row) for row in rows(frontend, which) if "*" in row.name]


def row_of(name: str, which: str = "absent") -> Row | None:
    """The row of a name of an original, such as `mxnet.torch` or `mxnet.torch.abs`; None if there is none.

    An exact row of the name counts first, then rows with wildcards, then the rows of the packages and classes that
    contain the name. Whether the original has such a name is not checked.
    """
    frontend = FRONTENDS.get(name.partition(".")[0])
    if frontend is None:
        return None
    exact, patterns = _compiled(frontend, which)
    while "." in name:
        if found := exact.get(name):
            return found
        for regex, row in patterns:
            if regex.fullmatch(name):
                return row
        name = name.rpartition(".")[0]
    return None
