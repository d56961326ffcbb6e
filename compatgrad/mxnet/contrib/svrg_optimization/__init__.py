"""Stochastic variance reduced gradients."""

from . import svrg_module as svrg_module
from . import svrg_optimizer as svrg_optimizer
from .svrg_module import SVRGModule as SVRGModule
