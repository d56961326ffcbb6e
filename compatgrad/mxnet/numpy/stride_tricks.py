"""`mx.np.stride_tricks`: MXNet's module of `broadcast_arrays`, from which programs import it."""

from . import broadcast_arrays as broadcast_arrays
