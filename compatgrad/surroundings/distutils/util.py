"""Words and platforms: `distutils.util`."""

from __future__ import annotations

import os
import string
import sysconfig
from collections.abc import Mapping


def strtobool(val: str) -> int:
    """1 for a word that means yes, 0 for one that means no."""
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if word in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {word!r}")


def get_platform() -> str:
    return sysconfig.get_platform()


def convert_path(pathname: str) -> str:
    """A path written with slashes as this system writes it."""
    if pathname.startswith("/") and os.sep != "/":
        raise ValueError(f"path {pathname!r} cannot be absolute")
    return pathname.replace("/", os.sep)


def change_root(new_root: str, pathname: str) -> str:
    return os.path.join(new_root, pathname.lstrip(os.sep))


def subst_vars(s: str, local_vars: Mapping[str, object]) -> str:
    return string.Template(s).substitute(os.environ, **{name: str(value) for name, value in local_vars.items()})
