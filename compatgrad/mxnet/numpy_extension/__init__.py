"""`mx.npx`: MXNet's operators beyond NumPy's functions, on arrays of `mx.np`."""

from __future__ import annotations

from typing import Any

from compatgrad.core.entering import open_functions as _open_functions
from compatgrad.core.entering import opened as _opened

from ..context import Context as Context
from ..context import cpu as cpu
from ..context import cpu_pinned as cpu_pinned
from ..context import current_context as current_context
from ..context import gpu as gpu
from ..context import gpu_memory_info as gpu_memory_info
from ..context import num_gpus as num_gpus
from ..ndarray.ndarray import waitall as waitall
from ..numpy._array import fe_np as _fe_np
from ..util import get_cuda_compute_capability as get_cuda_compute_capability
from ..util import is_np_array as is_np_array
from ..util import is_np_shape as is_np_shape
from ..util import reset_np as reset_np
from ..util import set_np as set_np
from . import image as image
from . import random as random
from ._files import load as load
from ._files import save as save
from ._files import savez as savez
from ._functions import *  # noqa: F403
from ._functions import late_names as _late_names
from ._functions import wrapped as _wrapped

current_device = current_context
_open_functions(_fe_np, globals())


def __getattr__(name: str) -> Any:
    found = _wrapped(name)
    if found is None:
        from compatgrad.names.absent import no_attribute

        raise no_attribute(__name__, name)
    found = globals()[name] = _opened(_fe_np, found)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_late_names()})
