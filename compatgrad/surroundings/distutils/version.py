"""Versions that can be compared: `distutils.version`."""

from __future__ import annotations

import functools
import re
from typing import Any


@functools.total_ordering
class Version:
    """A version by its text, which subclasses make `version` of: values that Python compares."""

    vstring: str
    version: Any

    def __init__(self, vstring: str | None = None) -> None:
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        raise NotImplementedError

    def _key(self) -> Any:
        return self.version

    def _other(self, other: Any) -> Version | None:
        if isinstance(other, str):
            other = type(self)(other)
        return other if isinstance(other, Version) else None

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"

    def __eq__(self, other: object) -> bool:
        version = self._other(other)
        return NotImplemented if version is None else bool(self._key() == version._key())

    def __lt__(self, other: object) -> bool:
        version = self._other(other)
        return NotImplemented if version is None else bool(self._key() < version._key())

    __hash__ = None  # type: ignore[assignment]


class LooseVersion(Version):
    """Any text: its numbers and words, one by one."""

    def parse(self, vstring: str) -> None:
        self.vstring = vstring
        parts = re.findall(r"\d+|[a-z]+|[^\d.a-z]+", vstring)
        self.version = [int(part) if part.isdigit() else part for part in parts]

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"LooseVersion ('{self}')"


class StrictVersion(Version):
    """Two or three numbers, and perhaps `a1` or `b1` for a version before the release."""

    version_re = re.compile(r"^(\d+) \. (\d+) (\. (\d+))? ([ab](\d+))?$", re.VERBOSE | re.ASCII)
    prerelease: tuple[str, int] | None

    def parse(self, vstring: str) -> None:
        match = self.version_re.match(vstring)
        if not match:
            raise ValueError(f"invalid version number '{vstring}'")
        major, minor, patch, before, number = match.group(1, 2, 4, 5, 6)
        self.version = (int(major), int(minor), int(patch or 0))
        self.prerelease = (before[0], int(number)) if before else None

    def __str__(self) -> str:
        shown = self.version[:2] if self.version[2] == 0 else self.version
        return ".".join(map(str, shown)) + (f"{self.prerelease[0]}{self.prerelease[1]}" if self.prerelease else "")

    def _key(self) -> Any:
        return self.version, self.prerelease or ("release",)
