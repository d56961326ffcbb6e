"""Why a name is absent or a parameter differs.

Absent names are in the tables of `compatgrad.names` (`absent_FRONTEND.txt`), which the package shows to programs. The
other differences are here, in `reasons_FRONTEND.txt`. A line is a pattern, a tab and a reason; `*` in a pattern matches
any text. Empty lines and lines that begin with `#` are comments. The reason PENDING marks a name that is not yet judged
or built; such a line has no wildcard, and includes the names below an absent one.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

from compatgrad.names import table
from tests.census.compare import GOLDEN

PENDING = table.PENDING
ROOT = GOLDEN.parents[1]


def differences(frontends: list[str]) -> dict[str, list[str]]:
    """Compare in a separate process: frontend -> differences."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "tests.census.compare", *frontends]
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


_ABSENT = ": absent"


def _is_absence(difference: str) -> bool:
    """Whether a name is absent, and not a parameter."""
    return difference.endswith(_ABSENT) and "(" not in difference


class Reasons:
    """The lines of a file of reasons, and those of a table of absences."""

    def __init__(
        self,
        lines: list[str],
        path: pathlib.Path | None = None,
        absences: list[str] | None = None,
        absences_path: pathlib.Path | None = None,
    ) -> None:
        self.path, self.lines = path, lines
        self.absences_path, self.absences = absences_path, absences or []
        self.exact: dict[str, str] = {}
        self.patterns: list[tuple[str, re.Pattern[str], str]] = []
        for row in table.parse("\n".join(self.absences), str(absences_path)):
            if row.name.partition(".")[0] not in table.NOT_RECORDED:
                self._add(row.name + _ABSENT, row.reason, "")
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            pattern, tab, reason = line.partition("\t")
            if not tab or not reason.strip():
                raise ValueError(f"{path}:{number}: a line is a pattern, a tab, a reason")
            if _is_absence(pattern):
                raise ValueError(f"{path}:{number}: absent names belong to the tables of compatgrad.names")
            self._add(pattern, reason, f"{path}:{number}")

    def _add(self, pattern: str, reason: str, where: str) -> None:
        if "*" not in pattern:
            self.exact[pattern] = reason
        elif reason == PENDING:
            raise ValueError(f"{where}: a line of what is not there yet names one difference")
        else:
            self.patterns.append((pattern, table.pattern(pattern), reason))

    @classmethod
    def read(cls, frontend: str) -> Reasons:
        path = pathlib.Path(__file__).with_name(f"reasons_{frontend}.txt")
        lines = path.read_text().splitlines() if path.exists() else []
        absences = table.path_of(frontend)
        return cls(lines, path, absences.read_text().splitlines(), absences)

    def _pattern(self, difference: str) -> str | None:
        if difference in self.exact:
            return difference
        for pattern, regex, _ in self.patterns:
            if regex.fullmatch(difference):
                return pattern
        path = re.split(r"[:(]", difference)[0]
        while path:
            line = f"{path}: absent"
            if self.exact.get(line) == PENDING:
                return line
            path = path.rpartition(".")[0]
        return None

    def of(self, difference: str) -> str | None:
        """The reason of a difference, or None."""
        found = self._pattern(difference)
        return None if found is None else self.exact.get(found) or next(r for p, _, r in self.patterns if p == found)

    def judge(self, differences: list[str]) -> tuple[list[str], list[str]]:
        """The differences without a reason, and the patterns that match none."""
        used = {self._pattern(line): line for line in differences}
        unexplained = [line for line in differences if self._pattern(line) is None]
        return unexplained, [p for p in [*self.exact, *(p for p, _, _ in self.patterns)] if p not in used]

    def update(self, differences: list[str]) -> None:
        """Drop the stale lines of the files, and append one for each difference that has none."""
        assert self.path is not None
        present = set(differences)
        judged = [regex for _, regex, _ in self.patterns]
        gone = {
            p
            for p, reason in self.exact.items()
            if reason == PENDING and (p not in present or any(regex.fullmatch(p) for regex in judged))
        }
        gone |= set(self.judge(differences)[1])
        lines = [line for line in self.lines if line.startswith("#") or line.partition("\t")[0] not in gone]
        absences = [
            line for line in self.absences if line.startswith("#") or line.partition("\t")[0] + _ABSENT not in gone
        ]
        missing, _ = Reasons(lines, None, absences).judge(differences)
        for line in missing:
            if _is_absence(line):
                absences.append(f"{line.removesuffix(_ABSENT)}\t{PENDING}")
            else:
                lines.append(f"{line}\t{PENDING}")
        self.path.write_text("\n".join(lines) + "\n")
        if self.absences_path is not None:
            self.absences_path.write_text("\n".join(absences) + "\n")
        self.__init__(lines, self.path, absences, self.absences_path)
