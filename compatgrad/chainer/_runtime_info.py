"""Versions of the installed packages, for bug reports. Mirrors ``chainer._runtime_info``."""

from __future__ import annotations

import platform
import sys
from typing import Any

import numpy
import torch

import compatgrad
from compatgrad.chainer import _version
from compatgrad.chainer.backends import cuda


class _RuntimeInfo:
    def __init__(self):
        self.platform_version = platform.platform()
        self.chainer_version = _version.__version__
        self.chainerx_available = False
        self.numpy_version = numpy.__version__
        self.cuda_info = cuda.cupyx.get_runtime_info() if cuda.available else None
        self.ideep_version = None

    def __str__(self):
        if self.cuda_info is None:
            cupy = " Not Available"
        else:
            cupy = "".join([f"\n  {line}" for line in str(self.cuda_info).splitlines()])
        return (
            f"Platform: {self.platform_version}\n"
            f"Chainer: {self.chainer_version} "
            f"(compatgrad {compatgrad.__version__}, torch {torch.__version__})\n"
            "ChainerX: Not Available\n"
            f"NumPy: {self.numpy_version}\n"
            f"CuPy:{cupy}\n"
            "iDeep: Not Available\n"
        )


def _get_runtime_info():
    return _RuntimeInfo()


def print_runtime_info(out: Any = None) -> None:
    """Writes the versions of the platform, of compatgrad, torch, NumPy and CuPy, for reports of bugs.

    Args:
        out: file that takes the text; None is the standard output.

    Raises:
        AttributeError: `out` has no method `write`.

    Example:
        >>> import io
        >>> out = io.StringIO()
        >>> chainer.print_runtime_info(out)
        >>> [line.split(":")[0] for line in out.getvalue().splitlines()]
        ['Platform', 'Chainer', 'ChainerX', 'NumPy', 'CuPy', ...]

    Source: `chainer.print_runtime_info` of Chainer 7.8.1.
    """
    if out is None:
        out = sys.stdout
    out.write(str(_get_runtime_info()))
    if hasattr(out, "flush"):
        out.flush()
