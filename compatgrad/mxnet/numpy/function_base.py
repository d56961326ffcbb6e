"""`mx.np.function_base`: MXNet's module of `meshgrid`, from which programs import it."""

from . import meshgrid as meshgrid
