"""Commands: `distutils.spawn`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from compatgrad.surroundings.distutils.errors import DistutilsExecError


def find_executable(executable: str, path: str | None = None) -> str | None:
    """The path of a command, or None. A file of that name in the working folder counts."""
    if os.path.isfile(executable):
        return executable
    return shutil.which(executable, path=path)


def spawn(
    cmd: Sequence[str],
    search_path: bool = True,
    verbose: bool = False,
    dry_run: bool = False,
    env: Mapping[str, str] | None = None,
) -> None:
    if dry_run:
        return
    try:
        code = subprocess.call(list(cmd), env=env)
    except OSError as error:
        raise DistutilsExecError(f"command {cmd[0]!r} failed: {error.args[-1]}") from error
    if code:
        raise DistutilsExecError(f"command {cmd[0]!r} failed with exit code {code}")
