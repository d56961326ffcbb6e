"""Folders: `distutils.dir_util`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from compatgrad.surroundings.distutils.errors import DistutilsFileError
from compatgrad.surroundings.distutils.file_util import copy_file


def mkpath(name: str, mode: int = 0o777, verbose: bool = True, dry_run: bool = False) -> list[str]:
    """Makes a folder and those above it. Returns the folders that were made."""
    made: list[str] = []
    folder = os.path.normpath(name)
    while folder and not os.path.isdir(folder):
        made.insert(0, folder)
        folder = os.path.dirname(folder)
    if not dry_run:
        try:
            os.makedirs(name, mode, exist_ok=True)
        except OSError as error:
            raise DistutilsFileError(f"could not create {name!r}: {error.args[-1]}") from error
    return made


def create_tree(
    base_dir: str, files: Iterable[str], mode: int = 0o777, verbose: bool = True, dry_run: bool = False
) -> None:
    for folder in sorted({os.path.join(base_dir, os.path.dirname(file)) for file in files}):
        mkpath(folder, mode, verbose, dry_run)


def copy_tree(
    src: str,
    dst: str,
    preserve_mode: bool = True,
    preserve_times: bool = True,
    preserve_symlinks: bool = False,
    update: bool = False,
    verbose: bool = True,
    dry_run: bool = False,
) -> list[str]:
    """Copies all that is in a folder into another, which may exist. Returns the files that were copied, or would be."""
    if not dry_run and not os.path.isdir(src):
        raise DistutilsFileError(f"cannot copy tree {src!r}: not a directory")
    mkpath(dst, dry_run=dry_run)
    copied = []
    for name in sorted(os.listdir(src)):
        source, target = os.path.join(src, name), os.path.join(dst, name)
        if preserve_symlinks and os.path.islink(source):
            if not dry_run:
                os.symlink(os.readlink(source), target)
            copied.append(target)
        elif os.path.isdir(source):
            copied += copy_tree(
                source, target, preserve_mode, preserve_times, preserve_symlinks, update, verbose, dry_run
            )
        else:
            copy_file(source, target, preserve_mode, preserve_times, update, dry_run=dry_run)
            copied.append(target)
    return copied


def remove_tree(directory: str, verbose: bool = True, dry_run: bool = False) -> None:
    if not dry_run:
        shutil.rmtree(directory, ignore_errors=True)
