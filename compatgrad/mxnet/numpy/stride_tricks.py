"""`mx.np.stride_tricks`: `mx.np.broadcast_arrays` under the name of the file that has it in MXNet."""

from . import broadcast_arrays as broadcast_arrays
