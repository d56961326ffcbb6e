"""`mx.np.multiarray`: MXNet's module of the arrays and functions of `mx.np`, from which programs import them."""

from ._array import ndarray as ndarray
from ._creation import *  # noqa: F403
from ._functions import *  # noqa: F403
from ._joining import *  # noqa: F403
from ._lists import *  # noqa: F403
from ._padding import pad as pad
from ._picking import *  # noqa: F403
from ._products import *  # noqa: F403
from ._reductions import *  # noqa: F403
from ._shapes import *  # noqa: F403
