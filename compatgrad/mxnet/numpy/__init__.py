"""`mx.np`: NumPy's functions on arrays that can live on a GPU and be differentiated.

Functions that MXNet leaves to NumPy itself work too, on copies in NumPy and without gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as _onp

from compatgrad.core.entering import open_functions as _open_functions
from compatgrad.core.entering import opened as _opened

from .._home import lend as _lend
from . import _internal as _internal
from . import _methods as _methods
from . import _of_numpy as _of_numpy
from . import _protocols as _protocols
from . import fallback as fallback
from . import fallback_linalg as fallback_linalg
from . import linalg as linalg
from . import multiarray as multiarray
from . import random as random
from ._array import fe_np as _fe_np
from ._array import ndarray as ndarray
from ._creation import *  # noqa: F403
from ._functions import *  # noqa: F403
from ._joining import *  # noqa: F403
from ._lists import *  # noqa: F403
from ._of_numpy import lcm as lcm
from ._padding import pad as pad
from ._picking import *  # noqa: F403
from ._products import *  # noqa: F403
from ._reductions import *  # noqa: F403
from ._shapes import *  # noqa: F403

pi, e, inf, nan, newaxis, euler_gamma = _onp.pi, _onp.e, _onp.inf, _onp.nan, None, _onp.euler_gamma
PZERO, NZERO, PINF, NINF, NAN, NaN = 0.0, -0.0, _onp.inf, -_onp.inf, _onp.nan, _onp.nan
float16, float32, float64 = _onp.float16, _onp.float32, _onp.float64
int8, int32, int64, uint8, bool_ = _onp.int8, _onp.int32, _onp.int64, _onp.uint8, _onp.bool_
bool = bool
finfo, dtype = _onp.finfo, _onp.dtype


def set_printoptions(precision: int | None = None, threshold: int | None = None, **kwarg: Any) -> None:
    """Sets how arrays are printed, those of NumPy too.

    Args:
        precision: the number of digits behind the point; None leaves it.
        threshold: from how many elements on some are left out; None leaves it.
        **kwarg: none.

    Raises:
        NotImplementedError: another option is given.
        TypeError: `precision` is no integer.

    Example:
        >>> mx.np.set_printoptions(precision=2)
        >>> mx.np.array([0.123456])
        array([0.12])
        >>> mx.np.set_printoptions(precision=8)

    Source: `mxnet.np.set_printoptions` of MXNet 1.9.1.
    """
    if kwarg:
        raise NotImplementedError(f"set_printoptions: only precision and threshold are supported, got {list(kwarg)}")
    _onp.set_printoptions(precision=precision, threshold=threshold)


def __getattr__(name: str) -> Any:
    if name in _of_numpy.COPIED:
        found = globals()[name] = _opened(_fe_np, _of_numpy.of_numpy(name))
        return found
    from compatgrad.names.absent import no_attribute

    raise no_attribute(__name__, name)


for _names in (globals(), vars(linalg), vars(random), vars(multiarray)):
    _open_functions(_fe_np, _names)
_lend(globals(), multiarray)
