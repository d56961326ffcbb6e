"""What programs use of `distutils`, which Python 3.12 removed, beside building packages. setuptools does that; where it
is installed, its `distutils` comes before this one."""

import sys

__version__ = f"{sys.version_info[0]}.{sys.version_info[1]}"


def __getattr__(name: str) -> object:
    raise AttributeError(
        f"distutils.{name}: Python 3.12 removed distutils, and compatgrad gives back only its modules dir_util, "
        "errors, file_util, log, spawn, util and version; install setuptools, which has the others"
    )
