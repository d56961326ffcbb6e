"""`mx.np.io`: MXNet's module of `genfromtxt`, from which programs import it."""

from . import genfromtxt as genfromtxt
