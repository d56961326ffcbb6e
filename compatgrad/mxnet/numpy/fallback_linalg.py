"""`mx.np.fallback_linalg`: functions of linear algebra that the original leaves to NumPy."""

from .linalg import cond as cond
from .linalg import lstsq as lstsq
from .linalg import matrix_power as matrix_power
from .linalg import matrix_rank as matrix_rank
from .linalg import multi_dot as multi_dot
from .linalg import qr as qr

__all__ = ["cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "qr"]
