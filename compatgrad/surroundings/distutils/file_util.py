"""Files: `distutils.file_util`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from compatgrad.surroundings.distutils.errors import DistutilsFileError


def _newer(source: str, target: str) -> bool:
    return not os.path.exists(target) or os.stat(source).st_mtime > os.stat(target).st_mtime


def copy_file(
    src: str,
    dst: str,
    preserve_mode: bool = True,
    preserve_times: bool = True,
    update: bool = False,
    link: str | None = None,
    verbose: bool = True,
    dry_run: bool = False,
) -> tuple[str, int]:
    """Copies a file to a file or into a folder. Returns the new file's name and whether anything was copied."""
    if not os.path.isfile(src):
        raise DistutilsFileError(f"can't copy {src!r}: doesn't exist or not a regular file")
    target = os.path.join(dst, os.path.basename(src)) if os.path.isdir(dst) else dst
    if update and not _newer(src, target):
        return target, 0
    if dry_run:
        return target, 1
    if link in ("hard", "sym"):
        (os.link if link == "hard" else os.symlink)(src, target)
        return target, 1
    shutil.copyfile(src, target)
    if preserve_times:
        facts = os.stat(src)
        os.utime(target, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    if preserve_mode:
        shutil.copymode(src, target)
    return target, 1


def move_file(src: str, dst: str, verbose: bool = True, dry_run: bool = False) -> str:
    if not os.path.isfile(src):
        raise DistutilsFileError(f"can't move {src!r}: not a regular file")
    target = os.path.join(dst, os.path.basename(src)) if os.path.isdir(dst) else dst
    if os.path.exists(target):
        raise DistutilsFileError(f"can't move {src!r}: destination {target!r} already exists")
    return target if dry_run else str(shutil.move(src, target))


def write_file(filename: str, contents: Iterable[str]) -> None:
    with open(filename, "w") as file:
        file.writelines(line + "\n" for line in contents)
