"""Solvers: the module `solver` under the name that programs import."""

from .solver import *  # noqa: F403
from .solver import __all__  # noqa: F401
