"""What runs: versions for bug reports. Mirrors ``chainer._runtime_info``."""

import platform
import sys

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


def print_runtime_info(out=None):
    """Writes the versions of the platform and the libraries to `out`, by default the standard output."""
    if out is None:
        out = sys.stdout
    out.write(str(_get_runtime_info()))
    if hasattr(out, "flush"):
        out.flush()
