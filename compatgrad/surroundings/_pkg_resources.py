"""What programs use of `pkg_resources`, which setuptools 82 removed, on `importlib`."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError as DistributionNotFound
from types import ModuleType
from typing import IO, Any


class VersionConflict(Exception):
    """A package has another version than the program asks for."""


class Distribution:
    """An installed package."""

    def __init__(self, name: str) -> None:
        found = importlib.metadata.distribution(name)
        self.version = found.version
        self.project_name: str = found.metadata["Name"]
        self.key = self.project_name.lower()
        self.location = str(found.locate_file(""))

    @property
    def parsed_version(self) -> Any:
        return parse_version(self.version)

    def __str__(self) -> str:
        return f"{self.project_name} {self.version}"


def _name(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement.strip())
    if not match:
        raise ValueError(f"dist: expected the name of a package, got {requirement!r}")
    return match.group()


def get_distribution(dist: str) -> Distribution:
    """The installed package; ImportError's kin DistributionNotFound, if there is none."""
    return Distribution(_name(dist))


def parse_version(v: str) -> Any:
    from packaging.version import parse

    return parse(v)


def require(*requirements: Any) -> list[Distribution]:
    """The installed packages of the requirements, whose versions must fit."""
    found = []
    for text in (one for item in requirements for one in ([item] if isinstance(item, str) else item)):
        package = get_distribution(text)
        limits = text.strip()[len(_name(text)) :].partition(";")[0].strip()
        if limits and not limits.startswith("["):
            from packaging.specifiers import SpecifierSet

            if not SpecifierSet(limits).contains(package.version, prereleases=True):
                raise VersionConflict(f"({package}, Requirement.parse({text!r}))")
        found.append(package)
    return found


def iter_entry_points(group: str, name: str | None = None) -> Iterator[Any]:
    for point in importlib.metadata.entry_points(group=group):
        if name in (None, point.name):
            yield point


def _folder(package: str | ModuleType) -> str:
    module = importlib.import_module(package) if isinstance(package, str) else package
    file = module.__file__ or sys.argv[0]
    return os.path.dirname(os.path.abspath(file))


def resource_filename(package_or_requirement: Any, resource_name: str) -> str:
    return os.path.join(_folder(package_or_requirement), *resource_name.split("/"))


def resource_exists(package_or_requirement: Any, resource_name: str) -> bool:
    return os.path.exists(resource_filename(package_or_requirement, resource_name))


def resource_isdir(package_or_requirement: Any, resource_name: str) -> bool:
    return os.path.isdir(resource_filename(package_or_requirement, resource_name))


def resource_listdir(package_or_requirement: Any, resource_name: str) -> list[str]:
    return os.listdir(resource_filename(package_or_requirement, resource_name))


def resource_stream(package_or_requirement: Any, resource_name: str) -> IO[bytes]:
    return open(resource_filename(package_or_requirement, resource_name), "rb")


def resource_string(package_or_requirement: Any, resource_name: str) -> bytes:
    with resource_stream(package_or_requirement, resource_name) as file:
        return file.read()


def declare_namespace(packageName: str) -> None:
    """Python needs no declaration of packages that are in several folders."""


__all__ = [
    "Distribution",
    "DistributionNotFound",
    "VersionConflict",
    "declare_namespace",
    "get_distribution",
    "iter_entry_points",
    "parse_version",
    "require",
    "resource_exists",
    "resource_filename",
    "resource_isdir",
    "resource_listdir",
    "resource_stream",
    "resource_string",
]
