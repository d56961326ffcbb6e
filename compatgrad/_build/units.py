"""Which source files the compiler gets together, as one translation unit (`csrc/units.txt`)."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path


@dataclass(frozen=True)
class Unit:
    """Source files that are compiled to one object file; they are relative to the root."""

    name: str
    files: tuple[Path, ...]

    def __str__(self) -> str:
        return f"{self.name} ({len(self.files)} files)" if len(self.files) > 1 else str(self.files[0])

    def object_name(self) -> Path:
        return Path(f"{self.name}.unit.o") if len(self.files) > 1 else self.files[0].with_suffix(".o")

    def source(self, folder: Path) -> Path:
        """The file to give to the compiler: the only one, or one in `folder` that includes the files."""
        if len(self.files) == 1:
            return self.files[0]
        text = "".join(f'#include "{path.relative_to("csrc").as_posix()}"\n' for path in self.files)
        made = folder / f"{self.name}.unit.cpp"
        if not made.exists() or made.read_text() != text:
            made.write_text(text)
        return made


def alone(files: list[Path]) -> list[Unit]:
    """Each file as a unit of its own."""
    return [Unit(path.stem, (path,)) for path in files]


def units_of(root: Path, files: list[Path]) -> list[Unit]:
    """The units of `files`, which are relative to `root`, in the order of `csrc/units.txt`; then the files that it does
    not name."""
    table = root / "csrc" / "units.txt"
    left, units = list(files), []
    for line in table.read_text().splitlines() if table.exists() else ():
        if line.strip() and not line.startswith("#"):
            name, _, patterns = line.partition(":")
            taken = [f for p in patterns.split() for f in left if fnmatchcase(f.relative_to("csrc").as_posix(), p)]
            left = [f for f in left if f not in taken]
            if taken:
                units.append(Unit(name, tuple(dict.fromkeys(taken))))
    return units + alone(left)
