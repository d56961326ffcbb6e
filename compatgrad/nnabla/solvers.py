"""Solvers: the module `solver` under the name that programs import."""

from compatgrad.nnabla.solver import *  # noqa: F403
from compatgrad.nnabla.solver import __all__  # noqa: F401
