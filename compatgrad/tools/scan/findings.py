"""What a scan finds: findings, their codes and levels, and the counts of uses."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

ERROR, WARNING, NOTE = "error", "warning", "note"
LEVELS = (NOTE, WARNING, ERROR)

# code -> (short name, level, what it means)
CODES = {
    "CG101": ("missing-module", ERROR, "The original has the module, compatgrad does not."),
    "CG102": ("missing-name", ERROR, "The original has the name, compatgrad does not."),
    "CG103": ("refused-argument", ERROR, "The original takes the argument, compatgrad refuses it."),
    "CG104": ("unknown-name", ERROR, "Neither the original's API nor compatgrad has the name."),
    "CG105": ("unknown-argument", ERROR, "Neither the original nor compatgrad takes the argument."),
    "CG106": ("unresolved", NOTE, "What the name means cannot be told without running the program."),
    "CG107": ("read-only", ERROR, "The property has no setter, neither here nor in the original."),
    "CG201": ("differs", NOTE, "compatgrad does not do everything as the original does: docs/deviations.md."),
    "CG301": ("outside", WARNING, "Code that neither the original nor compatgrad runs: CUDA source, C libraries."),
    "CG310": ("python-2", WARNING, "The file is written for Python 2."),
    "CG311": ("unreadable", WARNING, "The file cannot be read, or only in part."),
    "CG320": ("surroundings", NOTE, "Newer Python or packages removed the name; `compatgrad run` provides it."),
    "CG330": ("not-installed", NOTE, "A package that the program imports is not installed."),
}
# the statuses of a use, in the order of reports
STATUSES = ("same", "differs", "partial", "missing", "unknown", "outside")


@dataclass(slots=True)
class Finding:
    """One finding. Lines and columns count from 1; in a notebook, `cell` says of which cell."""

    code: str
    status: str
    name: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    help: str = ""
    deviation: str = ""
    guarded: bool = False  # the program expects that the name may be missing
    guessed: bool = False  # the object's class was guessed
    cell: int | None = None
    file: str = ""
    source: str = ""  # the line, without indentation
    level: str = ""

    def __post_init__(self) -> None:
        if not self.level:
            weak = self.guarded or self.guessed
            private = self.code == "CG104" and "._" in self.name  # the originals' private names were not all recorded
            self.level = NOTE if weak else WARNING if private else CODES[self.code][1]

    def fingerprint(self) -> str:
        """Stays the same when other lines change."""
        text = "\0".join([self.code, self.name, self.file, " ".join(self.source.split())])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def place(self) -> str:
        """FILE:LINE:COLUMN."""
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.file}:{cell}{self.line}:{self.column}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON; empty fields are left out."""
        found = {key: value for key, value in asdict(self).items() if value not in ("", None, False)}
        return {**found, "fingerprint": self.fingerprint()}


@dataclass
class FileResult:
    """What was found in a file."""

    file: str
    lines: int = 0
    frameworks: list[str] = field(default_factory=list)
    uses: Counter[tuple[str, str]] = field(default_factory=Counter)  # (name, status) -> how often
    guessed: Counter[tuple[str, str]] = field(default_factory=Counter)
    unresolved: int = 0
    findings: list[Finding] = field(default_factory=list)


@dataclass
class Summary:
    """The counts of all files."""

    files: int
    scanned: int
    lines: int
    uses: dict[str, int]
    names: dict[str, int]
    guessed: dict[str, int]
    unresolved: int

    @staticmethod
    def of(results: list[FileResult]) -> Summary:
        uses: Counter[str] = Counter()
        guessed: Counter[str] = Counter()
        names: dict[str, str] = {}
        for result in results:
            for (name, status), count in result.uses.items():
                uses[status] += count
                if status != "outside":
                    worst = max(STATUSES.index(names.get(name, "same")), STATUSES.index(status))
                    names[name] = STATUSES[worst]
            for (_, status), count in result.guessed.items():
                guessed[status] += count
        used = [result for result in results if result.frameworks]
        return Summary(
            files=len(results),
            scanned=len(used),
            lines=sum(result.lines for result in results),
            uses={status: uses[status] for status in STATUSES},
            names=dict(Counter(names.values())),
            guessed=dict(guessed),
            unresolved=sum(result.unresolved for result in results),
        )

    def coverage(self) -> tuple[float | None, float | None]:
        """The shares of uses and of names that compatgrad has, of those that the original has."""
        of_original = ("same", "differs", "partial", "missing")
        good = self.uses["same"] + self.uses["differs"]
        every = sum(self.uses[status] for status in of_original)
        names = sum(self.names.get(status, 0) for status in of_original)
        fine = self.names.get("same", 0) + self.names.get("differs", 0)
        return (good / every if every else None), (fine / names if names else None)
