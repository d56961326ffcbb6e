"""`mx.np.arrayprint`: MXNet's module of `set_printoptions`, from which programs import it."""

from . import set_printoptions as set_printoptions
