"""`mx.np.arrayprint`: `mx.np.set_printoptions` under the name of the file that has it in MXNet."""

from . import set_printoptions as set_printoptions
